package transform

import (
	"encoding/binary"
	"strings"

	"github.com/zeebo/xxh3"

	"gander/schemas/jsonval"
	"gander/schemas/values"
	"gander/transform/internal/memo"
	"gander/transform/internal/provider"
)

// Overlap finds what the secondary stores of a home repeat of its primary
// ones, sessions_db and legacy_jsonl.
//
// The secondary stores are read first and ask their questions: which event
// holds this? Then the primary stores stream by and answer them. What is
// remembered is hashes, not texts: a table of records of 64 bytes, each a
// question's hash and an answer of fixed size. Records are
//   - of a logged message its id; of its text blocks up to seven each, of its
//     tool calls four, of other blocks five or six;
//   - one of each item of request bodies, history entry and last user text;
//   - one of each block of a database session that a legacy file has too;
//   - where there are thread messages two of each message of the database, and
//     one of each block of it but the first;
//   - one of each event made of deleted rows.
//
// Equal questions are one record, however many ask them. Up to OverlapInMemory
// records are in memory, 64 MiB, and 96 while they grow to that. Those beyond go
// to a file (see SpillTo), which takes at most 36 MiB of memory. What is found
// is the same wherever they are. Beside the records there are some 300 bytes in
// memory for each request log, and the ids of legacy files and of the sessions
// that answers name.
//
// An Overlap whose file fails keeps the error. Its answers are worthless from
// then on: whatever rests on them must not be committed, so ask Err before.
type Overlap struct {
	table *memo.Table
	// Which questions are asked at all: for others no block is hashed.
	asksIDs, asksPrompts, asksCalls, asksTexts, asksItems bool

	legacy     map[string]struct{} // session ids of legacy files
	replaced   map[string]eventRef // of those, the ones that the database has: its start event
	sessions   map[uint64]string   // that answers name, by hash
	knownID    bool                // some logged message id is a message_id
	lost       int64               // items of bodies that no event holds
	logs       []*LoggedCall       // in the order of their Scan
	ledgers    map[usageKey][]*LoggedCall
	ledgerRows uint64 // seen of those that a log may be of

	current openMessage
	buf     []byte
}

// OverlapInMemory is how many records an Overlap has in memory: as many as fill
// 64 MiB.
const OverlapInMemory = 3 << 18

// OverlapFile is where an Overlap has its records beyond those in memory. Close
// removes it.
type OverlapFile = memo.File

// NewOverlap returns an Overlap that looks for nothing yet, and remembers
// everything in memory.
func NewOverlap() *Overlap {
	return &Overlap{
		table: memo.New(0, nil), legacy: map[string]struct{}{}, replaced: map[string]eventRef{}, sessions: map[uint64]string{},
		ledgers: map[usageKey][]*LoggedCall{}, current: openMessage{run: xxh3.New()},
	}
}

// SpillTo bounds what is in memory to a number of records. For those beyond it
// open is called for a file, and again for a larger one when that is full. It
// must be called before anything else.
func (o *Overlap) SpillTo(open func() (OverlapFile, error), records int) {
	o.table = memo.New(records, open)
}

// Err returns the first error of the file.
func (o *Overlap) Err() error { return o.table.Err() }

// Close closes the file.
func (o *Overlap) Close() error { return o.table.Close() }

// hash names a text or a tuple of them; 128 bits, so that two that differ are
// never taken for one.
type hash = memo.Key

// tuple names a list of texts: parts are set apart by their lengths.
func (o *Overlap) tuple(parts ...string) hash {
	o.buf = o.buf[:0]
	for _, p := range parts {
		o.buf = binary.AppendUvarint(o.buf, uint64(len(p)))
		o.buf = append(o.buf, p...)
	}
	return xxh3.Hash128(o.buf)
}

// textHash is tuple for a long last part, which is not copied.
func (o *Overlap) textHash(text string, parts ...string) hash {
	return paired(o.tuple(parts...), xxh3.HashString128(text))
}

// numbered names a part of what key names. kind is one letter.
func numbered(key hash, kind byte, n int64) hash {
	var b [25]byte
	putHash(b[:], key)
	binary.LittleEndian.PutUint64(b[16:], uint64(n))
	b[24] = kind
	return xxh3.Hash128(b[:])
}

func paired(a, b hash) hash {
	var p [32]byte
	putHash(p[:], a)
	putHash(p[16:], b)
	return xxh3.Hash128(p[:])
}

// trimmed cuts White_Space from both ends.
func trimmed(s string) string { return strings.TrimFunc(s, values.IsSpace) }

// --- what secondary stores ask

// WantSession notes a legacy file: the blocks of the database session of that
// id will be remembered.
func (o *Overlap) WantSession(id string) { o.legacy[id] = struct{}{} }

// WantPrompt notes a history entry.
func (o *Overlap) WantPrompt(text string) {
	o.asksPrompts = true
	o.ask(o.promptHash(text), memo.Value{})
}

// promptHash names a user text, trimmed.
func (o *Overlap) promptHash(text string) hash { return o.textHash(trimmed(text), "prompt") }

