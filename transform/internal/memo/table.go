package memo

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"

	"github.com/zeebo/xxh3"
)

// Key names a record. Keys are hashes: pages fill evenly only if all their bits
// are as good as random.
type Key = xxh3.Uint128

// Value is what is remembered under a key.
type Value [valueSize]byte

const (
	keySize      = 16
	valueSize    = 48
	slotSize     = keySize + valueSize
	slotsPerPage = 64
	pageSize     = slotsPerPage * slotSize
)

// Table remembers a value under each key. It is for one goroutine.
type Table struct {
	limit  int
	cached uint64 // pages of the file in memory
	open   func() (File, error)
	a, b   uint64 // see stored
	front  level  // in memory
	back   level  // in the file; where both have a key, front is right
	filter filter // of the keys in the file
	err    error
}

// New returns an empty Table that holds up to limit records in memory. For more
// than that open is called for a file, and again for a larger one each time
// that the file is full; the Table closes them. Without open everything stays
// in memory.
func New(limit int, open func() (File, error)) *Table {
	if open == nil {
		limit = math.MaxInt
	}
	return &Table{limit: limit, cached: cachedPages, open: open, a: rand.Uint64() | 1, b: rand.Uint64()}
}

// Err returns the first error of the file. Since then every key was unknown and
// nothing was remembered.
func (t *Table) Err() error { return t.err }

// Close closes the file, if there is one. The Table is empty then.
func (t *Table) Close() error {
	back := t.back
	t.front, t.back, t.filter = level{}, level{}, filter{}
	return back.close()
}

// Get returns the value under a key.
func (t *Table) Get(k Key) (Value, bool) {
	k = t.stored(k)
	if t.err != nil {
		return Value{}, false
	}
	v, ok, err := t.front.get(k)
	if !ok && t.filter.mayHave(k) {
		v, ok, err = t.back.get(k)
	}
	t.err = err
	return v, ok
}

// Put remembers a value under a key, in place of what was there.
func (t *Table) Put(k Key, v Value) {
	if t.err == nil {
		t.err = t.put(t.stored(k), v)
	}
}

func (t *Table) put(k Key, v Value) error {
	if t.front.records < min(t.front.room(), t.limit) {
		return t.front.put(k, v)
	}
	if _, ok, err := t.front.get(k); err != nil {
		return err
	} else if ok {
		return t.front.put(k, v)
	}
	if t.front.records >= t.limit {
		if err := t.spill(); err != nil {
			return err
		}
	}
	if t.limit == 0 {
		if err := t.back.reserve(1, t.inFile); err != nil {
			return err
		}
		return t.toFile(k, v)
	}
	if err := t.front.reserve(1, t.inMemory); err != nil {
		return err
	}
	return t.front.put(k, v)
}

// spill moves what is in memory to the file, which is written from its
// beginning to its end: both have their pages in the order of the keys.
func (t *Table) spill() error {
	if err := t.back.reserve(t.front.records, t.inFile); err != nil {
		return err
	}
	if err := t.front.each(t.toFile); err != nil {
		return err
	}
	return t.front.empty()
}

func (t *Table) toFile(k Key, v Value) error {
	t.filter.add(k)
	return t.back.put(k, v)
}

// inMemory makes pages for the front.
func (t *Table) inMemory(count uint64) (pages, error) { return make(memoryPages, count), nil }

// inFile makes pages for the back, and a filter as large for its keys.
func (t *Table) inFile(count uint64) (pages, error) {
	file, err := t.open()
	if err != nil {
		return nil, err
	}
	if err := file.Truncate(int64(count) * pageSize); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	t.filter = newFilter(count * slotsPerPage)
	if err := t.back.each(func(k Key, _ Value) error { t.filter.add(k); return nil }); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return newFilePages(file, min(count, t.cached)), nil
}

// stored is the key as it stands in a slot. The top bits, which name a page,
// are mixed with numbers that nobody can know: texts that are made so that
// their hashes begin alike would else fill page after page. A slot of zeros is
// empty.
func (t *Table) stored(k Key) Key {
	k.Hi = k.Hi*t.a + k.Lo*t.b
	if k == (Key{}) {
		k.Lo = 1
	}
	return k
}

// slot is a key, zero when there is none, and its value.
type slot [slotSize]byte

func (s *slot) key() Key {
	return Key{Hi: binary.LittleEndian.Uint64(s[0:]), Lo: binary.LittleEndian.Uint64(s[8:])}
}

func (s *slot) value() Value { return Value(s[keySize:]) }

func (s *slot) set(k Key, v Value) {
	binary.LittleEndian.PutUint64(s[0:], k.Hi)
	binary.LittleEndian.PutUint64(s[8:], k.Lo)
	copy(s[keySize:], v[:])
}
