package scenarios

import (
	"encoding/binary"
	"io"
	"sync"
)

const (
	// pageSize is how many records are read at once: what is judged together, the
	// requests of one client, is scattered over the file, and the next client's are
	// beside them more often than not.
	pageSize = 64
	// pagesHeld is how many pages are kept: 19 MB.
	pagesHeld = 4096
)

// pages reads records of a file by their place, and keeps each page until one is read
// that takes its place. It is safe for concurrent use.
type pages struct {
	file  io.ReaderAt
	mutex sync.Mutex
	held  []page // by the number of the page, modulo their own; nil before the first
}

type page struct {
	number int // from 1; 0 is none
	bytes  []byte
}

// record is one record, or the error of reading its page.
func (p *pages) record(i int) (record, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.held == nil {
		p.held = make([]page, pagesHeld)
	}
	number := i / pageSize
	held := &p.held[number%len(p.held)]
	if held.number != number+1 {
		if held.bytes == nil {
			held.bytes = make([]byte, pageSize*recordBytes)
		}
		held.number = 0
		if _, err := p.file.ReadAt(held.bytes, int64(number)*pageSize*recordBytes); err != nil {
			return record{}, err
		}
		held.number = number + 1
	}
	return decode(held.bytes[i%pageSize*recordBytes:]), nil
}

// forget gives the memory back; what is read next is read from the file.
func (p *pages) forget() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.held = nil
}

func encode(records []record) []byte {
	bytes := make([]byte, 0, len(records)*recordBytes)
	for i := range records {
		for _, word := range records[i] {
			bytes = binary.LittleEndian.AppendUint64(bytes, word)
		}
	}
	return bytes
}

func decode(bytes []byte) (r record) {
	for i := range r {
		r[i] = binary.LittleEndian.Uint64(bytes[8*i:])
	}
	return r
}
