package batch

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"gander/schemas"
)

// column builds one column of a batch in the buffers that the finished array
// will have. Arrow's own builders clear every buffer they grow and begin each
// batch small, which costs more here than all the values.
type column struct {
	kind    schemas.Kind
	typ     arrow.DataType
	mem     memory.Allocator
	rows    int
	nulls   int
	valid   buffer // a bit per row
	values  buffer // a bit, 8 bytes, or the bytes of texts and 4 per list element
	offsets buffer // of texts and lists: 4 bytes per row, and 4 for the end
	hint    int    // bytes of values that the batch before came to
}

// buffer is memory of an allocator that grows.
type buffer struct {
	b   []byte // from the allocator, as long as its capacity counts
	len int
}

// least is what a buffer begins with, in bytes.
const least = 256

// reserve makes room for n bytes behind the end, at least as much as is there.
func (b *buffer) reserve(mem memory.Allocator, n int) {
	if need := b.len + n; need > len(b.b) {
		b.grow(mem, max(need, 2*len(b.b), least))
	}
}

func (b *buffer) grow(mem memory.Allocator, size int) {
	if b.b == nil {
		b.b = mem.Allocate(size)
	} else {
		b.b = mem.Reallocate(size, b.b)
	}
}

// take hands the memory over to an Arrow buffer, nil when there is none.
func (b *buffer) take(mem memory.Allocator) *memory.Buffer {
	if b.b == nil {
		return nil
	}
	out := memory.NewBufferWithAllocator(b.b, mem)
	out.ResizeNoShrink(b.len)
	*b = buffer{}
	return out
}

func (b *buffer) free(mem memory.Allocator) {
	if b.b != nil {
		mem.Free(b.b)
		*b = buffer{}
	}
}

// bit appends a bit, the i-th of all.
func (b *buffer) bit(mem memory.Allocator, i int, set bool) {
	if i&7 == 0 {
		b.reserve(mem, 1)
		b.b[b.len] = 0
		b.len++
	}
	if set {
		b.b[i>>3] |= 1 << (i & 7)
	}
}

func (b *buffer) int32(mem memory.Allocator, v int32) {
	b.reserve(mem, 4)
	arrow.Int32Traits.CastFromBytes(b.b[b.len:])[0] = v
	b.len += 4
}

func (b *buffer) int64(mem memory.Allocator, v int64) {
	b.reserve(mem, 8)
	arrow.Int64Traits.CastFromBytes(b.b[b.len:])[0] = v
	b.len += 8
}

// add counts a row and says whether it is NULL.
func (c *column) add(valid bool) {
	c.valid.bit(c.mem, c.rows, valid)
	c.rows++
	if !valid {
		c.nulls++
	}
}

func (c *column) null() {
	c.add(false)
	switch c.kind {
	case schemas.Text, schemas.JSON, schemas.IntList:
		c.offset()
	case schemas.Bool:
		c.values.bit(c.mem, c.rows-1, false)
	default:
		c.values.int64(c.mem, 0)
	}
}

// offset appends where the row that was added last begins.
func (c *column) offset() {
	n := c.values.len
	if c.kind == schemas.IntList {
		n /= 4
	}
	c.offsets.int32(c.mem, int32(n))
}

func (c *column) text(s string) {
	c.add(true)
	c.offset()
	if c.values.b == nil && c.hint > 0 {
		c.values.grow(c.mem, max(c.hint, len(s)))
	}
	c.values.reserve(c.mem, len(s))
	c.values.len += copy(c.values.b[c.values.len:], s)
}

func (c *column) fixed(v int64) {
	c.add(true)
	c.values.int64(c.mem, v)
}

func (c *column) flag(v bool) {
	c.add(true)
	c.values.bit(c.mem, c.rows-1, v)
}

func (c *column) list(v []int32) {
	c.add(true)
	c.offset()
	for _, n := range v {
		c.values.int32(c.mem, n)
	}
}

// finish returns the rows as an array and begins anew.
func (c *column) finish() arrow.Array {
	c.hint = 0
	if c.values.len >= MaxBytes/2 { // the next batch will be like this one, but for a value above the cap
		c.hint = min(c.values.len, MaxBytes) + MaxBytes/8
	}
	var children []arrow.ArrayData
	buffers := []*memory.Buffer{nil}
	if c.nulls > 0 {
		buffers[0] = c.valid.take(c.mem)
	} else {
		c.valid.free(c.mem)
	}
	switch c.kind {
	case schemas.Text, schemas.JSON, schemas.IntList:
		c.offset() // the end of the last row
		buffers = append(buffers, c.offsets.take(c.mem))
	}
	elements := c.values.len / 4
	values := c.values.take(c.mem)
	if c.kind == schemas.IntList {
		child := array.NewData(arrow.PrimitiveTypes.Int32, elements, []*memory.Buffer{nil, values}, nil, 0, 0)
		defer child.Release()
		children = append(children, child)
	} else {
		buffers = append(buffers, values)
	}
	data := array.NewData(c.typ, c.rows, buffers, children, c.nulls, 0)
	defer data.Release()
	if c.kind == schemas.IntList {
		buffers = append(buffers, values)
	}
	for _, b := range buffers {
		if b != nil {
			defer b.Release()
		}
	}
	c.rows, c.nulls = 0, 0
	return array.MakeFromData(data)
}

func (c *column) free() {
	for _, b := range []*buffer{&c.valid, &c.values, &c.offsets} {
		b.free(c.mem)
	}
}
