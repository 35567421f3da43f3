package scenarios

// InMemory is up to how many results a log holds in memory.
func (l *Log) InMemory(n int) { l.memory = n }
