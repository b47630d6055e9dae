package transform

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"strings"

	"gander/schemas/jsonval"
	"gander/schemas/values"
)

// content turns the blocks of one message into events, and its tool requests
// and responses into calls.
type content struct {
	// emit writes an event and returns its id, "" when another stays for it.
	emit func(*place, *event) string
	// names pairs all requests and responses, calls those whose events stay.
	// They are one where every event stays.
	names, calls *pairer
	// refused tells whether a toolConfirmationResponse answers the call; nil
	// where no store marks calls.
	refused func(id string) (bool, error)
	// untyped reads items without a type by their keys.
	untyped bool
	typed   jsonval.Doc

	extra  jsonval.ObjectBuilder
	nested jsonval.ObjectBuilder
	text   []byte
}

// message is what the blocks of a message share.
type message struct {
	place
	number int64 // order of messages, for pairing
	turn   string
	at     values.Int
	pair   modelPair
}

// turnOf returns the turn_type of a role's own blocks.
func turnOf(role string) string {
	if role == "user" || role == "assistant" {
		return role
	}
	return "system"
}

// blocks writes the events of every block of an array.
func (c *content) blocks(m *message, list jsonval.Value) error {
	i := 0
	for b := range list.Items() {
		if c.untyped {
			if text := untyped(b); text != "" && c.typed.Parse(text) == nil {
				b = c.typed.Root()
			}
		}
		if err := c.block(m, i, b); err != nil {
			return err
		}
		i++
	}
	return nil
}

// block writes the event of one block.
func (c *content) block(m *message, index int, b jsonval.Value) error {
	e := event{block: index, at: m.at, pair: m.pair}
	c.extra.Reset()
	kind := b.Get("type").Text()
	switch kind {
	case "text":
		if text := b.Get("text"); text.Is(jsonval.String) {
			e.kind, e.turnType, e.text = "text", m.turn, some(text.Text())
			c.rest(b, "type", "text")
			break
		}
		c.unknown(&e, b)
	case "image", "document":
		c.media(&e, m, kind, b)
	case "thinking", "reasoning":
		key := "thinking"
		if kind == "reasoning" {
			key = "text"
		}
		e.kind, e.turnType, e.text = "thinking", "thinking", some(textOf(b.Get(key)))
		if s := b.Get("signature"); s.Is(jsonval.String) {
			c.extra.Int("signature", int64(len(s.Text())))
			c.rest(b, "type", key, "signature")
		} else {
			c.rest(b, "type", key)
		}
	case "redactedThinking":
		e.kind, e.turnType, e.text = "redacted_thinking", "thinking", some("[redacted thinking]")
		c.rest(b, "type")
	case "toolRequest":
		if call := b.Get("toolCall"); call.Is(jsonval.Object) {
			return c.toolRequest(&e, m, b, call)
		}
		c.unknown(&e, b)
	case "toolResponse":
		if result := b.Get("toolResult"); result.Is(jsonval.Object) {
			return c.toolResponse(&e, m, b, result)
		}
		c.unknown(&e, b)
	case "toolConfirmationRequest":
		c.question(&e, "confirmation_request", "confirmation requested: ", b)
		c.rest(b, "type", "id", "toolName", "prompt", "arguments")
	case "actionRequired":
		c.action(&e, b)
	case "systemNotification":
		name := textOf(b.Get("notificationType"))
		if name == "" {
			name = "notification"
		}
		e.kind, e.turnType, e.text = "notification", "system", some(c.concat(name, ": ", textOf(b.Get("msg"))))
		c.rest(b, "type", "notificationType", "msg")
	case "error":
		e.kind, e.turnType = "error", "system"
		e.text = some(c.concat("error ", textOf(b.Get("kind")), ": ", textOf(b.Get("message"))))
		c.rest(b, "type", "kind", "message")
	default:
		c.unknown(&e, b)
	}
	e.extra = c.extra.JSON()
	c.emit(&m.place, &e)
	return nil
}

// unknown keeps a block that has no place as its JSON.
func (c *content) unknown(e *event, b jsonval.Value) {
	e.kind, e.turnType, e.text = "unknown_block", "system", some(b.JSON())
}

// textOf is a text as it stands, other JSON as it is written, ” for null and
// for what is missing.
func textOf(v jsonval.Value) string {
	if !v.Present() {
		return ""
	}
	return v.TextOrJSON()
}

