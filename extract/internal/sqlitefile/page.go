package sqlitefile

import "encoding/binary"

// Types of b-tree pages.
const (
	indexInterior = 0x02
	tableInterior = 0x05
	indexLeaf     = 0x0a
	tableLeaf     = 0x0d
)

// fileHeader is the size of the database header at the start of page 1.
const fileHeader = 100

// minUsable is the least that SQLite leaves of a page for content.
const minUsable = 480

// btree is the header of a b-tree page.
type btree struct {
	kind      byte
	at        int // of the header: fileHeader on page 1, else 0
	cells     int
	pointers  int // offset of the cell pointer array
	content   int // start of the cell content area
	freeblock int // first one, 0 when there is none
	right     uint32
}

// parseBtree reads the header of page no. ok is false when the page is no
// b-tree page; offsets of ok pages are inside the page.
func parseBtree(page []byte, no uint32, usable int) (h btree, ok bool) {
	if no == 1 {
		h.at = fileHeader
	}
	if usable > len(page) || usable < h.at+12 { // a nil page is none
		return h, false
	}
	b := page[h.at:]
	h.kind = b[0]
	h.pointers = h.at + 8
	switch h.kind {
	case tableInterior, indexInterior:
		h.pointers += 4
		h.right = binary.BigEndian.Uint32(b[8:])
	case tableLeaf, indexLeaf:
	default:
		return h, false
	}
	h.freeblock = int(binary.BigEndian.Uint16(b[1:]))
	h.cells = int(binary.BigEndian.Uint16(b[3:]))
	if h.content = int(binary.BigEndian.Uint16(b[5:])); h.content == 0 {
		h.content = 65536
	}
	end := h.pointers + 2*h.cells
	if end > usable || h.content > usable || h.freeblock > usable-4 {
		return h, false
	}
	return h, true
}

// pointer returns the offset of cell i, 0 when it is outside the content.
func (h *btree) pointer(page []byte, i, usable int) int {
	at := int(binary.BigEndian.Uint16(page[h.pointers+2*i:]))
	if at < h.pointers+2*h.cells || at >= usable {
		return 0
	}
	return at
}

// cell is a cell of a table leaf page.
type cell struct {
	rowID    int64
	size     int    // of the record
	at       int    // offset of the cell in the page
	local    []byte // of the record what stands in the page
	overflow uint32 // first page of the rest, 0 when there is none
	end      int    // offset behind the cell
}

// localSize returns how much of a record of a table leaf stands in the page.
func localSize(size, usable int) int {
	most := usable - 35
	if size <= most {
		return size
	}
	least := (usable-12)*32/255 - 23
	if n := least + (size-least)%(usable-4); n <= most {
		return n
	}
	return least
}

// parseCell reads the table leaf cell at an offset; limit is where its bytes
// must end.
func parseCell(page []byte, at, limit, usable int) (c cell, ok bool) {
	if at < 0 || limit > len(page) || at >= limit {
		return c, false
	}
	size, n := varint(page[at:limit])
	if n == 0 || size > MaxRecord {
		return c, false
	}
	id, m := varint(page[at+n : limit])
	if m == 0 {
		return c, false
	}
	c = cell{rowID: int64(id), size: int(size), at: at}
	from := at + n + m
	local := localSize(c.size, usable)
	if local > limit-from {
		return c, false
	}
	c.local = page[from : from+local]
	c.end = from + local
	if local < c.size {
		if limit-c.end < 4 {
			return c, false
		}
		c.overflow = binary.BigEndian.Uint32(page[c.end:])
		c.end += 4
	}
	return c, true
}

// leafCells calls each for the cells of a table leaf page that can be read.
func leafCells(page []byte, no uint32, usable int, each func(cell)) {
	h, ok := parseBtree(page, no, usable)
	if !ok || h.kind != tableLeaf {
		return
	}
	for i := range h.cells {
		at := h.pointer(page, i, usable)
		if at == 0 {
			continue
		}
		if c, ok := parseCell(page, at, usable, usable); ok {
			each(c)
		}
	}
}

// children appends the pages below a table interior page, left to right.
func children(dst []uint32, page []byte, no uint32, usable int) []uint32 {
	h, ok := parseBtree(page, no, usable)
	if !ok || h.kind != tableInterior {
		return dst
	}
	for i := range h.cells {
		if at := h.pointer(page, i, usable); at != 0 && at <= usable-4 {
			dst = append(dst, binary.BigEndian.Uint32(page[at:]))
		}
	}
	return append(dst, h.right)
}
