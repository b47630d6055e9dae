package transform

import (
	"io"
	"sort"
	"strings"

	"gander/schemas/batch"
	"gander/schemas/values"
)

// argumentsInMemory bounds, in bytes, what the arguments of a session's
// unanswered calls take in memory. What comes above it goes to the Spool.
const argumentsInMemory = 32 << 20

// Spool keeps bytes that would not fit in memory, in scratch.
type Spool interface {
	io.Writer
	io.ReaderAt
}

// request is the first half of a tool call.
type request struct {
	order      int64 // among the session's requests
	id         string
	name       optText
	extension  optText
	arguments  optText
	spooled    int64 // offset in the spool + 1 of the arguments; 0: they are in arguments
	length     int   // of the arguments
	at         values.Int
	invalid    bool
	codes      []int32 // that lead the request's own error, when invalid
	executable tristate
	decision   optText
	pair       modelPair
	copiedFrom optText
	eventID    string
	origin     origin
}

// origin is where a call came from.
type origin struct {
	table optText
	line  values.Int
}

// response is the second half.
type response struct {
	at         values.Int
	failed     bool // toolResult.status is error
	toolError  bool // isError
	text       string
	exitCode   values.Int
	subagent   optText
	pair       modelPair
	copiedFrom optText
	eventID    string
	origin     origin
}

// asked are the unanswered requests of one id in one message, in block order.
type asked struct {
	message int64
	calls   []*request
}

// pairer pairs the requests and responses of one session at a time. It holds
// about 400 bytes per unanswered request and up to argumentsInMemory of their
// arguments.
type pairer struct {
	events *eventWriter
	out    *batch.Writer // nil: only the names of tools are asked for
	spool  func() (Spool, error)

	session optText
	open    map[string][]asked
	n       int64 // requests of the session
	held    int   // bytes of arguments in memory
	file    Spool
	written int64
}

// restart begins another session. The one before must have been closed.
func (p *pairer) restart(session optText) {
	p.session = session
	p.n, p.held = 0, 0
	clear(p.open)
}

// ask notes a request of the message numbered so.
func (p *pairer) ask(message int64, r request) error {
	r.order = p.n
	p.n++
	r.id = strings.Clone(r.id)
	for _, t := range []*optText{&r.name, &r.extension, &r.pair.provider, &r.pair.model, &r.copiedFrom, &r.origin.table} {
		t.s = strings.Clone(t.s)
	}
	if p.out == nil {
		r.arguments = optText{}
	}
	r.length = len(r.arguments.s)
	if p.held+r.length > argumentsInMemory && r.length > 0 {
		if p.file == nil {
			var err error
			if p.file, err = p.spool(); err != nil {
				return err
			}
		}
		if _, err := io.WriteString(p.file, r.arguments.s); err != nil {
			return err
		}
		r.spooled = p.written + 1
		p.written += int64(r.length)
		r.arguments.s = ""
	} else {
		r.arguments.s = strings.Clone(r.arguments.s)
		p.held += r.length
	}
	list := p.open[r.id]
	if n := len(list); n > 0 && list[n-1].message == message {
		list[n-1].calls = append(list[n-1].calls, &r)
	} else {
		p.open[r.id] = append(list, asked{message, []*request{&r}})
	}
	return nil
}

// peek returns the request that a response of that id would answer now: the
// first block of the latest message that has an unanswered one; nil without.
func (p *pairer) peek(id string) *request {
	list := p.open[id]
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1].calls[0]
}

// take is peek, and the request is answered with it.
func (p *pairer) take(id string) *request {
	r := p.peek(id)
	if r == nil {
		return nil
	}
	list := p.open[id]
	last := &list[len(list)-1]
	last.calls = last.calls[1:]
	if len(last.calls) == 0 {
		list = list[:len(list)-1]
	}
	if len(list) == 0 {
		delete(p.open, id)
	} else {
		p.open[id] = list
	}
	if r.spooled == 0 {
		p.held -= r.length
	}
	return r
}

// close writes the calls that nothing answered, in the order of their requests.
func (p *pairer) close() error {
	if len(p.open) == 0 {
		return nil
	}
	var rest []*request
	for _, list := range p.open {
		for _, a := range list {
			rest = append(rest, a.calls...)
		}
	}
	clear(p.open)
	sort.Slice(rest, func(i, j int) bool { return rest[i].order < rest[j].order })
	for _, r := range rest {
		if err := p.write(r, nil, r.id); err != nil {
			return err
		}
	}
	return nil
}

// declinedText is how the text of a refused call's result begins.
const declinedText = "The user has declined to run this tool."

func status(req *request, res *response) string {
	switch {
	case req == nil:
		return "orphan_response"
	case res == nil:
		return "no_response"
	case req.invalid || req.name.s == "unparseable_tool_call":
		return "invalid_call"
	}
	switch req.decision.s {
	case "deny_once", "always_deny", "cancel":
		return "declined"
	}
	switch {
	case strings.HasPrefix(res.text, declinedText):
		return "declined"
	case res.failed:
		return "error"
	case res.toolError:
		return "tool_error"
	}
	return "success"
}

// write appends a row of tool_calls; either half may be nil, not both.
func (p *pairer) write(req *request, res *response, id string) error {
	if p.out == nil {
		return nil
	}
	var rq request
	var rs response
	if req != nil {
		rq = *req
	}
	if res != nil {
		rs = *res
	}
	if rq.spooled > 0 {
		b := make([]byte, rq.length)
		if _, err := p.file.ReadAt(b, rq.spooled-1); err != nil {
			return err
		}
		rq.arguments.s = string(b)
	}
	pair, copied, from := rq.pair, rq.copiedFrom, rq.origin
	if req == nil {
		pair, copied, from = rs.pair, rs.copiedFrom, rs.origin
	}
	codes := rq.codes
	if res != nil {
		codes = errorCodes(rs.text)
	}

	o := p.out
	o.Text(p.events.store)
	o.OptText(p.session.s, p.session.ok)
	o.Text(id)
	o.OptText(rq.name.s, rq.name.ok)
	o.OptText(rq.extension.s, rq.extension.ok)
	o.OptText(rq.arguments.s, rq.arguments.ok)
	o.Micros(rq.at.V, rq.at.OK)
	o.Micros(rs.at.V, rs.at.OK)
	o.Text(status(req, res))
	o.Ints(codes)
	o.OptInt(rs.exitCode.V, rs.exitCode.OK)
	o.OptInt(int64(len(rs.text)), res != nil)
	o.OptText(rq.decision.s, rq.decision.ok)
	o.OptBool(rq.executable.v, rq.executable.ok)
	o.OptText(rs.subagent.s, rs.subagent.ok)
	o.OptText(pair.provider.s, pair.provider.ok)
	o.OptText(pair.model.s, pair.model.ok)
	o.OptText(copied.s, copied.ok)
	o.TextOrNull(rq.eventID)
	o.TextOrNull(rs.eventID)
	o.Text(p.events.file)
	o.OptText(from.table.s, from.table.ok)
	o.OptInt(from.line.V, from.line.OK)
	o.End()
	return nil
}

// errorCodes reads the codes that lead a text, "-32603: -32602: ...",
// outermost first. Goose puts another in front at every rewrite.
func errorCodes(s string) []int32 {
	var codes []int32
	for len(s) >= 8 && s[0] == '-' && s[6] == ':' && s[7] == ' ' {
		var n int32
		for _, c := range []byte(s[1:6]) {
			if c < '0' || c > '9' {
				return codes
			}
			n = n*10 + int32(c-'0')
		}
		codes = append(codes, -n)
		s = s[8:]
	}
	return codes
}
