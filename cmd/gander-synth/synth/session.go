package synth

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"time"

	"gander/schemas/jsonval"
)

// session is a session in the making.
type session struct {
	row                               int64
	id, name, kind, dir, mode, parent string
	provider, model                   string
	userSetName                       bool
	started                           int64
	stored                            bool  // in the database
	frozen                            int64 // millisecond stamp that repeats; 0: none

	compacting bool // what comes will be compacted away
	agentOnly  bool // what comes only the agent sees

	calls                        int64 // of the provider
	input, output, cached        int64 // of the last call
	allInput, allOutput, allRead int64
	cost                         float64

	kept  []message // for a copy; nil when they are too many
	bytes int
}

// message is a stored message.
type message struct {
	id, role, content, metadata string
	created                     int64
	blocks                      int64
	requests, responses, images int64
}

// part is a block of a reply, as a request log has it.
type part struct {
	kind string // text, thinking, or "" for others
	text string
	json string // of others
}

// logged is a reply with what asked for it.
type logged struct {
	id, provider, model, prompt string
	created                     int64
	parts                       []part
	input, output, cached       int64
}

// keptBytes bounds what is kept of a session, and of a reply.
const keptBytes = 2 << 20

var models = []struct{ provider, name string }{
	{"anthropic", "claude-sonnet-4-5"}, {"openai", "gpt-4o"}, {"openai", "gpt-5-mini"}, {"databricks", "goose-claude-4-5-sonnet"},
}

func stamp(unix int64) string { return time.Unix(unix, 0).UTC().Format("2006-01-02 15:04:05") }

// begin begins a session now.
func (h *home) begin(kind string) *session {
	h.sessionRow++
	s := &session{row: h.sessionRow, kind: kind, started: h.clock, stored: true, mode: "auto", kept: []message{}}
	if day := time.Unix(h.clock, 0).UTC().Format("20060102"); day != h.day {
		h.day, h.ofDay = day, 0
	}
	h.ofDay++
	s.id = h.day + "_" + strconv.Itoa(h.ofDay)
	m := models[h.r.IntN(len(models))]
	s.provider, s.model = m.provider, m.name
	s.name = cut(h.r, h.corpus.prose, 30)
	s.userSetName = h.r.IntN(10) == 0
	if h.r.IntN(8) == 0 {
		s.mode = "smart_approve"
	}
	s.dir = h.userDir + "/src/" + strconv.Itoa(h.r.IntN(12))
	if h.r.IntN(100) == 0 {
		s.frozen = h.clock*1000 + int64(h.r.IntN(1000))
	}
	return s
}

// chat writes one session of a user, which ends early when the database
// reaches target.
func (h *home) chat(target int64) error {
	h.clock += 60 + int64(Length{1200, 1.2, 86_400}.draw(h.r))
	s := h.begin("user")
	if h.r.IntN(40) == 0 {
		return h.end(s) // opened and never used
	}
	turns := Length{9, 1.1, 400}.draw(h.r)
	if h.last != nil && h.r.Float64() < h.o.Forks {
		s.name = h.last.name + " (copy)"
		for _, m := range h.last.kept[:1+h.r.IntN(len(h.last.kept))] {
			h.counts.Copied++
			if err := h.store(s, m); err != nil {
				return err
			}
		}
		turns = min(turns, 3)
	}
	compact := -1
	if turns > 3 && h.r.Float64() < h.o.Compactions {
		compact = turns / 2
		s.compacting = true
	}
	delegate := -1
	if h.r.Float64() < h.o.SubAgents {
		delegate = h.r.IntN(turns)
	}
	for turn := range turns {
		if turn == compact {
			if err := h.compact(s); err != nil {
				return err
			}
		}
		if err := h.turn(s, turn == delegate); err != nil {
			return err
		}
		size, err := h.db.size()
		if err != nil {
			return err
		}
		if size >= target {
			break
		}
		if err := h.db.checkpoint(size, target); err != nil {
			return err
		}
	}
	return h.end(s)
}

