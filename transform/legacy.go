package transform

import (
	"context"
	"iter"
	"path"
	"regexp"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"gander/schemas"
	"gander/schemas/jsonval"
	"gander/schemas/values"
)

// LegacyJSONL transforms one session file of releases before the database: a
// line of metadata, then a message a line.
type LegacyJSONL struct {
	textFile
	overlap *Overlap
	spool   func() (Spool, error)

	id      optText // session_id: the stem of the file's name
	content content
	names   pairer
	calls   pairer

	begun   bool // a first line was seen
	good    int64
	meta    jsonval.Doc
	header  string // the metadata line, "" without
	line    values.Int
	seq     int64
	stamps  stamps
	first   values.Int
	last    values.Int
	project optText
	kind    string
	kept    int64 // blocks of the message that stay
	left    int64 // and that do not
	nested  jsonval.ObjectBuilder
	extra   jsonval.ObjectBuilder
}

// LegacySessionID is the session id of a legacy file: the stem of its name.
func LegacySessionID(rel string) string {
	return strings.TrimSuffix(path.Base(rel), ".jsonl")
}

// NewLegacyJSONL returns the transform of one file. spool is as in SessionsDB.
func NewLegacyJSONL(info FileInfo, overlap *Overlap, spool func() (Spool, error)) *LegacyJSONL {
	return &LegacyJSONL{textFile: textFile{info: info}, overlap: overlap, spool: spool, id: some(LegacySessionID(info.Rel))}
}

// Tables implements TextStore.
func (t *LegacyJSONL) Tables(_ context.Context, in iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return t.tables(in, t.piece, t.end)
}

func (t *LegacyJSONL) begin() {
	t.begun = true
	t.names = pairer{open: map[string][]asked{}}
	t.calls = pairer{events: &t.events, out: t.set.Table(schemas.ToolCalls), spool: t.spool, open: map[string][]asked{}, session: t.id}
	t.content = content{emit: t.block, names: &t.names, calls: &t.calls, untyped: true}
}

func (t *LegacyJSONL) piece(p piece) error {
	first := !t.begun
	if first {
		t.begin()
	}
	t.events.record()
	at := place{line: values.Int{V: p.line, OK: true}, session: t.id, project: t.project}
	if err := t.doc.Parse(p.text); err != nil {
		t.tally.Bad++
		t.badLine(&at, reason(err), p.text)
		return nil
	}
	v := t.doc.Root()
	if !v.Is(jsonval.Object) {
		t.tally.Bad++
		t.badLine(&at, "type", p.text)
		return nil
	}
	content := v.Get("content")
	if first && v.Get("role").Kind() == jsonval.Missing && content.Kind() == jsonval.Missing {
		t.good++
		t.loneSurrogate(&at)
		t.metadata(&at, p, v)
		return nil
	}
	if !content.Is(jsonval.Array) && !content.Is(jsonval.String) {
		t.tally.Bad++
		t.badLine(&at, "type", p.text)
		return nil
	}
	t.good++
	t.loneSurrogate(&at)
	return t.message(&at, v, content)
}

var stampedStem = regexp.MustCompile(`^(\d{4})(\d\d)(\d\d)_(\d\d)(\d\d)(\d\d)$`)

// metadata takes the first line: it begins the session.
func (t *LegacyJSONL) metadata(at *place, p piece, v jsonval.Value) {
	t.header, t.line = strings.Clone(p.text), at.line
	t.kind = strings.Clone(v.Get("session_type").Text())
	if dir := v.Get("working_dir"); dir.Is(jsonval.String) {
		t.project = some(strings.Clone(dir.Text()))
		at.project = t.project
	}
	title := textOf(v.Get("description"))
	if title == "" {
		title = textOf(v.Get("name"))
	}
	count := ""
	if n := v.Get("message_count"); n.Kind() != jsonval.Missing {
		count = n.TextOrJSON() + " messages"
	}
	e := event{kind: "session_start", turnType: "system", at: t.createdAt(v), block: -1, text: some(joined("session start (legacy)", title, count))}
	var verdict verdict
	if ref, ok := t.overlap.replaced[t.id.s]; ok {
		verdict.rule, verdict.kept = ruleSession, ref
	}
	t.decide(at, &e, verdict)
	t.tally.WithRows++
}

