package provider

import (
	"iter"
	"slices"
	"strings"

	"gander/schemas/jsonval"
	"gander/schemas/values"
)

// Kinds of items.
const (
	Text         = "text"
	TurnContext  = "turn_context"
	ToolRequest  = "tool_request"
	ToolResponse = "tool_response"
)

// Item is a piece of a conversation that was sent to a provider. Its strings
// are valid as long as the Doc that the request was read from.
type Item struct {
	Position  int    // index in the list of the request, from 0; items of one message share it
	Role      string // as stored, "model" with Google; "assistant" and "tool" for calls and results that have none
	Kind      string
	ToolName  string // of the call that is answered, for a response; "" when the request does not hold it
	ToolUseID string // "" when there is none, its JSON when it is no string
	Text      string // as sent; of a tool_request the arguments in canonical JSON, "" without any
	Compare   string // what decides whether a stored item is the same
}

// Items yields what the messages of a request say: runs of text, tool calls
// and tool results. Items of roles system and developer, thinking, images and
// anything unknown are left out, and so is blank text.
//
// Compare is the text with white space cut from both ends, ResultText of a
// result, SortedJSON of arguments ("{}" when there are none, as Goose sends
// them).
func Items(input jsonval.Value) iter.Seq[Item] {
	return func(yield func(Item) bool) {
		w := walker{yield: yield, names: map[string]string{}, called: map[string]bool{}}
		if prompt := input.Get("input"); prompt.Is(jsonval.String) && !body(input, jsonval.Array).Is(jsonval.Array) {
			w.at.Role = "user"
			w.text(prompt.Text())
			return
		}
		for item := range body(input, jsonval.Array).Items() {
			if w.item(item); w.stopped {
				return
			}
			w.at.Position++
		}
	}
}

// body is the conversation of a request: the first of the members that hold
// one which is of a kind asked for; missing when none is.
func body(input jsonval.Value, kinds ...jsonval.Kind) jsonval.Value {
	for _, key := range []string{"messages", "input", "contents"} {
		v := input.Get(key)
		for _, kind := range kinds {
			if v.Is(kind) {
				return v
			}
		}
	}
	return jsonval.Value{}
}

// walker goes through the messages of a request.
type walker struct {
	yield   func(Item) bool
	stopped bool
	at      Item              // Position and Role of the message being read
	names   map[string]string // tool name by id of the calls so far
	called  map[string]bool   // tool names of the calls so far
	run     []string          // adjacent text parts
}

// emit yields an item of the message being read.
func (w *walker) emit(it Item) {
	if w.stopped {
		return
	}
	it.Position, it.Role = w.at.Position, w.at.Role
	w.stopped = !w.yield(it)
}

// item reads a message, or one of the items that OpenAI responses have beside
// messages.
func (w *walker) item(m jsonval.Value) {
	w.at.Role = m.Get("role").Text()
	switch m.Get("type").Text() {
	case "function_call":
		w.roleless("assistant")
		w.request(firstOf(m, "call_id", "id"), m.Get("name"), m.Get("arguments"))
		return
	case "function_call_output":
		w.roleless("tool")
		w.response(m.Get("call_id"), m.Get("output"))
		return
	case "", "message":
	default:
		return
	}
	switch w.at.Role {
	case "system", "developer":
		return
	case "tool":
		w.response(m.Get("tool_call_id"), m.Get("content"))
		return
	}
	w.content(content(m))
	for call := range m.Get("tool_calls").Items() {
		if f := call.Get("function"); f.Is(jsonval.Object) {
			w.request(call.Get("id"), f.Get("name"), f.Get("arguments"))
		}
	}
}

// roleless gives an item a role that its type implies.
func (w *walker) roleless(role string) {
	if w.at.Role == "" {
		w.at.Role = role
	}
}

// content is what a message says: a text or a list of parts.
func content(m jsonval.Value) jsonval.Value {
	if c := m.Get("content"); !c.Is(jsonval.Missing) {
		return c
	}
	return m.Get("parts")
}

