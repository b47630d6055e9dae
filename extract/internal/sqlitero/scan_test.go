package sqlitero

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// manyRows has leaves, two levels of interior pages, and overflow chains in
// every tenth row; ids leave holes.
const manyRows = `PRAGMA page_size=512;
CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT, v TEXT);
CREATE INDEX tk ON t(k);
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<3000)
INSERT INTO t SELECT i*3, 'k'||(i%7), CASE WHEN i%10=0 THEN hex(zeroblob(1500)) ELSE hex(zeroblob(20)) END FROM c;
.shell cp w.db ev/x.db
`

type scanned struct {
	ids  []int64
	gaps []Gap
}

func (s scanned) inGap(id int64) bool {
	return slices.ContainsFunc(s.gaps, func(g Gap) bool { return g.From <= id && id <= g.To })
}

// scan reads table t with its last column.
func scan(t *testing.T, db *DB) (s scanned) {
	t.Helper()
	r := readerOf(t, db)
	err := r.Scan(t.Context(), new(Told), func(id int64, v []Value) error {
		if slices.Contains(s.ids, id) && len(s.ids) < 20000 {
			t.Errorf("row %d comes twice", id)
		}
		s.ids = append(s.ids, id)
		return nil
	}, func(g Gap) error {
		if g.From > g.To || g.Err == nil {
			t.Errorf("gap %+v", g)
		}
		s.gaps = append(s.gaps, g)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range s.ids {
		if s.inGap(id) {
			t.Errorf("row %d was read and is in a gap", id)
		}
	}
	return s
}

func readerOf(t *testing.T, db *DB) *Reader {
	t.Helper()
	tables, err := db.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(tables, func(x Table) bool { return x.Name == "t" })
	if i < 0 {
		t.Fatalf("no table: %+v", tables)
	}
	r, err := db.Reader(&tables[i], []string{"+k", "+v"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// pagesOf sorts the pages of x.db by what they are.
func pagesOf(t *testing.T, path string) (root, interior, leaves, other []uint32) {
	t.Helper()
	db, err := Open(t.Context(), Paths{Main: path, Evidence: true}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r := readerOf(t, db)
	r.leaf(0)
	isLeaf := map[uint32]bool{}
	for _, l := range r.leaves {
		isLeaf[l.page] = true
		leaves = append(leaves, l.page)
	}
	for no := uint32(2); int64(no)*512 <= fileSize(t, path); no++ {
		p := db.page(no)
		switch {
		case isLeaf[no]:
		case no == r.t.Root:
			root = append(root, no)
		case p != nil && p.kind == interiorTable:
			interior = append(interior, no)
		default:
			other = append(other, no)
		}
	}
	return
}

func zero(t *testing.T, path string, page uint32) {
	t.Helper()
	patch(t, path, int64(page-1)*512, make([]byte, 512)...)
}

func TestScanSound(t *testing.T) {
	ev := shell(t, manyRows)
	db := mustOpen(t, pathsOf(ev))
	s := scan(t, db)
	if len(s.ids) != 3000 || s.gaps != nil {
		t.Errorf("rows %d, gaps %v", len(s.ids), s.gaps)
	}
}

// A zeroed page costs the rows that were on it or under it, in one gap.
func TestScanZeroedPage(t *testing.T) {
	ev := shell(t, manyRows)
	path := filepath.Join(ev, "x.db")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	root, interior, leaves, _ := pagesOf(t, path)
	if len(root) != 1 || len(interior) < 3 || len(leaves) < 300 {
		t.Fatal(len(root), len(interior), len(leaves))
	}
	for name, page := range map[string]uint32{
		"first leaf": leaves[0], "leaf": leaves[len(leaves)/2], "last leaf": leaves[len(leaves)-1],
		"interior": interior[len(interior)/2], "root": root[0],
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			broken := filepath.Join(dir, "x.db")
			if err := os.WriteFile(broken, whole, 0o644); err != nil {
				t.Fatal(err)
			}
			zero(t, broken, page)
			s := scan(t, mustOpen(t, pathsOf(dir)))
			lost := 3000 - len(s.ids)
			if len(s.gaps) != 1 || lost == 0 {
				t.Fatalf("lost %d rows, gaps %v", lost, s.gaps)
			}
			in := 0
			for id := int64(3); id <= 9000; id += 3 {
				if s.inGap(id) {
					in++
				}
			}
			if in != lost {
				t.Errorf("lost %d rows, %d in gap %+v", lost, in, s.gaps[0])
			}
			if on := int(binary.BigEndian.Uint16(whole[(page-1)*512+3:])); strings.HasSuffix(name, "leaf") && lost != on {
				t.Errorf("lost %d rows of a page with %d", lost, on)
			}
			if name == "root" && (lost != 3000 || s.gaps[0].From != math.MinInt64 || s.gaps[0].To != math.MaxInt64) {
				t.Errorf("lost %d rows, gap %+v", lost, s.gaps[0])
			}
		})
	}
}

// Whatever pages are zeroed, each row is read or in a gap.
func TestScanZeroedPages(t *testing.T) {
	ev := shell(t, manyRows)
	path := filepath.Join(ev, "x.db")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			dir := t.TempDir()
			broken := filepath.Join(dir, "x.db")
			if err := os.WriteFile(broken, whole, 0o644); err != nil {
				t.Fatal(err)
			}
			for range 1 + random.IntN(30) {
				zero(t, broken, 2+uint32(random.IntN(len(whole)/512-1)))
			}
			s := scan(t, mustOpen(t, pathsOf(dir)))
			for id := int64(3); id <= 9000; id += 3 {
				if _, read := slices.BinarySearch(s.ids, id); !read && !s.inGap(id) {
					t.Errorf("row %d is lost", id)
				}
			}
		})
	}
}

// Bytes that are anything end no reading with a panic, a loop or rows twice.
func TestScanRandomBytes(t *testing.T) {
	ev := shell(t, manyRows)
	path := filepath.Join(ev, "x.db")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, _, _, other := pagesOf(t, path)
	seeds := uint64(60)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 2))
			dir := t.TempDir()
			broken := filepath.Join(dir, "x.db")
			b := slices.Clone(whole)
			for range 1 + random.IntN(200) {
				at := 512 + random.IntN(len(b)-512)
				if seed%2 == 0 {
					at = at&^511 + random.IntN(16) // page headers
				}
				b[at] = byte(random.Uint32())
			}
			if seed%3 == 0 { // two parents of one page
				copy(b[at(other[1]):], b[at(other[0]):at(other[0])+512])
			}
			if err := os.WriteFile(broken, b, 0o644); err != nil {
				t.Fatal(err)
			}
			scan(t, mustOpen(t, pathsOf(dir)))
		})
	}
}

