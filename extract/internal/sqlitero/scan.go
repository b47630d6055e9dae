package sqlitero

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// Gap is a range of rowids, both ends in it, of which no row could be read.
// Not every one of them need have been a row.
type Gap struct {
	From, To int64
	Err      error // the first
}

// Reader reads rows of one table by rowid, around its damage.
type Reader struct {
	db     *DB
	t      *Table
	span   *Stmt // rows of a range of rowids
	leaves []leaf
	walked bool
	told   *Told
	pass   int  // how often rows were gone over
	twice  *Gap // rowids that came again
}

// Row receives a row: its rowid and the selected values, which are only valid
// during the call. An error ends the reading and is returned.
type Row func(id int64, v []Value) error

// Reader prepares to read expressions over the columns of t.
func (db *DB) Reader(t *Table, exprs []string) (*Reader, error) {
	list := append([]string{t.RowID}, exprs...)
	// NOT INDEXED: an index that is damaged or incomplete hides rows.
	span, err := db.Prepare("SELECT " + strings.Join(list, ", ") + " FROM main." + Quote(t.Name) + " NOT INDEXED WHERE " +
		t.RowID + " BETWEEN ?1 AND ?2 ORDER BY " + t.RowID)
	if err != nil {
		return nil, err
	}
	return &Reader{db: db, t: t, span: span}, nil
}

// Close frees the statement.
func (r *Reader) Close() { r.span.Close() }

// ErrAgain is the error of a Gap whose rowids came more than once: each is read
// the first time.
var ErrAgain = errors.New("a page is there twice, or a row has the rowid of another")

// again notes a rowid that was read before. A row with the rowid of another
// cannot be told from the other read twice.
func (r *Reader) again(id int64) {
	if r.twice == nil {
		r.twice = &Gap{id, id, ErrAgain}
	}
	r.twice.From, r.twice.To = min(r.twice.From, id), max(r.twice.To, id)
}

// Again returns the span of rowids that came again in Scan, nil when none did.
func (r *Reader) Again() *Gap { return r.twice }

// rows calls row for the rows in [from, to] that scan has not passed on, until
// the first error, and returns the rowid behind the last, but not below from.
// damage is SQLite's error.
func (r *Reader) rows(ctx context.Context, from, to int64, row Row) (next int64, done bool, damage, err error) {
	r.pass++
	return r.each(ctx, from, to, func(id int64, v []Value) error {
		// Behind a row whose rowid is too high, or a page that is there twice,
		// rows come for the first time whose rowids are lower.
		if r.told.has(id) {
			if !r.told.passed(id, r.pass) {
				r.again(id)
			}
			return nil
		}
		r.told.add(id, r.pass)
		return row(id, v)
	})
}

// each is rows with those that were passed on, too.
func (r *Reader) each(ctx context.Context, from, to int64, row Row) (next int64, done bool, damage, err error) {
	// Nothing here computes long between two rows, and ctx is looked at
	// between rows: a statement without ctx needs no goroutine.
	rows, err := r.span.Query(context.WithoutCancel(ctx), from, to)
	if err != nil {
		return from, false, err, ctx.Err()
	}
	defer rows.Close()
	next = from
	for n := 0; rows.Next(); n++ {
		if n&63 == 0 {
			if err := ctx.Err(); err != nil {
				return next, false, nil, err
			}
		}
		v := rows.Values()
		id := v[0].Int
		if err := row(id, v[1:]); err != nil {
			return next, false, nil, err
		}
		if id == math.MaxInt64 {
			return id, true, nil, nil
		}
		if id >= from {
			next = id + 1
		}
	}
	return next, rows.Err() == nil, rows.Err(), ctx.Err()
}

