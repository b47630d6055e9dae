package transform

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"gander/schemas"
	"gander/schemas/jsonval"
	"gander/schemas/values"
	"gander/transform/internal/provider"
)

// RequestLog transforms one request log: a provider call, its request in the
// first line, then what came back. It holds one call at a time.
type RequestLog struct {
	textFile
	overlap *Overlap
	spool   func() (Spool, error)
	// logID names the log: the first 32 hex digits of its SHA-256.
	logID string
	name  string
	call  *LoggedCall // what Scan found; nil when the log was not scanned

	lines    int64
	badLines []badLine
	head     string // first line, when it can be read
	model    string // that it names
	bodySize values.Int
	reply    assembler
	errors   []string
	usage    string   // last usage object
	odd      []string // data that is no message of any shape
	chunks   int64
	ended    bool // the last line tells usage or an error
	cut      bool

	headDoc, bodyDoc jsonval.Doc
	extra            jsonval.ObjectBuilder
}

type badLine struct {
	line int64
	why  string
	text string
}

// NewRequestLog returns the transform of one log. sha256 is that of its bytes,
// call what Scan returned; both are for Tables.
func NewRequestLog(info FileInfo, overlap *Overlap, spool func() (Spool, error), sha256 string, call *LoggedCall) *RequestLog {
	base := info.Rel[strings.LastIndexByte(info.Rel, '/')+1:]
	return &RequestLog{textFile: textFile{info: info}, overlap: overlap, spool: spool, name: base, logID: sha256[:min(32, len(sha256))], call: call}
}

// piece reads one line.
func (t *RequestLog) piece(p piece) error {
	t.lines++
	t.cut = p.cut
	t.ended = false
	err := t.doc.Parse(p.text)
	why := ""
	switch {
	case err != nil:
		why = reason(err)
	case !t.doc.Root().Is(jsonval.Object):
		why = "type"
	}
	first := t.lines == 1
	if first {
		t.bodySize = values.Int{V: int64(len(p.text)), OK: true}
	}
	if why != "" {
		t.badLines = append(t.badLines, badLine{p.line, why, strings.Clone(p.text)})
		return nil
	}
	v := t.doc.Root()
	if first {
		t.head, t.model = strings.Clone(p.text), strings.Clone(modelOf(v))
		return nil
	}
	if e := v.Get("error"); e.Present() {
		t.errors = append(t.errors, strings.Clone(textOf(e)))
		t.ended = true
		return nil
	}
	if u := v.Get("usage"); u.Is(jsonval.Object) {
		t.usage = strings.Clone(u.JSON())
		t.ended = true
	}
	if data := v.Get("data"); data.Present() {
		t.chunks++
		if m, ok := provider.Message(data); ok {
			if t.bodyDoc.Parse(string(m)) == nil {
				t.reply.push(t.bodyDoc.Root())
			}
		} else {
			t.odd = append(t.odd, strings.Clone(data.JSON()))
		}
	}
	return nil
}

// request returns the parsed first line, missing when it cannot be read.
func (t *RequestLog) request() jsonval.Value {
	if t.head == "" || t.headDoc.Parse(t.head) != nil {
		return jsonval.Value{}
	}
	return t.headDoc.Root()
}

// startedAt is the time of the llm_request event.
func (t *RequestLog) startedAt() values.Int {
	for _, m := range t.reply.messages {
		if m.created.OK {
			return m.created
		}
	}
	return t.info.MTime
}

func modelOf(head jsonval.Value) string {
	if name := head.Get("model_config").Get("model_name").Text(); name != "" {
		return name
	}
	return head.Get("input").Get("model").Text()
}

// tokensOf reads a usage object as providers' answers are normalised by Goose.
func tokensOf(u jsonval.Value) (values.Tokens, []string) {
	var bad []string
	whole := func(keys ...string) values.Int {
		for _, key := range keys {
			v := u.Get(key)
			if !v.Present() {
				continue
			}
			n, ok := v.Int()
			if !ok {
				bad = append(bad, key)
			}
			return values.Int{V: n, OK: ok}
		}
		return values.Int{}
	}
	return values.Tokens{
		Input: whole("input_tokens"), Output: whole("output_tokens"), Total: whole("total_tokens"),
		CacheRead: whole("cache_read_input_tokens", "cache_read_tokens"), CacheWrite: whole("cache_write_input_tokens", "cache_write_tokens"),
	}, bad
}

