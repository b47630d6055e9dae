package memo

// filter tells of most keys that they were not added: a Bloom filter of four
// bits a key, all of one line of 64 bytes, so that an answer costs one access
// to memory. It has 16 bits for each slot up to filterLines, which is more than
// 21 for each record: then some 3 in 1,000 answers are wrong. Above that, at 8
// million slots, the share of wrong answers grows; they cost time and nothing else.
type filter struct {
	lines []filterLine
}

type filterLine [8]uint64

// filterLines bounds a filter to 32 MiB.
const filterLines = 32 << 20 / 64

func newFilter(slots uint64) filter {
	return filter{make([]filterLine, min(slots*16/512, filterLines))}
}

// line picks bits of the key that tell little of its page and its place there.
func (f *filter) line(k Key) *filterLine { return &f.lines[(k.Lo>>6)%uint64(len(f.lines))] }

func (f *filter) add(k Key) {
	if f.lines == nil {
		return
	}
	l := f.line(k)
	for n := range 4 {
		b := k.Hi >> (9 * n) & 511
		l[b/64] |= 1 << (b % 64)
	}
}

func (f *filter) mayHave(k Key) bool {
	if f.lines == nil {
		return false
	}
	l := f.line(k)
	for n := range 4 {
		b := k.Hi >> (9 * n) & 511
		if l[b/64]&(1<<(b%64)) == 0 {
			return false
		}
	}
	return true
}
