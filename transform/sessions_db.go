package transform

import (
	"context"
	"fmt"
	"iter"
	"regexp"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/zeebo/xxh3"

	"gander/schemas"
	"gander/schemas/batch"
	"gander/schemas/jsonval"
	"gander/schemas/values"
)

// Confirmations looks ahead in a session for the answers to its permission
// questions. It is asked only for sessions that hold a call marked not
// executable.
type Confirmations interface {
	// ConfirmationContents yields the content_json of every message of the
	// session that may hold a toolConfirmationResponse. It may be called while
	// the stream of records is being read.
	ConfirmationContents(ctx context.Context, session int64) iter.Seq2[string, error]
}

// SessionsDB makes the tables of one sessions.db. It keeps the open calls of
// one session (see pairer), a chunk of session rows, of each session its
// working directory and provider, and some 50 bytes for each pair of session
// and model that messages name.
type SessionsDB struct {
	HomeID        string
	File          string // source_file
	Mem           memory.Allocator
	Confirmations Confirmations
	// Spool opens a file in scratch for what does not fit in memory; called at
	// most once.
	Spool func() (Spool, error)
	// Overlap is told of every block, session and ledger row.
	Overlap *Overlap

	tally Tally
	facts map[uint64]sessionFacts // by the hash of the session's id
}

// Tally accounts for what went through Tables. It is valid after it.
func (t *SessionsDB) Tally() Tally { return t.tally }

