package transform

import (
	"errors"
	"strings"

	"gander/schemas/batch"
	"gander/schemas/jsonval"
	"gander/schemas/values"
)

// metadata is metadata_json as far as columns need it. Texts are views of the
// Doc it was read from.
type metadata struct {
	root         jsonval.Value
	userVisible  tristate
	agentVisible tristate
	turnContext  bool
	compaction   bool

	provider, requested, resolved optText
	tokens                        values.Tokens
	cost                          float64
	priced                        bool
	costSource                    optText
	elapsed, firstToken           values.Int
	badNumbers                    []string // keys of usage whose value is no such number
}

func flag(v jsonval.Value) tristate {
	b, ok := v.Bool()
	return tristate{b, ok}
}

func stringOf(v jsonval.Value) optText {
	return optText{v.Text(), v.Is(jsonval.String)}
}

func readMetadata(root jsonval.Value) metadata {
	inference, usage := root.Get("inference"), root.Get("usage")
	m := metadata{
		root:         root,
		userVisible:  flag(root.Get("userVisible")),
		agentVisible: flag(root.Get("agentVisible")),
		turnContext:  root.Get("turnContext").Is(jsonval.True),
		compaction:   root.Get("operations").Get("compaction").Present(),
		provider:     stringOf(inference.Get("provider")),
		requested:    stringOf(inference.Get("requestedModel")),
		resolved:     stringOf(inference.Get("resolvedModel")),
		costSource:   stringOf(usage.Get("costSource")),
	}
	whole := func(key string) values.Int {
		v := usage.Get(key)
		n, ok := v.Int()
		if !ok && v.Present() {
			m.badNumbers = append(m.badNumbers, key)
		}
		return values.Int{V: n, OK: ok}
	}
	m.tokens = values.Tokens{
		Input:      whole("inputTokens"),
		Output:     whole("outputTokens"),
		CacheRead:  whole("cacheReadTokens"),
		CacheWrite: whole("cacheWriteTokens"),
		Total:      whole("totalTokens"),
	}
	m.elapsed, m.firstToken = whole("elapsedMs"), whole("timeToFirstTokenMs")
	cost := usage.Get("cost")
	if m.cost, m.priced = cost.Float(); !m.priced && cost.Present() {
		m.badNumbers = append(m.badNumbers, "cost")
	}
	return m
}

// extra adds what the metadata holds beside its columns: the keys without a
// place, and those whose value did not fit.
func (m *metadata) extra(to, nested *jsonval.ObjectBuilder) {
	placed := []string{"inference", "usage"}
	if m.userVisible.ok {
		placed = append(placed, "userVisible")
	}
	if m.agentVisible.ok {
		placed = append(placed, "agentVisible")
	}
	addRest(to, m.root, placed...)
	part := func(key string, fits func(key string) bool) {
		v := m.root.Get(key)
		if !v.Is(jsonval.Object) {
			if v.Present() {
				to.Value(key, v)
			}
			return
		}
		nested.Reset()
		for k, member := range v.Members() {
			if !fits(k) {
				nested.Value(k, member)
			}
		}
		to.Raw(key, string(nested.JSON()))
	}
	part("inference", m.fitsInference)
	part("usage", m.fitsUsage)
}

// fitsInference reports that a key of inference has a column that holds its value.
func (m *metadata) fitsInference(key string) bool {
	switch key {
	case "provider":
		return m.provider.ok
	case "requestedModel":
		return m.requested.ok
	case "resolvedModel":
		return m.resolved.ok
	}
	return false
}

// fitsUsage is fitsInference for usage.
func (m *metadata) fitsUsage(key string) bool {
	switch key {
	case "inputTokens":
		return m.tokens.Input.OK
	case "outputTokens":
		return m.tokens.Output.OK
	case "totalTokens":
		return m.tokens.Total.OK
	case "cacheReadTokens":
		return m.tokens.CacheRead.OK
	case "cacheWriteTokens":
		return m.tokens.CacheWrite.OK
	case "elapsedMs":
		return m.elapsed.OK
	case "timeToFirstTokenMs":
		return m.firstToken.OK
	case "cost":
		return m.priced
	case "costSource":
		return m.costSource.ok
	}
	return false
}

// ownModel is the model that answered, as a change of model is told by:
// resolved, else requested; "" when the message names none.
func (m *metadata) ownModel() string {
	if m.resolved.s != "" {
		return m.resolved.s
	}
	return m.requested.s
}

// pair is the message's own provider and model: what was requested, else what
// answered. It is for messages that name a model.
func (m *metadata) pair() modelPair {
	p := modelPair{m.provider, m.requested, "message"}
	if m.requested.s == "" {
		p.model = m.resolved
	}
	return p
}