// idOf is a tool id: ” when there is none, its JSON when it is no string.
func idOf(v jsonval.Value) string { return textOf(v) }

// rest adds the members of an object that have no place elsewhere.
func (c *content) rest(b jsonval.Value, placed ...string) { addRest(&c.extra, b, placed...) }

func addRest(to *jsonval.ObjectBuilder, b jsonval.Value, placed ...string) {
next:
	for key, v := range b.Members() {
		for _, p := range placed {
			if key == p {
				continue next
			}
		}
		to.Value(key, v)
	}
}

// concat joins texts in a buffer that lives until the next event.
func (c *content) concat(parts ...string) string {
	c.text = c.text[:0]
	for _, p := range parts {
		c.text = append(c.text, p...)
	}
	return string(c.text)
}

// joined joins the parts that are not ” with " | ".
func joined(parts ...string) string {
	kept := parts[:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, " | ")
}

func (c *content) media(e *event, m *message, kind string, b jsonval.Value) {
	e.kind, e.turnType = kind, m.turn
	mime := textOf(b.Get("mimeType"))
	e.mime = optText{mime, b.Get("mimeType").Present()}
	label := mime
	if kind == "document" {
		label = joined(textOf(b.Get("name")), mime)
	}
	text := "[" + kind + "]"
	if label != "" {
		text += " " + label
	}
	e.text = some(text)
	placed := []string{"type", "mimeType", "data"}
	if kind == "document" {
		placed = append(placed, "name")
	}
	if data := b.Get("data"); data.Present() {
		n, sum, decoded := digest(data.TextOrJSON())
		e.dataBytes, e.dataSHA = values.Int{V: n, OK: true}, sum
		if !decoded {
			c.extra.Bool("data_not_base64", true)
		}
	}
	c.rest(b, placed...)
}

// digest returns size and SHA-256 of base64 text decoded, or of the text
// itself when it is no base64.
func digest(data string) (n int64, sum string, decoded bool) {
	h := sha256.New()
	n, err := io.Copy(h, base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)))
	if err != nil {
		h.Reset()
		n, _ = io.Copy(h, strings.NewReader(data))
	}
	return n, hex.EncodeToString(h.Sum(nil)), err == nil
}

func (c *content) toolRequest(e *event, m *message, b, call jsonval.Value) error {
	e.kind, e.turnType = "tool_request", "tool_use"
	id := idOf(b.Get("id"))
	value, meta := call.Get("value"), b.Get("_meta")
	status := call.Get("status")
	failed := status.Text() == "error"
	e.toolUseID, e.isError = some(id), tristate{failed, true}
	var codes []int32
	var arguments optText
	if failed {
		e.text = some(textOf(call.Get("error")))
		codes = errorCodes(e.text.s)
	} else {
		e.toolName = nonEmpty(value.Get("name").Text())
		if a := value.Get("arguments"); a.Present() {
			arguments = some(a.JSON())
		}
		e.text = arguments
	}
	c.extra.Value("status", status)
	c.extra.Value("_meta", meta)
	c.extra.Value("metadata", b.Get("metadata"))
	c.rest(b, "type", "id", "toolCall", "_meta", "metadata")
	// What the call holds beside name, arguments and error.
	c.nested.Reset()
	if failed {
		addRest(&c.nested, call, "status", "error")
	} else {
		addRest(&c.nested, call, "status", "value")
		if value.Is(jsonval.Object) {
			if value.Get("name").Is(jsonval.String) {
				addRest(&c.nested, value, "name", "arguments")
			} else {
				addRest(&c.nested, value, "arguments")
			}
		} else {
			c.nested.Value("value", value)
		}
	}
	c.extra.Raw("toolCall", string(c.nested.JSON()))
	e.extra = c.extra.JSON()
	eventID := c.emit(&m.place, e)

	executable := meta.Get("goose.executable")
	run, known := executable.Bool()
	extension := meta.Get("goose_extension").Text()
	if prefix, _, ok := strings.Cut(e.toolName.s, "__"); extension == "" && ok {
		extension = prefix
	}
	if c.names != c.calls {
		if err := c.names.ask(m.number, request{id: id, name: e.toolName}); err != nil {
			return err
		}
	}
	if eventID != "" {
		if err := c.calls.ask(m.number, request{
			id: id, name: e.toolName, extension: nonEmpty(extension), arguments: arguments, at: m.at,
			invalid: failed, codes: codes, executable: tristate{run, known},
			pair: m.pair, copiedFrom: m.copiedFrom, eventID: eventID, origin: origin{m.table, m.line},
		}); err != nil {
			return err
		}
	}
	if !known || run || c.refused == nil {
		return nil
	}
	answered, err := c.refused(id)
	if err != nil || answered {
		return err
	}
	c.emit(&m.place, &event{
		kind: "permission_decision", turnType: "system", at: m.at, block: e.block, pair: m.pair,
		toolName: e.toolName, toolUseID: e.toolUseID,
		text: some("permission decision: not executable (goose.executable=false)"),
	})
	return nil
}