// Tables consumes the records of extract.SessionsDBSource and yields finished
// batches of sessions, messages, events, tool_calls, usage and issues; batches
// of tables that are finished already pass through. It releases what it
// consumes, the consumer what it yields.
func (t *SessionsDB) Tables(ctx context.Context, in iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		set := batch.NewSet(t.Mem, func(rec arrow.RecordBatch) bool { return yield(rec, nil) })
		defer set.Release()
		r := newSessionsReader(ctx, t, set)
		defer r.release()
		for rec, err := range in {
			if err == nil {
				err = r.batch(rec, yield)
			}
			if set.Stopped() || r.stopped {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		if err := r.finish(); err != nil {
			yield(nil, err)
			return
		}
		set.Flush()
		t.facts = r.facts
		t.tally = r.tally
		t.tally.Issues = r.issues.n
	}
}

// sessionsReader is the state of SessionsDB.Tables.
type sessionsReader struct {
	ctx     context.Context
	t       *SessionsDB
	tally   Tally
	stopped bool
	fileSeq int64 // event_seq of the events of no session

	events   eventWriter
	issues   issueWriter
	content  content
	pairs    pairer
	links    linkWriter
	threads  threads
	sessions *batch.Writer
	messages *batch.Writer
	usage    *batch.Writer

	columns map[string]map[string]int

	// The chunk of sessions being read, and the session of it whose messages
	// come now.
	chunk   arrow.RecordBatch
	next    int // row of the chunk whose session is still to be begun
	session session
	active  bool

	providers map[providerKey]servedBy
	facts     map[uint64]sessionFacts
	names     map[string]string // providers, one copy of each

	config, meta, body, probe jsonval.Doc
	extra, nested             jsonval.ObjectBuilder
}

// session is what is known of the session whose messages are being read.
type session struct {
	row     row
	ordinal int64
	id      optText
	missing bool
	project optText
	kind    string // session_type
	pair    modelPair
	current string // model the conversation is at

	stamps   stamps
	seq      int64
	first    values.Int
	last     values.Int
	answered map[string]struct{} // ids of confirmed calls; nil until asked for
}

// providerKey is a hash of a session and a model. Keys of 64 bits can collide
// among billions of pairs only.
type providerKey uint64

// servedBy is what the messages of a session say served a model.
type servedBy struct {
	name  string
	mixed bool // more than one
}

// sessionFacts is what rows apart from a session's own need of it.
type sessionFacts struct {
	provider optText
	project  optText
	model    string
}

func newSessionsReader(ctx context.Context, t *SessionsDB, set *batch.Set) *sessionsReader {
	r := &sessionsReader{ctx: ctx, t: t,
		sessions:  set.Table(schemas.Sessions),
		messages:  set.Table(schemas.Messages),
		usage:     set.Table(schemas.Usage),
		columns:   map[string]map[string]int{},
		providers: map[providerKey]servedBy{},
		facts:     map[uint64]sessionFacts{},
		names:     map[string]string{},
	}
	for _, table := range []*schemas.Table{schemas.RawSessions, schemas.RawMessages, schemas.RawUsage, schemas.RawIssues} {
		r.columns[table.Name] = columnsOf(table)
	}
	const store = "sessions_db"
	r.events = eventWriter{out: set.Table(schemas.Events), homeID: t.HomeID, store: store, file: t.File, seen: map[string]uint32{}}
	r.issues = issueWriter{out: set.Table(schemas.Issues), store: store, file: t.File}
	r.pairs = pairer{events: &r.events, out: set.Table(schemas.ToolCalls), spool: t.Spool, open: map[string][]asked{}}
	r.content = content{emit: r.block, names: &r.pairs, calls: &r.pairs, refused: r.confirmed}
	r.links = linkWriter{set.Table(schemas.DedupLinks), &r.events}
	th := &r.threads
	th.file = t.File
	th.names = pairer{open: map[string][]asked{}}
	th.calls = pairer{events: &r.events, out: set.Table(schemas.ToolCalls), spool: t.Spool, open: map[string][]asked{}}
	th.content = content{emit: r.threadBlock, names: &th.names, calls: &th.calls, refused: r.confirmed}
	return r
}

func (r *sessionsReader) release() {
	if r.chunk != nil {
		r.chunk.Release()
		r.chunk = nil
	}
}

// emit writes an event and counts it.
func (r *sessionsReader) emit(p *place, e *event) string {
	r.tally.Built++
	r.tally.Events++
	return r.events.write(p, e)
}

// block is emit for the events of blocks, which other stores may repeat.
func (r *sessionsReader) block(p *place, e *event) string {
	id := r.emit(p, e)
	ref := refOf(id, e.at)
	r.t.Overlap.databaseBlock(p, e, ref)
	r.t.Overlap.block(p, e, ref)
	if r.threads.wanted {
		r.threads.refs = append(r.threads.refs, ref)
	}
	return id
}

// threadBlock is block for thread_messages, which may repeat messages.
func (r *sessionsReader) threadBlock(p *place, e *event) string {
	v := r.threads.verdict(r.t.Overlap)
	if v.rule == "" {
		return r.block(p, e)
	}
	r.tally.Built++
	r.tally.Duplicates++
	r.links.write(p, e, v)
	return ""
}

// batch takes one batch of the stream and becomes its owner.
func (r *sessionsReader) batch(rec arrow.RecordBatch, yield func(arrow.RecordBatch, error) bool) error {
	name := schemas.NameOf(rec.Schema())
	at := row{raw: raw{r.columns[name], rec}}
	switch name {
	case schemas.RawSessions.Name:
		if err := r.endChunk(); err != nil {
			rec.Release()
			return err
		}
		r.chunk, r.next = rec, 0
		return nil
	case schemas.RawMessages.Name:
		defer rec.Release()
		for at.i = 0; at.i < int(rec.NumRows()); at.i++ {
			if err := r.message(at); err != nil {
				return err
			}
		}
	case schemas.RawUsage.Name:
		defer rec.Release()
		if err := r.endChunk(); err != nil {
			return err
		}
		for at.i = 0; at.i < int(rec.NumRows()); at.i++ {
			r.ledger(at)
		}
	case schemas.RawIssues.Name:
		defer rec.Release()
		for at.i = 0; at.i < int(rec.NumRows()); at.i++ {
			r.finding(at)
		}
	default:
		if schemas.Lookup(name) == nil {
			rec.Release()
			return fmt.Errorf("transform: no table %q", name)
		}
		if name == schemas.DBTables.Name {
			r.threads.watch(rec)
		}
		r.stopped = !yield(rec, nil)
	}
	return nil
}

// finish ends the last session.
func (r *sessionsReader) finish() error { return r.endChunk() }

// endChunk begins and ends every session that is left in the chunk.
func (r *sessionsReader) endChunk() error {
	if r.chunk == nil {
		return nil
	}
	for r.next < int(r.chunk.NumRows()) {
		if err := r.begin(); err != nil {
			return err
		}
	}
	err := r.end()
	r.release()
	return err
}

// begin ends the session before and begins the next of the chunk: its rows of
// events at created_at.
func (r *sessionsReader) begin() error {
	if err := r.end(); err != nil {
		return err
	}
	at := row{raw{r.columns[schemas.RawSessions.Name], r.chunk}, r.next}
	r.next++
	id := at.value("session_id")
	missing, _ := at.bool("missing")
	r.session = session{row: at, ordinal: at.int("ordinal").V, id: id, missing: missing}
	r.active = true
	s := &r.session
	r.events.restart()
	r.events.record()
	r.pairs.restart(s.id)
	r.threads.names.restart(s.id)
	r.threads.calls.restart(s.id)
	if missing {
		r.issues.write(&place{table: some("messages"), session: s.id}, issue{
			code: "session_missing", message: fmt.Sprintf("messages name session %q, which sessions does not have", id.s), value: id,
		})
		return nil
	}
	s.project = at.value("working_dir")
	s.kind = at.str("session_type")
	s.pair.provider = at.value("provider_name")

	config, bad := r.modelConfig(at)
	if s.current = config; config != "" {
		s.pair.model, s.pair.basis = some(config), "session_last"
	}
	r.facts[xxh3.HashString(id.s)] = sessionFacts{
		provider: optText{strings.Clone(s.pair.provider.s), s.pair.provider.ok},
		project:  optText{strings.Clone(s.project.s), s.project.ok},
		model:    s.current,
	}
	r.sessionEvents(at, bad)
	r.tally.WithRows++
	return nil
}

// modelConfig returns the name of the model in model_config_json, or why that
// could not be read.
func (r *sessionsReader) modelConfig(at row) (model, bad string) {
	text := at.str("model_config_json")
	if text == "" {
		return "", ""
	}
	if err := r.config.Parse(text); err != nil {
		return "", reason(err)
	}
	if !r.config.Root().Is(jsonval.Object) {
		return "", "type"
	}
	return strings.Clone(r.config.Root().Get("model_name").Text()), ""
}

var gatewayDir = regexp.MustCompile(`gateway[/\\]([^/\\]+)[/\\]([^/\\]+)[/\\]?$`)

// sessionEvents writes what a session's own row says.
func (r *sessionsReader) sessionEvents(at row, badConfig string) {
	s := &r.session
	p := r.sessionPlace()
	when := at.micros("created_at")
	sessionFactsOf(at.str, s.project.s, s.pair.provider.s, s.current, func(kind, text string) {
		id := r.emit(&p, &event{kind: kind, turnType: "system", at: when, block: -1, pair: s.pair, text: some(text)})
		if kind == "session_start" {
			r.t.Overlap.databaseSession(s.id.s, refOf(id, when))
		}
	})
	if s.current == "" && badConfig != "" {
		r.badRecord(&p, "sessions.model_config_json", badConfig, at.value("model_config_json"))
	}
}

// sessionFactsOf tells a session's row as events: get reads its columns.
func sessionFactsOf(get func(column string) string, project, provider, model string, fact func(kind, text string)) {
	labelled := func(label, column string) string {
		if v := get(column); v != "" {
			return label + v
		}
		return ""
	}
	fact("session_start", joined("session start", get("name"), get("description"), labelled("type=", "session_type"),
		labelled("parent=", "parent_session_id"), labelled("schedule=", "schedule_id"), labelled("archived=", "archived_at_text")))
	if get("session_type") == "gateway" {
		fact("session_relayed", gatewayText(project, get("name")))
	}
	if mode := get("goose_mode"); mode != "" {
		fact("permission_mode", "permission mode: "+mode)
	}
	if model != "" {
		if provider == "" {
			provider = "-"
		}
		fact("model", "model: "+model+" provider="+provider)
	}
}

func gatewayText(dir, name string) string {
	platform, user := "-", "-"
	if m := gatewayDir.FindStringSubmatch(dir); m != nil {
		platform, user = m[1], m[2]
	}
	_, display, _ := strings.Cut(name, "/")
	if display == "" || display == user {
		display = "-"
	}
	return "session relayed: gateway " + platform + " user " + user + " display " + display +
		" (from sessions.db session_type gateway, created_at)"
}

func (r *sessionsReader) sessionPlace() place {
	s := &r.session
	return place{table: some("sessions"), line: s.row.int("row_id"), createdAt: s.row.str("created_at_text"), session: s.id, project: s.project}
}

// badRecord writes the issue and the event of a record that is not what Goose
// writes; what is column, with its table.
func (r *sessionsReader) badRecord(p *place, column, why string, value optText) {
	text := "parser: unparseable record " + strconv.FormatInt(p.line.V, 10) + " (" + column + ": " + why + ")"
	bare := *p
	bare.role, bare.userVisible, bare.agentVisible = optText{}, tristate{}, tristate{}
	r.issues.write(p, issue{"bad_" + why, text, value})
	r.emit(&bare, &event{kind: "parser_issue", turnType: "system", block: -1, text: some(text + ": " + value.s)})
}

// message reads one message of the session its row names.
func (r *sessionsReader) message(at row) error {
	for !r.active || r.session.ordinal != at.int("session").V {
		if r.chunk == nil || r.next >= int(r.chunk.NumRows()) {
			return fmt.Errorf("transform: a message names session %d, which the stream does not have", at.int("session").V)
		}
		if err := r.begin(); err != nil {
			return err
		}
	}
	s := &r.session
	s.seq++
	r.events.record()
	built := r.tally.Built
	role := at.value("role")
	table := at.str("source_table")
	m := message{
		place: place{
			table: some(table), line: at.int("row_id"), session: s.id, project: s.project,
			messageID: at.value("message_id"), role: role, copiedFrom: at.value("copied_from_session_id"),
		},
		number: s.seq, turn: turnOf(role.s), pair: s.pair,
	}
	if table == "messages" {
		m.messageRow = m.line
	}
	created, stored := at.micros("created_at"), at.micros("stored_at")
	suspect := s.stamps.suspect(at.int("created_ms"))
	m.at = created
	if suspect && stored.OK {
		m.at = stored
	}
	widen(&s.first, &s.last, m.at)

	meta := r.metadata(at, &m)
	m.userVisible, m.agentVisible = meta.userVisible, meta.agentVisible
	own := meta.ownModel()
	if own != "" {
		m.pair = meta.pair()
		r.noteProviders(&meta)
	}
	list, why := r.contentOf(at)
	repeated := false
	if table == "thread_messages" {
		repeated = why == "" && r.threads.begin(r.t.Overlap, &m, list)
	}
	if own != "" && own != s.current && !repeated {
		r.modelChange(&m, &meta, own)
		s.current = strings.Clone(own)
	}

	sh := shape{}
	if why == "" {
		sh = shapeOf(list)
		if r.body.LoneSurrogate() {
			r.loneSurrogate(&m.place, "content_json")
		}
		if err := r.blocks(&m, list, table); err != nil {
			return err
		}
		if r.tally.Built > built {
			r.tally.WithRows++
		} else {
			r.tally.WithoutRows++
		}
	} else {
		r.t.Overlap.beginMessage(&m.place, false)
		r.badRecord(&m.place, table+".content_json", why, at.value("content_json"))
		r.tally.Bad++
	}
	r.extra.Reset()
	r.extra.Members(at.str("extra"))
	writeMessage(r.messages, &r.events, &messageRow{
		message: &m, meta: &meta, shape: sh, readable: why == "", created: created, stored: stored, suspect: suspect,
		sessionType: s.kind, extra: &r.extra, nested: &r.nested,
		superseded: repeated && r.threads.block > 0,
	})
	return nil
}

// blocks writes the events of a message's blocks.
func (r *sessionsReader) blocks(m *message, list jsonval.Value, table string) error {
	o, th := r.t.Overlap, &r.threads
	o.beginMessage(&m.place, true)
	defer o.endMessage()
	if table == "thread_messages" {
		return th.content.blocks(m, list)
	}
	th.refs = th.refs[:0]
	err := r.content.blocks(m, list)
	if th.wanted {
		th.remember(o, m, list)
	}
	return err
}

// metadata reads metadata_json; what cannot be read counts as absent.
func (r *sessionsReader) metadata(at row, m *message) metadata {
	text := at.str("metadata_json")
	if text == "" {
		return metadata{}
	}
	why := ""
	if err := r.meta.Parse(text); err != nil {
		why = reason(err)
	} else if !r.meta.Root().Is(jsonval.Object) {
		why = "type"
	}
	if why != "" {
		r.badRecord(&m.place, m.table.s+".metadata_json", why, some(text))
		return metadata{}
	}
	if r.meta.LoneSurrogate() {
		r.loneSurrogate(&m.place, "metadata_json")
	}
	meta := readMetadata(r.meta.Root())
	for _, key := range meta.badNumbers {
		v := meta.root.Get("usage").Get(key)
		r.issues.write(&m.place, issue{"bad_number", "metadata_json: usage." + key + " is no such number", some(v.TextOrJSON())})
	}
	return meta
}

// contentOf returns the blocks of a message, or why they cannot be read.
func (r *sessionsReader) contentOf(at row) (list jsonval.Value, why string) {
	text := at.str("content_json")
	if text == "" {
		return jsonval.Value{}, "empty"
	}
	if err := r.body.Parse(text); err != nil {
		return jsonval.Value{}, reason(err)
	}
	if !r.body.Root().Is(jsonval.Array) {
		return jsonval.Value{}, "type"
	}
	return r.body.Root(), ""
}

func (r *sessionsReader) loneSurrogate(p *place, column string) {
	r.issues.write(p, issue{code: "invalid_utf8", message: column + " holds a lone surrogate; it reads as U+FFFD"})
}

func (r *sessionsReader) modelChange(m *message, meta *metadata, own string) {
	orDash := func(s string) string {
		if s == "" {
			return "-"
		}
		return s
	}
	text := "model: " + orDash(r.session.current) + " -> " + own + " provider=" + orDash(meta.provider.s)
	if meta.requested.s != "" && meta.requested.s != own {
		text += " requested=" + meta.requested.s
	}
	r.emit(&m.place, &event{kind: "model_change", turnType: "system", at: m.at, block: -1, pair: m.pair, text: some(text)})
}

// confirmed reports that a toolConfirmationResponse of the session answers the
// call. The first question about a session looks ahead in all of it.
func (r *sessionsReader) confirmed(id string) (bool, error) {
	s := &r.session
	if s.answered == nil {
		s.answered = map[string]struct{}{}
		for text, err := range r.t.Confirmations.ConfirmationContents(r.ctx, s.ordinal) {
			if err != nil {
				return false, err
			}
			if r.probe.Parse(text) == nil {
				confirmed(r.probe.Root(), func(id string) { s.answered[strings.Clone(id)] = struct{}{} })
			}
		}
	}
	_, ok := s.answered[id]
	return ok, nil
}

func writeExtra(o *batch.Writer, b *jsonval.ObjectBuilder) {
	if object := b.JSON(); object != nil {
		o.Bytes(object)
	} else {
		o.Null()
	}
}

// writeTokens appends the ten columns of schemas.tokens.
func writeTokens(o *batch.Writer, stored values.Tokens) {
	for _, t := range []values.Tokens{stored.Normalized(), stored} {
		for _, n := range []values.Int{t.Input, t.Output, t.CacheRead, t.CacheWrite, t.Total} {
			o.OptInt(n.V, n.OK)
		}
	}
}

// end writes what could only be known after a session's messages: the calls
// that nothing answered, and the sessions row.
func (r *sessionsReader) end() error {
	if !r.active {
		return nil
	}
	r.active = false
	for _, p := range []*pairer{&r.pairs, &r.threads.calls} {
		if err := p.close(); err != nil {
			return err
		}
	}
	if !r.session.missing {
		r.sessionRow()
	}
	return nil
}

func (r *sessionsReader) sessionRow() {
	s := &r.session
	at := s.row
	p := r.sessionPlace()
	o := r.sessions
	text := func(column string) { o.OptText(at.text(column)) }
	when := func(column string) { v := at.micros(column); o.Micros(v.V, v.OK) }
	count := func(column string) { v := at.int(column); o.OptInt(v.V, v.OK) }
	r.extra.Reset()
	r.extra.Members(at.str("extra"))
	// asJSON appends a JSON column; text that is no JSON goes to extra.
	asJSON := func(column, name string) {
		text := at.str(column)
		if text == "" {
			o.Null()
			return
		}
		if err := r.config.Parse(text); err != nil {
			o.Null()
			r.extra.Text(name, text)
			if name != "model_config" { // that one has its issue with its event
				r.issues.write(&p, issue{"bad_json", "sessions." + column + ": " + err.Error(), some(text)})
			}
			return
		}
		if r.config.LoneSurrogate() {
			r.loneSurrogate(&p, column)
		}
		o.Text(r.config.Root().JSON())
	}
	o.Text("sessions_db")
	o.OptText(s.id.s, s.id.ok)
	text("name")
	text("description")
	o.OptBool(at.bool("user_set_name"))
	text("session_type")
	text("working_dir")
	when("created_at")
	when("updated_at")
	when("archived_at")
	text("provider_name")
	model, _ := r.modelConfig(at)
	o.TextOrNull(model)
	asJSON("model_config_json", "model_config")
	text("goose_mode")
	text("schedule_id")
	text("project_id")
	text("parent_session_id")
	asJSON("recipe_json", "recipe")
	asJSON("user_recipe_values_json", "user_recipe_values")
	asJSON("extension_data", "extension_data")
	for _, prefix := range []string{"", "accumulated_"} {
		for _, c := range []string{"input", "output", "total", "cache_read", "cache_write"} {
			count(prefix + c + "_tokens")
		}
	}
	o.OptFloat(at.float("accumulated_cost"))
	o.Int(s.seq)
	o.Micros(s.first.V, s.first.OK)
	o.Micros(s.last.V, s.last.OK)
	o.Bool(false)
	writeExtra(o, &r.extra)
	r.events.origin(o, &p)
	o.End()
}

// finding writes what extract found wrong with the file or one of its records.
func (r *sessionsReader) finding(at row) {
	p := place{table: at.value("source_table"), line: at.int("source_line")}
	is := issue{at.str("code"), at.str("message"), at.value("value")}
	r.issues.write(&p, is)
	if is.code == "bad_file" {
		// Findings come at any time; those about the file are of no session.
		seq := r.events.seq
		r.events.seq = r.fileSeq
		r.events.record()
		r.emit(&p, &event{kind: "parser_issue", turnType: "system", block: -1, text: some("parser: " + is.message)})
		r.fileSeq, r.events.seq = r.events.seq, seq
	}
}
