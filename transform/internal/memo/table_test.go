package memo

import (
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"
)

// scratch opens the files of a Table in a directory and removes them on Close.
type scratch struct {
	dir    string
	opened int
	writes int // that succeed before one fails; negative: all
	reads  int
	short  bool // the failing operation has no error but too few bytes
}

var errDisk = errors.New("disk full")

func newScratch(t testing.TB) *scratch { return &scratch{dir: t.TempDir(), writes: -1, reads: -1} }

func (s *scratch) open() (File, error) {
	f, err := os.CreateTemp(s.dir, "memo-")
	if err != nil {
		return nil, err
	}
	s.opened++
	return scratchFile{f, s}, nil
}

func (s *scratch) left(t testing.TB) int {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(s.dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

type scratchFile struct {
	*os.File
	s *scratch
}

func (f scratchFile) Close() error {
	return errors.Join(f.File.Close(), os.Remove(f.Name()))
}

// fails counts down and reports the operation that fails, and all after it.
func fails(left *int) bool {
	if *left > 0 {
		*left--
	}
	return *left == 0
}

func (f scratchFile) WriteAt(b []byte, at int64) (int, error) {
	if fails(&f.s.writes) {
		if f.s.short {
			return f.File.WriteAt(b[:len(b)/2], at)
		}
		return 0, errDisk
	}
	return f.File.WriteAt(b, at)
}

func (f scratchFile) ReadAt(b []byte, at int64) (int, error) {
	if fails(&f.s.reads) {
		if f.s.short {
			n, _ := f.File.ReadAt(b[:len(b)/2], at)
			return n, io.EOF
		}
		return 0, errDisk
	}
	return f.File.ReadAt(b, at)
}

func keyOf(n uint64) Key {
	return xxh3.Hash128(binary.LittleEndian.AppendUint64(nil, n))
}

func valueOf(n uint64) (v Value) {
	binary.LittleEndian.PutUint64(v[:], n)
	binary.LittleEndian.PutUint64(v[valueSize-8:], ^n)
	return v
}

// check asks for the keys of 0 to n, and for as many that are not there.
func check(t testing.TB, table *Table, n uint64) {
	t.Helper()
	for i := range n {
		if v, ok := table.Get(keyOf(i)); !ok || v != valueOf(i) {
			t.Fatalf("key %d of %d: %v, %t; %v", i, n, v, ok, table.Err())
		}
		if _, ok := table.Get(keyOf(i + 1<<40)); ok {
			t.Fatalf("a key that was not put is there")
		}
	}
	if table.Err() != nil {
		t.Fatal(table.Err())
	}
}

// The record that reaches the limit stays in memory, the one beyond does not.
func TestLimit(t *testing.T) {
	for _, limit := range []int{0, 1, 47, 48, 49, 1000} {
		s := newScratch(t)
		table := New(limit, s.open)
		for i := range uint64(limit) {
			table.Put(keyOf(i), valueOf(i))
		}
		if limit > 0 {
			table.Put(keyOf(0), valueOf(0)) // no record more
		}
		if s.opened != 0 || table.front.records != limit {
			t.Errorf("limit %d: %d files and %d records at the limit", limit, s.opened, table.front.records)
		}
		if full := limit == 48; full && table.front.room() != limit {
			t.Errorf("limit %d: memory for %d", limit, table.front.room())
		}
		for i := range uint64(limit + 1) {
			table.Put(keyOf(i), valueOf(i))
		}
		if s.opened == 0 || table.back.records != max(limit, 1) {
			t.Errorf("limit %d: %d files, %d records in it", limit, s.opened, table.back.records)
		}
		check(t, table, uint64(limit+1))
		if s.left(t) != 1 {
			t.Errorf("limit %d: %d files in scratch", limit, s.left(t))
		}
		if err := table.Close(); err != nil || s.left(t) != 0 {
			t.Errorf("limit %d: %d files left, %v", limit, s.left(t), err)
		}
		if _, ok := table.Get(keyOf(0)); ok {
			t.Error("a closed table answers")
		}
	}
}

func TestWithoutFile(t *testing.T) {
	table := New(1, nil)
	for i := range uint64(5000) {
		table.Put(keyOf(i), valueOf(i))
	}
	check(t, table, 5000)
}

// A file that is full is followed by one of twice the size, and removed.
func TestGrowth(t *testing.T) {
	const n = 200_000 // more pages than are cached
	s := newScratch(t)
	table := New(10_000, s.open)
	for i := range uint64(n) {
		table.Put(keyOf(i), valueOf(i+1))
	}
	for i := range uint64(n) { // every value once more
		table.Put(keyOf(i), valueOf(i))
	}
	if s.opened < 5 || s.left(t) != 1 || table.back.count() <= cachedPages {
		t.Errorf("%d files opened, %d there, %d pages", s.opened, s.left(t), table.back.count())
	}
	check(t, table, n)
	if err := table.Close(); err != nil || s.left(t) != 0 {
		t.Errorf("%d files left, %v", s.left(t), err)
	}
}

// Keys that would all stand in one slot fill page after page, over the end of
// the pages too.
func TestCollisions(t *testing.T) {
	for _, limit := range []int{0, 100, 1 << 20} {
		for _, top := range []uint64{0, ^uint64(0)} {
			table := New(limit, newScratch(t).open)
			table.a, table.b = 1, 0
			key := func(i int) Key { return Key{Hi: top, Lo: uint64(i) << 6} }
			const n = 500
			for i := range n {
				table.Put(key(i), valueOf(uint64(i)))
			}
			for i := range n {
				if v, ok := table.Get(key(i)); !ok || v != valueOf(uint64(i)) {
					t.Fatalf("limit %d: key %d is %v, %t", limit, i, v, ok)
				}
			}
			if _, ok := table.Get(key(n)); ok || table.Err() != nil {
				t.Errorf("limit %d: a key that is not there, %v", limit, table.Err())
			}
			table.Close()
		}
	}
}

// A table is a map, wherever its records are and however few pages are cached; the key of zeros is one too.
func TestMap(t *testing.T) {
	dir := newScratch(t)
	rapid.Check(t, func(t *rapid.T) {
		s := &scratch{dir: dir.dir, writes: -1, reads: -1}
		table := New(rapid.IntRange(0, 200).Draw(t, "limit"), s.open)
		table.cached = rapid.Uint64Range(1, 4).Draw(t, "cached")
		table.a, table.b = 1, 0
		defer table.Close()
		want := map[Key]Value{}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		few := rapid.Uint64Range(1, 1000).Draw(t, "keys")
		for range 1500 {
			k := keyOf(random.Uint64N(few))
			switch random.IntN(8) {
			case 0:
				k = Key{}
			case 1:
				k.Hi = ^uint64(0)
			}
			got, ok := table.Get(k)
			if held, there := want[k]; ok != there || got != held {
				t.Fatalf("%v is %v, %t, not %v, %t", k, got, ok, held, there)
			}
			if random.IntN(2) == 0 {
				want[k] = valueOf(random.Uint64())
				table.Put(k, want[k])
			}
		}
		for k, v := range want {
			if got, ok := table.Get(k); !ok || got != v {
				t.Fatalf("%v is %v, %t, not %v", k, got, ok, v)
			}
		}
		if table.Err() != nil {
			t.Fatal(table.Err())
		}
	})
}

// Every operation of the file that fails, wherever it stands, is an error that
// stays, and from then on nothing is answered.
func TestFaults(t *testing.T) {
	const n = 30_000
	fill := func(s *scratch) *Table {
		table := New(100, s.open)
		table.cached = 4 // so that pages come and go all the time
		for i := range uint64(n) {
			table.Put(keyOf(i), valueOf(i))
			if i%7 == 0 {
				table.Get(keyOf(i / 2))
			}
		}
		for i := range uint64(n) {
			table.Get(keyOf(i))
		}
		return table
	}
	for _, short := range []bool{false, true} {
		for _, after := range []int{1, 2, 3, 10, 100, 300} {
			for _, write := range []bool{false, true} {
				s := newScratch(t)
				s.short = short
				if s.reads = after; write {
					s.writes, s.reads = after, -1
				}
				table := fill(s)
				err := table.Err()
				switch {
				case err == nil:
					t.Errorf("no error after %d operations", after)
				case !short && !errors.Is(err, errDisk):
					t.Errorf("error %v", err)
				case short && write && !errors.Is(err, io.ErrShortWrite), short && !write && !errors.Is(err, io.ErrUnexpectedEOF):
					t.Errorf("error %v", err)
				}
				for i := range uint64(200) {
					if _, ok := table.Get(keyOf(i)); ok {
						t.Fatal("a table with an error answers")
					}
				}
				table.Put(keyOf(1), valueOf(1))
				if !errors.Is(table.Err(), err) {
					t.Errorf("%v becomes %v", err, table.Err())
				}
				table.Close()
				if s.left(t) != 0 {
					t.Errorf("%d files left", s.left(t))
				}
			}
		}
	}
}

// A file that cannot be opened or made as large as it must be.
func TestNoFile(t *testing.T) {
	for name, open := range map[string]func() (File, error){
		"open":     func() (File, error) { return nil, errDisk },
		"truncate": func() (File, error) { return brokenFile{}, nil },
	} {
		table := New(2, open)
		for i := range uint64(3) {
			if table.Err() != nil {
				t.Errorf("%s: an error before the limit", name)
			}
			table.Put(keyOf(i), valueOf(i))
		}
		if !errors.Is(table.Err(), errDisk) {
			t.Errorf("%s: %v", name, table.Err())
		}
		if err := table.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type brokenFile struct{ File }

func (brokenFile) Truncate(int64) error { return errDisk }
func (brokenFile) Close() error         { return nil }

// What is in memory does not grow with the records.
func TestBounded(t *testing.T) {
	const limit = 1 << 16
	table := New(limit, newScratch(t).open)
	defer table.Close()
	before := heap()
	n := uint64(0)
	for ; n < 800_000; n++ {
		table.Put(keyOf(n), valueOf(n))
	}
	// 8 MiB of front, 4 MiB of pages, 4 MiB of filter; the file has 128 MiB.
	if grown := heap() - before; grown > 20<<20 {
		t.Errorf("%d MiB in memory", grown>>20)
	}
	if table.Err() != nil {
		t.Error(table.Err())
	}
	wrong := 0
	for i := range uint64(100_000) {
		if table.filter.mayHave(keyOf(i + 1<<40)) {
			wrong++
		}
	}
	if wrong > 300 {
		t.Errorf("the filter lets %d of 100,000 pass", wrong)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
