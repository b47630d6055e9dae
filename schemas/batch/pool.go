package batch

import (
	"math/bits"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Pool is an allocator that keeps what was freed for the next to allocate: the
// batches of a stream come and go in the same few sizes. What it gives out is
// not cleared. It may be used from several goroutines.
type Pool struct {
	mu   sync.Mutex
	idle [largest + 1][][]byte // by the power of two that is their size
	held int                   // bytes of all idle
}

// Sizes that a Pool keeps, as powers of two: smaller and larger ones are the
// garbage collector's, which also aligns these as Arrow wants them.
const (
	smallest = 12 // 4 KiB
	largest  = 24 // 16 MiB

	// maxIdle bounds what a Pool keeps, in bytes.
	maxIdle = 48 << 20
)

var plain = memory.NewGoAllocator()

// class is the power of two that a size is rounded up to.
func class(size int) int { return bits.Len(uint(max(size, 1) - 1)) }

// Allocate implements memory.Allocator.
func (p *Pool) Allocate(size int) []byte {
	n := class(size)
	if n < smallest || n > largest {
		return plain.Allocate(size)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.idle[n]) - 1; last >= 0 {
		b := p.idle[n][last]
		p.idle[n] = p.idle[n][:last]
		p.held -= len(b)
		return b[:size]
	}
	return make([]byte, size, 1<<n)
}

// Reallocate implements memory.Allocator.
func (p *Pool) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) {
		return b[:size]
	}
	grown := p.Allocate(size)
	copy(grown, b)
	p.Free(b)
	return grown
}

// Free implements memory.Allocator.
func (p *Pool) Free(b []byte) {
	b = b[:cap(b)]
	n := class(len(b))
	if n < smallest || n > largest || len(b) != 1<<n {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held+len(b) <= maxIdle {
		p.held += len(b)
		p.idle[n] = append(p.idle[n], b)
	}
}
