package sqlitero

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

const (
	walHeaderSize   = 32
	frameHeaderSize = 24
	walMagic        = 0x377f0682 // the lowest bit set: checksums over big-endian words
	walVersion      = 3007000
)

// WAL is what a write-ahead log holds, found out without SQLite.
type WAL struct {
	PageSize  int     // bytes; 0 when the header is broken
	Salts     [8]byte // of the header, which the frames of this generation repeat
	Frames    int64   // valid frames from the start
	Committed int64   // of them those up to the last commit: what SQLite reads
	Pages     uint32  // size of the database after the last commit, in pages
	Page1     []byte  // page 1 as of the last commit, nil when no commit wrote it
	Damage    string  // what is broken, "" when nothing is
}

// Frame is one page in a write-ahead log.
type Frame struct {
	No     int64  // place in the log, from 1
	Page   uint32 // number of the page, never 0 in a valid frame
	Commit uint32 // size of the database in pages after the commit that this frame ends, 0 in between
	Salts  [8]byte
	// Valid says that SQLite's recovery takes the frame: it is of the log's
	// generation and every checksum up to it is right.
	Valid bool
	// Follows says of a frame that is not valid that its checksum goes on from
	// the one that the frame before it carries, which has the same salts.
	Follows bool
	Data    []byte // the page; to be used during the call only
}

// FrameOffset returns where the page of a frame stands in the log.
func FrameOffset(no int64, pageSize int) int64 {
	return walHeaderSize + (no-1)*int64(frameHeaderSize+pageSize) + frameHeaderSize
}

// ScanWAL reads a write-ahead log as SQLite's recovery does. Frames of an
// older generation behind the valid ones are what a log that was restarted
// looks like, and no damage; a frame of this generation that cannot be used is.
// An error means that the file could not be read.
func ScanWAL(ctx context.Context, path string) (*WAL, error) {
	return WalkWAL(ctx, path, nil)
}

// WalkWAL is ScanWAL that shows each frame it passes, in order: the valid
// ones, committed or not, then the whole ones of older generations. An error
// of visit ends the walk and is returned.
func WalkWAL(ctx context.Context, path string, visit func(*Frame) error) (*WAL, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return walkWAL(ctx, f, visit)
}

func scanWAL(ctx context.Context, r io.Reader) (*WAL, error) { return walkWAL(ctx, r, nil) }

func walkWAL(ctx context.Context, r io.Reader, visit func(*Frame) error) (*WAL, error) {
	w := &WAL{}
	in := bufio.NewReaderSize(r, 256<<10)
	var head [walHeaderSize]byte
	if n, err := io.ReadFull(in, head[:]); err != nil {
		if !short(err) {
			return nil, err
		}
		w.Damage = fmt.Sprintf("header cut off after %d bytes", n)
		return w, nil
	}
	magic := binary.BigEndian.Uint32(head[0:])
	size := binary.BigEndian.Uint32(head[8:])
	switch {
	case magic&^1 != walMagic:
		w.Damage = fmt.Sprintf("header has magic %#08x", magic)
		return w, nil
	case size < 512 || size > 65536 || size&(size-1) != 0:
		w.Damage = fmt.Sprintf("header has page size %d", size)
		return w, nil
	}
	var order binary.ByteOrder = binary.LittleEndian
	if magic&1 != 0 {
		order = binary.BigEndian
	}
	sum := checksum(order, [2]uint32{}, head[:24])
	if sum != [2]uint32{binary.BigEndian.Uint32(head[24:]), binary.BigEndian.Uint32(head[28:])} {
		w.Damage = "header has a wrong checksum"
		return w, nil
	}
	if v := binary.BigEndian.Uint32(head[4:]); v != walVersion {
		w.Damage = fmt.Sprintf("header has version %d", v)
		return w, nil
	}
	w.PageSize = int(size)
	copy(w.Salts[:], head[16:24])

	frame := make([]byte, frameHeaderSize+w.PageSize)
	page := frame[frameHeaderSize:]
	var page1 []byte // of a transaction that is not committed yet
	for no := int64(1); ; no++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := io.ReadFull(in, frame)
		if err != nil && !short(err) {
			return nil, err
		}
		if n == 0 {
			return w, nil
		}
		ours := n >= 16 && [8]byte(frame[8:16]) == w.Salts
		valid := false
		if ours && n == len(frame) {
			s := checksum(order, checksum(order, sum, frame[:8]), page)
			valid = s == [2]uint32{binary.BigEndian.Uint32(frame[16:]), binary.BigEndian.Uint32(frame[20:])} &&
				binary.BigEndian.Uint32(frame) != 0
			sum = s
		}
		switch {
		case valid:
			w.Frames = no
		case n < len(frame) && (ours || n < 16):
			w.Damage = fmt.Sprintf("frame %d is cut off after %d bytes", no, n)
			return w, nil
		case ours:
			return w, w.broken(ctx, in, frame, no)
		case n < len(frame):
			return w, nil
		default:
			return w, w.older(ctx, in, order, frame, no, visit)
		}
		if visit != nil {
			f := frameOf(frame, no)
			f.Valid = true
			if err := visit(&f); err != nil {
				return w, err
			}
		}
		if binary.BigEndian.Uint32(frame) == 1 {
			page1 = append(page1[:0], page...)
		}
		if pages := binary.BigEndian.Uint32(frame[4:]); pages != 0 {
			w.Committed, w.Pages = no, pages
			if len(page1) > 0 {
				w.Page1 = append(w.Page1[:0], page1...)
				page1 = page1[:0]
			}
		}
	}
}

