// Package batchtest helps to test what makes and takes record batches.
package batchtest

// Poison is an allocator whose memory is never clear: neither when it is
// allocated nor after it was freed. Whatever relies on either, as a view of a
// batch kept for longer than the batch does, shows in what is read.
type Poison struct{}

// Allocate implements memory.Allocator.
func (Poison) Allocate(size int) []byte {
	b := make([]byte, size)
	fill(b, 0xA5)
	return b
}

// Reallocate implements memory.Allocator.
func (p Poison) Reallocate(size int, b []byte) []byte {
	grown := p.Allocate(size)
	copy(grown, b)
	p.Free(b)
	return grown
}

// Free implements memory.Allocator.
func (Poison) Free(b []byte) { fill(b[:cap(b)], 0xF5) }

func fill(b []byte, with byte) {
	for i := range b {
		b[i] = with
	}
}
