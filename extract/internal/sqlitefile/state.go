package sqlitefile

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
)

// Row is a row of a table in one state.
type Row struct {
	RowID  int64
	Values []Value // of Table.Columns; valid until the next row
	Page   uint32
	Offset int // of the cell in the page
}

// format is what the header on page 1 says about all pages.
type format struct {
	usable   int // bytes of a page before the reserved ones
	encoding int
	cookie   uint32 // changes with the schema
}

func parseFormat(page1 []byte) (format, bool) {
	if len(page1) < minUsable {
		return format{}, false
	}
	m := format{
		usable:   len(page1) - int(page1[20]),
		encoding: int(binary.BigEndian.Uint32(page1[56:])),
		cookie:   binary.BigEndian.Uint32(page1[40:]),
	}
	if m.encoding == 0 { // no table has been created yet
		m.encoding = encUTF8
	}
	return m, string(page1[:len(magic)]) == magic && m.usable >= minUsable && m.encoding <= encUTF16be
}

// State is one state of a database. It is not safe for concurrent use.
type State struct {
	f      *File
	view   pages
	format format
	no     int
	known  bool // page 1 is
	tables []Table
	schema pageSet // pages that the schema is read from

	damaged bool

	page, record []byte
	values       []Value
}

// Damaged reports that something could not be read in a walk so far: a page
// of the tree or a row. What the walk did not show may be there.
func (s *State) Damaged() bool { return s.damaged }

// State returns the state that a transaction left, 0 for the main file's own.
func (f *File) State(no int) *State {
	s := &State{f: f, view: stateView{f, no}, no: no, page: make([]byte, f.pageSize)}
	s.format = format{usable: f.pageSize, encoding: encUTF8}
	if m, ok := parseFormat(s.read(1)); ok {
		s.format, s.known = m, true
		s.readSchema()
	}
	return s
}

// read returns the image of a page, nil when it is not there. It is valid
// until the next call.
func (s *State) read(no uint32) []byte {
	if !s.f.read(s.page, s.view.locate(no)) {
		return nil
	}
	return s.page
}

// Tables returns the tables with rowids, in the order of the schema.
func (s *State) Tables() []Table { return s.tables }

// Table returns a table by its name in any case, nil when there is none.
func (s *State) Table(name string) *Table {
	for i := range s.tables {
		if strings.EqualFold(s.tables[i].Name, name) {
			return &s.tables[i]
		}
	}
	return nil
}

var schemaTable = Table{Name: "sqlite_schema", Root: 1, Columns: []Column{
	{Name: "type", Affinity: AffText}, {Name: "name", Affinity: AffText}, {Name: "tbl_name", Affinity: AffText},
	{Name: "rootpage", Affinity: AffInteger}, {Name: "sql", Affinity: AffText},
}}

func (s *State) readSchema() {
	// What of the schema cannot be read is not there: its tables are unknown.
	_ = s.walk(context.Background(), &schemaTable, func(no uint32) { s.schema.add(no) }, func(r *Row) bool {
		v := r.Values
		root := v[3].Int
		if string(v[0].Bytes) != "table" || v[3].Kind != Int || root < 2 || root > 1<<32-1 {
			return true
		}
		t, ok := parseTable(string(v[4].Bytes))
		if !ok {
			return true
		}
		t.Name, t.Root = string(v[1].Bytes), uint32(root)
		s.tables = append(s.tables, t)
		return true
	})
}

// Walk calls each for the rows of a table by rowid, as long as it returns
// true. Rows that cannot be read whole are left out; the error is ctx's.
func (s *State) Walk(ctx context.Context, t *Table, each func(*Row) bool) error {
	return s.walk(ctx, t, nil, each)
}

