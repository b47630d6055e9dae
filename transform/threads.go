package transform

import (
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"gander/schemas"
	"gander/schemas/jsonval"
)

// threads leaves out what thread_messages repeat of messages. It remembers the
// messages of a database that has thread messages at all: 16 bytes a block and
// some 100 a message.
type threads struct {
	wanted   bool
	messages map[hash][]eventRef
	refs     []eventRef // blocks of the message being read
	kept     []eventRef // of the message that the thread message repeats
	repeated bool
	block    int

	content content
	names   pairer
	calls   pairer
}

// watch looks at a batch of db_tables for thread messages.
func (t *threads) watch(rec arrow.RecordBatch) {
	names := rec.Column(schemas.DBTables.Index("table_name")).(*array.String)
	rows := rec.Column(schemas.DBTables.Index("rows")).(*array.Int64)
	for i := range int(rec.NumRows()) {
		if names.IsValid(i) && names.Value(i) == "thread_messages" && (rows.IsNull(i) || rows.Value(i) > 0) {
			t.wanted = true
			t.messages = map[hash][]eventRef{}
		}
	}
}

// keys are the two ways in which a thread message is found again.
func (t *threads) keys(o *Overlap, m *message, list jsonval.Value) []hash {
	keys := make([]hash, 0, 2)
	if m.messageID.s != "" {
		keys = append(keys, o.tuple("thread id", m.session.s, m.messageID.s))
	}
	second := "-"
	if m.at.OK {
		second = strconv.FormatInt(m.at.V/1_000_000, 10)
	}
	return append(keys, o.textHash(textsOf(list), "thread text", m.session.s, m.role.s, second))
}

// textsOf is what a message says, whatever is noted beside it.
func textsOf(list jsonval.Value) string {
	var out []byte
	for b := range list.Items() {
		out = jsonval.AppendQuoted(out, b.Get("type").Text())
		if text := b.Get("text"); text.Is(jsonval.String) {
			out = jsonval.AppendQuoted(out, text.Text())
		} else {
			out = b.AppendJSON(out)
		}
	}
	return string(out)
}

// remember notes a message of the table messages with the events of its blocks.
func (t *threads) remember(o *Overlap, m *message, list jsonval.Value) {
	if len(t.refs) == 0 {
		return
	}
	refs := append([]eventRef(nil), t.refs...)
	for _, key := range t.keys(o, m, list) {
		if t.messages[key] == nil {
			t.messages[key] = refs
		}
	}
}

// begin decides whether a thread message repeats one that is remembered.
func (t *threads) begin(o *Overlap, m *message, list jsonval.Value) bool {
	t.repeated, t.block = false, 0
	for _, key := range t.keys(o, m, list) {
		if refs := t.messages[key]; refs != nil && !t.repeated {
			t.repeated, t.kept = true, refs
		}
	}
	return t.repeated
}

// verdict is that of the next row of the thread message.
func (t *threads) verdict() verdict {
	if !t.repeated {
		return verdict{}
	}
	i := min(t.block, len(t.kept)-1)
	t.block++
	return verdict{ruleThread, t.kept[i]}
}
