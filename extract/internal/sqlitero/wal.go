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

// ScanWAL reads a write-ahead log as SQLite's recovery does. Frames of an
// older generation behind the valid ones are what a log that was restarted
// looks like, and no damage; a frame of this generation that cannot be used is.
// An error means that the file could not be read.
func ScanWAL(ctx context.Context, path string) (*WAL, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return scanWAL(ctx, f)
}

func scanWAL(ctx context.Context, r io.Reader) (*WAL, error) {
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
			w.Damage = fmt.Sprintf("frame %d has a wrong checksum", no)
			return w, nil
		default:
			return w, w.older(ctx, in, frame, no)
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

// older reads on behind the first frame of another generation, number no: one
// of this generation further on means that frames between were lost.
func (w *WAL) older(ctx context.Context, in *bufio.Reader, frame []byte, no int64) error {
	for next := no + 1; ; next++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.ReadFull(in, frame)
		if err != nil && !short(err) {
			return err
		}
		if n < 16 {
			return nil
		}
		if [8]byte(frame[8:16]) == w.Salts {
			w.Damage = fmt.Sprintf("frame %d is overwritten, frame %d is not", no, next)
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