// Scan reads the log for what the overlap is to look for. It consumes and
// releases in. The LoggedCall is for the Tables of the same log.
func (t *RequestLog) Scan(in iter.Seq2[arrow.RecordBatch, error]) (*LoggedCall, error) {
	if err := scan(in, t.piece); err != nil {
		return nil, err
	}
	head := t.request()
	c := t.overlap.logged(t.name, t.startedAt(), t.model)
	var u jsonval.Doc
	if t.usage != "" && u.Parse(t.usage) == nil {
		tokens, _ := tokensOf(u.Root())
		t.overlap.wantUsage(c, tokens)
	}
	for k := range t.reply.messages {
		id, blocks, err := t.questions(k)
		if err != nil {
			return nil, err
		}
		t.overlap.wantMessage(c, id, blocks)
	}
	if last := withoutContext(head.Get("input")); last != "" {
		t.overlap.wantLast(c, last)
	}
	for it := range provider.Items(head.Get("input")) {
		t.overlap.wantItem(it, c)
	}
	return c, nil
}

// questions returns the id of message k and the questions of its blocks.
func (t *RequestLog) questions(k int) (string, []loggedBlock, error) {
	l := loggedBlocks{overlap: t.overlap, id: t.reply.messages[k].id.s}
	err := t.blocks(k, func(_ *place, e *event) string {
		l.add(e)
		return ""
	}, &pairer{open: map[string][]asked{}}, nil)
	l.endRun()
	return l.id, l.blocks, err
}

// withoutContext is the last user text of a request without turn context.
func withoutContext(input jsonval.Value) string {
	text := ""
	for it := range provider.Items(input) {
		if it.Kind == "text" && it.Role == "user" {
			text = it.Compare
		}
	}
	return text
}

// blocks passes the events of message k to emit. calls may be nil: then none
// are paired beyond the names.
func (t *RequestLog) blocks(k int, emit func(*place, *event) string, names, calls *pairer) error {
	m := t.reply.messages[k]
	if calls == nil {
		calls = names
	}
	at := message{place: t.place(), number: int64(k), turn: turnOf(m.role.s), at: m.created, pair: t.pair()}
	at.messageID, at.role, at.userVisible, at.agentVisible = m.id, m.role, m.userVisible, m.agentVisible
	if err := t.bodyDoc.Parse(m.content()); err != nil {
		return fmt.Errorf("transform: assembled content is not JSON: %w", err)
	}
	c := content{emit: emit, names: names, calls: calls}
	return c.blocks(&at, t.bodyDoc.Root())
}

// pair is the model of every event of the log; it names no provider.
func (t *RequestLog) pair() modelPair {
	if t.model == "" {
		return modelPair{}
	}
	return modelPair{model: some(t.model), basis: "log"}
}

func (t *RequestLog) place() place {
	return place{line: values.Int{V: 1, OK: true}, identity: t.logID}
}

// Tables implements TextStore. Scan must have seen the log in another
// RequestLog, and the overlap the primary stores.
func (t *RequestLog) Tables(_ context.Context, in iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return t.tables(in, t.piece, t.end)
}

func (t *RequestLog) end() error {
	if t.info.Size == 0 {
		return nil
	}
	t.tally.WithRows++
	t.malformed = int64(len(t.badLines)) == t.lines
	for _, b := range t.badLines {
		p := t.place()
		p.line.V = b.line
		t.badLine(&p, b.why, b.text)
	}
	head := t.request()
	input := head.Get("input")
	started := t.startedAt()
	p := t.place()
	pair := t.pair()
	if t.headDoc.LoneSurrogate() {
		t.issues.write(&p, issue{code: "invalid_utf8", message: "the request holds a lone surrogate; it reads as U+FFFD"})
	}
	count := ""
	if n, ok := provider.Count(input); ok {
		count = strconv.FormatInt(n, 10) + " messages"
	}
	last := provider.LastUser(input)
	if last != "" {
		last = "last user: " + last
	}
	request := system("llm_request", joined("llm request", count, last), started)
	request.pair = pair
	t.emit(&p, request)
	if err := t.replies(); err != nil {
		return err
	}
	for _, text := range t.errors {
		e := system("llm_error", "llm error: "+text, started)
		e.pair = pair
		t.emit(&p, e)
	}
	t.requestRow(started)
	return nil
}