func (w *walker) content(c jsonval.Value) {
	if c.Is(jsonval.String) {
		w.text(c.Text())
		return
	}
	w.run = w.run[:0]
	for part := range c.Items() {
		switch text := partText(part); {
		case !text.Is(jsonval.String):
			w.flush()
			w.part(part)
		case w.isContext(text.Text()):
			w.flush()
			w.text(text.Text())
		default:
			w.run = append(w.run, text.Text())
		}
	}
	w.flush()
}

// isContext reports a part of the user's that is turn context and nothing
// else. It ends a run wherever it stands: Goose sends prompts that follow one
// another without a reply as one message, the context of each after it.
func (w *walker) isContext(text string) bool {
	if w.at.Role != "user" {
		return false
	}
	before, blocks := splitContext(text)
	return before == "" && len(blocks) > 0
}

// flush ends a run of text parts. Goose sends several texts of a message as
// one where the provider takes one, joined by line breaks.
func (w *walker) flush() {
	if len(w.run) > 0 {
		w.text(strings.Join(w.run, "\n"))
		w.run = w.run[:0]
	}
}

// partText is the text of a text part; missing for another part.
func partText(part jsonval.Value) jsonval.Value {
	switch part.Get("type").Text() {
	case "text", "input_text", "output_text":
		return part.Get("text")
	case "":
		if !part.Get("thought").Is(jsonval.True) {
			return part.Get("text")
		}
	}
	return jsonval.Value{}
}

// part reads a part that is no text.
func (w *walker) part(p jsonval.Value) {
	switch p.Get("type").Text() {
	case "tool_use":
		w.request(p.Get("id"), p.Get("name"), p.Get("input"))
	case "tool_result":
		w.response(p.Get("tool_use_id"), p.Get("content"))
	case "":
		if call := p.Get("functionCall"); call.Is(jsonval.Object) {
			w.request(call.Get("id"), call.Get("name"), call.Get("args"))
		}
		if result := p.Get("functionResponse"); result.Is(jsonval.Object) {
			w.functionResponse(result)
		}
	}
}

// text yields a text, turn context apart where it is the user's.
func (w *walker) text(text string) {
	var contexts []string
	if w.at.Role == "user" {
		text, contexts = splitContext(text)
	}
	if trimmed := trim(text); trimmed != "" {
		w.emit(Item{Kind: Text, Text: text, Compare: trimmed})
	}
	for _, block := range contexts {
		w.emit(Item{Kind: TurnContext, Text: block, Compare: trim(block)})
	}
}

func (w *walker) request(id, name, arguments jsonval.Value) {
	it := Item{Kind: ToolRequest, ToolName: name.Text(), ToolUseID: textOf(id), Compare: "{}"}
	w.called[it.ToolName] = true
	if it.ToolUseID != "" {
		w.names[it.ToolUseID] = it.ToolName
	}
	if arguments = unwrapped(arguments); arguments.Present() {
		it.Text, it.Compare = arguments.JSON(), SortedJSON(arguments)
	}
	w.emit(it)
}

func (w *walker) response(id, result jsonval.Value) {
	text := resultText(result)
	it := Item{Kind: ToolResponse, ToolUseID: textOf(id), Text: text, Compare: ResultText(text)}
	it.ToolName = w.names[it.ToolUseID]
	w.emit(it)
}

// functionResponse reads a result in Google's shape, which names the tool.
// Goose wrote the id of the call in place of the name until it learnt to send
// both; no tool of that name is called then.
func (w *walker) functionResponse(r jsonval.Value) {
	id, name := textOf(r.Get("id")), r.Get("name").Text()
	if id == "" && !w.called[name] {
		id, name = name, w.names[name]
	}
	response := r.Get("response")
	result := response.Get("content")
	switch {
	case result.Get("text").Is(jsonval.String):
		result = result.Get("text")
	case !result.Is(jsonval.String) && !result.Is(jsonval.Array):
		result = response
	}
	text := resultText(result)
	w.emit(Item{Kind: ToolResponse, ToolName: name, ToolUseID: id, Text: text, Compare: ResultText(text)})
}