// createdAt is the session's created_at, else what its id says.
func (t *LegacyJSONL) createdAt(v jsonval.Value) values.Int {
	if us, ok := v.Get("created_at").Time(); ok {
		return values.Int{V: us, OK: true}
	}
	if m := stampedStem.FindStringSubmatch(t.id.s); m != nil {
		us, ok := values.TextTime(m[1] + "-" + m[2] + "-" + m[3] + " " + m[4] + ":" + m[5] + ":" + m[6])
		return values.Int{V: us, OK: ok}
	}
	return values.Int{}
}

func (t *LegacyJSONL) message(at *place, v, list jsonval.Value) error {
	t.seq++
	role := stringOf(v.Get("role"))
	meta := readMetadata(v.Get("metadata"))
	at.messageID, at.role = stringOf(v.Get("id")), role
	at.userVisible, at.agentVisible = meta.userVisible, meta.agentVisible
	m := message{place: *at, number: t.seq, turn: turnOf(role.s)}
	created := v.Get("created")
	var ms values.Int
	if created.Present() {
		m.at.V, m.at.OK = created.Time()
		if !m.at.OK {
			t.issues.write(at, issue{"bad_time", "created is no time from 2000 to 2100", some(created.TextOrJSON())})
		} else if n, ok := created.Int(); ok && values.IsMillis(n) {
			ms = values.Int{V: n, OK: true}
		}
	}
	for _, key := range meta.badNumbers {
		bad := meta.root.Get("usage").Get(key)
		t.issues.write(at, issue{"bad_number", "metadata: usage." + key + " is no such number", some(bad.TextOrJSON())})
	}
	if meta.ownModel() != "" {
		m.pair = meta.pair()
	}
	suspect := t.stamps.suspect(ms)
	widen(&t.first, &t.last, m.at)

	t.kept, t.left = 0, 0
	t.overlap.beginMessage(&m.place, true)
	var err error
	var sh shape
	if list.Is(jsonval.String) {
		sh = shape{blocks: 1, text: true, prompting: true, slash: strings.HasPrefix(list.Text(), "/")}
		t.block(&m.place, &event{kind: "text", turnType: m.turn, at: m.at, pair: m.pair, text: some(list.Text())})
	} else {
		sh = shapeOf(list)
		err = t.content.blocks(&m, list)
	}
	t.overlap.endMessage()
	if err != nil {
		return err
	}
	if t.kept+t.left > 0 {
		t.tally.WithRows++
	} else {
		t.tally.WithoutRows++
	}
	t.extra.Reset()
	addRest(&t.extra, v, "id", "role", "created", "content", "metadata")
	if !meta.root.Is(jsonval.Object) {
		t.extra.Value("metadata", v.Get("metadata"))
	}
	writeMessage(t.set.Table(schemas.Messages), &t.events, &messageRow{
		message: &m, meta: &meta, shape: sh, readable: true, created: m.at, suspect: suspect,
		superseded: t.left > 0 && t.kept == 0, sessionType: t.kind, extra: &t.extra, nested: &t.nested,
	})
	return nil
}

// block writes the event of a block, or the link to the database's.
func (t *LegacyJSONL) block(p *place, e *event) string {
	v := t.overlap.legacyBlock(p, e)
	id := t.decide(p, e, v)
	ref := v.kept
	if id != "" {
		ref = refOf(id, e.at)
		t.kept++
	} else {
		t.left++
	}
	t.overlap.block(p, e, ref)
	return id
}

// end writes the calls that nothing answered and the session's row: every
// file has one.
func (t *LegacyJSONL) end() error {
	if !t.begun {
		return nil
	}
	t.malformed = t.good == 0
	if err := t.calls.close(); err != nil {
		return err
	}
	v := jsonval.Value{}
	if t.header != "" && t.meta.Parse(t.header) == nil {
		v = t.meta.Root()
	}
	t.sessionRow(v)
	return nil
}