// replies writes the blocks of the response, or the links to what is stored.
func (t *RequestLog) replies() error {
	names := &pairer{open: map[string][]asked{}}
	calls := &pairer{events: &t.events, out: t.set.Table(schemas.ToolCalls), spool: t.spool, open: map[string][]asked{}}
	for k, m := range t.reply.messages {
		if m.badCreated != "" {
			p := t.place()
			t.issues.write(&p, issue{"bad_time", "created is no time from 2000 to 2100", some(m.badCreated)})
		}
		var verdicts []verdict
		if t.call != nil {
			id, blocks, err := t.questions(k)
			if err != nil {
				return err
			}
			verdicts = t.overlap.decide(id, blocks)
		}
		i := 0
		t.overlap.beginMessage(&place{}, false)
		err := t.blocks(k, func(p *place, e *event) string {
			var v verdict
			if i < len(verdicts) {
				v = verdicts[i]
			}
			i++
			id := t.decide(p, e, v)
			if id != "" {
				t.overlap.hold(e)
			}
			return id
		}, names, calls)
		t.overlap.endMessage()
		if err != nil {
			return err
		}
	}
	return calls.close()
}

func (t *RequestLog) requestRow(started values.Int) {
	head := t.request()
	input, config := head.Get("input"), head.Get("model_config")
	p := t.place()
	o := t.set.Table(schemas.LLMRequests)
	o.TextOrNull(t.logID)
	o.Text(t.name)
	o.Micros(started.V, started.OK)
	o.TextOrNull(t.model)
	if config.Present() {
		o.Text(config.JSON())
	} else {
		o.Null()
	}
	n, counted := provider.Count(input)
	o.OptInt(n, counted)
	tools := input.Get("tools")
	o.OptInt(int64(tools.Len()), tools.Is(jsonval.Array))
	o.Int(int64(len(t.reply.messages)))
	o.Int(t.chunks)
	var u jsonval.Doc
	var tokens values.Tokens
	var bad []string
	if t.usage != "" && u.Parse(t.usage) == nil {
		tokens, bad = tokensOf(u.Root())
	}
	for _, key := range bad {
		t.issues.write(&p, issue{"bad_number", "usage." + key + " is no whole number of 64 bits", some(u.Root().Get(key).TextOrJSON())})
	}
	writeTokens(o, tokens)
	o.OptText(strings.Join(t.errors, "\n"), len(t.errors) > 0)
	o.OptInt(t.bodySize.V, t.bodySize.OK)
	o.Bool(t.head != "" && !t.cut && t.ended)
	var session optText
	var row values.Int
	if t.call != nil {
		session, row = t.overlap.sessionOf(t.call), t.call.usageRow()
	}
	o.OptText(session.s, session.ok)
	o.OptInt(row.V, row.OK)
	t.writeRest(head, input, u.Root(), bad)
	writeExtra(o, &t.extra)
	t.events.origin(o, &p)
	o.End()
}

// writeRest collects what has no column: lists and long texts of the request
// are the conversation itself and left out.
func (t *RequestLog) writeRest(head, input, usage jsonval.Value, badUsage []string) {
	var nested jsonval.ObjectBuilder
	t.extra.Reset()
	addRest(&t.extra, head, "model_config", "input")
	for key, v := range input.Members() {
		if key != "model" && !v.Is(jsonval.Array) && len(v.JSON()) <= 4096 && key != "messages" && key != "input" && key != "contents" {
			nested.Value(key, v)
		}
	}
	t.extra.Raw("input", string(nested.JSON()))
	nested.Reset()
	placed := []string{"input_tokens", "output_tokens", "total_tokens", "cache_read_input_tokens", "cache_write_input_tokens"}
	for key, v := range usage.Members() {
		if !slices.Contains(placed, key) || slices.Contains(badUsage, key) {
			nested.Value(key, v)
		}
	}
	t.extra.Raw("usage", string(nested.JSON()))
	switch len(t.odd) {
	case 0:
	case 1:
		t.extra.Raw("data", t.odd[0])
	default:
		t.extra.Raw("data", "["+strings.Join(t.odd, ",")+"]")
	}
}

// Recover yields the items of the request's body that no event holds and no
// newer log tells. It consumes and releases in.
func (t *RequestLog) Recover(_ context.Context, in iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		set := t.open(yield)
		defer set.Release()
		if err := scan(in, t.piece); err != nil {
			yield(nil, err)
			return
		}
		p := t.place()
		o := set.Table(schemas.RecoveredMessages)
		for it := range provider.Items(t.request().Get("input")) {
			if !t.overlap.claim(it, t.call) {
				continue
			}
			o.TextOrNull(t.logID)
			o.Int(int64(it.Position))
			o.Text(it.Role)
			o.Text(it.Kind)
			o.TextOrNull(it.ToolName)
			o.OptText(it.ToolUseID, strings.HasPrefix(it.Kind, "tool_"))
			o.Text(it.Text)
			t.events.origin(o, &p)
			o.End()
		}
		set.Flush()
	}
}