func at(page uint32) int64 { return int64(page-1) * 512 }

// A tree that leads back to itself ends.
// A rowid that is too high hides none of the rows behind it.
func TestScanStray(t *testing.T) {
	path := filepath.Join(shell(t, `CREATE TABLE t(k INTEGER PRIMARY KEY, v TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<1000) INSERT INTO t SELECT i, 'row ' || printf('%04d', i) FROM n;
.shell cp w.db ev/w.db
`), "w.db")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Row 300 has rowid varint 0x82 0x2c, a record of header, NULL and a text.
	at := bytes.Index(b, []byte("\x82\x2c\x03\x00\x1drow 0300"))
	if at < 0 {
		t.Fatal("row 300 is not where it was")
	}
	for name, c := range map[string]struct {
		varint string
		rows   int
		again  bool
	}{
		"too high": {"\xff\x2c", 1000, false},
		"too low":  {"\x80\x2c", 999, true},
	} {
		damaged := bytes.Clone(b)
		copy(damaged[at:], c.varint)
		file := filepath.Join(t.TempDir(), "t.db")
		if err := os.WriteFile(file, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := Open(t.Context(), Paths{Main: file, Evidence: true}, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		s := scan(t, db)
		if len(s.ids) != c.rows || len(s.gaps) != 0 {
			t.Errorf("%s: %d rows, gaps %v", name, len(s.ids), s.gaps)
		}
		r := readerOf(t, db)
		if err := r.Scan(t.Context(), new(Told), func(int64, []Value) error { return nil }, func(Gap) error { return nil }); err != nil || (r.Again() != nil) != c.again {
			t.Errorf("%s: again %v, %v", name, r.Again(), err)
		}
		db.Close()
	}
}

func TestScanCycle(t *testing.T) {
	ev := shell(t, manyRows)
	path := filepath.Join(ev, "x.db")
	root, interior, _, _ := pagesOf(t, path)
	last := interior[len(interior)-1]
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], root[0])
	patch(t, path, at(last)+8, b[:]...) // its rightmost child
	s := scan(t, mustOpen(t, pathsOf(ev)))
	if len(s.gaps) == 0 || len(s.ids) < 2900 {
		t.Errorf("rows %d, gaps %v", len(s.ids), s.gaps)
	}
}

