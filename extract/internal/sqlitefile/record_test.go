package sqlitefile

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVarint(t *testing.T) {
	for _, c := range []struct {
		in   []byte
		want uint64
		n    int
	}{
		{nil, 0, 0},
		{[]byte{0x00}, 0, 1},
		{[]byte{0x7f, 1}, 127, 1},
		{[]byte{0x81, 0x00}, 128, 2},
		{[]byte{0x81}, 0, 0},
		{[]byte{0xff, 0x7f}, 16383, 2},
		{[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, 1<<56 - 1, 8},
		{[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, math.MaxUint64, 9},
		{[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 0, 0},
	} {
		if v, n := varint(c.in); n != c.n || n > 0 && v != c.want {
			t.Errorf("%x: %d in %d bytes, not %d in %d", c.in, v, n, c.want, c.n)
		}
	}
	for _, v := range []uint64{0, 127, 128, 16383, 16384, 1 << 48, 1<<56 - 1} {
		n := varintSize(v)
		if v > 0 && (v>>(7*n)) != 0 || n > 1 && v>>(7*(n-1)) == 0 {
			t.Errorf("%d takes %d bytes", v, n)
		}
	}
}

func TestDecodeRecord(t *testing.T) {
	be := binary.BigEndian
	oneAndAHalf := be.AppendUint64(nil, math.Float64bits(1.5))
	nan := be.AppendUint64(nil, math.Float64bits(math.NaN()))
	join := func(parts ...[]byte) (b []byte) {
		for _, p := range parts {
			b = append(b, p...)
		}
		return b
	}
	for _, c := range []struct {
		name string
		in   []byte
		enc  int
		want []Value
		ok   bool
	}{
		{"empty", []byte{1}, encUTF8, nil, true},
		{"nothing", nil, encUTF8, nil, false},
		{"all kinds", join([]byte{13, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 14, 15},
			[]byte{0xff, 0x80, 0, 0, 0, 1, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}, []byte{1, 2, 3, 4, 5, 6, 7, 8}, oneAndAHalf, []byte{0xee, 'x'}),
			encUTF8, []Value{{}, {Kind: Int, Int: -1}, {Kind: Int, Int: -32768}, {Kind: Int, Int: 1}, {Kind: Int, Int: 0x7fffffff},
				{Kind: Int, Int: -2}, {Kind: Int, Int: 0x0102030405060708}, {Kind: Real, Real: 1.5}, {Kind: Int}, {Kind: Int, Int: 1},
				{Kind: Blob, Bytes: []byte{0xee}}, {Kind: Text, Bytes: []byte("x")}}, true},
		{"NaN is NULL", join([]byte{2, 7}, nan), encUTF8, []Value{{}}, true},
		{"reserved type", []byte{2, 10}, encUTF8, nil, false},
		{"header longer than record", []byte{9, 1, 1}, encUTF8, nil, false},
		{"header cuts a type", []byte{2, 0x81, 0x00}, encUTF8, nil, false},
		{"header size below its own", []byte{0}, encUTF8, nil, false},
		{"body cut", []byte{2, 4, 0, 0, 0}, encUTF8, nil, false},
		{"body whole", []byte{2, 4, 0, 0, 0, 7}, encUTF8, []Value{{Kind: Int, Int: 7}}, true},
		{"UTF-16le", []byte{2, 21, 'a', 0, 0x3d, 0xd8}, encUTF16le, []Value{{Kind: Text, Bytes: []byte("a\uFFFD")}}, true},
		{"UTF-16be pair", []byte{2, 21, 0xd8, 0x3d, 0xde, 0x00}, encUTF16be, []Value{{Kind: Text, Bytes: []byte("😀")}}, true},
		{"UTF-16 odd", []byte{2, 19, 0, 'a', 'b'}, encUTF16be, []Value{{Kind: Text, Bytes: []byte("a")}}, true},
	} {
		got, ok := decodeRecord(nil, c.in, c.enc)
		if ok != c.ok {
			t.Errorf("%s: ok %v", c.name, ok)
		}
		if diff := cmp.Diff(c.want, got); ok && diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestLocalSize(t *testing.T) {
	// 4096: at most 4061, at least 489, 4092 to an overflow page.
	// 480: at most 445, at least 35, 476 to an overflow page.
	for _, c := range []struct{ size, usable, want int }{
		{0, 4096, 0},
		{4061, 4096, 4061},
		{4062, 4096, 489},
		{4092 + 489, 4096, 489},
		{4092 + 4061, 4096, 4061},
		{4092 + 4062, 4096, 489},
		{445, 480, 445},
		{446, 480, 35},
		{476 + 445, 480, 445},
		{476 + 446, 480, 35},
	} {
		if got := localSize(c.size, c.usable); got != c.want {
			t.Errorf("%d in %d: %d, not %d", c.size, c.usable, got, c.want)
		}
	}
}

func TestParseTable(t *testing.T) {
	text := func(s string) Value { return Value{Kind: Text, Bytes: []byte(s)} }
	for _, c := range []struct {
		sql  string
		want []Column // nil: refused
	}{
		{"CREATE TABLE t(id INTEGER PRIMARY KEY, a)", []Column{{Name: "id", Affinity: AffInteger, Alias: true}, {Name: "a"}}},
		{"CREATE TABLE t(id INTEGER PRIMARY KEY DESC)", []Column{{Name: "id", Affinity: AffInteger}}},
		{"CREATE TABLE t(id INTEGER PRIMARY KEY ASC AUTOINCREMENT)", []Column{{Name: "id", Affinity: AffInteger, Alias: true}}},
		{"CREATE TABLE t(id INT PRIMARY KEY)", []Column{{Name: "id", Affinity: AffInteger}}},
		{"CREATE TABLE t(a TEXT, id INTEGER, PRIMARY KEY(id DESC))", []Column{{Name: "a", Affinity: AffText}, {Name: "id", Affinity: AffInteger, Alias: true}}},
		{"CREATE TABLE t(a INTEGER, b INTEGER, PRIMARY KEY(a, b))", []Column{{Name: "a", Affinity: AffInteger}, {Name: "b", Affinity: AffInteger}}},
		{"CREATE TABLE t(a, CONSTRAINT x CHECK (a > (1)) UNIQUE(a), FOREIGN KEY(a) REFERENCES u(b))", []Column{{Name: "a"}}},
		{"create table if not exists \"a b\".`c``d`([x y] varchar(20, 3) not null, 'q''r' double precision -- , no\n, /* z, */ \"k\" BLOB)",
			[]Column{{Name: "x y", Affinity: AffText, NotNull: true}, {Name: "q'r", Affinity: AffReal}, {Name: "k"}}},
		{"CREATE TABLE t(a TEXT DEFAULT 'x''y', b INT DEFAULT -5, c DEFAULT (7), d REAL DEFAULT 1, e NUMERIC DEFAULT '3.0', f DEFAULT x'6162', g BOOLEAN DEFAULT FALSE, h DEFAULT TRUE)",
			[]Column{
				{Name: "a", Affinity: AffText, Default: text("x'y")}, {Name: "b", Affinity: AffInteger, Default: Value{Kind: Int, Int: -5}},
				{Name: "c", Default: Value{Kind: Int, Int: 7}}, {Name: "d", Affinity: AffReal, Default: Value{Kind: Real, Real: 1}},
				{Name: "e", Affinity: AffNumeric, Default: Value{Kind: Int, Int: 3}, Computed: true}, {Name: "f", Default: Value{Kind: Blob, Bytes: []byte("ab")}},
				{Name: "g", Affinity: AffNumeric, Default: Value{Kind: Int}}, {Name: "h", Default: Value{Kind: Int, Int: 1}},
			}},
		{"CREATE TABLE t(a TIMESTAMP DEFAULT CURRENT_TIMESTAMP, b DEFAULT (1 + 2), c DEFAULT (datetime('now')), d DEFAULT NULL, e TEXT DEFAULT 5, f DEFAULT 0x10)",
			[]Column{{Name: "a", Affinity: AffNumeric, Computed: true}, {Name: "b", Computed: true}, {Name: "c", Computed: true}, {Name: "d"}, {Name: "e", Affinity: AffText, Default: text("5"), Computed: true}, {Name: "f", Default: Value{Kind: Int, Int: 16}}}},
		{"CREATE TABLE t(a DEFAULT (CAST('5' AS INTEGER)), b DEFAULT -'5', c DEFAULT ('x' COLLATE NOCASE), d INT DEFAULT 1.5, e REAL DEFAULT 2147483648, f REAL DEFAULT 2147483647, g DEFAULT word, h DEFAULT (- - 5))",
			[]Column{
				{Name: "a", Computed: true}, {Name: "b", Computed: true}, {Name: "c", Computed: true}, {Name: "d", Affinity: AffInteger, Default: Value{Kind: Real, Real: 1.5}, Computed: true},
				{Name: "e", Affinity: AffReal, Default: Value{Kind: Real, Real: 1 << 31}, Computed: true}, {Name: "f", Affinity: AffReal, Default: Value{Kind: Real, Real: 1<<31 - 1}},
				{Name: "g", Default: text("word")}, {Name: "h", Default: Value{Kind: Int, Int: 5}},
			}},
		{"CREATE TABLE t(a, b AS (a + 1), c GENERATED ALWAYS AS (a) VIRTUAL, d AS (a) STORED, e)", []Column{{Name: "a"}, {Name: "d"}, {Name: "e"}}},
		{"CREATE TABLE t(a TEXT PRIMARY KEY) WITHOUT ROWID", nil},
		{"CREATE TABLE t(a TEXT PRIMARY KEY) STRICT", []Column{{Name: "a", Affinity: AffText}}},
		{"CREATE VIRTUAL TABLE t USING fts5(a)", nil},
		{"CREATE VIEW v AS SELECT 1", nil},
		{"CREATE TABLE t(", nil},
		{"CREATE TABLE t()", nil},
		{"", nil},
	} {
		got, ok := parseTable(c.sql)
		if ok != (c.want != nil) {
			t.Errorf("%s: ok %v", c.sql, ok)
			continue
		}
		if diff := cmp.Diff(c.want, got.Columns); ok && diff != "" {
			t.Errorf("%s: %s", c.sql, diff)
		}
	}
}

func TestPageSet(t *testing.T) {
	var s pageSet
	for _, no := range []uint32{0, 1, 63, 64, 511, 512, math.MaxUint32} {
		if s.has(no) || !s.add(no) || s.add(no) || !s.has(no) {
			t.Errorf("page %d", no)
		}
	}
	if s.has(2) || s.has(513) {
		t.Error("holds what was not added")
	}
}

// The buffer of a large record is not kept for the small ones behind it.
func TestKeptPayload(t *testing.T) {
	small := &cell{local: []byte("small")}
	for size, kept := range map[int]bool{keptPayload: true, keptPayload + 1: false} {
		record, buf, ok := new(File).payload(make([]byte, 0, size), small, len(small.local), 4096, nil, nil)
		if !ok || string(record) != "small" || (buf != nil) != kept {
			t.Errorf("a buffer of %d bytes: kept %v, want %v; record %q, %v", size, buf != nil, kept, record, ok)
		}
	}
}
