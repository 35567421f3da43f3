package demo

import (
	"errors"
	"fmt"
	"time"
)

// Defaults of a Config.
const (
	DefaultVideos     = 20_000 // 4 ms for a page of trending videos
	DefaultPageSize   = 20
	DefaultReaders    = 4
	DefaultTimeout    = 2 * time.Second
	DefaultWriteEvery = 100 * time.Millisecond
	DefaultWriteBatch = 50
)

// Bounds of a Config.
const (
	MaxVideos   = 1_000_000
	MaxPageSize = 100
	MaxReaders  = 64
)

// Config says what to serve. The zero value is valid: every field has a default,
// which stands for its zero.
type Config struct {
	// Dir is where the directory of the database is made, os.TempDir by default.
	// It must exist.
	Dir string
	// Seed of the catalogue and of what the writer changes in it. Zero is a seed
	// like any other.
	Seed uint64
	// Videos in the catalogue. What a request costs grows with it.
	Videos int
	// PageSize is how many videos a page has.
	PageSize int
	// Readers is how many requests are in SQLite at once.
	Readers int
	// Timeout of a request, the wait for a reader included.
	Timeout time.Duration
	// WriteEvery is how often the writer changes WriteBatch videos, in one
	// transaction.
	WriteEvery time.Duration
	WriteBatch int
}

// withDefaults is the configuration with its zeros replaced.
func (c Config) withDefaults() Config {
	for _, d := range []struct {
		field  *int
		number int
	}{
		{&c.Videos, DefaultVideos},
		{&c.PageSize, DefaultPageSize},
		{&c.Readers, DefaultReaders},
		{&c.WriteBatch, DefaultWriteBatch},
	} {
		if *d.field == 0 {
			*d.field = d.number
		}
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.WriteEvery == 0 {
		c.WriteEvery = DefaultWriteEvery
	}
	return c
}

// validate reports everything that is wrong, once defaults are in.
func (c Config) validate() error {
	var errs []error
	for _, b := range []struct {
		name       string
		value, max int
	}{
		{"videos", c.Videos, MaxVideos},
		{"videos a page", c.PageSize, MaxPageSize},
		{"readers", c.Readers, MaxReaders},
		{"videos a write", c.WriteBatch, MaxVideos},
	} {
		if b.value < 1 || b.value > b.max {
			errs = append(errs, fmt.Errorf("%d %s: want 1 to %d", b.value, b.name, b.max))
		}
	}
	if c.Timeout < 0 {
		errs = append(errs, fmt.Errorf("timeout %s is negative", c.Timeout))
	}
	if c.WriteEvery < 0 {
		errs = append(errs, fmt.Errorf("write every %s is negative", c.WriteEvery))
	}
	return errors.Join(errs...)
}
