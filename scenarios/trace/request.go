package trace

// Request is one arrival of an access log.
type Request struct {
	// At is when it arrived, in microseconds since 1970. In a log whose stamps are of
	// whole seconds it is the earliest that it may be: Summary.Uncertainty, Spread.
	At int64
	// Line is its place in the log, from 1 on, over all files.
	Line int64
	// Client and Route are numbers of a Directory, from 0 on; Directory.Route says which of
	// its Routes one is.
	Client, Route uint32
	// Status of the answer; 0 if it was not logged.
	Status uint16
}