// shape is what the kind of a message depends on.
type shape struct {
	blocks      int
	toolResults bool
	text        bool
	prompting   bool // text, image or document
	slash       bool // the first text begins with '/'
}

func shapeOf(list jsonval.Value) shape {
	var s shape
	for b := range list.Items() {
		s.blocks++
		switch b.Get("type").Text() {
		case "toolResponse":
			s.toolResults = true
		case "text":
			if t := b.Get("text"); t.Is(jsonval.String) {
				if !s.text {
					s.slash = strings.HasPrefix(t.Text(), "/")
				}
				s.text, s.prompting = true, true
			}
		case "image", "document":
			s.prompting = true
		}
	}
	return s
}

// kindOf classifies a message. messageID may be NULL.
func kindOf(s shape, m *metadata, role string, messageID optText, sessionType string) string {
	user := role == "user"
	visible := !m.userVisible.ok || m.userVisible.v
	switch {
	case m.turnContext:
		return "turn_context"
	case s.toolResults:
		return "tool_results"
	case m.compaction,
		user && !visible && m.agentVisible.v && s.text && messageID.ok && !strings.HasPrefix(messageID.s, "msg_"):
		return "compaction_summary"
	case user && visible && s.prompting && sessionType != "sub_agent":
		return "prompt"
	case role == "assistant":
		return "assistant"
	}
	return "other"
}

// reason names why a JSON text could not be used, as issues tell it.
func reason(err error) string {
	if errors.Is(err, jsonval.ErrDepth) {
		return "depth"
	}
	return "json"
}

// stamps are the millisecond stamps of a session: Goose repeats one for every
// later message.
type stamps struct{ seen map[int64]struct{} }

// maxStamps bounds the stamps remembered of a session; Goose repeats the
// latest, and a session that long has none frozen early.
const maxStamps = 1 << 20

// suspect notes a stamp and reports that the session has had it.
func (s *stamps) suspect(ms values.Int) bool {
	if !ms.OK {
		return false
	}
	if s.seen == nil {
		s.seen = map[int64]struct{}{}
	}
	_, seen := s.seen[ms.V]
	if !seen && len(s.seen) < maxStamps {
		s.seen[ms.V] = struct{}{}
	}
	return seen
}

// widen stretches a span of time to hold at.
func widen(first, last *values.Int, at values.Int) {
	if !at.OK {
		return
	}
	if !first.OK || at.V < first.V {
		*first = at
	}
	if !last.OK || at.V > last.V {
		*last = at
	}
}

// messageRow is a row of messages.
type messageRow struct {
	message     *message
	meta        *metadata
	shape       shape
	readable    bool
	created     values.Int
	stored      values.Int
	suspect     bool
	superseded  bool
	sessionType string
	extra       *jsonval.ObjectBuilder // begun with what the record has beside its columns
	nested      *jsonval.ObjectBuilder
}

// writeMessage appends a row of messages.
func writeMessage(o *batch.Writer, w *eventWriter, r *messageRow) {
	m, meta := r.message, r.meta
	kind := kindOf(r.shape, meta, m.role.s, m.messageID, r.sessionType)
	o.Text(w.store)
	o.OptText(m.session.s, m.session.ok)
	o.OptInt(m.messageRow.V, m.messageRow.OK)
	o.OptText(m.messageID.s, m.messageID.ok)
	o.Int(m.number)
	o.OptText(m.role.s, m.role.ok)
	o.Micros(r.created.V, r.created.OK)
	o.Micros(r.stored.V, r.stored.OK)
	o.Bool(r.suspect)
	o.OptBool(meta.userVisible.v, meta.userVisible.ok)
	o.OptBool(meta.agentVisible.v, meta.agentVisible.ok)
	o.Text(kind)
	o.Bool(kind == "prompt" && r.shape.slash)
	o.OptText(meta.provider.s, meta.provider.ok)
	o.OptText(meta.requested.s, meta.requested.ok)
	o.OptText(meta.resolved.s, meta.resolved.ok)
	writeTokens(o, meta.tokens)
	o.OptFloat(meta.cost, meta.priced)
	o.OptText(meta.costSource.s, meta.costSource.ok)
	o.OptInt(meta.elapsed.V, meta.elapsed.OK)
	o.OptInt(meta.firstToken.V, meta.firstToken.OK)
	o.OptInt(int64(r.shape.blocks), r.readable)
	o.Bool(r.superseded)
	o.OptText(m.copiedFrom.s, m.copiedFrom.ok)
	meta.extra(r.extra, r.nested)
	writeExtra(o, r.extra)
	w.origin(o, &m.place)
	o.End()
}
