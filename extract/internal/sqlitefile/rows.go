package sqlitefile

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"sort"

	"gander/extract/internal/sqlitero"
)

// Rows reads rows of a table in order of rowid, as long as every page and
// record on the way is as SQLite writes it: keys rise and are where the pages
// above send them, cells and records are inside what holds them, and chains of
// overflow pages are as long as their record. It stops before the first leaf
// or record that is not, and so never yields what SQLite might not; what is
// there to be read still, sqlitero.Reader finds. It holds a page for each
// level of the tree and a record.
type Rows struct {
	s       *State
	t       *Table
	columns []int // positions in t of the selected columns, -1 for NULL
	most    int   // values of a record that are looked at

	path      []level
	leaf      []byte
	low, high int64  // keys that belong on the leaf; none where it is not sound
	cells     []cell // of the leaf
	next      int    // cell that is next to be read

	record      []byte
	all, values []Value
}

// level is a page on the way from the root, and the keys that belong below it.
type level struct {
	page      []byte
	head      btree
	child     int // the one that is being read; head.cells stands for the last
	low, high int64
}

// Rows returns a reader of columns of a table that SQLite describes as t, by
// their names; "" reads as NULL. It is nil when the state has no such table or
// describes it otherwise.
func (s *State) Rows(t *sqlitero.Table, columns []string) *Rows {
	own := s.Table(t.Name)
	if own == nil || own.Root != t.Root || s.format.encoding != encUTF8 {
		return nil
	}
	at := 0
	for i := range t.Columns {
		c := &t.Columns[i]
		if !c.Stored() {
			continue
		}
		if at == len(own.Columns) || own.Columns[at].Name != c.Name || own.Columns[at].Alias != c.Alias {
			return nil
		}
		at++
	}
	if at != len(own.Columns) {
		return nil
	}
	r := &Rows{s: s, t: own, columns: make([]int, len(columns)), values: make([]Value, len(columns))}
	r.leave()
	for i, name := range columns {
		r.columns[i] = -1
		if name != "" {
			r.columns[i] = own.Index(name)
			r.most = max(r.most, r.columns[i]+1)
		}
	}
	return r
}