// resultText is a tool result's text: its text parts joined by line breaks,
// or JSON where it is neither a text nor a list.
func resultText(result jsonval.Value) string {
	if !result.Is(jsonval.Array) {
		return textOf(result)
	}
	return joinTexts(result)
}

// joinTexts joins the texts of a list's parts by line breaks.
func joinTexts(list jsonval.Value) string {
	var texts []string
	for part := range list.Items() {
		if text := part.Get("text"); text.Is(jsonval.String) {
			texts = append(texts, text.Text())
		}
	}
	return strings.Join(texts, "\n")
}

// What Goose's provider formats put before the error of a failed tool call,
// and what they send for a result that says nothing.
var (
	prefaces = []string{
		"The tool call returned the following error:\n", // OpenAI chat, Databricks, Bedrock
		"Error: ", // OpenAI responses, Anthropic, Google
	}
	fillers = []string{
		"(empty result)",     // any
		"Tool call is done.", // Google
	}
)

// ResultText is what two texts of a tool result have in common when they are
// of the same one, the one stored and the other sent: a preface is dropped,
// then the error codes that each rewrite adds one more of, and a text that
// only fills in for nothing is "". It is meant for both sides.
func ResultText(text string) string {
	for _, filler := range fillers {
		if text == filler {
			return ""
		}
	}
	for _, preface := range prefaces {
		if rest, ok := strings.CutPrefix(text, preface); ok {
			text = rest
			break
		}
	}
	for isCode(text) {
		text = text[codeLen:]
	}
	return text
}

// codeLen is the length of an error code as Goose writes it: "-32603: ".
const codeLen = len("-32603: ")

func isCode(s string) bool {
	if len(s) < codeLen || s[0] != '-' || s[6:codeLen] != ": " {
		return false
	}
	for _, c := range []byte(s[1:6]) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

const (
	contextOpen  = "<turn-context>"
	contextClose = "</turn-context>"
)

// splitContext cuts the blocks of turn context off the end of a user's text,
// and the line break that joins each to what stands before it. A block begins
// a line and runs to the end; any other is of the user's own text.
func splitContext(text string) (before string, blocks []string) {
	for {
		inner, ok := strings.CutSuffix(text, contextClose)
		if !ok {
			break
		}
		start := lastLine(inner, contextOpen)
		if start < 0 || strings.Contains(inner[start:], contextClose) {
			break
		}
		blocks = append(blocks, text[start:])
		text = strings.TrimSuffix(text[:start], "\n")
	}
	slices.Reverse(blocks) // found last first
	return text, blocks
}

// lastLine returns where the last line begins that starts with prefix, -1 when
// none does.
func lastLine(s, prefix string) int {
	if i := strings.LastIndex(s, "\n"+prefix); i >= 0 {
		return i + 1
	}
	if strings.HasPrefix(s, prefix) {
		return 0
	}
	return -1
}

func trim(s string) string { return strings.TrimFunc(s, values.IsSpace) }

// LastUser returns the text of the last item with role user that has any, its
// parts joined by line breaks; "" when none has.
func LastUser(input jsonval.Value) string {
	items := slices.Collect(body(input, jsonval.Array, jsonval.Number).Items())
	for _, item := range slices.Backward(items) {
		if item.Get("role").Text() != "user" {
			continue
		}
		c := content(item)
		text := c.Text()
		if c.Is(jsonval.Array) {
			text = joinTexts(c)
		}
		if text != "" {
			return text
		}
	}
	return ""
}

// Count returns how many messages a request holds: the length of its list, or
// the number that stands in place of it. ok is false when it tells none.
func Count(input jsonval.Value) (n int64, ok bool) {
	switch b := body(input, jsonval.Array, jsonval.Number); b.Kind() {
	case jsonval.Array:
		return int64(b.Len()), true
	case jsonval.Number:
		return b.Int()
	}
	return 0, false
}