// Scan calls row for every row of the table that can be read, in order of
// rowid where the table has them so, and gap for every range that cannot. Each
// error costs one leaf page and at most two queries per cell of it; since the
// rowid it goes on from rises each time, it ends.
//
// Rows that told has are left out, and the others are added to it.
func (r *Reader) Scan(ctx context.Context, told *Told, row Row, gap func(Gap) error) error {
	r.told = told
	next := int64(math.MinInt64)
	var open *Gap
	flush := func() error {
		if open == nil {
			return nil
		}
		g := *open
		open = nil
		return gap(g)
	}
	damaged := false
	var lost []run // the gaps, which ascend
	add := func(g Gap) error {
		lost = append(lost, run{g.From, g.To})
		if open != nil && open.To != math.MaxInt64 && open.To+1 == g.From {
			open.To = g.To
			return nil
		}
		if err := flush(); err != nil {
			return err
		}
		open = &g
		return nil
	}
	for {
		n, done, damage, err := r.rows(ctx, next, math.MaxInt64, row)
		if err != nil {
			return err
		}
		if done {
			break
		}
		if next = n; !Damage(damage) {
			// Nothing that another page could do better.
			if err := add(Gap{next, math.MaxInt64, damage}); err != nil {
				return err
			}
			return flush()
		}
		damaged = true
		l := r.leaf(next)
		if err := r.salvage(ctx, max(next, l.from), l, damage, row, add); err != nil {
			return err
		}
		if l.to == math.MaxInt64 {
			break
		}
		next = l.to + 1
	}
	if damaged || len(r.told.ahead) > 0 {
		if err := r.skipped(ctx, row, add, lost); err != nil {
			return err
		}
	}
	return flush()
}

// skipped looks for rows outside of lost that the scan has stepped over: a row
// or page with rowids too high before damage makes it go on too far behind.
func (r *Reader) skipped(ctx context.Context, row Row, gap func(Gap) error, lost []run) error {
	if r.told.full() {
		return gap(Gap{math.MinInt64, r.told.high, errDisorder})
	}
	r.leaf(0)
	for _, l := range r.leaves {
		ids, whole := r.cells(l.page)
		for _, id := range ids {
			if r.told.has(id) || meets(lost, id, id) {
				continue
			}
			_, _, cause, err := r.rows(ctx, id, id, row)
			if err != nil {
				return err
			}
			if !r.told.has(id) {
				if err := gap(Gap{id, id, cmp.Or(cause, errGone)}); err != nil {
					return err
				}
			}
		}
		if !whole && !r.told.any(l.from, l.to) && !meets(lost, l.from, l.from) && !meets(lost, l.to, l.to) {
			if err := gap(Gap{l.from, l.to, errGone}); err != nil {
				return err
			}
		}
	}
	return nil
}

var errDisorder = errors.New("too many rows are out of order to tell which were read")

// salvage reads what is left of a leaf from rowid next on.
func (r *Reader) salvage(ctx context.Context, next int64, l leaf, damage error, row Row, gap func(Gap) error) error {
	n, done, _, err := r.rows(ctx, next, l.to, row)
	if err != nil || done || n > l.to { // at the end of a range SQLite looks at the next row
		return err
	}
	next = n
	ids, whole := r.cells(l.page)
	for _, id := range ids {
		if id < next || id > l.to {
			continue
		}
		n, done, cause, err := r.rows(ctx, id, id, row)
		if err != nil {
			return err
		}
		switch {
		case !done && n <= id:
			err = gap(Gap{id, id, cause})
		case !whole && next < id:
			err = gap(Gap{next, id - 1, damage})
		}
		if err != nil {
			return err
		}
		if id == l.to {
			return nil
		}
		next = id + 1
	}
	if !whole {
		return gap(Gap{next, l.to, damage})
	}
	return nil
}

var errGone = errors.New("the row is not where its neighbours say")

// Fetch calls row for the rows of the given rowids, which rise, and bad for
// each of them that cannot be read. It takes one query more for each that
// cannot. Rows between them are stepped over: ids should be next to each other
// in the table, or few.
func (r *Reader) Fetch(ctx context.Context, ids []int64, row Row, bad func(id int64, err error) error) error {
	i := 0
	take := func(id int64, v []Value) error {
		for ; i < len(ids) && ids[i] < id; i++ {
			if err := bad(ids[i], errGone); err != nil {
				return err
			}
		}
		if i == len(ids) || ids[i] != id {
			return nil
		}
		i++
		return row(id, v)
	}
	for i < len(ids) {
		_, _, damage, err := r.each(ctx, ids[i], ids[len(ids)-1], take)
		if err != nil {
			return err
		}
		if i == len(ids) {
			return nil
		}
		// The next row may be fine and the damage before it.
		at := i
		_, _, cause, err := r.each(ctx, ids[i], ids[i], take)
		if err != nil {
			return err
		}
		if i > at {
			continue
		}
		for _, e := range []error{damage, errGone} {
			if cause == nil {
				cause = e
			}
		}
		if err := bad(ids[i], cause); err != nil {
			return err
		}
		i++
	}
	return nil
}

