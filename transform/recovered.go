package transform

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/zeebo/xxh3"

	"gander/schemas"
	"gander/schemas/batch"
	"gander/schemas/jsonval"
	"gander/schemas/values"
)

// Recovered passes on the rows of schemas.RecoveredRows and makes of the
// deleted ones of sessions and messages the events that they would be, as rows
// of schemas.RecoveredEvents: several versions of a row that say the same say it
// once, with the strongest evidence. It keeps of each recovered session its
// working directory, provider and model; Overlap remembers the events.
type Recovered struct {
	textFile
	overlap *Overlap
	current map[uint64]sessionFacts // sessions that the database still has
	gone    map[uint64]sessionFacts // sessions that were recovered

	evidence string
	first    values.Int
	last     values.Int
	content  content
	names    pairer
	body     jsonval.Doc
	meta     jsonval.Doc
	config   jsonval.Doc
	number   int64
}

// NewRecovered returns the transform of what a database lost. current is the
// transform that read what it has.
func NewRecovered(info FileInfo, current *SessionsDB) *Recovered {
	return &Recovered{textFile: textFile{info: info}, overlap: current.Overlap, current: current.facts, gone: map[uint64]sessionFacts{}}
}

// Tables consumes the records of extract.RecoveredRowsSource and yields
// finished batches of recovered_rows, recovered_events and issues.
func (t *Recovered) Tables(_ context.Context, in iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		set := t.open(yield)
		defer set.Release()
		t.events.out = set.Table(schemas.RecoveredEvents)
		t.events.tail = func(o *batch.Writer) {
			o.TextOrNull(t.evidence)
			o.OptInt(t.first.V, t.first.OK)
			o.OptInt(t.last.V, t.last.OK)
		}
		t.names = pairer{open: map[string][]asked{}}
		t.content = content{emit: t.tell, names: &t.names, calls: &t.names}
		columns := columnsOf(schemas.RecoveredRows)
		for rec, err := range in {
			if err != nil {
				yield(nil, err)
				return
			}
			if schemas.NameOf(rec.Schema()) == schemas.RecoveredRows.Name {
				at := row{raw: raw{columns, rec}}
				for at.i = 0; at.i < int(rec.NumRows()); at.i++ {
					if err := t.row(at); err != nil {
						rec.Release()
						yield(nil, err)
						return
					}
				}
				if !yield(rec, nil) {
					return
				}
				continue
			}
			if err := t.batch(rec, nil); err != nil {
				yield(nil, err)
				return
			}
			if set.Stopped() {
				return
			}
		}
		set.Flush()
		t.tally.Issues = t.issues.n
	}
}

func (t *Recovered) row(at row) error {
	if at.str("change") != "deleted" {
		return nil
	}
	if err := t.doc.Parse(at.str("row_values")); err != nil {
		return fmt.Errorf("transform: row_values of a recovered row: %w", err)
	}
	t.evidence, t.first, t.last = strings.Clone(at.str("evidence")), at.int("first_commit"), at.int("last_commit")
	t.events.restart()
	t.events.record()
	table := at.str("source_table")
	p := place{
		table: some(table), line: at.int("row_id"), session: at.value("session_id"),
		identity: values.SHA256Hex([]byte(t.evidence + at.str("row_values"))),
	}
	switch v := t.doc.Root(); table {
	case "sessions":
		t.session(&p, at, v)
	case "messages":
		return t.message(&p, at, v)
	}
	return nil
}

// tell writes an event unless another version of the row said it.
func (t *Recovered) tell(p *place, e *event) string {
	key := t.events.key[:0]
	for _, part := range []string{"recovered", t.info.Path, p.table.s, p.session.s, p.createdAt, e.kind, e.toolUseID.s, e.text.s} {
		key = binary.AppendUvarint(key, uint64(len(part)))
		key = append(key, part...)
	}
	if p.table.s != "sessions" { // the rowid of a session says nothing: Goose replaces the row
		key = binary.AppendVarint(key, p.line.V)
		key = binary.AppendVarint(key, int64(e.block))
	}
	t.events.key = key
	if !t.overlap.once(xxh3.Hash128(key)) {
		return "-"
	}
	return t.events.write(p, e)
}

// column reads a stored value as a text column would have it.
func column(v jsonval.Value, name string) string {
	if name == "archived_at_text" {
		name = "archived_at"
	}
	return textOf(v.Get(name))
}

func (t *Recovered) session(p *place, at row, v jsonval.Value) {
	facts := sessionFacts{provider: stringOf(v.Get("provider_name")), project: stringOf(v.Get("working_dir"))}
	facts.provider.s, facts.project.s = strings.Clone(facts.provider.s), strings.Clone(facts.project.s)
	if t.config.Parse(column(v, "model_config_json")) == nil {
		facts.model = strings.Clone(t.config.Root().Get("model_name").Text())
	}
	t.gone[xxh3.HashString(p.session.s)] = facts
	p.project, p.createdAt = facts.project, column(v, "created_at")
	pair := facts.pair()
	sessionFactsOf(func(name string) string { return column(v, name) }, facts.project.s, facts.provider.s, facts.model, func(kind, text string) {
		t.tell(p, &event{kind: kind, turnType: "system", at: at.micros("created_at"), block: -1, pair: pair, text: some(text)})
	})
}

// pair is provider and model of a session's last setting.
func (f *sessionFacts) pair() modelPair {
	pair := modelPair{provider: f.provider, model: nonEmpty(f.model)}
	if f.model != "" {
		pair.basis = "session_last"
	}
	return pair
}

func (t *Recovered) message(p *place, at row, v jsonval.Value) error {
	facts, ok := t.gone[xxh3.HashString(p.session.s)]
	if !ok {
		facts = t.current[xxh3.HashString(p.session.s)]
	}
	t.number++
	p.project, p.messageRow, p.messageID, p.role = facts.project, p.line, stringOf(v.Get("message_id")), stringOf(v.Get("role"))
	m := message{place: *p, number: t.number, turn: turnOf(p.role.s), at: at.micros("created_at"), pair: facts.pair()}
	if text := column(v, "metadata_json"); text != "" && t.meta.Parse(text) == nil {
		meta := readMetadata(t.meta.Root())
		m.userVisible, m.agentVisible = meta.userVisible, meta.agentVisible
		if meta.ownModel() != "" {
			m.pair = meta.pair()
		}
	}
	text := column(v, "content_json")
	why := "empty"
	if text != "" {
		why = ""
		if err := t.body.Parse(text); err != nil {
			why = reason(err)
		} else if !t.body.Root().Is(jsonval.Array) {
			why = "type"
		}
	}
	if why != "" {
		t.tell(p, &event{kind: "parser_issue", turnType: "system", block: -1, text: some("parser: unparseable record (messages.content_json: " + why + "): " + text)})
		return nil
	}
	return t.content.blocks(&m, t.body.Root())
}
