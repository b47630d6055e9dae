package transform

import (
	"encoding/binary"
	"encoding/hex"
	"math"

	"gander/schemas/values"
	"gander/transform/internal/memo"
)

// eventRef is an event that stays, by its id and time.
type eventRef struct {
	id [16]byte
	at values.Int
}

func refOf(id string, at values.Int) eventRef {
	r := eventRef{at: at}
	_, _ = hex.Decode(r.id[:], []byte(id))
	return r
}

func (r eventRef) eventID() string { return hex.EncodeToString(r.id[:]) }

// secondsApart is at minus the time of the event that stays.
func (r eventRef) secondsApart(at values.Int) (float64, bool) {
	return float64(at.V-r.at.V) / 1e6, at.OK && r.at.OK
}

// The answers that Overlap remembers, as they stand in 48 bytes each. One of
// zeros is that of a question that nothing answered yet.

// noTime stands for a time that is NULL.
const noTime = math.MinInt64

// appendRef appends an event: 24 bytes.
func appendRef(b []byte, r eventRef) []byte {
	at := r.at.V
	if !r.at.OK {
		at = noTime
	}
	return binary.LittleEndian.AppendUint64(append(b, r.id[:]...), uint64(at))
}

func readRef(b []byte) eventRef {
	r := eventRef{id: [16]byte(b)}
	if at := int64(binary.LittleEndian.Uint64(b[16:])); at != noTime {
		r.at = values.Int{V: at, OK: true}
	}
	return r
}

// sighting is the first event that holds what was looked for, and the session
// that does.
type sighting struct {
	seen    bool
	ref     eventRef
	session sessionSet
}

const (
	flagSeen = 1 << iota
	flagSession
	flagSeveral
)

func (s *sighting) value() (v memo.Value) {
	var flags byte
	if s.seen {
		flags |= flagSeen
	}
	if s.session.some {
		flags |= flagSession
	}
	if s.session.several {
		flags |= flagSeveral
	}
	appendRef(v[:0], s.ref)
	binary.LittleEndian.PutUint64(v[24:], s.session.id)
	v[32] = flags
	return v
}

func readSighting(v *memo.Value) sighting {
	flags := v[32]
	return sighting{
		seen: flags&flagSeen != 0, ref: readRef(v[:]),
		session: sessionSet{binary.LittleEndian.Uint64(v[24:]), flags&flagSession != 0, flags&flagSeveral != 0},
	}
}

// sessionSet is the one session that holds something, or that several do.
type sessionSet struct {
	id      uint64 // hash of the session's id
	some    bool
	several bool
}

// add reports whether the set is another one now.
func (s *sessionSet) add(id uint64) bool {
	before := *s
	if !s.some {
		s.id, s.some = id, true
	} else if s.id != id {
		s.several = true
	}
	return *s != before
}

func (s *sessionSet) merge(o sessionSet) {
	if o.some {
		s.add(o.id)
		s.several = s.several || o.several
	}
}

// span is the earliest and the latest event of a stretch of time.
type span struct {
	seen             bool
	earliest, latest eventRef
}

// widen reports whether the span is another one with the event in it.
func (s *span) widen(ref eventRef) bool {
	before := *s
	if !s.seen || ref.at.V < s.earliest.at.V {
		s.earliest = ref
	}
	if !s.seen || ref.at.V > s.latest.at.V {
		s.latest = ref
	}
	s.seen = true
	return *s != before
}

func (s *span) value() (v memo.Value) {
	if s.seen {
		appendRef(appendRef(v[:0], s.earliest), s.latest)
	}
	return v
}

func readSpan(v *memo.Value) span {
	return span{*v != memo.Value{}, readRef(v[:]), readRef(v[24:])}
}

// nearest is the event nearest to a time.
type nearest struct {
	to   int64 // microseconds
	seen bool
	ref  eventRef
}

func (n *nearest) value() (v memo.Value) {
	appendRef(v[:0], n.ref)
	binary.LittleEndian.PutUint64(v[24:], uint64(n.to))
	if n.seen {
		v[32] = flagSeen
	}
	return v
}

func readNearest(v *memo.Value) nearest {
	return nearest{int64(binary.LittleEndian.Uint64(v[24:])), v[32] == flagSeen, readRef(v[:])}
}

// bodyItem is an item of request bodies, of however many.
type bodyItem struct {
	held bool   // by events
	log  uint32 // the newest that has it
}

func (i *bodyItem) value() (v memo.Value) {
	binary.LittleEndian.PutUint32(v[:], i.log)
	if i.held {
		v[4] = 1
	}
	return v
}

func readItem(v *memo.Value) bodyItem { return bodyItem{v[4] == 1, binary.LittleEndian.Uint32(v[:])} }

// queue counts the events that are the same, and those of them that were taken,
// in order. It holds the first; the others have keys of their own.
type queue struct {
	n, taken uint64
	first    eventRef
}

func (q *queue) value() (v memo.Value) {
	appendRef(v[:0], q.first)
	binary.LittleEndian.PutUint64(v[24:], q.n)
	binary.LittleEndian.PutUint64(v[32:], q.taken)
	return v
}

func readQueue(v *memo.Value) queue {
	return queue{binary.LittleEndian.Uint64(v[24:]), binary.LittleEndian.Uint64(v[32:]), readRef(v[:])}
}

// blockList is the events of a message's blocks: the first, the others have
// keys of their own, by name.
type blockList struct {
	n     uint64
	first eventRef
	name  hash
}

func (l *blockList) value() (v memo.Value) {
	appendRef(v[:0], l.first)
	binary.LittleEndian.PutUint64(v[24:], l.n)
	putHash(v[32:], l.name)
	return v
}

func readBlockList(v *memo.Value) blockList {
	return blockList{binary.LittleEndian.Uint64(v[24:]), readRef(v[:]), readHash(v[32:])}
}

// hashList is three hashes of a longer list.
type hashList [3]hash

func (l *hashList) value() (v memo.Value) {
	for i, h := range l {
		putHash(v[16*i:], h)
	}
	return v
}

func readHashes(v *memo.Value) (l hashList) {
	for i := range l {
		l[i] = readHash(v[16*i:])
	}
	return l
}

func putHash(b []byte, h hash) {
	binary.LittleEndian.PutUint64(b, h.Hi)
	binary.LittleEndian.PutUint64(b[8:], h.Lo)
}

func readHash(b []byte) hash {
	return hash{Hi: binary.LittleEndian.Uint64(b), Lo: binary.LittleEndian.Uint64(b[8:])}
}
