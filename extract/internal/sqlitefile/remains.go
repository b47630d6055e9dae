package sqlitefile

import (
	"context"
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

// remains finds versions that no b-tree of a committed state leads to: in
// frames of older generations of the log, in free pages of the main file and
// in the unused space of its other pages.
//
// What is found must be whole: a record header that adds up exactly to the
// record's size, types that the table's columns can hold, and valid texts.
// The rest of a record that spans pages must be where the generation of its
// frame had it, or in free pages that no other record claims: such a page went
// from one to the other, and nothing says what is in it now. Of two records
// that overlap in a page the one that starts later was written later, and only
// that one is whole.
type remains struct {
	ctx  context.Context
	f    *File
	h    *history
	now  *current
	opt  Options
	each func(*Version) error

	format format
	tables []*Table // by which records are read, nil where no state has one
	told   map[versionKey]struct{}
	bodies map[bodyKey]struct{} // what was told, without the rowid

	page, record []byte
	types        []uint64
	values       []Value

	free, trunks pageSet // of the main file
	later        []later
	chain        []uint32              // of the record at hand
	claims       map[uint32]versionKey // free page -> version that has it in its chain
	disputed     pageSet               // claimed by several
}

// bodyKey names a version whose rowid is lost.
type bodyKey struct {
	table int
	sum   sum
}

// later is a record that can be judged only when all are known: one that spans
// pages, or one whose first bytes became the header of a freeblock, so that
// its rowid is lost.
type later struct {
	body     bodyKey
	evidence Evidence
	hasRowID bool
	page     uint32
	at, end  int // of the bytes that it is in
}

// maxRowID is more rows than any database counts up to; a greater rowid is
// taken for bytes that are none.
const maxRowID = 1 << 48

func newRemains(ctx context.Context, h *history, now *current, opt Options, each func(*Version) error) *remains {
	r := &remains{
		ctx: ctx, f: h.f, h: h, now: now, opt: opt, each: each,
		format: now.state.format, tables: slices.Clone(now.tables),
		told: map[versionKey]struct{}{}, bodies: map[bodyKey]struct{}{}, claims: map[uint32]versionKey{}, page: make([]byte, h.f.pageSize),
	}
	for i, name := range h.names {
		for k := len(h.epochs) - 1; k >= 0 && r.tables[i] == nil; k-- {
			r.tables[i] = (&State{tables: h.epochs[k].tables}).Table(name)
		}
	}
	return r
}

// run tells all remains, the strongest evidence first.
func (r *remains) run() error {
	if !slices.ContainsFunc(r.tables, func(t *Table) bool { return t != nil }) {
		return nil
	}
	if err := r.staleFrames(); err != nil {
		return err
	}
	r.readFreeList()
	for _, evidence := range []Evidence{FreePage, FreeSpace} {
		if err := r.mainPages(evidence); err != nil {
			return err
		}
	}
	return r.tellLater()
}

// readFreeList reads the list of free pages that page 1 of the main file
// heads. Pages behind the database's end are free too.
func (r *remains) readFreeList() {
	if !r.f.read(r.page, 1) {
		return
	}
	pages := min(binary.BigEndian.Uint32(r.page[28:]), r.f.mainPages)
	counter, validFor := binary.BigEndian.Uint32(r.page[24:]), binary.BigEndian.Uint32(r.page[92:])
	trunk := binary.BigEndian.Uint32(r.page[32:])
	if pages > 0 && counter == validFor {
		for no := pages + 1; no <= r.f.mainPages && no > pages; no++ {
			r.free.add(no)
		}
	}
	for trunk > 1 && trunk <= r.f.mainPages && r.trunks.add(trunk) && r.f.read(r.page, place(trunk)) {
		r.free.add(trunk)
		leaves := min(int(binary.BigEndian.Uint32(r.page[4:])), r.format.usable/4-2)
		for i := range max(leaves, 0) {
			if no := binary.BigEndian.Uint32(r.page[8+4*i:]); no > 1 && no <= r.f.mainPages {
				r.free.add(no)
			}
		}
		trunk = binary.BigEndian.Uint32(r.page)
	}
}

// lockByte is the offset in a file that SQLite locks and never writes to.
const lockByte = 1 << 30

// mainPages searches the pages of the main file that give one evidence.
func (r *remains) mainPages(evidence Evidence) error {
	lockPage := uint32(lockByte/r.f.pageSize) + 1
	for no := uint32(1); no <= r.f.mainPages && no > 0; no++ {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if r.free.has(no) != (evidence == FreePage) || no == lockPage || !r.f.read(r.page, place(no)) {
			continue
		}
		usable := r.format.usable
		h, isBtree := parseBtree(r.page, no, usable)
		var space []extent
		switch {
		case evidence == FreeSpace && !isBtree:
			continue
		case evidence == FreeSpace:
			space = append(space, extent{h.pointers + 2*h.cells, h.content})
		case r.trunks.has(no):
			n := min(int(binary.BigEndian.Uint32(r.page[4:])), usable/4-2)
			space = append(space, extent{8 + 4*max(n, 0), usable})
		default:
			space = append(space, extent{0, usable})
		}
		var blocks []extent
		if isBtree && !r.trunks.has(no) {
			blocks = freeblocks(r.page, &h, usable)
			if evidence == FreeSpace {
				space = append(space, blocks...)
			}
			blocks = append(blocks, r.formerBlocks(&h)...)
		}
		for _, x := range space {
			if err := r.scan(no, x, blocks, evidence); err != nil {
				return err
			}
		}
	}
	return nil
}

// extent is a part of a page.
type extent struct{ from, to int }

// freeblocks lists the freeblocks of a b-tree page. They come in ascending
// order; the first that does not ends the list.
func freeblocks(page []byte, h *btree, usable int) (blocks []extent) {
	last := h.pointers + 2*h.cells
	for at := h.freeblock; at >= last && at <= usable-4; {
		size := int(binary.BigEndian.Uint16(page[at+2:]))
		if size < 4 || at+size > usable {
			break
		}
		blocks = append(blocks, extent{at, at + size})
		last = at + size
		at = int(binary.BigEndian.Uint16(page[at:]))
	}
	return blocks
}

// formerBlocks lists what were freeblocks when the content area began further
// up: older releases of SQLite write the header of a freeblock into a cell that
// is freed at the start of the area, and then begin the area behind it. Only
// those count that a record can be read from.
func (r *remains) formerBlocks(h *btree) (blocks []extent) {
	from, to := h.pointers+2*h.cells, h.content
	for at := to - 4; at >= from; at-- {
		if int(binary.BigEndian.Uint16(r.page[at+2:])) != to-at {
			continue
		}
		if _, ok := r.pieceWithoutHead(at, to); ok {
			blocks = append(blocks, extent{at, to})
			to = at
			at = to - 3
		}
	}
	return blocks
}

// piece is a record as it was found in a page.
type piece struct {
	table    int
	rowID    int64
	hasRowID bool
	cell     cell // local is of the record
}

// scan looks for records at every offset of an extent, then, at the start of
// the freeblocks in it and behind each record, for such as lost their first
// bytes to a freeblock.
func (r *remains) scan(no uint32, x extent, blocks []extent, evidence Evidence) error {
	var pieces []piece
	for at := x.from; at < x.to-4; at++ {
		if r.page[at] == 0 { // no record is empty
			continue
		}
		if p, ok := r.pieceAt(at, x.to); ok && r.whole(&p) {
			pieces = append(pieces, p)
		}
	}
	kept := pieces[:0]
	for i := range pieces {
		if i+1 == len(pieces) || pieces[i+1].cell.at >= pieces[i].cell.end {
			kept = append(kept, pieces[i])
		}
	}
	for i := range kept {
		p := &kept[i]
		switch {
		case !r.whole(p):
		case p.cell.overflow != 0:
			r.keep(no, p, x.to, evidence)
		default:
			if err := r.pass(no, p, evidence); err != nil {
				return err
			}
		}
	}
	for _, b := range blocks {
		if b.from < x.from || b.to > x.to {
			continue
		}
		for at, k := b.from, 0; at < b.to-4; {
			for k < len(kept) && kept[k].cell.at < at {
				k++
			}
			if k < len(kept) && kept[k].cell.at == at {
				at = kept[k].cell.end
				continue
			}
			end := b.to
			if k < len(kept) {
				end = min(end, kept[k].cell.at)
			}
			p, ok := r.pieceWithoutHead(at, end)
			if ok && r.whole(&p) {
				r.keep(no, &p, end, evidence)
				at = p.cell.end
			} else {
				at = end
			}
		}
	}
	return nil
}

// pieceAt reads the cell of a leaf at an offset, when it can be of a table.
func (r *remains) pieceAt(at, limit int) (p piece, ok bool) {
	c, ok := parseCell(r.page, at, limit, r.format.usable)
	if !ok || c.rowID < 1 || c.rowID > maxRowID {
		return p, false
	}
	size, ok := r.header(c.local, c.size)
	if !ok || size != c.size {
		return p, false
	}
	table, ok := r.tableFor()
	return piece{table: table, rowID: c.rowID, hasRowID: true, cell: c}, ok
}

// maxHeader bounds the header of a record that is looked for: more than any
// table of few columns needs.
const maxHeader = 4096

// header reads the types of the record that b starts with into r.types and
// returns the size of the record, which is most at the most.
func (r *remains) header(b []byte, most int) (size int, ok bool) {
	h, at := varint(b)
	if at == 0 || h < uint64(at) || h > uint64(min(len(b), maxHeader)) {
		return 0, false
	}
	r.types = r.types[:0]
	size = int(h)
	for at < int(h) {
		serial, n := varint(b[at:h])
		body, ok := bodySize(serial)
		if n == 0 || !ok || size > most-body {
			return 0, false
		}
		at += n
		size += body
		r.types = append(r.types, serial)
	}
	return size, true
}

// tableFor returns the first table whose columns can have r.types.
func (r *remains) tableFor() (int, bool) {
	for i, t := range r.tables {
		if t != nil && t.takes(r.types) {
			return i, true
		}
	}
	return 0, false
}

// takes reports that a record of these types can be of the table.
func (t *Table) takes(types []uint64) bool {
	if len(types) == 0 || len(types) > len(t.Columns) {
		return false
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		if i >= len(types) {
			if c.Alias || c.NotNull && c.Default.Kind == Null {
				return false
			}
			continue
		}
		serial := types[i]
		text, blob := serial >= 13 && serial&1 == 1, serial >= 12 && serial&1 == 0
		switch {
		case c.Alias:
			if serial != 0 {
				return false
			}
		case serial == 0:
			if c.NotNull {
				return false
			}
		case c.Affinity == AffText && !text,
			(c.Affinity == AffInteger || c.Affinity == AffReal) && serial > 9,
			c.Affinity == AffNumeric && blob:
			return false
		}
	}
	return true
}

// pieceWithoutHead reads a record of which the first four bytes of its cell
// are lost: the sizes in front, and as much of the header as they leave room
// for. The cell starts at an offset and ends before limit.
func (r *remains) pieceWithoutHead(at, limit int) (p piece, ok bool) {
	const lost = 4
	// try reads the record that starts with what was lost of its header and
	// goes on in the page. before is the size of the two varints in front.
	try := func(head []byte, before int) bool {
		from := at + max(lost, before)
		if from >= limit {
			return false
		}
		b := r.page[from:limit]
		if len(head) > 0 {
			b = slices.Concat(head, b)
		}
		size, ok := r.header(b, MaxRecord)
		if !ok {
			return false
		}
		rowIDSize := before - varintSize(uint64(size))
		if rowIDSize < 1 || rowIDSize > varintSize(maxRowID) {
			return false
		}
		table, ok := r.tableFor()
		if !ok {
			return false
		}
		local := localSize(size, r.format.usable)
		end := local
		if local < size {
			end += 4
		}
		if end > len(b) {
			return false
		}
		p = piece{table: table, cell: cell{size: size, at: at, local: b[:local], end: from + end - len(head)}}
		if local < size {
			p.cell.overflow = binary.BigEndian.Uint32(b[local:])
		}
		return true
	}
	for before := lost; before <= 2+varintSize(maxRowID); before++ {
		if try(nil, before) {
			return p, true
		}
	}
	// Without the size of the header: it has a type for every column.
	for _, t := range r.tables {
		if t == nil {
			continue
		}
		for known := range 2 { // leading types that need not be seen
			if known == 1 && !t.Columns[0].Alias {
				break
			}
			from, size := at+lost, 1+known
			for range len(t.Columns) - known {
				_, n := varint(r.page[min(from, limit):limit])
				if n == 0 {
					size = 0
					break
				}
				from, size = from+n, size+n
			}
			if size == 0 || size > 127 {
				continue
			}
			head := []byte{byte(size), 0}[:1+known]
			if try(head, lost-len(head)) {
				return p, true
			}
		}
	}
	return p, false
}

func varintSize(v uint64) int {
	n := 1
	for v >>= 7; v > 0 && n < 9; v >>= 7 {
		n++
	}
	return n
}

// mainView is the main file's own pages.
type mainView struct{ f *File }

func (v mainView) locate(no uint32) place {
	if no > v.f.mainPages {
		return 0
	}
	return place(no)
}

// whole reads the values of a piece of the main file into r.values.
func (r *remains) whole(p *piece) bool {
	r.chain = r.chain[:0]
	return r.complete(p, mainView{r.f}, func(no uint32) bool {
		r.chain = append(r.chain, no)
		return r.free.has(no) && !r.trunks.has(no)
	})
}

// complete reads the values of a piece into r.values and judges them.
func (r *remains) complete(p *piece, v pages, visit func(uint32) bool) bool {
	var record []byte
	var ok bool
	if record, r.record, ok = r.f.payload(r.record, &p.cell, p.cell.size, r.format.usable, v, visit); !ok {
		return false
	}
	if r.values, ok = decodeRecord(r.values[:0], record, r.format.encoding); !ok {
		return false
	}
	t := r.tables[p.table]
	if r.values, ok = t.values(r.values, p.rowID); !ok {
		return false
	}
	if i := t.alias(); i >= 0 && !p.hasRowID {
		r.values[i] = Value{}
	}
	for i := range r.values {
		if v := &r.values[i]; v.Kind == Text && !utf8.Valid(v.Bytes) {
			return false
		}
	}
	return r.opt.Fits == nil || r.opt.Fits(r.h.names[p.table], t.Columns, r.values)
}

func isAlias(c *Column) bool { return c.Alias }

func (r *remains) bodySum(table int) sum {
	return r.h.sums.sum(r.tables[table].Columns, r.values, isAlias)
}

// keep puts off the piece whose values are at hand, and notes what it claims.
func (r *remains) keep(no uint32, p *piece, end int, evidence Evidence) {
	body := bodyKey{p.table, r.bodySum(p.table)}
	r.later = append(r.later, later{body, evidence, p.hasRowID, no, p.cell.at, end})
	key := versionKey{p.table, p.rowID, body.sum}
	for _, page := range r.chain {
		if by, ok := r.claims[page]; ok && by != key {
			r.disputed.add(page)
		}
		r.claims[page] = key
	}
}

// pass passes on the piece whose values are at hand.
func (r *remains) pass(no uint32, p *piece, evidence Evidence) error {
	t := r.tables[p.table]
	row := Row{RowID: p.rowID, Values: r.values}
	key := r.h.keyOf(p.table, t, &row)
	if _, ok := r.h.versions[key]; ok {
		return nil
	}
	if _, ok := r.told[key]; ok || r.now.holds(key, p.rowID) {
		return nil
	}
	r.told[key] = struct{}{}
	if t.alias() >= 0 {
		r.bodies[bodyKey{p.table, r.bodySum(p.table)}] = struct{}{}
	}
	return r.each(&Version{
		Table: r.h.names[p.table], Evidence: evidence, RowID: p.rowID, HasRowID: true,
		Page: no, Offset: p.cell.at, Columns: t.Columns, Values: r.values,
	})
}

// tellLater passes on what was put off: records with their rowid first, then
// those without, as far as no other version and no current row has their
// values.
func (r *remains) tellLater() error {
	for _, x := range r.later {
		if p, ok := r.again(x); ok && x.hasRowID {
			if err := r.pass(x.page, &p, x.evidence); err != nil {
				return err
			}
		}
	}
	open := map[bodyKey]struct{}{}
	for _, x := range r.later {
		if _, ok := r.bodies[x.body]; !ok && !x.hasRowID {
			open[x.body] = struct{}{}
		}
	}
	for i, t := range r.now.tables {
		if t == nil || len(open) == 0 {
			continue
		}
		err := r.now.state.Walk(r.ctx, t, func(row *Row) bool {
			delete(open, bodyKey{i, r.h.sums.sum(t.Columns, row.Values, isAlias)})
			return len(open) > 0
		})
		if err != nil {
			return err
		}
	}
	for _, x := range r.later {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if _, ok := open[x.body]; !ok || x.hasRowID {
			continue
		}
		p, ok := r.again(x)
		if !ok {
			continue
		}
		delete(open, x.body)
		t := r.tables[p.table]
		err := r.each(&Version{
			Table: r.h.names[p.table], Evidence: x.evidence,
			Page: x.page, Offset: x.at, Columns: t.Columns, Values: r.values,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// again reads a piece that was put off, its values into r.values.
func (r *remains) again(x later) (p piece, ok bool) {
	if !r.f.read(r.page, place(x.page)) {
		return p, false
	}
	if x.hasRowID {
		p, ok = r.pieceAt(x.at, x.end)
	} else {
		p, ok = r.pieceWithoutHead(x.at, x.end)
	}
	if !ok || !r.whole(&p) || (bodyKey{p.table, r.bodySum(p.table)}) != x.body {
		return p, false
	}
	return p, !slices.ContainsFunc(r.chain, r.disputed.has)
}

// staleView is the pages as a transaction of an older generation left them.
// The generation just before the log's own was copied to the main file as a
// whole before the log started over: what it did not write after the
// transaction is in the main file.
type staleView struct {
	f     *File
	index map[uint32][]int // page -> stale frames, ascending
	last  int              // frame that ends the transaction
}

func (v staleView) locate(no uint32) place {
	end := &v.f.stale[v.last]
	frames := v.index[no]
	i, found := slices.BinarySearch(frames, v.last)
	if found {
		i++
	}
	if i > 0 && v.f.stale[frames[i-1]].run == end.run {
		return inLog | place(v.f.stale[frames[i-1]].no)
	}
	later := i < len(frames) && v.f.stale[frames[i]].run == end.run
	_, copied := v.f.copied[no]
	if later || copied || end.generation != 1 || no > v.f.mainPages {
		return 0
	}
	return place(no)
}

// staleFrames tells the rows on leaf pages of older generations of the log,
// of the transactions whose end is there.
func (r *remains) staleFrames() error {
	index := map[uint32][]int{}
	for i, s := range r.f.stale {
		index[s.page] = append(index[s.page], i)
	}
	for from := 0; from < len(r.f.stale); {
		to := from
		for to < len(r.f.stale) && r.f.stale[to].run == r.f.stale[from].run && !r.f.stale[to].commit {
			to++
		}
		if to == len(r.f.stale) || r.f.stale[to].run != r.f.stale[from].run {
			from = to // never committed, or its end is lost
			continue
		}
		view := staleView{r.f, index, to}
		for ; from <= to; from++ {
			if err := r.ctx.Err(); err != nil {
				return err
			}
			s := &r.f.stale[from]
			if !r.f.read(r.page, inLog|place(s.no)) {
				continue
			}
			var err error
			leafCells(r.page, s.page, r.format.usable, func(c cell) {
				if err != nil {
					return
				}
				p, ok := r.pieceAt(c.at, r.format.usable)
				if ok && r.complete(&p, view, func(uint32) bool { return true }) {
					err = r.pass(s.page, &p, WALStale)
				}
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