// ask notes a question, with the answer that nothing was seen yet.
func (o *Overlap) ask(key hash, unseen memo.Value) {
	if _, ok := o.table.Get(key); !ok {
		o.table.Put(key, unseen)
	}
}

// answer is what was seen of a question.
func (o *Overlap) answer(key hash) sighting {
	v, ok := o.table.Get(key)
	if !ok {
		return sighting{}
	}
	return readSighting(&v)
}

// --- primary stores stream by

// see answers a question with the event that is for it, if it is asked. Of the
// sessions those of copied messages do not count: the original's does.
func (o *Overlap) see(key hash, p *place, ref eventRef) (asked bool) {
	v, ok := o.table.Get(key)
	if !ok {
		return false
	}
	s := readSighting(&v)
	changed := !s.seen
	if changed {
		s.seen, s.ref = true, ref
	}
	if p.session.ok && !p.copiedFrom.ok && s.session.add(xxh3.HashString(p.session.s)) {
		changed = true
		o.nameSession(s.session.id, p.session.s)
	}
	if changed {
		o.table.Put(key, s.value())
	}
	return true
}

func (o *Overlap) nameSession(hash uint64, id string) {
	if _, ok := o.sessions[hash]; !ok {
		o.sessions[hash] = strings.Clone(id)
	}
}

// openMessage is the primary message being read.
type openMessage struct {
	texts    []string // of text blocks, for recovery
	turn     string   // of the last of them
	id       string   // "" unless logged messages have it
	place    *place
	kind     string // of the run of adjacent text or thinking blocks
	run      *xxh3.Hasher
	runStart eventRef
}

// beginMessage opens a primary message; readable tells that its content is.
func (o *Overlap) beginMessage(p *place, readable bool) {
	m := &o.current
	m.id, m.texts = "", m.texts[:0]
	if !o.asksIDs || p.messageID.s == "" || !o.see(o.tuple("id", p.messageID.s), p, eventRef{}) {
		return
	}
	o.knownID = true
	if readable {
		m.id, m.place, m.kind = p.messageID.s, p, ""
		m.run.Reset()
	}
}

// block sees a block of a primary message. ref is the event that stays for it.
func (o *Overlap) block(p *place, e *event, ref eventRef) {
	if o.asksPrompts && e.kind == "text" && e.turnType == "user" {
		o.see(o.promptHash(e.text.s), p, ref)
	}
	if o.asksCalls && e.kind == "tool_request" {
		o.see(o.callHash(e.toolUseID.s, e.toolName.s, e.text.s), p, ref)
	}
	if o.asksTexts {
		if text := o.textHash(e.text.s, "text", e.turnType); o.see(text, p, ref) && e.at.OK {
			o.seeNear(text, ref, e.at)
		}
	}
	o.hold(e)
	if m := &o.current; m.id != "" {
		o.see(o.blockHash(m.id, e.kind, e.text.s), p, ref)
		if e.toolUseID.s != "" {
			o.see(o.tuple("tool", m.id, e.kind, e.toolUseID.s), p, ref)
		}
		if e.kind != m.kind {
			o.endRun()
			m.kind, m.runStart = e.kind, ref
		}
		if joins(e.kind) {
			_, _ = m.run.WriteString(e.text.s)
		}
	}
}

// blockHash names a block of a message by its text, and adjacent ones by their
// joined text.
func (o *Overlap) blockHash(messageID, kind, text string) hash {
	return o.textHash(text, "block", messageID, kind)
}

// runHash is the blockHash of the text that was written to run.
func (o *Overlap) runHash(messageID, kind string, run *xxh3.Hasher) hash {
	return paired(o.tuple("block", messageID, kind), run.Sum128())
}

// joins reports the kinds of which adjacent blocks are one.
func joins(kind string) bool { return kind == "text" || kind == "thinking" }

func (o *Overlap) endRun() {
	m := &o.current
	if joins(m.kind) {
		o.see(o.runHash(m.id, m.kind, m.run), m.place, m.runStart)
		m.run.Reset()
	}
	m.kind = ""
}

// endMessage closes the primary message.
func (o *Overlap) endMessage() {
	m := &o.current
	if len(m.texts) > 1 { // a body has them as one
		o.holdText(m.turn, strings.Join(m.texts, "\n"))
	}
	if m.id != "" {
		o.endRun()
		m.id, m.place = "", nil
	}
}

// callHash names a tool call by id, name and arguments; arguments that mean the
// same are the same.
func (o *Overlap) callHash(id, name, arguments string) hash {
	return o.textHash(sortedJSON(arguments), "call", id, name)
}

// sortedJSON is JSON text with keys in sorted order; a text that is no JSON
// stays as it is.
func sortedJSON(text string) string {
	var d jsonval.Doc
	if text == "" || text[0] != '{' && text[0] != '[' || d.Parse(text) != nil {
		return text
	}
	return provider.SortedJSON(d.Root())
}

func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}
