package sqlitefile

import (
	"cmp"
	"context"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"
)

// Version is a row version that the current state does not hold.
type Version struct {
	Table    string // as it was asked for
	Evidence Evidence
	RowID    int64
	HasRowID bool
	// First and Last are the transactions in which the version was live, 0 for
	// the main file before the first; of WALCommitted only.
	First, Last int
	Page        uint32 // and offset of the cell in it
	Offset      int
	Columns     []Column // of the schema of that time
	Values      []Value  // of Columns; valid until the next version
}

// Evidence says where a version was found, the strongest first.
type Evidence uint8

// The levels of evidence.
const (
	WALCommitted Evidence = iota // live in a committed state before the current one
	WALStale                     // in a frame of an older generation of the log
	FreePage                     // in a free page of the main file
	FreeSpace                    // in the unused space of a page of the main file
)

// String returns the name that the column evidence has.
func (e Evidence) String() string {
	return [...]string{"wal_committed", "wal_stale", "free_page", "free_space"}[e]
}

// sum identifies the values of a row: columns by name, NULL like a column that
// is not there. Columns may come in any order.
type sum struct{ hi, lo uint64 }

func (s *sum) add(h xxh3.Uint128) {
	lo := s.lo + h.Lo
	s.hi += h.Hi
	if lo < s.lo {
		s.hi++
	}
	s.lo = lo
}

// summer computes sums.
type summer struct{ buf []byte }

func (m *summer) sum(columns []Column, values []Value, skip func(*Column) bool) (s sum) {
	for i := range columns {
		c, v := &columns[i], &values[i]
		if v.Kind == Null || skip != nil && skip(c) {
			continue
		}
		m.buf = append(m.buf[:0], strings.ToLower(c.Name)...)
		m.buf = append(m.buf, 0, byte(v.Kind))
		switch v.Kind {
		case Int:
			m.buf = binary.BigEndian.AppendUint64(m.buf, uint64(v.Int))
		case Real:
			m.buf = binary.BigEndian.AppendUint64(m.buf, math.Float64bits(v.Real))
		default:
			m.buf = append(m.buf, v.Bytes...)
			if cap(m.buf) > 1<<20 {
				s.add(xxh3.Hash128(m.buf))
				m.buf = nil
				continue
			}
		}
		s.add(xxh3.Hash128(m.buf))
	}
	return s
}

// versionKey names a version. The rowid is part of it only where it is a
// column: elsewhere VACUUM may give a row another one.
type versionKey struct {
	table int
	rowID int64
	sum   sum
}

// found is where a version can be read.
type found struct {
	first, last uint32
	rowID       int64
	page        uint32
	at          uint32
}

// history follows tables through the states of a file.
type history struct {
	f        *File
	names    []string
	tracked  []*tracked
	versions map[versionKey]found
	sums     summer

	state, before *State // at hand: of the commit that is looked at and the one before
	epochs        []epoch
	scratch       *State

	owner map[uint32]uint32 // overflow page that the log has -> first page of its chain
	leaf  map[uint32]uint32 // first page of such a chain -> leaf page with the cell
}

// epoch is a run of states with one schema, from a commit on.
type epoch struct {
	from   int
	format format
	tables []Table
}

// at returns a past state, with the schema it had.
func (h *history) at(no int) *State {
	i, found := slices.BinarySearchFunc(h.epochs, no, func(e epoch, no int) int { return cmp.Compare(e.from, no) })
	if !found {
		i--
	}
	e := &h.epochs[i]
	s := h.scratch
	s.view, s.no, s.format, s.tables = stateView{h.f, no}, no, e.format, e.tables
	return s
}

// tracked is a table as far as it has been followed.
type tracked struct {
	name  string
	nodes map[uint32]uint32 // pages of its tree, with how many point to them
	since map[int64]uint32  // rowid -> transaction that wrote the live version; 0 is left out
}

// newHistory prepares to follow the named tables.
func newHistory(f *File, names ...string) *history {
	h := &history{
		scratch: &State{f: f, page: make([]byte, f.pageSize)},
		f:       f, names: names, versions: map[versionKey]found{},
		owner: map[uint32]uint32{}, leaf: map[uint32]uint32{},
	}
	for _, name := range names {
		h.tracked = append(h.tracked, &tracked{name: name, nodes: map[uint32]uint32{}, since: map[int64]uint32{}})
	}
	return h
}

// run goes through all states.
func (h *history) run(ctx context.Context) error {
	if h.f.Commits() == 0 {
		return nil
	}
	h.before = h.f.State(0)
	if !h.before.known {
		h.before = h.firstKnown()
	}
	h.epochs = []epoch{{0, h.before.format, h.before.tables}}
	if err := h.start(ctx); err != nil {
		return err
	}
	for no := 1; no <= h.f.Commits(); no++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		h.commit(no)
	}
	return nil
}

