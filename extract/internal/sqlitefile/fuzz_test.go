package sqlitefile

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// small is a database of little pages, with its log: rows that span pages,
// rows that were deleted, free pages, and frames of an older generation.
func small(t testing.TB, settings ...string) (main, log []byte) {
	l := newLab(t, append([]string{"PRAGMA page_size=512"}, append(settings, rowsOfT)...)...)
	l.insert(1, 12, 60)
	l.insert(13, 14, 1500)
	l.do("DELETE FROM t WHERE id IN (3, 4, 13)")
	l.run("PRAGMA journal_mode=WAL")
	l.run("PRAGMA wal_autocheckpoint=0")
	l.insert(20, 22, 700)
	l.do("DELETE FROM t WHERE id < 8")
	l.do("UPDATE t SET a = a || 'longer' WHERE id = 9")
	l.run("PRAGMA wal_checkpoint(RESTART)")
	l.do("UPDATE t SET b = 'y' WHERE id = 9")
	l.do("DELETE FROM t WHERE id = 21")
	read := func(path string) []byte {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	return read(l.path), read(l.path + "-wal")
}

// recoverBytes runs everything over two files of these bytes.
func recoverBytes(t *testing.T, main, log []byte) {
	dir := t.TempDir()
	paths := [2]string{filepath.Join(dir, "f.db"), filepath.Join(dir, "f.db-wal")}
	for i, b := range [][]byte{main, log} {
		if err := os.WriteFile(paths[i], b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Open(context.Background(), paths[0], paths[1])
	if err != nil {
		return
	}
	defer f.Close()
	most := len(main) + len(log)
	err = f.Recover(context.Background(), Options{Tables: []string{"t", "sqlite_sequence"}}, func(v *Version) error {
		for _, x := range v.Values {
			// UTF-16 grows by a half at most; no value is more than its bytes.
			if len(x.Bytes) > 2*most {
				t.Errorf("a value of %d bytes from %d", len(x.Bytes), most)
			}
		}
		if v.Page == 0 || v.Offset < 0 || v.Offset >= f.PageSize() {
			t.Errorf("page %d, offset %d", v.Page, v.Offset)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for no := range f.Commits() + 1 {
		s := f.State(no)
		for i := range s.Tables() {
			s.Walk(context.Background(), &s.Tables()[i], func(*Row) bool { return true })
			s.Row(&s.Tables()[i], 7)
		}
	}
}

// FuzzMain writes over bytes of the main file.
func FuzzMain(f *testing.F) {
	main, log := small(f)
	f.Add(uint32(100), []byte{5})
	f.Add(uint32(32), []byte{0, 0, 0, 2})
	f.Add(uint32(512), []byte{13, 0, 8, 0xff, 0xff})
	f.Add(uint32(1024), []byte{0, 0, 0, 3, 0, 0, 0, 0xff})
	f.Fuzz(func(t *testing.T, at uint32, with []byte) {
		b := append([]byte(nil), main...)
		copy(b[int(at)%len(b):], with)
		recoverBytes(t, b, nil)
		recoverBytes(t, b, log)
	})
}

// FuzzLog writes over bytes of a page in the log, and makes its checksums
// right.
func FuzzLog(f *testing.F) {
	main, log := small(f)
	f.Add(uint32(32), uint32(0), []byte{5, 0, 0, 0, 9})
	f.Add(uint32(32+536), uint32(0), []byte{0, 0, 0, 1})
	f.Add(uint32(36), uint32(536), []byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, at, cut uint32, with []byte) {
		b := append([]byte(nil), log[:len(log)-int(cut)%len(log)]...)
		if len(b) > 32 {
			copy(b[32+int(at)%(len(b)-32):], with)
		}
		rechecksum(b)
		recoverBytes(t, main, b)
		recoverBytes(t, nil, b)
	})
}

// rechecksum makes the frames of a log valid that have its salts.
func rechecksum(b []byte) {
	if len(b) < 32 {
		return
	}
	size := int(binary.BigEndian.Uint32(b[8:]))
	if size != 512 {
		return
	}
	s := [2]uint32{binary.BigEndian.Uint32(b[24:]), binary.BigEndian.Uint32(b[28:])}
	var order binary.ByteOrder = binary.LittleEndian
	if b[3]&1 != 0 {
		order = binary.BigEndian
	}
	add := func(p []byte) {
		for ; len(p) >= 8; p = p[8:] {
			s[0] += order.Uint32(p) + s[1]
			s[1] += order.Uint32(p[4:]) + s[0]
		}
	}
	for at := 32; at+24+size <= len(b); at += 24 + size {
		if [8]byte(b[at+8:]) != [8]byte(b[16:]) {
			return
		}
		add(b[at : at+8])
		add(b[at+24 : at+24+size])
		binary.BigEndian.PutUint32(b[at+16:], s[0])
		binary.BigEndian.PutUint32(b[at+20:], s[1])
	}
}

// FuzzPage reads a page and its records in every way there is.
func FuzzPage(f *testing.F) {
	main, _ := small(f)
	for at := 0; at+512 <= len(main) && at < 8*512; at += 512 {
		f.Add(main[at:at+512], uint32(at/512+1))
	}
	t := Table{Name: "t", Columns: []Column{{Name: "id", Alias: true}, {Name: "a", Affinity: AffText}, {Name: "b"}, {Name: "c", Affinity: AffReal}}}
	f.Fuzz(func(tt *testing.T, page []byte, no uint32) {
		if len(page) < minUsable || len(page) > 65536 {
			return
		}
		usable := len(page)
		r := &remains{f: &File{pageSize: usable}, format: format{usable, encUTF8, 0}, tables: []*Table{&t}, page: page}
		children(nil, page, no, usable)
		leafCells(page, no, usable, func(c cell) {
			if c.end > usable || len(c.local) > c.size {
				tt.Fatalf("cell %+v", c)
			}
			decodeRecord(nil, c.local, encUTF16le)
		})
		if h, ok := parseBtree(page, no, usable); ok {
			last := 0
			for _, x := range freeblocks(page, &h, usable) {
				if x.from < last || x.to > usable {
					tt.Fatalf("freeblock %+v", x)
				}
				last = x.to
				r.pieceWithoutHead(x.from, x.to)
			}
			for _, x := range r.formerBlocks(&h) {
				if x.from < h.pointers || x.to > h.content || x.to-x.from < 4 {
					tt.Fatalf("former freeblock %+v", x)
				}
			}
		}
		for at := 0; at < usable; at += 1 + usable/200 {
			if p, ok := r.pieceAt(at, usable); ok && p.cell.end > usable {
				tt.Fatalf("piece %+v", p)
			}
			if p, ok := r.pieceWithoutHead(at, usable); ok && p.cell.end > usable {
				tt.Fatalf("piece %+v", p)
			}
		}
	})
}

// FuzzSchema parses any statement.
func FuzzSchema(f *testing.F) {
	for _, s := range []string{rowsOfT, "CREATE TABLE t(a DEFAULT (-(5)), PRIMARY KEY(a", "CREATE TABLE [t](\"a\"\"b\" INT AS (1), CHECK(", "CREATE TABLE t(a DEFAULT '"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		table, ok := parseTable(sql)
		if ok && len(table.Columns) == 0 {
			t.Error("no columns")
		}
	})
}
