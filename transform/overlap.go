package transform

import (
	"encoding/binary"
	"encoding/hex"
	"strings"

	"github.com/zeebo/xxh3"

	"gander/schemas/jsonval"
	"gander/schemas/values"
	"gander/transform/internal/provider"
)

// Overlap finds what the secondary stores of a home repeat of its primary
// ones, sessions_db and legacy_jsonl.
//
// The secondary stores are read first and say what they hold; then the primary
// stores stream by, and what is looked for is ticked off. Memory so follows
// the secondary stores, which Goose keeps small (ten request logs, a hundred
// prompts), and never the database: some 300 bytes for each logged block, body
// item, history entry and block of a legacy session, and no texts.
type Overlap struct {
	legacy   map[string]struct{}     // session ids of legacy files
	replaced map[string]eventRef     // of those, the ones that the database has: its start event
	blocks   map[hash][]eventRef     // blocks of their database sessions, in order
	ids      map[hash][]*loggedReply // logged messages by message id
	knownID  bool                    // some logged message id is a message_id
	calls    map[hash][]*loggedBlock // logged tool calls by id, name and arguments
	texts    map[hash][]*loggedBlock // other logged blocks by turn_type and text
	prompts  map[hash]*sighting      // history entries, trimmed
	last     map[hash]*sessionSet    // last user texts of logs, trimmed
	items    map[hash]*bodyItem      // items of request bodies
	usage    map[usageKey][]*LoggedCall
	matches  []usageMatch

	current openMessage
	buf     []byte
}

// NewOverlap returns an Overlap that looks for nothing yet.
func NewOverlap() *Overlap {
	return &Overlap{
		legacy: map[string]struct{}{}, replaced: map[string]eventRef{}, blocks: map[hash][]eventRef{},
		ids: map[hash][]*loggedReply{}, calls: map[hash][]*loggedBlock{}, texts: map[hash][]*loggedBlock{},
		prompts: map[hash]*sighting{}, last: map[hash]*sessionSet{}, items: map[hash]*bodyItem{}, usage: map[usageKey][]*LoggedCall{},
	}
}

// hash names a text or a tuple of them; 128 bits, so that two that differ are
// never taken for one.
type hash = xxh3.Uint128

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

// sighting is the first event that holds what was looked for.
type sighting struct {
	ref  eventRef
	seen bool
}

func (s *sighting) see(ref eventRef) {
	if !s.seen {
		s.ref, s.seen = ref, true
	}
}

// sessionSet is the one session that holds something, or that several do.
type sessionSet struct {
	id      string
	some    bool
	several bool
}

func (s *sessionSet) add(id optText) {
	switch {
	case !id.ok:
	case !s.some:
		s.id, s.some = strings.Clone(id.s), true
	case s.id != id.s:
		s.several = true
	}
}

func (s *sessionSet) merge(o sessionSet) {
	if o.some {
		s.add(some(o.id))
		s.several = s.several || o.several
	}
}

// loggedReply is a message of a request log.
type loggedReply struct {
	hasID    bool
	blocks   []*loggedBlock
	sessions sessionSet // that hold its message id
	call     *LoggedCall
}

// loggedBlock is a block of a logged message.
type loggedBlock struct {
	kind     string
	text     hash   // kind and text
	joined   string // text until its run is hashed
	run      hash   // kind and text of the adjacent text or thinking blocks it is of
	toolID   hash
	hasTool  bool
	at       values.Int
	byID     sighting // rule (a)
	byCall   sighting // rule (b)
	byText   sighting // rule (c): the nearest in time
	distance int64    // microseconds of byText
	sessions sessionSet
}

// within is how far apart the times of a logged text and its stored one may
// be: Goose stores a reply after the tool calls it asks for.
const within = 600_000_000 // microseconds

// LoggedCall is what Overlap keeps of a request log.
type LoggedCall struct {
	Name      string // of the file
	StartedAt values.Int
	Tokens    values.Tokens
	Model     string
	usageRow  values.Int
	replies   []*loggedReply
	lastUser  *sessionSet
}

// usageKey is what a ledger row and a log have in common: stored input, output
// and total.
type usageKey struct{ in, out, total values.Int }

type usageMatch struct {
	call      *LoggedCall
	row       int64
	session   string
	sameModel bool
	distance  int64
}

// bodyItem is an item of request bodies, of however many.
type bodyItem struct {
	held bool        // by events
	call *LoggedCall // the newest that holds it
}

// hasher makes hashes of tuples: parts are set apart by their lengths.
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
	h := o.tuple(parts...)
	t := xxh3.HashString128(text)
	var b [32]byte
	binary.LittleEndian.PutUint64(b[0:], h.Hi)
	binary.LittleEndian.PutUint64(b[8:], h.Lo)
	binary.LittleEndian.PutUint64(b[16:], t.Hi)
	binary.LittleEndian.PutUint64(b[24:], t.Lo)
	return xxh3.Hash128(b[:])
}

// trimmed cuts White_Space from both ends.
func trimmed(s string) string { return strings.TrimFunc(s, values.IsSpace) }

// --- what secondary stores say

// WantSession notes a legacy file: the blocks of the database session of that
// id will be remembered.
func (o *Overlap) WantSession(id string) { o.legacy[id] = struct{}{} }