func frameOf(frame []byte, no int64) Frame {
	return Frame{
		No: no, Page: binary.BigEndian.Uint32(frame), Commit: binary.BigEndian.Uint32(frame[4:]),
		Salts: [8]byte(frame[8:16]), Data: frame[frameHeaderSize:],
	}
}

// broken reads on from the first frame of this generation with a wrong
// checksum, number no and already read. A transaction that outgrew the cache
// and was not committed leaves such frames at the end, and nothing is lost with
// them; one that was committed, there or behind, is damage.
func (w *WAL) broken(ctx context.Context, in *bufio.Reader, frame []byte, no int64) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if [8]byte(frame[8:16]) == w.Salts && binary.BigEndian.Uint32(frame[4:]) != 0 {
			w.Damage = fmt.Sprintf("frame %d has a wrong checksum", no)
			return nil
		}
		if _, err := io.ReadFull(in, frame); short(err) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// older reads on from the first frame of another generation, number no and
// already read: one of this generation further on means that frames between
// were lost.
func (w *WAL) older(ctx context.Context, in *bufio.Reader, order binary.ByteOrder, frame []byte, no int64, visit func(*Frame) error) error {
	var salts [8]byte // of the frame before
	var sum [2]uint32 // that it carries
	for next := no; ; next++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		f := frameOf(frame, next)
		carried := [2]uint32{binary.BigEndian.Uint32(frame[16:]), binary.BigEndian.Uint32(frame[20:])}
		if visit != nil && f.Page != 0 {
			f.Follows = next > no && f.Salts == salts && checksum(order, checksum(order, sum, frame[:8]), f.Data) == carried
			if err := visit(&f); err != nil {
				return err
			}
		}
		salts, sum = f.Salts, carried
		n, err := io.ReadFull(in, frame)
		if err != nil && !short(err) {
			return err
		}
		if n >= 16 && [8]byte(frame[8:16]) == w.Salts {
			w.Damage = fmt.Sprintf("frame %d is overwritten, frame %d is not", no, next+1)
			return nil
		}
		if n < len(frame) {
			return nil
		}
	}
}

func short(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// checksum goes on with the log's running checksum over b, whose length is a
// multiple of 8.
func checksum(order binary.ByteOrder, s [2]uint32, b []byte) [2]uint32 {
	s0, s1 := s[0], s[1]
	if order == binary.ByteOrder(binary.LittleEndian) {
		for ; len(b) >= 8; b = b[8:] {
			s0 += binary.LittleEndian.Uint32(b) + s1
			s1 += binary.LittleEndian.Uint32(b[4:]) + s0
		}
	} else {
		for ; len(b) >= 8; b = b[8:] {
			s0 += binary.BigEndian.Uint32(b) + s1
			s1 += binary.BigEndian.Uint32(b[4:]) + s0
		}
	}
	return [2]uint32{s0, s1}
}