// end writes the row of a session.
func (h *home) end(s *session) error {
	if len(s.kept) > 0 && s.kind == "user" {
		h.last = s
	}
	if !s.stored {
		return nil
	}
	h.counts.Sessions++
	config := `{"model_name":"` + s.model + `","temperature":null,"max_tokens":16384,"toolshim":false,"toolshim_model":null}`
	const extensions = `{"enabled_extensions.v0":{"extensions":[{"type":"platform","name":"developer","description":"developer","display_name":null,"bundled":null}]}}`
	args := []any{s.row, s.id, s.name, s.userSetName, s.kind, s.dir, stamp(s.started), stamp(h.clock), extensions}
	if s.calls > 0 {
		args = append(args, s.input+s.output, s.input, s.output, s.cached, s.allInput+s.allOutput, s.allInput, s.allOutput, s.allRead, s.cost)
	} else {
		args = append(args, nil, nil, nil, nil, nil, nil, nil, nil, nil)
	}
	args = append(args, s.provider, config, s.mode, optional(s.parent))
	_, err := h.db.session.ExecContext(h.ctx, args...)
	return err
}

func optional(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// store writes a message of a session, now.
func (h *home) store(s *session, m message) error {
	size := len(m.content) + len(m.metadata)
	if s.bytes += size; s.kept != nil && s.bytes <= keptBytes {
		s.kept = append(s.kept, m)
	} else {
		s.kept = nil
	}
	if !s.stored {
		return nil
	}
	h.messageRow++
	h.db.pending += size
	h.counts.Messages++
	h.counts.Blocks += m.blocks
	h.counts.ToolRequests += m.requests
	h.counts.ToolResponses += m.responses
	h.counts.Images += m.images
	_, err := h.db.message.ExecContext(h.ctx, h.messageRow, m.id, s.id, m.role, m.content, m.created, stamp(h.clock), m.metadata)
	return err
}

// writer puts the content of a message together.
type writer struct {
	message
	json  []byte
	parts []part
}

func newWriter() *writer { return &writer{json: []byte{'['}} }

func (w *writer) next() {
	if w.blocks > 0 {
		w.json = append(w.json, ',')
	}
	w.blocks++
}

func (w *writer) text(s string) {
	w.next()
	w.json = append(jsonval.AppendQuoted(append(w.json, `{"type":"text","text":`...), s), '}')
	w.parts = append(w.parts, part{kind: "text", text: s})
}

func (w *writer) thinking(s string) {
	w.next()
	w.json = append(jsonval.AppendQuoted(append(w.json, `{"type":"thinking","thinking":`...), s), `,"signature":""}`...)
	w.parts = append(w.parts, part{kind: "thinking", text: s})
}

// raw appends a block that is JSON already.
func (w *writer) raw(block []byte) {
	w.next()
	w.json = append(w.json, block...)
	w.parts = append(w.parts, part{json: string(block)})
}

// say stores what w holds.
func (h *home) say(s *session, w *writer, role, id, metadata string) error {
	w.role, w.id, w.metadata = role, id, metadata
	w.content = string(append(w.json, ']'))
	w.created = h.clock
	if s.frozen != 0 {
		w.created = s.frozen
	}
	return h.store(s, w.message)
}

func (s *session) visibility() string {
	return `{"userVisible":` + strconv.FormatBool(!s.agentOnly) + `,"agentVisible":` + strconv.FormatBool(!s.compacting)
}

func (h *home) userSays(s *session, w *writer) error {
	return h.say(s, w, "user", "msg_"+uuid(h.r), s.visibility()+"}")
}

// replies stores a reply of the model, with its row of the ledger.
func (h *home) replies(s *session, w *writer, prompt string) error {
	h.clock += 1 + int64(h.r.IntN(20))
	id := "chatcmpl-" + hex(h.r, 24)
	s.calls++
	s.input = min(180_000, s.input/2+int64(Length{6000, 0.8, 150_000}.draw(h.r)))
	s.output = int64(len(w.json)/4 + 5)
	s.cached = s.input * 6 / 10
	cost := math.Round(float64(s.input-s.cached)*2.5+float64(s.cached)*0.25+float64(s.output)*10) / 1e6
	s.allInput += s.input
	s.allOutput += s.output
	s.allRead += s.cached
	s.cost = math.Round((s.cost+cost)*1e6) / 1e6
	metadata := fmt.Sprintf(`%s,"inference":{"provider":"%s","requestedModel":"%s"},"usage":{"inputTokens":%d,"outputTokens":%d,"totalTokens":%d,"cacheReadTokens":%d,"cost":%s,"costSource":"estimated","elapsedMs":%d,"timeToFirstTokenMs":%d}}`,
		s.visibility(), s.provider, s.model, s.input, s.output, s.input+s.output, s.cached, strconv.FormatFloat(cost, 'g', -1, 64), 900+h.r.IntN(20_000), 200+h.r.IntN(700))
	if s.stored && len(w.json) <= keptBytes {
		if len(h.recent) == maxLogs {
			h.recent = append(h.recent[:0], h.recent[1:]...)
		}
		h.recent = append(h.recent, logged{id: id, provider: s.provider, model: s.model, prompt: prompt, created: h.clock, parts: w.parts,
			input: s.input, output: s.output, cached: s.cached})
	}
	if err := h.say(s, w, "assistant", id, metadata); err != nil {
		return err
	}
	return h.ledger(s, s.input, s.output, s.cached, cost, false)
}

func (h *home) ledger(s *session, input, output, cached int64, cost float64, compaction bool) error {
	if !s.stored {
		return nil
	}
	h.counts.Usage++
	_, err := h.db.usage.ExecContext(h.ctx, s.id, h.clock, s.model, input, output, input+output, cached, cost, "estimated", compaction)
	return err
}

// turn writes a prompt and all that follows from it.
func (h *home) turn(s *session, delegate bool) error {
	h.clock += 5 + int64(Length{60, 1.2, 7200}.draw(h.r))
	prompt := cut(h.r, h.corpus.prose, h.o.Mix.Prompt.draw(h.r))
	if s.stored && s.kind == "user" && len(h.prompts) < h.o.History {
		h.prompts = append(h.prompts, prompt)
	}
	w := newWriter()
	w.text(prompt)
	if h.r.Float64() < h.o.Images {
		w.images++
		w.raw(h.image())
	}
	if err := h.userSays(s, w); err != nil {
		return err
	}
	w = newWriter()
	w.text("<turn-context>\n<current-time>" + stamp(h.clock) + " +00:00</current-time>\n<working-directory>" + s.dir + "</working-directory>\n</turn-context>")
	if err := h.say(s, w, "user", "msg_"+uuid(h.r), `{"userVisible":false,"agentVisible":`+strconv.FormatBool(!s.compacting)+`,"turnContext":true}`); err != nil {
		return err
	}
	if h.r.IntN(50) == 0 {
		m := models[h.r.IntN(len(models))]
		s.provider, s.model = m.provider, m.name
	}
	if delegate {
		if err := h.delegate(s, prompt); err != nil {
			return err
		}
	}
	if h.r.Float64() < h.o.Tools {
		for more := true; more; more = h.r.Float64() < 0.65 {
			if err := h.round(s, prompt); err != nil {
				return err
			}
		}
	}
	if h.r.IntN(60) == 0 {
		return nil // interrupted
	}
	w = newWriter()
	h.think(w)
	w.text(cut(h.r, h.corpus.prose, h.o.Mix.Answer.draw(h.r)))
	return h.replies(s, w, prompt)
}

func (h *home) think(w *writer) {
	if h.r.IntN(3) == 0 {
		w.thinking(cut(h.r, h.corpus.prose, h.o.Mix.Thinking.draw(h.r)))
	}
}

// longest is what one value may take of a home.
func (h *home) longest(n int) int { return min(n, int(h.o.MB*1e6/4)) }

func (h *home) image() []byte {
	data := make([]byte, h.longest(h.o.Mix.Image.draw(h.r)))
	for i := 0; i < len(data); i += 8 {
		bits := h.r.Uint64()
		for j := i; j < min(i+8, len(data)); j++ {
			data[j] = byte(bits)
			bits >>= 8
		}
	}
	b := []byte(`{"type":"image","data":"`)
	b = base64.StdEncoding.AppendEncode(b, data)
	return append(b, `","mimeType":"image/png"}`...)
}

// call is a tool call that is not answered yet.
type call struct{ id, tool string }

// round writes a reply that calls tools, and their answers.
func (h *home) round(s *session, prompt string) error {
	w := newWriter()
	h.think(w)
	if h.r.IntN(2) == 0 {
		w.text(cut(h.r, h.corpus.prose, h.o.Mix.Answer.draw(h.r)/3+1))
	}
	n := 1
	if h.r.IntN(8) == 0 {
		n += 1 + h.r.IntN(3)
	}
	calls := make([]call, n)
	for i := range calls {
		calls[i] = h.request(w)
	}
	if err := h.replies(s, w, prompt); err != nil {
		return err
	}
	if h.r.IntN(200) == 0 {
		return nil // killed while the tools ran
	}
	w = newWriter()
	for _, c := range calls {
		h.response(w, c)
	}
	return h.userSays(s, w)
}

func (h *home) request(w *writer) call {
	c := call{id: "call_" + hex(h.r, 24)}
	text := func() string { return cut(h.r, h.corpus.output, h.longest(h.o.Mix.Arguments.draw(h.r))) }
	path := h.userDir + "/src/" + strconv.Itoa(h.r.IntN(500)) + ".rs"
	var arguments []byte
	extension := "developer"
	switch k := h.r.IntN(100); {
	case k < 55:
		c.tool = "shell"
		arguments = append(jsonval.AppendQuoted(append(arguments, `{"command":`...), text()), '}')
	case k < 70:
		c.tool = "edit"
		arguments = jsonval.AppendQuoted(append(arguments, `{"path":`...), path)
		arguments = jsonval.AppendQuoted(append(arguments, `,"before":`...), text())
		arguments = append(jsonval.AppendQuoted(append(arguments, `,"after":`...), text()), '}')
	case k < 80:
		c.tool = "write"
		arguments = jsonval.AppendQuoted(append(arguments, `{"path":`...), path)
		arguments = append(jsonval.AppendQuoted(append(arguments, `,"content":`...), text()+text()), '}')
	case k < 88:
		c.tool = "tree"
		arguments = append(strconv.AppendInt(append(jsonval.AppendQuoted(append(arguments, `{"path":`...), path), `,"depth":`...), int64(1+h.r.IntN(4)), 10), '}')
	default:
		c.tool, extension = "search__find_pages", "search"
		arguments = append(jsonval.AppendQuoted(append(arguments, `{"query":`...), cut(h.r, h.corpus.prose, 40)), `,"limit":10,"filters":{"lang":["en"],"safe":true}}`...)
	}
	b := append([]byte(`{"type":"toolRequest","id":"`), c.id...)
	b = append(append(b, `","toolCall":{"status":"success","value":{"name":"`...), c.tool...)
	b = append(append(b, `","arguments":`...), arguments...)
	b = append(append(b, `}},"_meta":{"goose.toolCall.providerIndex":0,"goose_extension":"`...), extension...)
	w.raw(append(b, `"}}`...))
	w.requests++
	return c
}

func (h *home) response(w *writer, c call) {
	h.result(w, c, cut(h.r, h.corpus.output, h.longest(h.o.Mix.Result.draw(h.r))), h.r.IntN(100))
}

// result appends what a tool gave back: with luck below 3 only an error, below
// 10 a result that is one.
func (h *home) result(w *writer, c call, result string, luck int) {
	w.responses++
	b := append([]byte(`{"type":"toolResponse","id":"`), c.id...)
	b = append(b, `","toolResult":`...)
	if luck < 3 {
		w.raw(append(b, `{"status":"error","error":"-32603: -32602: the tool cannot be run"}}`...))
		return
	}
	failed := luck < 10
	b = append(b, `{"status":"success","value":{"resultType":"complete","content":[{"type":"text","text":`...)
	b = jsonval.AppendQuoted(b, result)
	b = append(b, `,"annotations":{"priority":0.0}}]`...)
	if c.tool == "shell" && len(result) < 64<<10 {
		// Goose stores the output of its shell twice.
		b = jsonval.AppendQuoted(append(b, `,"structuredContent":{"stdout":`...), result)
		b = append(b, `,"stderr":"","exit_code":`...)
		if failed {
			b = append(b, `1}`...)
		} else {
			b = append(b, `0}`...)
		}
	}
	b = strconv.AppendBool(append(b, `,"isError":`...), failed)
	w.raw(append(b, `}}}`...))
}

// largest writes a session with a result of LargestMB.
func (h *home) largest() error {
	s := h.begin("user")
	w := newWriter()
	c := h.request(w)
	if err := h.replies(s, w, ""); err != nil {
		return err
	}
	w = newWriter()
	h.result(w, c, cut(h.r, h.corpus.output, int(h.o.LargestMB*1e6)), 99)
	if err := h.userSays(s, w); err != nil {
		return err
	}
	return h.end(s)
}

// delegate writes a call that another session works on, and that session.
func (h *home) delegate(s *session, prompt string) error {
	w := newWriter()
	id := "call_" + hex(h.r, 24)
	task := cut(h.r, h.corpus.prose, h.o.Mix.Prompt.draw(h.r))
	b := append([]byte(`{"type":"toolRequest","id":"`), id...)
	b = append(b, `","toolCall":{"status":"success","value":{"name":"delegate","arguments":{"instructions":`...)
	b = append(jsonval.AppendQuoted(b, task), `}}},"_meta":{"goose.toolCall.providerIndex":0,"goose_extension":"summon"}}`...)
	w.raw(b)
	w.requests++
	if err := h.replies(s, w, prompt); err != nil {
		return err
	}
	sub := h.begin("sub_agent")
	sub.parent, sub.dir, sub.name, sub.stored = s.id, s.dir, "Delegated task", s.stored
	w = newWriter()
	w.text("Subagent ID: " + sub.id + "\n\n" + task)
	if err := h.userSays(sub, w); err != nil {
		return err
	}
	for range 1 + h.r.IntN(6) {
		if err := h.round(sub, task); err != nil {
			return err
		}
	}
	w = newWriter()
	answer := cut(h.r, h.corpus.prose, h.o.Mix.Answer.draw(h.r))
	w.text(answer)
	if err := h.replies(sub, w, task); err != nil {
		return err
	}
	if sub.stored {
		h.counts.SubAgents++
	}
	if err := h.end(sub); err != nil {
		return err
	}
	w = newWriter()
	w.responses++
	b = append([]byte(`{"type":"toolResponse","id":"`), id...)
	b = jsonval.AppendQuoted(append(b, `","toolResult":{"status":"success","value":{"resultType":"complete","content":[{"type":"text","text":`...), answer)
	b = append(append(b, `}],"_meta":{"subagent_session_id":"`...), sub.id...)
	w.raw(append(b, `"},"isError":false}}}`...))
	return h.userSays(s, w)
}

// compact writes what compacting the session leaves: what came before stays
// for the user, the summary is for the agent.
func (h *home) compact(s *session) error {
	h.clock += 5 + int64(h.r.IntN(40))
	s.compacting, s.agentOnly = false, true
	w := newWriter()
	w.text(cut(h.r, h.corpus.prose, 4*h.o.Mix.Answer.draw(h.r)))
	if err := h.userSays(s, w); err != nil {
		return err
	}
	w = newWriter()
	w.text("Your context was compacted. Go on with the task as the summary tells.")
	if err := h.say(s, w, "assistant", "msg_"+s.id+"_"+uuid(h.r), s.visibility()+"}"); err != nil {
		return err
	}
	s.agentOnly = false
	return h.ledger(s, 40_000, 900, 0, 0.109, true)
}