func (s *State) walk(ctx context.Context, t *Table, note func(uint32), each func(*Row) bool) error {
	more := true
	var visit func(no uint32) bool
	if note != nil {
		visit = func(no uint32) bool { note(no); return true }
	}
	var row Row
	return s.walkPages(ctx, t.Root, func(no uint32, page []byte) bool {
		if note != nil {
			note(no)
		}
		leafCells(page, no, s.format.usable, func(c cell) {
			if !more {
				return
			}
			if s.row(&row, t, no, &c, visit) {
				more = each(&row)
			} else {
				s.damaged = true
			}
		})
		return more
	})
}

// row reads the row of a cell.
func (s *State) row(row *Row, t *Table, no uint32, c *cell, visit func(uint32) bool) bool {
	var record []byte
	var ok bool
	if record, s.record, ok = s.f.payload(s.record, c, c.size, s.format.usable, s.view, visit); !ok {
		return false
	}
	if s.values, ok = decodeRecord(s.values[:0], record, s.format.encoding); !ok {
		return false
	}
	if s.values, ok = t.values(s.values, c.rowID); !ok {
		return false
	}
	*row = Row{RowID: c.rowID, Values: s.values, Page: no, Offset: c.at}
	return true
}

// walkPages calls each for the pages of a table's tree in key order, as long
// as it returns true. A page is visited once, whatever points to it.
func (s *State) walkPages(ctx context.Context, root uint32, each func(no uint32, page []byte) bool) error {
	var seen pageSet
	stack := []uint32{root}
	var below []uint32
	for len(stack) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		no := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if no == 1 && root != 1 || !seen.add(no) {
			continue
		}
		page := s.read(no)
		h, ok := parseBtree(page, no, s.format.usable)
		if !ok || h.kind != tableInterior && h.kind != tableLeaf {
			s.damaged = true
			continue
		}
		below = children(below[:0], page, no, s.format.usable)
		slices.Reverse(below)
		stack = append(stack, below...)
		if !each(no, page) {
			return nil
		}
	}
	return nil
}

// maxDepth is more than the deepest tree that 32 bits of page numbers allow.
const maxDepth = 40

// Row looks up a row by its rowid. ok is false when it is not there or cannot
// be read whole.
func (s *State) Row(t *Table, rowID int64) (row Row, ok bool) {
	no, c, where := s.find(t, rowID)
	return row, where == here && s.row(&row, t, no, &c, nil)
}

// Has reports that a table has a row of that rowid, or may have it on a page
// that cannot be read.
func (s *State) Has(t *Table, rowID int64) bool {
	_, _, where := s.find(t, rowID)
	return where != nowhere
}

// Answers of find.
const (
	unknown = iota // the tree is broken on the way
	nowhere
	here
)

// find looks up a cell in a tree; it is valid until the next read.
func (s *State) find(t *Table, rowID int64) (no uint32, c cell, where int) {
	no = t.Root
	for range maxDepth {
		page, usable := s.read(no), s.format.usable
		h, ok := parseBtree(page, no, usable)
		if !ok || h.kind != tableInterior && h.kind != tableLeaf {
			return no, c, unknown
		}
		at := func(i int) (key int64, offset int) {
			offset = h.pointer(page, i, usable)
			from := offset
			if h.kind == tableInterior {
				from += 4
			} else if _, n := varint(page[min(from, usable):usable]); n > 0 {
				from += n
			}
			v, _ := varint(page[min(from, usable):usable])
			return int64(v), offset
		}
		lo, hi := 0, h.cells
		for lo < hi {
			mid := (lo + hi) / 2
			if key, _ := at(mid); key < rowID {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		if h.kind == tableInterior {
			if no = h.right; lo < h.cells {
				if _, offset := at(lo); offset != 0 && offset <= usable-4 {
					no = binary.BigEndian.Uint32(page[offset:])
				}
			}
			continue
		}
		if lo == h.cells {
			return no, c, nowhere
		}
		key, offset := at(lo)
		if key != rowID {
			return no, c, nowhere
		}
		if c, ok = parseCell(page, offset, usable, usable); offset == 0 || !ok {
			return no, c, unknown
		}
		return no, c, here
	}
	return no, c, unknown
}