// A chain of overflow pages that ends early costs its row alone.
func TestFetchBrokenOverflow(t *testing.T) {
	ev := shell(t, manyRows)
	path := filepath.Join(ev, "x.db")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The first page of a chain: its next page is the next one, its content
	// nothing but digits 0.
	chain := uint32(0)
	for no := uint32(2); int64(no)*512 < int64(len(b)) && chain == 0; no++ {
		p := b[at(no) : at(no)+512]
		if binary.BigEndian.Uint32(p) == no+1 && strings.Trim(string(p[4:]), "0") == "" {
			chain = no
		}
	}
	if chain == 0 {
		t.Fatal("no overflow page")
	}
	patch(t, path, at(chain), 0, 0, 0, 0)
	db := mustOpen(t, pathsOf(ev))
	s := scan(t, db)
	if len(s.gaps) != 1 || len(s.ids) != 2999 || s.gaps[0].From != s.gaps[0].To || s.gaps[0].From%30 != 0 {
		t.Fatalf("rows %d, gaps %v", len(s.ids), s.gaps)
	}
	var all, read, bad []int64
	for id := int64(3); id <= 9000; id += 3 {
		all = append(all, id)
	}
	fetch := func(ids ...int64) {
		read, bad = nil, nil
		err := readerOf(t, db).Fetch(t.Context(), ids, func(id int64, _ []Value) error {
			read = append(read, id)
			return nil
		}, func(id int64, err error) error {
			if !Damage(err) && !errors.Is(err, errGone) {
				t.Error(err)
			}
			bad = append(bad, id)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	fetch(all...)
	if diff := cmp.Diff(s.ids, read); diff != "" || !slices.Equal(bad, []int64{s.gaps[0].From}) {
		t.Errorf("bad %v\n%s", bad, diff)
	}
	// Rows that are not there, and damage between two that are.
	gone := s.gaps[0].From
	fetch(gone-3, gone+3)
	if !slices.Equal(read, []int64{gone - 3, gone + 3}) || bad != nil {
		t.Errorf("read %v, bad %v", read, bad)
	}
	fetch(1, 3, 4, 6, 9001)
	if !slices.Equal(read, []int64{3, 6}) || !slices.Equal(bad, []int64{1, 4, 9001}) {
		t.Errorf("read %v, bad %v", read, bad)
	}
}

// A file that ends before its header says is read as far as it goes.
func TestScanTruncated(t *testing.T) {
	ev := shell(t, manyRows)
	path := filepath.Join(ev, "x.db")
	whole := fileSize(t, path)
	for _, left := range []int64{whole - 512, whole - 700, whole / 2, whole/3 + 100, 5 * 512} {
		if err := os.Truncate(path, left); err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprint(left), func(t *testing.T) {
			db := mustOpen(t, pathsOf(ev))
			if db.Damaged == "" {
				t.Error("not noticed")
			}
			s := scan(t, db)
			if left > whole/4 && len(s.ids) == 0 || left < whole/2 && len(s.gaps) == 0 {
				t.Errorf("rows %d, gaps %v", len(s.ids), s.gaps)
			}
			for id := int64(3); id <= 9000; id += 3 {
				if _, read := slices.BinarySearch(s.ids, id); !read && !s.inGap(id) {
					t.Fatalf("row %d is lost", id)
				}
			}
		})
	}
}

// Rows that an index lost are still rows.
func TestScanIgnoresIndexes(t *testing.T) {
	ev := shell(t, strings.Replace(manyRows, ".shell", `CREATE TABLE e(k TEXT); CREATE INDEX ek ON e(k);
PRAGMA writable_schema=ON;
UPDATE sqlite_schema SET rootpage=(SELECT rootpage FROM sqlite_schema WHERE name='ek') WHERE name='tk';
.shell`, 1))
	if n := query(t, "file:"+filepath.Join(ev, "x.db")+"?immutable=1", "SELECT count(*) FROM t WHERE k='k1'"); n != "0" {
		t.Fatalf("the index still finds %s rows", n)
	}
	if s := scan(t, mustOpen(t, pathsOf(ev))); len(s.ids) != 3000 || s.gaps != nil {
		t.Errorf("rows %d, gaps %v", len(s.ids), s.gaps)
	}
}

func TestScanEnds(t *testing.T) {
	ev := shell(t, `CREATE TABLE t(id INTEGER PRIMARY KEY, k, v);
INSERT INTO t VALUES(-9223372036854775808, 1, 1), (-1, 1, 1), (0, 1, 1), (9223372036854775807, 1, 1);
.shell cp w.db ev/x.db
`)
	s := scan(t, mustOpen(t, pathsOf(ev)))
	if !slices.Equal(s.ids, []int64{math.MinInt64, -1, 0, math.MaxInt64}) || s.gaps != nil {
		t.Errorf("%+v", s)
	}
}

func TestScanCancelled(t *testing.T) {
	ev := shell(t, manyRows)
	db := mustOpen(t, pathsOf(ev))
	r := readerOf(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	err := r.Scan(ctx, new(Told), func(int64, []Value) error {
		if n++; n == 10 {
			cancel()
		}
		return nil
	}, func(Gap) error { return nil })
	if !errors.Is(err, context.Canceled) || n > 10+64 {
		t.Errorf("%v after %d rows", err, n)
	}
	if _, err := db.QuickCheck(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("quick_check: %v", err)
	}
}

// Values come as they are stored, whatever type their column declares.
func TestStorageClasses(t *testing.T) {
	ev := shell(t, `CREATE TABLE t(id INTEGER PRIMARY KEY, k TIMESTAMP, v BOOLEAN);
INSERT INTO t VALUES(1, '2026-01-02 03:04:05', 1), (2, 5, 0), (3, 1.5, 'x'), (4, x'00ff', NULL),
 (5, CAST(x'ff00fe' AS TEXT), 9223372036854775807), (6, '', 1e400);
.shell cp w.db ev/x.db
`)
	db := mustOpen(t, pathsOf(ev))
	got := map[int64][]Value{}
	err := readerOf(t, db).Scan(t.Context(), new(Told), func(id int64, v []Value) error {
		got[id] = slices.Clone(v)
		return nil
	}, func(g Gap) error { return g.Err })
	text := func(s string) Value { return Value{Kind: Text, Bytes: []byte(s)} }
	num := func(n int64) Value { return Value{Kind: Int, Int: n} }
	want := map[int64][]Value{
		1: {text("2026-01-02 03:04:05"), num(1)}, 2: {num(5), num(0)}, 3: {{Kind: Real, Real: 1.5}, text("x")}, 4: {{Kind: Blob, Bytes: []byte{0, 0xff}}, {}},
		5: {text("\xff\x00\xfe"), num(math.MaxInt64)}, 6: {text(""), {Kind: Real, Real: math.Inf(1)}},
	}
	if err != nil || !maps.EqualFunc(want, got, func(a, b []Value) bool { return cmp.Equal(a, b, cmpopts.EquateEmpty()) }) {
		t.Errorf("%v %v", got, err)
	}
}

func TestTables(t *testing.T) {
	ev := shell(t, `CREATE TABLE a(ID integer primary key, x TEXT NOT NULL DEFAULT 'it''s', g AS (x||'!'), s AS (x) STORED);
CREATE TABLE b(k TEXT PRIMARY KEY, v) WITHOUT ROWID;
CREATE TABLE c(id INTEGER PRIMARY KEY DESC, rowid TEXT);
CREATE TABLE d(rowid, _rowid_, oid);
CREATE TABLE "e ""f"(x);
CREATE VIEW v AS SELECT * FROM a;
CREATE VIRTUAL TABLE f USING fts5(body);
.shell cp w.db ev/x.db
`)
	tables, err := mustOpen(t, pathsOf(ev)).Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, x := range tables {
		got[x.Name] = fmt.Sprint(x.Kind, " ", x.RowID, " ", x.Readable())
	}
	for name, want := range map[string]string{
		"a": `table "ID" true`, "b": "table  false", "c": "table _rowid_ true", "d": "table  false", `e "f`: "table rowid true",
		"v": "view  false", "f": "virtual  false", "f_data": `shadow "id" true`,
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	want := []Column{
		{Name: "ID", Type: "INTEGER", PrimaryKey: 1, Alias: true},
		{Name: "x", Type: "TEXT", NotNull: true, Default: "'it''s'", HasDefault: true},
		{Name: "g", Hidden: 2}, {Name: "s", Hidden: 3},
	}
	for i := range tables[0].Columns {
		tables[0].Columns[i].Type = strings.ToUpper(tables[0].Columns[i].Type)
	}
	if diff := cmp.Diff(want, tables[0].Columns); diff != "" {
		t.Error(diff)
	}
}

func TestQuickCheck(t *testing.T) {
	ev := shell(t, manyRows)
	t.Run("sound", func(t *testing.T) {
		if got, err := mustOpen(t, pathsOf(ev)).QuickCheck(t.Context(), 3); got != "ok" || err != nil {
			t.Error(got, err)
		}
	})
	path := filepath.Join(ev, "x.db")
	_, _, leaves, _ := pagesOf(t, path)
	for _, no := range leaves[:8] {
		zero(t, path, no)
	}
	t.Run("damaged", func(t *testing.T) {
		got, err := mustOpen(t, pathsOf(ev)).QuickCheck(t.Context(), 3)
		if n := strings.Count(got, "\n"); err != nil || got == "ok" || n > 5 {
			t.Error(got, err)
		}
	})
}

func TestVarint(t *testing.T) {
	for in, want := range map[string][2]int64{
		"":                                     {0, 0},
		"\x00":                                 {0, 1},
		"\x7f":                                 {127, 1},
		"\x81":                                 {0, 0},
		"\x81\x00":                             {128, 2},
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff": {-1, 9},
		"\xff\xff\xff\xff\xff\xff\xff\xff":     {0, 0},
		"\xff\xff\xff\xff\xff\xff\xff\x7f":     {1<<56 - 1, 8},
	} {
		if v, n := varint([]byte(in)); v != want[0] || int64(n) != want[1] {
			t.Errorf("%x: %d, %d", in, v, n)
		}
	}
}

// A leaf that is overwritten with a copy of another costs its own rows only,
// whether the other stands before it or behind, near or far, and also when the
// page behind it is lost.
func TestScanPageTwice(t *testing.T) {
	ev := shell(t, manyRows)
	whole, err := os.ReadFile(filepath.Join(ev, "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	_, _, leaves, _ := pagesOf(t, filepath.Join(ev, "x.db"))
	rowsOn := func(page uint32) []int64 {
		db := mustOpen(t, pathsOf(ev))
		ids, _ := readerOf(t, db).cells(page)
		return ids
	}
	n := len(leaves)
	for _, tc := range []struct {
		over, copied int
		zeroed       []int
	}{
		{10, 11, nil}, {11, 10, nil}, {10, n - 5, nil}, {n - 5, 10, nil}, {0, n - 1, nil}, {n - 1, 0, nil},
		{10, n - 5, []int{11}}, {10, n - 5, []int{12, 40}}, {10, n - 5, []int{n - 5}},
	} {
		t.Run(fmt.Sprint(tc), func(t *testing.T) {
			dir := t.TempDir()
			b := slices.Clone(whole)
			copy(b[at(leaves[tc.over]):], whole[at(leaves[tc.copied]):at(leaves[tc.copied])+512])
			gone := rowsOn(leaves[tc.over])
			for _, z := range tc.zeroed {
				clear(b[at(leaves[z]) : at(leaves[z])+512])
				if z != tc.copied { // its copy is left
					gone = append(gone, rowsOn(leaves[z])...)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, "x.db"), b, 0o600); err != nil {
				t.Fatal(err)
			}
			r := readerOf(t, mustOpen(t, pathsOf(dir)))
			read := map[int64]int{}
			if err := r.Scan(t.Context(), new(Told), func(id int64, _ []Value) error { read[id]++; return nil }, func(Gap) error { return nil }); err != nil {
				t.Fatal(err)
			}
			for id := int64(3); id <= 9000; id += 3 {
				want := 1
				if slices.Contains(gone, id) {
					want = 0
				}
				if read[id] != want {
					t.Errorf("row %d was read %d times, want %d", id, read[id], want)
				}
			}
			if again := r.Again(); again == nil && len(tc.zeroed) == 0 {
				t.Error("nothing is said of the rows that are there twice")
			}
		})
	}
}

func TestTold(t *testing.T) {
	var told Told
	for _, id := range []int64{1, 2, 3, 10, 11} {
		told.Add(id)
	}
	for _, id := range []int64{20, 21, 15, 16, 30, 12} { // 15 comes after 21, 12 after 30
		told.add(id, 1)
	}
	for id, want := range map[int64]bool{0: false, 1: true, 3: true, 4: false, 9: false, 10: true, 12: true, 13: false, 14: false, 15: true, 17: false, 19: false, 20: true, 30: true, 31: false} {
		if told.has(id) != want {
			t.Errorf("has(%d) = %v", id, !want)
		}
	}
	if !told.any(4, 10) || told.any(4, 9) || !told.any(13, 15) || told.any(31, 40) {
		t.Error("any")
	}
	// Another reader's come once and in order in each pass; those that came
	// early are no news in a later one.
	for _, c := range []struct {
		id   int64
		pass int
		want bool
	}{{1, 1, true}, {3, 1, true}, {2, 1, false}, {3, 1, false}, {1, 2, true}, {20, 1, false}, {20, 2, true}, {15, 2, true}, {31, 2, false}} {
		if got := told.passed(c.id, c.pass); got != c.want {
			t.Errorf("passed(%d, %d) = %v", c.id, c.pass, got)
		}
	}
	for id := int64(100); !told.full(); id += 2 {
		told.add(id, 1)
	}
	if !told.has(101) || told.has(told.high+1) {
		t.Error("what is full does not count everything up to the highest as told")
	}
}
