package transform

import (
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"gander/schemas"
	"gander/schemas/jsonval"
)

// threads leaves out what thread_messages repeat of messages. Overlap remembers
// the messages of a database that has thread messages at all: two records a
// message, and one for each block but the first.
type threads struct {
	file     string // source_file: other databases have messages of their own
	wanted   bool
	refs     []eventRef // blocks of the message being read
	kept     blockList  // of the message that the thread message repeats
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
		}
	}
}

// keys are the two ways in which a thread message is found again.
func (t *threads) keys(o *Overlap, m *message, list jsonval.Value) []hash {
	keys := make([]hash, 0, 2)
	if m.messageID.s != "" {
		keys = append(keys, o.tuple("thread id", t.file, m.session.s, m.messageID.s))
	}
	second := "-"
	if m.at.OK {
		second = strconv.FormatInt(m.at.V/1_000_000, 10)
	}
	return append(keys, o.textHash(textsOf(list), "thread text", t.file, m.session.s, m.role.s, second))
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
	blocks := blockList{n: uint64(len(t.refs)), first: t.refs[0]}
	for _, key := range t.keys(o, m, list) {
		if _, ok := o.table.Get(key); ok {
			continue
		}
		if blocks.name == (hash{}) { // after the first key that is not another message's
			blocks.name = key
			for i, ref := range t.refs[1:] {
				o.table.Put(numbered(key, partBlock, int64(i+1)), (&sighting{seen: true, ref: ref}).value())
			}
		}
		o.table.Put(key, blocks.value())
	}
}

// begin decides whether a thread message repeats one that is remembered.
func (t *threads) begin(o *Overlap, m *message, list jsonval.Value) bool {
	t.repeated, t.block = false, 0
	for _, key := range t.keys(o, m, list) {
		if v, ok := o.table.Get(key); ok {
			t.repeated, t.kept = true, readBlockList(&v)
			break
		}
	}
	return t.repeated
}

// verdict is that of the next row of the thread message.
func (t *threads) verdict(o *Overlap) verdict {
	if !t.repeated {
		return verdict{}
	}
	kept := t.kept.first
	if i := min(t.block, int(t.kept.n)-1); i > 0 {
		kept = o.answer(numbered(t.kept.name, partBlock, int64(i))).ref
	}
	t.block++
	return verdict{ruleThread, kept}
}