func (c *content) toolResponse(e *event, m *message, b, result jsonval.Value) error {
	e.kind, e.turnType = "tool_response", "tool_result"
	id := idOf(b.Get("id"))
	value := result.Get("value")
	r := response{at: m.at, pair: m.pair, copiedFrom: m.copiedFrom, origin: origin{m.table, m.line}}
	r.failed = result.Get("status").Text() == "error"
	structured := value.Get("structuredContent")
	parts := value
	if value.Is(jsonval.Object) {
		parts = value.Get("content")
	}
	if r.failed {
		r.text = textOf(result.Get("error"))
	} else {
		r.text = c.resultText(value, parts)
		if r.text == "" && structured.Present() {
			r.text = structured.JSON()
		}
		r.toolError, _ = value.Get("isError").Bool()
	}
	if code, ok := structured.Get("exit_code").Int(); ok {
		r.exitCode = values.Int{V: code, OK: true}
	}
	r.subagent = nonEmpty(value.Get("_meta").Get("subagent_session_id").Text())

	req := c.names.take(id)
	if req != nil {
		e.toolName = req.name
	}
	e.toolUseID, e.text = some(id), some(r.text)
	e.isError = tristate{r.failed || r.toolError, true}
	c.responseExtra(b, result, value, parts, r.failed)
	e.extra = c.extra.JSON()
	if r.eventID = c.emit(&m.place, e); r.eventID == "" {
		return nil
	}
	if c.names != c.calls {
		req = c.calls.take(id)
	}
	return c.calls.write(req, &r, id)
}

// resultText joins the text of a result's parts.
func (c *content) resultText(value, parts jsonval.Value) string {
	switch {
	case parts.Is(jsonval.Array):
	case value.Is(jsonval.Object):
		return textOf(parts)
	case value.Present():
		return partText(value)
	default:
		return ""
	}
	if parts.Len() == 1 { // by far the most: no copy
		for p := range parts.Items() {
			return partText(p)
		}
	}
	var out []byte
	first := true
	for p := range parts.Items() {
		if !first {
			out = append(out, '\n')
		}
		first = false
		out = append(out, partText(p)...)
	}
	return string(out)
}

func partText(p jsonval.Value) string {
	if !p.Is(jsonval.Object) {
		return p.TextOrJSON()
	}
	labelled := func(label, rest string) string {
		if rest == "" {
			return label
		}
		return label + " " + rest
	}
	switch kind := p.Get("type").Text(); kind {
	case "text":
		return textOf(p.Get("text"))
	case "image", "audio":
		return labelled("["+kind+"]", textOf(p.Get("mimeType")))
	case "resource":
		r := p.Get("resource")
		if text := r.Get("text"); text.Is(jsonval.String) {
			return text.Text()
		}
		return labelled("[resource]", textOf(r.Get("uri")))
	case "resource_link":
		return labelled("[resource_link]", textOf(p.Get("uri")))
	}
	return p.JSON()
}

