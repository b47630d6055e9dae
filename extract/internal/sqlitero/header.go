package sqlitero

import (
	"encoding/binary"
	"io"
	"os"
)

const magic = "SQLite format 3\x00"

// header is the start of a database file.
type header struct {
	size    int64 // of the file, in bytes
	sqlite  bool  // the magic is there
	page    int   // page size in bytes
	counter uint32
}

func readHeader(path string) (header, error) {
	f, err := os.Open(path)
	if err != nil {
		return header{}, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return header{}, err
	}
	h := header{size: st.Size()}
	var b [100]byte
	n, err := io.ReadFull(f, b[:])
	if err != nil && !short(err) {
		return h, err
	}
	if n < len(b) || string(b[:len(magic)]) != magic {
		return h, nil
	}
	h.sqlite = true
	h.page = int(binary.BigEndian.Uint16(b[16:]))
	if h.page == 1 {
		h.page = 65536
	}
	h.counter = changeCounter(b[:])
	return h, nil
}

// changeCounter of a page 1.
func changeCounter(page1 []byte) uint32 { return binary.BigEndian.Uint32(page1[24:]) }

// foreign tells why w cannot belong to the database that h heads, "" when it
// may. A checkpoint copies page 1 with its counter from log to database, so a
// log's page 1 is never older than the database's.
func (h header) foreign(w *WAL) string {
	switch {
	case !h.sqlite || w.PageSize == 0:
		return ""
	case w.PageSize != h.page:
		return "page size differs"
	case w.Page1 != nil && changeCounter(w.Page1) < h.counter:
		return "change counter is lower than the database's"
	}
	return ""
}

// stamp is what must stay as it is while files are read.
type stamp struct {
	main, wal, journal fileStamp
}

type fileStamp struct {
	size, mtime int64
	mark        uint64 // main: change counter; log: salts
}

// take reads the stamp of a database. A companion that is gone has none.
func (p Paths) take() stamp {
	return stamp{
		main:    takeFile(p.Main, 24, 4),
		wal:     takeFile(p.WAL, 16, 8),
		journal: takeFile(p.Journal, 0, 0),
	}
}

func takeFile(path string, offset int64, n int) (s fileStamp) {
	if path == "" {
		return s
	}
	st, err := os.Stat(path)
	if err != nil {
		return s
	}
	s.size, s.mtime = st.Size(), st.ModTime().UnixNano()
	if n == 0 {
		return s
	}
	f, err := os.Open(path)
	if err != nil {
		return s
	}
	defer f.Close()
	var b [8]byte
	if _, err := f.ReadAt(b[:n], offset); err == nil {
		s.mark = binary.BigEndian.Uint64(b[:])
	}
	return s
}