// Scan calls row for every row in order, as long as all is sound; done tells
// that it was. The error is row's or ctx's.
func (r *Rows) Scan(ctx context.Context, row sqlitero.Row) (done bool, err error) {
	for ok := r.seek(math.MinInt64); ; ok = r.forward() {
		if !ok || len(r.cells) == 0 {
			return ok, nil
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		for r.next = 0; r.next < len(r.cells); r.next++ {
			c := &r.cells[r.next]
			v, ok := r.read(c)
			if !ok {
				return false, nil
			}
			if err := row(c.rowID, v); err != nil {
				return false, err
			}
			if c.rowID == math.MaxInt64 {
				return true, nil
			}
		}
	}
}

// Fetch calls row for the rows of the given rowids, which rise, up to the
// first that is not there or not sound, and returns how many there were. The
// error is row's or ctx's. It is fast where ids are next to each other.
func (r *Rows) Fetch(ctx context.Context, ids []int64, row sqlitero.Row) (n int, err error) {
	for n < len(ids) {
		if n&63 == 0 {
			if err := ctx.Err(); err != nil {
				return n, err
			}
		}
		if !r.find(ids[n]) {
			return n, nil
		}
		v, ok := r.read(&r.cells[r.next])
		if !ok {
			return n, nil
		}
		if err := row(ids[n], v); err != nil {
			return n, err
		}
		n++
		r.next++
	}
	return n, nil
}

// find makes next the cell of a rowid.
func (r *Rows) find(id int64) bool {
	if id < r.low || id > r.high {
		// Most often it is on the leaf behind.
		near := len(r.cells) > 0 && id > r.high && r.forward() && id >= r.low && id <= r.high
		if !near && !r.seek(id) {
			return false
		}
	}
	if r.next < len(r.cells) && r.cells[r.next].rowID == id {
		return true
	}
	var found bool
	r.next, found = slices.BinarySearchFunc(r.cells, id, func(c cell, id int64) int { return cmp.Compare(c.rowID, id) })
	return found
}

// read returns the selected values of a cell's row; they are valid until the
// next call.
func (r *Rows) read(c *cell) (_ []Value, ok bool) {
	s := r.s
	record := c.local
	if c.size > len(c.local) {
		need := prefix(c.local, c.size, r.most)
		if need == 0 {
			return nil, false
		}
		if record, r.record, ok = s.f.payload(r.record, c, need, s.format.usable, s.view, nil); !ok {
			return nil, false
		}
	}
	r.all, ok = decodePart(r.all[:0], record, c.size, s.format.encoding, r.most)
	if !ok {
		return nil, false
	}
	for i, at := range r.columns {
		r.values[i] = Value{}
		if at < 0 {
			continue
		}
		column := &r.t.Columns[at]
		switch {
		case column.Alias:
			r.values[i] = Value{Kind: Int, Int: c.rowID}
		case at >= len(r.all) && column.Computed:
			return nil, false
		case at >= len(r.all):
			r.values[i] = column.Default
		default:
			r.values[i] = column.stored(r.all[at])
		}
	}
	return r.values, true
}

// seek goes to the leaf where a rowid belongs.
func (r *Rows) seek(id int64) bool {
	r.path = r.path[:0]
	low, high, no := int64(math.MinInt64), int64(math.MaxInt64), r.t.Root
	for range maxDepth {
		switch r.load(no, low, high) {
		case tableLeaf:
			return true
		case tableInterior:
		default:
			return false
		}
		l := &r.path[len(r.path)-1]
		l.child = sort.Search(l.head.cells, func(i int) bool { return r.key(l, i) >= id })
		no, low, high = r.child(l)
	}
	return false
}

// forward goes to the leaf behind; at the end of the table it leaves no cells.
func (r *Rows) forward() bool {
	for len(r.path) > 0 {
		l := &r.path[len(r.path)-1]
		if l.child >= l.head.cells {
			r.path = r.path[:len(r.path)-1]
			continue
		}
		l.child++
		for {
			no, low, high := r.child(&r.path[len(r.path)-1])
			switch r.load(no, low, high) {
			case tableLeaf:
				return true
			case tableInterior:
				r.path[len(r.path)-1].child = 0
			default:
				return false
			}
		}
	}
	r.leave()
	return true
}

// leave forgets the leaf.
func (r *Rows) leave() {
	r.cells, r.next = r.cells[:0], 0
	r.low, r.high = math.MaxInt64, math.MinInt64
}

// child returns the page that is being read below a level, and its keys.
func (r *Rows) child(l *level) (no uint32, low, high int64) {
	low, high = l.low, l.high
	if l.child > 0 {
		low = r.key(l, l.child-1) + 1 // below MaxInt64, as keys rise
	}
	if l.child == l.head.cells {
		return l.head.right, low, high
	}
	return binary.BigEndian.Uint32(l.page[l.head.pointer(l.page, l.child, r.s.format.usable):]), low, r.key(l, l.child)
}

// key returns the key of a cell of an interior page that load found sound.
func (r *Rows) key(l *level, i int) int64 {
	v, _ := varint(l.page[l.head.pointer(l.page, i, r.s.format.usable)+4:])
	return int64(v)
}

// load reads a page whose keys lie in [low, high]: an interior one on top of
// path, a leaf into leaf and cells. The kind is 0 when it is not sound.
func (r *Rows) load(no uint32, low, high int64) (kind byte) {
	r.leave()
	usable := r.s.format.usable
	view := r.s.f.page(r.s.view.locate(no))
	head, ok := parseBtree(view, no, usable)
	if !ok || low > high || no == 1 {
		return 0
	}
	switch head.kind {
	case tableLeaf:
		if head.cells == 0 && len(r.path) > 0 {
			return 0
		}
		r.leaf = append(r.leaf[:0], view...)
		least, most := low, high
		for i := range head.cells {
			c, ok := parseCell(r.leaf, head.pointer(r.leaf, i, usable), usable, usable)
			if !ok || c.rowID < least || c.rowID > most {
				r.leave()
				return 0
			}
			r.cells = append(r.cells, c)
			if least = c.rowID; least < math.MaxInt64 {
				least++
			} else {
				most = math.MinInt64 // nothing may follow
			}
		}
		r.low, r.high = low, high
	case tableInterior:
		n := len(r.path)
		if n == maxDepth {
			return 0
		}
		if n < cap(r.path) {
			r.path = r.path[:n+1]
		} else {
			r.path = append(r.path, level{})
		}
		l := &r.path[n]
		*l = level{page: append(l.page[:0], view...), head: head, low: low, high: high}
		for i := range head.cells {
			at := head.pointer(l.page, i, usable)
			if at == 0 || at > usable-5 {
				return 0
			}
			key, width := varint(l.page[at+4 : usable])
			if width == 0 || int64(key) < low || int64(key) >= high {
				return 0
			}
			low = int64(key) + 1
		}
	default:
		return 0
	}
	return head.kind
}
