// Package lines splits a stream into lines, one at a time, whatever the stream
// holds: no line is lost, none longer than a bound is held, and what comes
// before an error comes before the error is told.
package lines

import (
	"bufio"
	"errors"
	"io"
)

const (
	bufferSize = 256 << 10 // bytes asked of the stream at a time
	keptSize   = 16 << 20  // bytes a long line may leave allocated
)

// Line is a line as it stands in the stream, split at LF alone.
type Line struct {
	Number  int64  // from 1
	Text    []byte // without its LF, until the next line is asked for; nil when TooLong
	Cut     bool   // the stream ended, or failed, before an LF
	TooLong bool   // over the bound: it was passed over
}

// Reader reads lines. Beside the line it holds it needs 256 KiB.
type Reader struct {
	in     *bufio.Reader
	limit  int
	number int64
	held   []byte // a line that does not come out of in in one piece
	done   bool
	err    error
}

// NewReader returns a Reader of lines of at most limit bytes without their LF.
func NewReader(r io.Reader, limit int) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, bufferSize), limit: limit}
}

// Next returns the next line, ok false when there is none. What follows the
// last LF is a line only when it has bytes.
func (r *Reader) Next() (line Line, ok bool) {
	if r.done {
		return Line{}, false
	}
	if cap(r.held) > keptSize {
		r.held = nil
	}
	r.held = r.held[:0]
	line = Line{Number: r.number + 1}
	for started := false; ; started = true {
		part, err := r.in.ReadSlice('\n')
		full := errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !full {
			r.done = true
			if !errors.Is(err, io.EOF) {
				r.err = err
			}
			if len(part) == 0 && !started {
				return Line{}, false
			}
			line.Cut = true
		} else if !full {
			part = part[:len(part)-1]
		}
		switch {
		case line.TooLong:
		case len(part) > r.limit-len(r.held):
			line.TooLong, r.held = true, nil
		case full || started:
			r.held = append(r.held, part...)
			part = r.held
		}
		if full {
			continue
		}
		r.number++
		if !line.TooLong {
			line.Text = part
		}
		return line, true
	}
}

// Err returns the stream's error, nil at its end. It is valid after Next has
// returned false.
func (r *Reader) Err() error { return r.err }