// firstKnown gives state 0 the format and schema of the first state whose page
// 1 is known. They are what a checkpoint has written over in the main file,
// unless that very transaction changed the schema.
func (h *history) firstKnown() *State {
	s := h.f.State(0)
	if frames := h.f.framesOf(1); len(frames) > 0 {
		first := h.f.State(h.f.commitOf(inLog | place(frames[0])))
		s.format, s.tables, s.schema = first.format, first.tables, first.schema
	}
	return s
}

// start collects the trees of state 0, and the overflow pages in it that the
// log writes to.
func (h *history) start(ctx context.Context) error {
	for _, t := range h.tracked {
		table := h.before.Table(t.name)
		if table == nil {
			continue
		}
		t.nodes[table.Root]++
		err := h.before.walkPages(ctx, table.Root, func(no uint32, page []byte) bool {
			for _, child := range children(nil, page, no, h.before.format.usable) {
				t.nodes[child]++
			}
			leafCells(page, no, h.before.format.usable, func(c cell) {
				if c.overflow != 0 {
					h.chain(h.before, no, &c)
				}
			})
			return true
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// chain notes the pages of a cell's chain that the log has.
func (h *history) chain(s *State, no uint32, c *cell) {
	chunk := s.format.usable - 4
	next, left := c.overflow, (c.size-len(c.local)+chunk-1)/chunk
	mark, lap, power := uint32(0), 0, 1
	var b [4]byte
	for ; left > 0 && next != 0 && next != mark && h.f.spent < h.f.budget; left-- {
		if _, ok := h.f.byPage[next]; ok {
			h.owner[next] = c.overflow
			h.leaf[c.overflow] = no
		}
		if lap == power {
			mark, lap, power = next, 0, power*2
		}
		lap++
		h.f.spent++
		if left == 1 || !h.f.readPart(b[:], s.view.locate(next), 0) {
			return
		}
		next = binary.BigEndian.Uint32(b[:])
	}
}

// commit compares a state with the one before.
func (h *history) commit(no int) {
	from, to := h.f.commits[no-1].last+1, h.f.commits[no].last
	dirty := map[uint32]struct{}{}
	heads := map[uint32]struct{}{} // chains of which a page was written
	for _, page := range h.f.frames[from : to+1] {
		dirty[page] = struct{}{}
		if head, ok := h.owner[page]; ok {
			heads[head] = struct{}{}
		}
	}
	h.state = h.next(no, dirty)
	for i := range h.tracked {
		h.table(i, no, dirty, heads)
	}
	h.before = h.state
}

// next returns the state of a commit; the schema is read again only when it
// can have changed.
func (h *history) next(no int, dirty map[uint32]struct{}) *State {
	s := &State{f: h.f, view: stateView{h.f, no}, no: no, page: h.before.page, record: h.before.record, values: h.before.values}
	changed := false
	for page := range dirty {
		if page != 1 && h.before.schema.has(page) {
			changed = true
			break
		}
	}
	if _, ok := dirty[1]; ok && !changed {
		changed = true
		var was [fileHeader]byte
		if now := s.read(1); now != nil && h.f.readPart(was[:], h.before.view.locate(1), 0) {
			m, ok := parseFormat(now)
			old := make([]byte, len(now))
			if ok && m == h.before.format && h.f.read(old, h.before.view.locate(1)) {
				changed = string(old[fileHeader:]) != string(now[fileHeader:])
			}
		}
	}
	if !changed {
		s.format, s.tables, s.schema, s.known = h.before.format, h.before.tables, h.before.schema, h.before.known
		return s
	}
	s = h.f.State(no)
	if !s.known {
		s.format, s.tables, s.schema = h.before.format, h.before.tables, h.before.schema
		return s
	}
	h.epochs = append(h.epochs, epoch{no, s.format, s.tables})
	return s
}

// cellRef is a cell that a commit took away or brought.
type cellRef struct {
	rowID int64
	raw   uint64 // hash of its bytes in the page
	page  uint32
	at    uint16
	dirty bool // its chain was written to
	done  bool
}

// table compares a table in h.state with h.before.
func (h *history) table(i, no int, dirty, heads map[uint32]struct{}) {
	t := h.tracked[i]
	old, now := h.before.Table(t.name), h.state.Table(t.name)
	var oldRoot, newRoot uint32
	if old != nil {
		oldRoot = old.Root
	}
	if now != nil {
		newRoot = now.Root
	}
	gone, come := t.follow(h.before, h.state, oldRoot, newRoot, dirty)
	if len(heads) > 0 {
		// Leaves that stay as they are, but for the chain of a cell.
		var have pageSet
		for _, leaf := range slices.Concat(gone, come) {
			have.add(leaf)
		}
		for head := range heads {
			leaf, ok := h.leaf[head]
			if _, written := dirty[leaf]; ok && !written && t.nodes[leaf] > 0 && have.add(leaf) {
				gone, come = append(gone, leaf), append(come, leaf)
			}
		}
	}
	if len(gone) == 0 && len(come) == 0 {
		return
	}
	removed := h.cells(h.before, gone, heads)
	added := h.cells(h.state, come, heads)
	cancel(removed, added, old == nil || now == nil || old.sameColumns(now))
	h.close(i, old, no-1, removed)
	h.open(i, now, added, dirty)
}

// follow brings the tree of a table up to date. It returns the leaf pages
// whose cells the state before had and those whose cells this one has; what is
// in neither did not change. Work is in proportion to the pages that changed.
func (t *tracked) follow(before, state *State, oldRoot, newRoot uint32, dirty map[uint32]struct{}) (gone, come []uint32) {
	if oldRoot == newRoot {
		touched := false
		for page := range dirty {
			if _, touched = t.nodes[page]; touched {
				break
			}
		}
		if !touched && newRoot != 0 {
			if _, ok := t.nodes[newRoot]; ok {
				return nil, nil
			}
		}
		if !touched && newRoot == 0 {
			return nil, nil
		}
	}
	var below []uint32
	kids := func(s *State, no uint32) (leaf bool) {
		below = below[:0]
		page := s.read(no)
		if page == nil {
			return false
		}
		h, ok := parseBtree(page, no, s.format.usable)
		if !ok || h.kind == tableLeaf {
			return ok
		}
		below = children(below, page, no, s.format.usable)
		return false
	}
	loose := map[uint32]struct{}{} // lost a pointer
	drop := func(no uint32) {
		if n, ok := t.nodes[no]; ok && n > 0 {
			t.nodes[no] = n - 1
			loose[no] = struct{}{}
		}
	}
	// What the pages that changed pointed to, they may point to no longer.
	touched := map[uint32]struct{}{}
	for page := range dirty {
		if _, ok := t.nodes[page]; ok {
			touched[page] = struct{}{}
		}
	}
	for page := range touched {
		if kids(before, page) {
			gone = append(gone, page)
		}
		for _, child := range below {
			drop(child)
		}
	}
	var queue []uint32
	seen := map[uint32]bool{} // read in this state: true when they are new in the tree
	point := func(no uint32) {
		n, in := t.nodes[no]
		t.nodes[no] = n + 1
		_, changed := touched[no]
		if _, again := seen[no]; !again && (!in || changed) {
			seen[no] = !in
			queue = append(queue, no)
		}
	}
	if oldRoot != newRoot {
		drop(oldRoot)
		if newRoot != 0 {
			point(newRoot)
		}
	} else if _, in := t.nodes[newRoot]; !in && newRoot != 0 {
		point(newRoot)
	}
	for page := range touched {
		if _, again := seen[page]; !again && t.nodes[page] > 0 {
			seen[page] = false
			queue = append(queue, page)
		}
	}
	for len(queue) > 0 {
		no := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if kids(state, no) {
			come = append(come, no)
		}
		for _, child := range below {
			if child != 0 && child <= state.f.commits[state.no].pages {
				point(child)
			}
		}
	}
	// What nothing points to any more has left the tree, with all below it. It
	// may have been read in this state, when what pointed to it had not left.
	for no := range loose {
		queue = append(queue, no)
	}
	for no := range touched {
		queue = append(queue, no)
	}
	for len(queue) > 0 {
		no := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if n, in := t.nodes[no]; !in || n > 0 {
			continue
		}
		delete(t.nodes, no)
		below = below[:0]
		_, changed := touched[no]
		if _, read := seen[no]; read {
			kids(state, no)
		} else if !changed && kids(before, no) {
			gone = append(gone, no)
		}
		for _, child := range below {
			drop(child)
			queue = append(queue, child)
		}
	}
	come = slices.DeleteFunc(come, func(no uint32) bool { return t.nodes[no] == 0 })
	return gone, come
}

// cells returns the cells of leaf pages, by rowid.
func (h *history) cells(s *State, leaves []uint32, heads map[uint32]struct{}) []cellRef {
	var refs []cellRef
	for _, no := range leaves {
		page := s.read(no)
		if page == nil {
			continue
		}
		leafCells(page, no, s.format.usable, func(c cell) {
			ref := cellRef{rowID: c.rowID, raw: xxh3.Hash(page[c.at:c.end]), page: no, at: uint16(c.at)}
			if c.overflow != 0 {
				_, ref.dirty = heads[c.overflow]
				if _, ok := h.leaf[c.overflow]; ok && s == h.state {
					h.leaf[c.overflow] = no
				}
			}
			refs = append(refs, ref)
		})
	}
	slices.SortFunc(refs, func(a, b cellRef) int {
		return cmp.Or(cmp.Compare(a.rowID, b.rowID), cmp.Compare(a.raw, b.raw), cmp.Compare(a.page, b.page), cmp.Compare(a.at, b.at))
	})
	return refs
}

// cancel marks the cells that are on both sides byte for byte, chains
// included, as done.
func cancel(removed, added []cellRef, sameSchema bool) {
	if !sameSchema {
		return
	}
	for i, j := 0, 0; i < len(removed) && j < len(added); {
		a, b := &removed[i], &added[j]
		switch c := cmp.Or(cmp.Compare(a.rowID, b.rowID), cmp.Compare(a.raw, b.raw)); {
		case c < 0:
			i++
		case c > 0:
			j++
		default:
			if !a.dirty && !b.dirty {
				a.done, b.done = true, true
			}
			i++
			j++
		}
	}
}

// key reads the row of a cell and names its version.
func (h *history) key(i int, s *State, t *Table, ref *cellRef) (key versionKey, ok bool) {
	var row Row
	if t == nil || !s.cellRow(&row, t, ref.page, int(ref.at)) {
		return key, false
	}
	return h.keyOf(i, t, &row), true
}

func (h *history) keyOf(i int, t *Table, row *Row) versionKey {
	key := versionKey{table: i, sum: h.sums.sum(t.Columns, row.Values, nil)}
	if t.alias() >= 0 {
		key.rowID = row.RowID
	}
	return key
}

// cellRow reads the row of the cell at a place.
func (s *State) cellRow(row *Row, t *Table, no uint32, at int) bool {
	page := s.read(no)
	if page == nil {
		return false
	}
	c, ok := parseCell(page, at, s.format.usable, s.format.usable)
	return ok && s.row(row, t, no, &c, nil)
}

// close enters the versions that ended with a commit.
func (h *history) close(i int, t *Table, last int, removed []cellRef) {
	tr := h.tracked[i]
	for k := range removed {
		ref := &removed[k]
		if ref.done {
			continue
		}
		key, ok := h.key(i, h.before, t, ref)
		if !ok {
			continue
		}
		f := found{first: tr.since[ref.rowID], last: uint32(last), rowID: ref.rowID, page: ref.page, at: uint32(ref.at)}
		if had, ok := h.versions[key]; ok {
			f.first = min(f.first, had.first)
		}
		h.versions[key] = f
		delete(tr.since, ref.rowID)
	}
}

// open takes back the versions that go on, or are there again, after a commit.
func (h *history) open(i int, t *Table, added []cellRef, dirty map[uint32]struct{}) {
	tr := h.tracked[i]
	for k := range added {
		ref := &added[k]
		if ref.done {
			continue
		}
		key, ok := h.key(i, h.state, t, ref)
		if !ok {
			continue
		}
		since := uint32(h.state.no)
		if _, written := dirty[ref.page]; !written && !ref.dirty {
			// A page that was there and could not be reached before.
			since = uint32(h.f.commitOf(h.state.view.locate(ref.page)))
		}
		if had, ok := h.versions[key]; ok {
			since = had.first
			delete(h.versions, key)
		}
		if since > 0 {
			tr.since[ref.rowID] = since
		} else {
			delete(tr.since, ref.rowID)
		}
		if page := h.state.read(ref.page); page != nil {
			if c, ok := parseCell(page, int(ref.at), h.state.format.usable, h.state.format.usable); ok && c.overflow != 0 {
				h.chain(h.state, ref.page, &c)
			}
		}
	}
}

// sorted returns the versions in order of table, rowid and time.
func (h *history) sorted() []versionKey {
	return slices.SortedFunc(maps.Keys(h.versions), func(a, b versionKey) int {
		x, y := h.versions[a], h.versions[b]
		return cmp.Or(cmp.Compare(a.table, b.table), cmp.Compare(x.rowID, y.rowID), cmp.Compare(x.first, y.first),
			cmp.Compare(x.last, y.last), cmp.Compare(a.sum.hi, b.sum.hi), cmp.Compare(a.sum.lo, b.sum.lo))
	})
}