func (t *LegacyJSONL) sessionRow(v jsonval.Value) {
	o := t.set.Table(schemas.Sessions)
	p := place{line: t.line}
	t.extra.Reset()
	placed := []string{"id", "message_count"}
	get := func(key string) jsonval.Value {
		placed = append(placed, key)
		return v.Get(key)
	}
	text := func(key string) {
		w := get(key)
		if w.Present() && !w.Is(jsonval.String) {
			o.Text(w.JSON())
			return
		}
		o.OptText(w.Text(), w.Is(jsonval.String))
	}
	when := func(key string) {
		w := get(key)
		us, ok := w.Time()
		if w.Present() && !ok {
			t.issues.write(&p, issue{"bad_time", key + " is no time from 2000 to 2100", some(w.TextOrJSON())})
		}
		o.Micros(us, ok)
	}
	document := func(keys ...string) {
		for _, key := range keys {
			if w := get(key); w.Present() {
				o.Text(w.JSON())
				return
			}
		}
		o.Null()
	}
	count := func(key string) {
		w := get(key)
		n, ok := w.Int()
		if w.Present() && !ok {
			t.issues.write(&p, issue{"bad_number", key + " is no whole number of 64 bits", some(w.TextOrJSON())})
			t.extra.Value(key, w)
		}
		o.OptInt(n, ok)
	}
	o.Text(t.info.Store)
	o.OptText(t.id.s, t.id.ok)
	text("name")
	text("description")
	o.OptBool(get("user_set_name").Bool())
	text("session_type")
	text("working_dir")
	created := t.createdAt(v)
	if w := get("created_at"); w.Present() {
		if _, ok := w.Time(); !ok {
			t.issues.write(&p, issue{"bad_time", "created_at is no time from 2000 to 2100", some(w.TextOrJSON())})
		}
	}
	o.Micros(created.V, created.OK)
	when("updated_at")
	when("archived_at")
	text("provider_name")
	config := get("model_config")
	o.TextOrNull(config.Get("model_name").Text())
	document("model_config")
	text("goose_mode")
	text("schedule_id")
	text("project_id")
	text("parent_session_id")
	document("recipe")
	document("user_recipe_values")
	document("extension_data")
	for _, prefix := range []string{"", "accumulated_"} {
		for _, c := range []string{"input", "output", "total", "cache_read", "cache_write"} {
			count(prefix + c + "_tokens")
		}
	}
	cost := get("accumulated_cost")
	usd, priced := cost.Float()
	if cost.Present() && !priced {
		t.issues.write(&p, issue{"bad_number", "accumulated_cost is no number", some(cost.TextOrJSON())})
		t.extra.Value("accumulated_cost_usd", cost)
	}
	o.OptFloat(usd, priced)
	o.Int(t.seq)
	o.Micros(t.first.V, t.first.OK)
	o.Micros(t.last.V, t.last.OK)
	_, superseded := t.overlap.replaced[t.id.s]
	o.Bool(superseded)
	addRest(&t.extra, v, placed...)
	if id := v.Get("id"); id.Present() && id.Text() != t.id.s {
		t.extra.Value("id", id)
	}
	if n := v.Get("message_count"); n.Present() {
		t.extra.Value("message_count", n)
	}
	writeExtra(o, &t.extra)
	t.events.origin(o, &p)
	o.End()
}

// untyped gives an item of old files the type that its keys tell, as JSON; ""
// when it has one, or is none.
func untyped(b jsonval.Value) string {
	if !b.Is(jsonval.Object) || b.Get("type").Kind() != jsonval.Missing {
		return ""
	}
	var o, inner jsonval.ObjectBuilder
	rest := func(placed ...string) string {
		addRest(&o, b, placed...)
		return string(o.JSON())
	}
	switch {
	case b.Get("text").Is(jsonval.String):
		o.Text("type", "text")
		return rest()
	case b.Get("tool_name").Kind() != jsonval.Missing:
		inner.Value("name", b.Get("tool_name"))
		inner.Value("arguments", b.Get("arguments"))
		o.Text("type", "toolRequest")
		o.Raw("toolCall", `{"status":"success","value":`+string(inner.JSON())+`}`)
		return rest("tool_name", "arguments")
	case b.Get("tool_result").Kind() != jsonval.Missing:
		o.Text("type", "toolResponse")
		o.Raw("toolResult", `{"status":"success","value":`+b.Get("tool_result").JSON()+`}`)
		return rest("tool_result")
	}
	return ""
}
