package scenarios

// InMemory is up to how many results a log holds in memory.
func (l *Log) InMemory(n int) { l.memory = n }

// Pages is how many pages of a log on disk are held, from now on.
func (l *Log) Pages(n int) { l.pages.held = make([]page, n) }
