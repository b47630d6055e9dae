package memo

import (
	"errors"
	"fmt"
	"io"
)

// File is where the pages of a Table are when memory holds no more of them.
// Close removes it.
type File interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	io.Closer
}

type page [pageSize]byte

func (p *page) slot(i int) *slot { return (*slot)(p[i*slotSize:]) }

// pages keeps the pages of a level, all zero at first.
type pages interface {
	// page returns a page, which is valid until the next call.
	page(i uint64) (*page, error)
	// changed tells that the page returned last is not what it was.
	changed(i uint64)
	close() error
}

// memoryPages has a page in memory from when it is first asked for.
type memoryPages []*page

func (m memoryPages) page(i uint64) (*page, error) {
	if m[i] == nil {
		m[i] = new(page)
	}
	return m[i], nil
}

func (m memoryPages) changed(uint64) {}
func (m memoryPages) close() error   { return nil }

// cachedPages bounds how many pages of a file are in memory.
const cachedPages = 1024 // of 4 KiB

// filePages has its pages in a file, and in memory those used last, one for
// each remainder of their numbers. What is written comes to the file when
// another page takes its place.
type filePages struct {
	file  File
	cache []*cached
}

type cached struct {
	number  uint64
	known   bool // page holds that number
	changed bool // and the file does not have it yet
	page    page
}

func newFilePages(file File, inMemory uint64) *filePages {
	return &filePages{file, make([]*cached, inMemory)}
}

func (f *filePages) page(i uint64) (*page, error) {
	at := i % uint64(len(f.cache))
	c := f.cache[at]
	if c == nil {
		c = &cached{}
		f.cache[at] = c
	}
	if c.known && c.number == i {
		return &c.page, nil
	}
	if c.changed {
		n, err := f.file.WriteAt(c.page[:], int64(c.number)*pageSize)
		if n != pageSize && err == nil {
			err = io.ErrShortWrite
		}
		if err != nil {
			return nil, fmt.Errorf("write page %d: %w", c.number, err)
		}
	}
	c.known, c.changed = false, false
	if n, err := f.file.ReadAt(c.page[:], int64(i)*pageSize); n != pageSize {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("read page %d: %w", i, err)
	}
	c.number, c.known = i, true
	return &c.page, nil
}

func (f *filePages) changed(i uint64) { f.cache[i%uint64(len(f.cache))].changed = true }

func (f *filePages) close() error { return f.file.Close() }
