package scenarios

// InMemory is up to how many results a log holds in memory.
func (l *Log) InMemory(n int) { l.memory = n }

// Spilled is the name that the file of a log on disk had.
func (l *Log) Spilled() string { return l.file.Name() }

// Spoil makes what is on disk unreadable.
func (l *Log) Spoil() error { return l.file.Truncate(0) }