// WantPrompt notes a history entry.
func (o *Overlap) WantPrompt(text string) {
	key := o.textHash(trimmed(text), "prompt")
	if o.prompts[key] == nil {
		o.prompts[key] = &sighting{}
	}
}

// --- primary stores stream by

// openMessage collects the blocks of the message being read.
type openMessage struct {
	texts    []string       // of text blocks, for recovery
	turn     string         // of the last of them
	replies  []*loggedReply // logged messages of its id
	known    map[hash]eventRef
	tools    map[hash]eventRef
	kind     string // of the run of adjacent text or thinking blocks
	run      *xxh3.Hasher
	runStart eventRef
}

// beginMessage opens a primary message; readable tells that its content is.
func (o *Overlap) beginMessage(p *place, readable bool) {
	o.current.replies, o.current.texts = nil, o.current.texts[:0]
	if len(o.ids) == 0 || p.messageID.s == "" {
		return
	}
	replies := o.ids[o.tuple("id", p.messageID.s)]
	if replies == nil {
		return
	}
	o.knownID = true
	if !p.copiedFrom.ok {
		for _, r := range replies {
			r.sessions.add(p.session)
		}
	}
	if readable {
		o.current = openMessage{replies: replies, known: map[hash]eventRef{}, tools: map[hash]eventRef{}, run: xxh3.New(), texts: o.current.texts}
	}
}

// block sees a block of a primary message. ref is the event that stays for it.
func (o *Overlap) block(p *place, e *event, ref eventRef) {
	if len(o.prompts) > 0 && e.kind == "text" && e.turnType == "user" {
		if s := o.prompts[o.textHash(trimmed(e.text.s), "prompt")]; s != nil {
			s.see(ref)
		}
	}
	if len(o.last) > 0 && e.kind == "text" && e.turnType == "user" && !p.copiedFrom.ok {
		if s := o.last[o.textHash(trimmed(e.text.s), "last")]; s != nil {
			s.add(p.session)
		}
	}
	if len(o.calls) > 0 && e.kind == "tool_request" {
		for _, b := range o.calls[o.callHash(e.toolUseID.s, e.toolName.s, e.text.s)] {
			b.byCall.see(ref)
			if !p.copiedFrom.ok {
				b.sessions.add(p.session)
			}
		}
	}
	if len(o.texts) > 0 {
		for _, b := range o.texts[o.textHash(e.text.s, "text", e.turnType)] {
			if !p.copiedFrom.ok {
				b.sessions.add(p.session)
			}
			if b.at.OK && e.at.OK {
				if d := abs(b.at.V - e.at.V); d <= within && (!b.byText.seen || d < b.distance) {
					b.byText, b.distance = sighting{ref, true}, d
				}
			}
		}
	}
	o.hold(e)
	if m := &o.current; m.replies != nil {
		m.known[o.textHash(e.text.s, "block", e.kind)] = ref
		if e.toolUseID.s != "" {
			m.tools[o.tuple("tool", e.kind, e.toolUseID.s)] = ref
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

// joins reports the kinds of which adjacent blocks are one.
func joins(kind string) bool { return kind == "text" || kind == "thinking" }

func (o *Overlap) endRun() {
	m := &o.current
	if joins(m.kind) {
		m.known[o.joinedHash(m.run, m.kind)] = m.runStart
	}
	m.run.Reset()
	m.kind = ""
}

// joinedHash is the hash that textHash gives for the text that was written to run.
func (o *Overlap) joinedHash(run *xxh3.Hasher, kind string) hash {
	h, t := o.tuple("block", kind), run.Sum128()
	var b [32]byte
	binary.LittleEndian.PutUint64(b[0:], h.Hi)
	binary.LittleEndian.PutUint64(b[8:], h.Lo)
	binary.LittleEndian.PutUint64(b[16:], t.Hi)
	binary.LittleEndian.PutUint64(b[24:], t.Lo)
	return xxh3.Hash128(b[:])
}

// endMessage closes the primary message: what a logged message of its id has
// of it is repeated.
func (o *Overlap) endMessage() {
	m := &o.current
	if len(m.texts) > 1 { // a body has them as one
		o.holdText(m.turn, strings.Join(m.texts, "\n"))
	}
	if m.replies == nil {
		return
	}
	o.endRun()
	for _, r := range m.replies {
		for _, b := range r.blocks {
			if ref, ok := m.known[b.text]; ok {
				b.byID.see(ref)
			} else if ref, ok := m.known[b.run]; ok && joins(b.kind) {
				b.byID.see(ref)
			} else if ref, ok := m.tools[b.toolID]; ok && b.hasTool {
				b.byID.see(ref)
			}
		}
	}
	m.replies = nil
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

// ledger sees a row of usage_ledger.
func (o *Overlap) ledger(row int64, session string, at values.Int, model string, t values.Tokens) {
	if len(o.usage) == 0 || !at.OK {
		return
	}
	for _, c := range o.usage[usageKey{t.Input, t.Output, t.Total}] {
		if !c.StartedAt.OK {
			continue
		}
		if d := abs(c.StartedAt.V - at.V); d <= within {
			o.matches = append(o.matches, usageMatch{c, row, strings.Clone(session), model != "" && model == c.Model, d})
		}
	}
}
