package transform

import (
	"slices"

	"github.com/zeebo/xxh3"

	"gander/schemas/values"
	"gander/transform/internal/memo"
)

// LoggedCall is what Overlap keeps of a request log, beside its questions.
type LoggedCall struct {
	name      string // of the file
	number    uint32 // among the logs
	startedAt values.Int
	model     uint64                 // hash of its name; 0 without
	keys      [sessionSources]uint32 // how many there are of each
	ledger    ledgerMatch
}

// The questions whose answers tell the session of a logged call, the most
// telling first.
const (
	sessionOfID   = iota // that holds a message id
	sessionOfCall        // a tool call
	sessionOfText        // a text
	sessionOfLast        // the last user text
	sessionSources
)

// logged begins a log.
func (o *Overlap) logged(name string, startedAt values.Int, model string) *LoggedCall {
	c := &LoggedCall{name: name, number: uint32(len(o.logs)), startedAt: startedAt, model: modelHash(model)}
	o.logs = append(o.logs, c)
	return c
}

func modelHash(model string) uint64 {
	if model == "" {
		return 0
	}
	return xxh3.HashString(model)
}

// newer orders logs by start, then by name: a lower number finished later.
func (c *LoggedCall) newer(than *LoggedCall) bool {
	switch {
	case c.startedAt.OK != than.startedAt.OK:
		return c.startedAt.OK
	case c.startedAt.V != than.startedAt.V:
		return c.startedAt.V > than.startedAt.V
	}
	return c.name < than.name
}

// loggedBlock is the questions of a block of a logged message.
type loggedBlock struct {
	kind   string
	at     values.Int
	within []hash // rule (a): block, run and tool of a message of its id; none without an id
	alone  hash   // rule (b), of a tool call, or (c)
}

// loggedBlocks makes the questions of one logged message.
type loggedBlocks struct {
	overlap  *Overlap
	id       string // of the message
	blocks   []loggedBlock
	run      xxh3.Hasher // adjacent text or thinking blocks
	runStart int
}

// add takes the next block.
func (l *loggedBlocks) add(e *event) {
	o := l.overlap
	if n := len(l.blocks); n > l.runStart && l.blocks[n-1].kind != e.kind {
		l.endRun()
	}
	b := loggedBlock{kind: e.kind, at: e.at}
	if l.id != "" {
		b.within = append(b.within, o.blockHash(l.id, e.kind, e.text.s))
		if e.toolUseID.s != "" {
			b.within = append(b.within, o.tuple("tool", l.id, e.kind, e.toolUseID.s))
		}
	}
	if e.kind == "tool_request" {
		b.alone = o.callHash(e.toolUseID.s, e.toolName.s, e.text.s)
	} else {
		b.alone = o.textHash(e.text.s, "text", e.turnType)
	}
	l.blocks = append(l.blocks, b)
	if joins(e.kind) {
		_, _ = l.run.WriteString(e.text.s)
	} else {
		l.endRun()
	}
}

// endRun ends a run of adjacent blocks; a run of one is the block itself.
func (l *loggedBlocks) endRun() {
	if run := l.blocks[l.runStart:]; l.id != "" && len(run) > 1 {
		key := l.overlap.runHash(l.id, run[0].kind, &l.run)
		for i := range run {
			run[i].within = slices.Insert(run[i].within, 1, key)
		}
	}
	l.run.Reset()
	l.runStart = len(l.blocks)
}

// wantMessage asks the questions of a logged message.
func (o *Overlap) wantMessage(c *LoggedCall, id string, blocks []loggedBlock) {
	if id != "" {
		o.asksIDs = true
		key := o.tuple("id", id)
		o.ask(key, memo.Value{})
		o.tellsSession(c, sessionOfID, key)
	}
	for i := range blocks {
		b := &blocks[i]
		for _, key := range b.within {
			o.ask(key, memo.Value{})
		}
		o.ask(b.alone, memo.Value{})
		if b.kind == "tool_request" {
			o.asksCalls = true
			o.tellsSession(c, sessionOfCall, b.alone)
			continue
		}
		o.asksTexts = true
		if b.kind == "text" {
			o.tellsSession(c, sessionOfText, b.alone)
		}
		if b.at.OK {
			o.askNear(b.alone, b.at.V)
		}
	}
}

// wantLast asks for the session of a log's last user text.
func (o *Overlap) wantLast(c *LoggedCall, text string) {
	o.asksPrompts = true
	key := o.promptHash(text)
	o.ask(key, memo.Value{})
	o.tellsSession(c, sessionOfLast, key)
}

// decide applies rule request_log to the blocks of a logged message: (c) only
// where ids tell nothing, or tell that the message is stored.
func (o *Overlap) decide(id string, blocks []loggedBlock) []verdict {
	verdicts := make([]verdict, len(blocks))
	went := false
	for i := range blocks {
		if ref, ok := o.repeated(&blocks[i]); ok {
			verdicts[i], went = verdict{ruleLog, ref}, true
		}
	}
	if !went && id != "" && o.knownID {
		return verdicts
	}
	for i := range blocks {
		b := &blocks[i]
		if verdicts[i].rule != "" || b.kind == "tool_request" || !b.at.OK {
			continue
		}
		if ref, ok := o.near(b.alone, b.at.V); ok {
			verdicts[i] = verdict{ruleLog, ref}
		}
	}
	return verdicts
}

// repeated applies (a), then (b).
func (o *Overlap) repeated(b *loggedBlock) (eventRef, bool) {
	for _, key := range b.within {
		if s := o.answer(key); s.seen {
			return s.ref, true
		}
	}
	if b.kind == "tool_request" {
		s := o.answer(b.alone)
		return s.ref, s.seen
	}
	return eventRef{}, false
}

// --- the session of a log

// tellsSession notes a question whose answer tells the log's session.
func (o *Overlap) tellsSession(c *LoggedCall, source int, question hash) {
	n := c.keys[source]
	c.keys[source]++
	key := sessionKey(c, source, n)
	var list hashList
	if v, ok := o.table.Get(key); ok {
		list = readHashes(&v)
	}
	list[n%uint32(len(list))] = question
	o.table.Put(key, list.value())
}

// sessionKey names the list that has question n of a source.
func sessionKey(c *LoggedCall, source int, n uint32) hash {
	list := uint32(len(hashList{}))
	return numbered(hash{Hi: uint64(c.number), Lo: uint64(source)}, partSession, int64(n/list))
}

// sessionOf returns the one session that a logged call belongs to, as far as
// the primary stores were read.
func (o *Overlap) sessionOf(c *LoggedCall) optText {
	for source, n := range c.keys {
		var all sessionSet
		for i := range n {
			v, _ := o.table.Get(sessionKey(c, source, i))
			list := readHashes(&v)
			all.merge(o.answer(list[i%uint32(len(list))]).session)
		}
		if all.some && !all.several {
			return some(o.sessions[all.id])
		}
	}
	return optText{}
}