// leaf is a leaf page of a table's b-tree, and the rowids that its parents
// send there. Page 0 stands for a part of the tree that cannot be followed.
type leaf struct {
	page     uint32
	from, to int64
}

// maxDepth is SQLite's own limit to the depth of a b-tree.
const maxDepth = 20

// leaf returns the leaf that a rowid belongs on. The leaves cover all rowids.
func (r *Reader) leaf(id int64) leaf {
	if !r.walked {
		r.walked = true
		w := walk{db: r.db, seen: map[uint32]bool{}}
		w.page(r.t.Root, math.MinInt64, math.MaxInt64, 0)
		r.leaves = w.leaves
	}
	i := sort.Search(len(r.leaves), func(i int) bool { return r.leaves[i].to >= id })
	return r.leaves[i]
}

type walk struct {
	db     *DB
	seen   map[uint32]bool
	leaves []leaf
}

func (w *walk) page(no uint32, from, to int64, depth int) {
	if from > to {
		return // keys out of order
	}
	p := w.db.page(no)
	if w.seen[no] || depth > maxDepth || p == nil {
		w.leaves = append(w.leaves, leaf{0, from, to})
		return
	}
	w.seen[no] = true
	if p.kind != interiorTable {
		w.leaves = append(w.leaves, leaf{no, from, to})
		return
	}
	for i := range p.cells {
		cell := p.cell(i)
		if len(cell) < 5 {
			continue
		}
		key, n := varint(cell[4:])
		if n == 0 || key < from || key > to {
			continue
		}
		w.page(binary.BigEndian.Uint32(cell), from, key, depth+1)
		if key == math.MaxInt64 {
			return
		}
		from = key + 1
	}
	w.page(p.right, from, to, depth+1)
}

// Kinds of b-tree page.
const (
	interiorTable = 0x05
	leafTable     = 0x0d
)

// btree is a page of a table's b-tree.
type btree struct {
	data  []byte
	kind  byte
	cells int
	index int // offset of the cell pointers
	right uint32
}

// page reads a page of a table's b-tree, with what the log has of it, nil when
// it is none.
func (db *DB) page(no uint32) *btree {
	rows, err := db.Query(context.Background(), "SELECT data FROM sqlite_dbpage WHERE pgno = ?1", int64(no))
	if err != nil {
		return nil
	}
	defer rows.Close()
	if !rows.Next() {
		return nil
	}
	p := &btree{}
	p.data = rows.Values()[0].Bytes
	start := 0
	if no == 1 {
		start = 100
	}
	if len(p.data) < start+12 {
		return nil
	}
	h := p.data[start:]
	p.kind, p.cells, p.index = h[0], int(binary.BigEndian.Uint16(h[3:])), start+8
	switch p.kind {
	case interiorTable:
		p.right = binary.BigEndian.Uint32(h[8:])
		p.index = start + 12
	case leafTable:
	default:
		return nil
	}
	if p.index+2*p.cells > len(p.data) {
		return nil
	}
	return p
}

// cell returns the page from the start of a cell on, nil when that is outside.
func (p *btree) cell(i int) []byte {
	at := int(binary.BigEndian.Uint16(p.data[p.index+2*i:]))
	if at >= len(p.data) {
		return nil
	}
	return p.data[at:]
}

// cells returns the rowids of a leaf page in rising order; whole is false when
// there may be more that cannot be made out.
func (r *Reader) cells(no uint32) (ids []int64, whole bool) {
	if no == 0 {
		return nil, false
	}
	p := r.db.page(no)
	if p == nil || p.kind != leafTable {
		return nil, false
	}
	for i := range p.cells {
		cell := p.cell(i)
		_, n := varint(cell)
		if n == 0 {
			continue
		}
		if id, m := varint(cell[n:]); m > 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return ids, len(ids) == p.cells && p.cells > 0
}

// varint reads one of SQLite's: big-endian groups of 7 bits, the ninth byte
// whole. n is 0 when b ends before it does.
func varint(b []byte) (v int64, n int) {
	var u uint64
	for n < len(b) && n < 8 {
		u = u<<7 | uint64(b[n]&0x7f)
		n++
		if b[n-1] < 0x80 {
			return int64(u), n
		}
	}
	if n < 8 || n == len(b) {
		return 0, 0
	}
	return int64(u<<8 | uint64(b[8])), 9
}
