package transform

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/zeebo/xxh3"

	"gander/schemas/batch"
	"gander/schemas/values"
)

// optText is a text that may be NULL.
type optText struct {
	s  string
	ok bool
}

func some(s string) optText { return optText{s, true} }

// nonEmpty is s, NULL for ”.
func nonEmpty(s string) optText { return optText{s, s != ""} }

// tristate is a flag that may be NULL.
type tristate struct{ v, ok bool }

// place is where events come from: everything about a row of events that the
// record decides and its blocks share.
type place struct {
	table optText // source_table
	line  values.Int
	// createdAt is the stored created_at of a sessions row: it tells the lives
	// of a reused id apart.
	createdAt string
	// byText sets events apart by their text, not by where they stand: the
	// store is rewritten whole, and its records move.
	byText bool
	// identity stands for the file's path where names rotate: a log's id.
	identity string

	session      optText
	project      optText
	messageRow   values.Int
	messageID    optText
	role         optText
	userVisible  tristate
	agentVisible tristate
	copiedFrom   optText
}

// modelPair is provider and model of an event: always of one origin.
type modelPair struct {
	provider, model optText
	basis           string
}

// event is a row of events on its way out. Its texts are views that are valid
// until the next message.
type event struct {
	kind, turnType string
	at             values.Int // microseconds
	block          int        // -1: not of a block
	pair           modelPair
	toolName       optText
	toolUseID      optText
	text           optText
	isError        tristate
	mime           optText
	dataBytes      values.Int
	dataSHA        string
	extra          []byte
}

// eventWriter numbers, identifies and writes the events of one source.
type eventWriter struct {
	out    *batch.Writer
	homeID string
	store  string
	file   string
	seq    int64
	key    []byte
	seen   map[string]uint32   // how often an identity came up in the current record
	tail   func(*batch.Writer) // appends the columns behind those of events; nil when there are none
}

// restart begins the numbering of another session.
func (w *eventWriter) restart() { w.seq = 0 }

// record begins another record: identities can repeat within one only. Stores
// whose events are told apart by their text are one record as a whole.
func (w *eventWriter) record() { clear(w.seen) }

// write appends the event and returns its id.
func (w *eventWriter) write(p *place, e *event) string {
	id := w.id(p, e)
	w.seq++
	o := w.out
	o.Text(id)
	o.Int(w.seq)
	o.Text(w.store)
	o.Text(e.kind)
	o.Text(e.turnType)
	o.Micros(e.at.V, e.at.OK)
	o.OptText(p.session.s, p.session.ok)
	o.OptText(p.project.s, p.project.ok)
	o.OptInt(p.messageRow.V, p.messageRow.OK)
	o.OptText(p.messageID.s, p.messageID.ok)
	o.OptInt(int64(e.block), e.block >= 0)
	o.OptText(p.role.s, p.role.ok)
	o.OptText(e.pair.provider.s, e.pair.provider.ok)
	o.OptText(e.pair.model.s, e.pair.model.ok)
	o.TextOrNull(e.pair.basis)
	o.OptText(e.toolName.s, e.toolName.ok)
	o.OptText(e.toolUseID.s, e.toolUseID.ok)
	o.OptText(e.text.s, e.text.ok)
	o.OptBool(e.isError.v, e.isError.ok)
	o.OptBool(p.userVisible.v, p.userVisible.ok)
	o.OptBool(p.agentVisible.v, p.agentVisible.ok)
	o.OptText(e.mime.s, e.mime.ok)
	o.OptInt(e.dataBytes.V, e.dataBytes.OK)
	o.TextOrNull(e.dataSHA)
	if e.extra != nil {
		o.Bytes(e.extra)
	} else {
		o.Null()
	}
	w.origin(o, p)
	if w.tail != nil {
		w.tail(o)
	}
	o.End()
	return id
}

// origin appends the source_ columns that end every table built from records.
func (w *eventWriter) origin(o *batch.Writer, p *place) {
	o.Text(w.file)
	o.OptText(p.table.s, p.table.ok)
	o.OptInt(p.line.V, p.line.OK)
}

// id names the event by where it stands, not by what stands around it. Parts
// are set apart by their lengths, so that no two lists of parts are one key.
func (w *eventWriter) id(p *place, e *event) string {
	key := w.key[:0]
	text := func(s string) {
		key = binary.AppendUvarint(key, uint64(len(s)))
		key = append(key, s...)
	}
	text(w.homeID)
	text(w.store)
	if p.identity != "" {
		text(p.identity)
	} else {
		text(w.file)
	}
	text(p.table.s)
	if p.byText {
		sum := sha256.Sum256([]byte(e.text.s))
		key = append(key, sum[:]...)
	} else {
		key = binary.AppendVarint(key, p.line.V)
	}
	text(p.createdAt)
	key = binary.AppendVarint(key, int64(e.block))
	text(e.kind)
	// Only rows that can repeat among those counted together are counted: the
	// rest of the key sets all others apart.
	n := uint32(0)
	if e.block < 0 || p.identity != "" {
		n = w.seen[string(key)]
		w.seen[string(key)] = n + 1
	}
	key = binary.AppendUvarint(key, uint64(n))
	w.key = key
	sum := xxh3.Hash128(key).Bytes()
	return hex.EncodeToString(sum[:])
}
