package transform

import (
	"gander/schemas/values"
	"gander/transform/internal/memo"
)

// within is how far apart the times of a logged text and its stored one may
// be: Goose stores a reply after the tool calls it asks for.
const within = 600_000_000 // microseconds

// stretch is how much time a span is of. From within before a time to within
// after it is the end of one span and the beginning of the next, so that
// something is stored there exactly when the latest event of the one or the
// earliest of the other is: however often a text is logged and stored, each
// time costs the same.
const stretch = 2 * within

// Kinds of numbered keys.
const (
	partSpan    = 's' // of a text: its span of that number
	partNearest = 'n' // of a text: nearest to a time of the span of that number
	partTime    = 't' // of an event: its own time, where it was seen at another
	partQueue   = 'q' // of a queue: a further event
	partBlock   = 'b' // of a blockList: a further event
	partSession = 'k' // of a log: a hashList of the questions that tell its session
)

// askNear asks what is stored of a text near a time. Times are of 2000 to 2100:
// the numbers of spans are above 0.
func (o *Overlap) askNear(text hash, at int64) {
	first := (at - within) / stretch
	for n := first; n <= first+1; n++ {
		o.ask(numbered(text, partSpan, n), memo.Value{})
	}
	o.ask(numbered(text, partNearest, at/stretch), (&nearest{to: at}).value())
}

// seeNear answers that a text is stored at a time. Another event stays for it
// where a legacy block repeats one of the database, with a time of its own in
// the same second.
func (o *Overlap) seeNear(text hash, ref eventRef, at values.Int) {
	if ref.at != at {
		o.table.Put(timeKey(ref), (&sighting{seen: true, ref: ref}).value())
		ref.at = at
	}
	n := at.V / stretch
	key := numbered(text, partSpan, n)
	if v, ok := o.table.Get(key); ok {
		if s := readSpan(&v); s.widen(ref) {
			o.table.Put(key, s.value())
		}
	}
	key = numbered(text, partNearest, n)
	if v, ok := o.table.Get(key); ok {
		if s := readNearest(&v); !s.seen || abs(at.V-s.to) < abs(s.ref.at.V-s.to) {
			s.seen, s.ref = true, ref
			o.table.Put(key, s.value())
		}
	}
}

func timeKey(ref eventRef) hash { return numbered(readHash(ref.id[:]), partTime, 0) }

// near returns an event that holds a text within of a time: the nearest, and of
// two as near the earlier. Where a text is logged more than once in the time of
// a span and stored more than twice in it, only the first that is logged is sure
// of the nearest; the others get one that the rule allows too.
func (o *Overlap) near(text hash, at int64) (best eventRef, ok bool) {
	consider := func(ref eventRef) {
		d := abs(ref.at.V - at)
		if d > within {
			return
		}
		if was := abs(best.at.V - at); !ok || d < was || d == was && ref.at.V < best.at.V {
			best, ok = ref, true
		}
	}
	if v, held := o.table.Get(numbered(text, partNearest, at/stretch)); held {
		if s := readNearest(&v); s.seen {
			consider(s.ref)
		}
	}
	first := (at - within) / stretch
	for n := first; n <= first+1; n++ {
		if v, held := o.table.Get(numbered(text, partSpan, n)); held {
			if s := readSpan(&v); s.seen {
				consider(s.earliest)
				consider(s.latest)
			}
		}
	}
	if !ok {
		return eventRef{}, false
	}
	if v, held := o.table.Get(timeKey(best)); held {
		best = readSighting(&v).ref
	}
	return best, true
}