// responseExtra collects what a result holds beside its text: bytes of images
// and the like as size and hash.
func (c *content) responseExtra(b, result, value, parts jsonval.Value, failed bool) {
	c.extra.Value("status", result.Get("status"))
	c.extra.Value("is_error", value.Get("isError"))
	c.extra.Value("structured_content", value.Get("structuredContent"))
	c.extra.Value("_meta", value.Get("_meta"))
	var media, notes []byte
	noted := false
	for p := range parts.Items() {
		notes = append(notes, ',')
		if a := p.Get("annotations"); a.Present() {
			notes = a.AppendJSON(notes)
			noted = true
		} else {
			notes = append(notes, "null"...)
		}
		if entry := c.part(p); entry != nil {
			media = append(media, ',')
			media = append(media, entry...)
		}
	}
	list := func(key string, items []byte) {
		if len(items) > 0 {
			items[0] = '['
			c.extra.Raw(key, string(append(items, ']')))
		}
	}
	list("parts", media)
	if noted {
		list("annotations", notes)
	}
	if value.Is(jsonval.Object) {
		addRest(&c.extra, value, "content", "isError", "structuredContent", "_meta")
	}
	c.nested.Reset()
	addRest(&c.nested, b, "type", "id", "toolResult")
	c.extra.Raw("toolResponse", string(c.nested.JSON()))
	c.nested.Reset()
	if failed {
		addRest(&c.nested, result, "status", "error", "value")
	} else {
		addRest(&c.nested, result, "status", "value")
	}
	c.extra.Raw("toolResult", string(c.nested.JSON()))
}

// part describes what a part of a result holds beside its text; nil when that
// is nothing.
func (c *content) part(p jsonval.Value) []byte {
	kind := p.Get("type").Text()
	c.nested.Reset()
	switch {
	case !p.Is(jsonval.Object):
		return nil
	case kind == "text":
		addRest(&c.nested, p, "type", "text", "annotations")
		if rest := c.nested.JSON(); rest == nil {
			return nil
		}
		c.nested.Text("type", kind)
		return c.nested.JSON()
	}
	at, placed := p, []string{"type", "mimeType", "data", "annotations"}
	if kind == "resource" {
		at, placed = p.Get("resource"), []string{"type", "resource", "annotations"}
	}
	c.nested.Value("type", p.Get("type"))
	c.nested.Value("mime", at.Get("mimeType"))
	for _, key := range []string{"data", "blob"} {
		if data := at.Get(key); data.Present() {
			n, sum, _ := digest(data.TextOrJSON())
			c.nested.Int("bytes", n)
			c.nested.Text("sha256", sum)
			break
		}
	}
	addRest(&c.nested, p, placed...)
	if kind == "resource" {
		addRest(&c.nested, at, "mimeType", "data", "blob", "text")
	}
	return c.nested.JSON()
}

// question fills the event of a question put to the user about a call.
func (c *content) question(e *event, kind, label string, q jsonval.Value) {
	e.kind, e.turnType = kind, "system"
	arguments := ""
	if a := q.Get("arguments"); a.Present() {
		arguments = a.JSON()
	}
	name := textOf(q.Get("toolName"))
	e.toolName, e.toolUseID = nonEmpty(name), some(idOf(q.Get("id")))
	e.text = some(label + joined(name, textOf(q.Get("prompt")), arguments))
}

func (c *content) action(e *event, b jsonval.Value) {
	data := b.Get("data")
	e.turnType = "system"
	placed := []string{"actionType", "id"}
	switch data.Get("actionType").Text() {
	case "toolConfirmation":
		c.question(e, "permission_request", "permission request: ", data)
		placed = append(placed, "toolName", "prompt", "arguments")
	case "toolConfirmationResponse":
		e.kind = "permission_decision"
		permission := textOf(data.Get("permission"))
		id := idOf(data.Get("id"))
		e.toolUseID = some(id)
		if req := c.names.peek(id); req != nil {
			e.toolName = req.name
		}
		if req := c.calls.peek(id); req != nil {
			req.decision = nonEmpty(strings.Clone(permission))
		}
		if permission == "" {
			permission = "-"
		}
		e.text = some("permission decision: " + permission + " (toolConfirmationResponse)")
		placed = append(placed, "permission")
	default:
		e.kind = "action_required"
		text := data.JSON()
		if text == "" {
			text = "null"
		}
		e.text = some("action required: " + text)
		c.rest(b, "type", "data")
		return
	}
	c.rest(b, "type", "data")
	c.nested.Reset()
	addRest(&c.nested, data, placed...)
	c.extra.Raw("data", string(c.nested.JSON()))
}

// confirmed calls yield with the id of every call that the blocks of a message
// answer a permission question about.
func confirmed(list jsonval.Value, yield func(id string)) {
	for b := range list.Items() {
		data := b.Get("data")
		if b.Get("type").Text() == "actionRequired" && data.Get("actionType").Text() == "toolConfirmationResponse" {
			yield(idOf(data.Get("id")))
		}
	}
}
