package provider

import (
	"strings"

	"gander/schemas/jsonval"
)

// Message returns the `data` of a response line as a Goose message in
// canonical JSON. A Goose message comes back as it is, the raw response of a
// provider as a message of the assistant whose content has Goose's blocks;
// what no block suits is an item of the content as it stands. ok is false for
// data that is neither.
func Message(data jsonval.Value) (message []byte, ok bool) {
	if isGoose(data) {
		return data.AppendJSON(nil), true
	}
	if data.Get("role").Present() && data.Get("content").Is(jsonval.String) {
		return plainContent(data), true
	}
	var b blocks
	switch {
	case data.Get("choices").Is(jsonval.Array): // OpenAI chat
		for choice := range data.Get("choices").Items() {
			b.choice(choice)
		}
	case data.Get("content").Is(jsonval.Array): // Anthropic
		b.parts(data.Get("content"))
	case data.Get("output").Is(jsonval.Array): // OpenAI responses
		b.parts(data.Get("output"))
	case data.Get("candidates").Is(jsonval.Array): // Google
		for candidate := range data.Get("candidates").Items() {
			b.parts(candidate.Get("content").Get("parts"))
		}
	default:
		return nil, false
	}

	var o jsonval.ObjectBuilder
	if id := data.Get("id"); id.Present() {
		o.Value("id", id)
	}
	o.Text("role", "assistant")
	for _, key := range []string{"created", "created_at"} {
		if created := data.Get(key); created.Is(jsonval.Number) {
			o.Value("created", created)
			break
		}
	}
	o.Raw("content", "["+string(b.json)+"]")
	return o.JSON(), true
}

// isGoose reports that a message is Goose's own: nothing in its content is of
// a type that only providers have.
func isGoose(data jsonval.Value) bool {
	content := data.Get("content")
	if !data.Get("role").Present() || !content.Is(jsonval.Array) {
		return false
	}
	for item := range content.Items() {
		switch item.Get("type").Text() {
		case "tool_use", "tool_result", "output_text", "function_call":
			return false
		}
	}
	return true
}

// plainContent is a message whose content is a string, which is one text block.
func plainContent(data jsonval.Value) []byte {
	var o, text jsonval.ObjectBuilder
	text.Text("type", "text")
	text.Text("text", data.Get("content").Text())
	for key, v := range data.Members() {
		if key != "content" {
			o.Value(key, v)
		}
	}
	o.Raw("content", "["+string(text.JSON())+"]")
	return o.JSON()
}

// valueDepth is how deep the value of a toolCall or toolResult lies: in the
// message, its content, the block and the toolCall.
const valueDepth = 5

// blocks writes the items of a message's content, apart by commas.
type blocks struct{ json []byte }

// add begins an item.
func (b *blocks) add(text string) {
	if len(b.json) > 0 {
		b.json = append(b.json, ',')
	}
	b.json = append(b.json, text...)
}

// key begins a member of the object that is being written.
func (b *blocks) key(key string) {
	if b.json[len(b.json)-1] != '{' {
		b.json = append(b.json, ',')
	}
	b.json = jsonval.AppendQuoted(b.json, key)
	b.json = append(b.json, ':')
}

// member adds a member; a missing value adds nothing.
func (b *blocks) member(key string, v jsonval.Value) {
	if !v.Is(jsonval.Missing) {
		b.key(key)
		b.json = v.AppendJSON(b.json)
	}
}

// inner is member for what a block holds deeper than its source does: a value
// that would be too deep to be read again becomes the text of its JSON.
func (b *blocks) inner(key string, v jsonval.Value) {
	if !deeper(v, jsonval.MaxDepth-valueDepth) {
		b.member(key, v)
		return
	}
	b.key(key)
	b.json = jsonval.AppendQuoted(b.json, string(v.AppendJSON(nil)))
}

// itself keeps an item as it stands.
func (b *blocks) itself(item jsonval.Value) {
	b.add("")
	b.json = item.AppendJSON(b.json)
}

// text adds a text block; one whose text is no string is known for it later.
func (b *blocks) text(text jsonval.Value) {
	b.add(`{"type":"text"`)
	b.member("text", text)
	b.json = append(b.json, '}')
}

func (b *blocks) thinking(text string, signature jsonval.Value) {
	b.add(`{"type":"thinking","thinking":`)
	b.json = jsonval.AppendQuoted(b.json, text)
	if signature.Present() {
		b.member("signature", signature)
	}
	b.json = append(b.json, '}')
}

func (b *blocks) toolRequest(id, name, arguments jsonval.Value) {
	b.add(`{"type":"toolRequest"`)
	if id.Present() {
		b.member("id", id)
	}
	b.json = append(b.json, `,"toolCall":{"status":"success","value":{`...)
	b.inner("name", name)
	value := unwrapped(arguments)
	if deeper(value, jsonval.MaxDepth-valueDepth) {
		value = arguments // a string stays as it is stored
	}
	b.inner("arguments", value)
	b.json = append(b.json, "}}}"...)
}

func (b *blocks) toolResponse(item jsonval.Value) {
	b.add(`{"type":"toolResponse"`)
	if id := item.Get("tool_use_id"); id.Present() {
		b.member("id", id)
	}
	b.json = append(b.json, `,"toolResult":{"status":"success","value":{`...)
	if content := item.Get("content"); content.Is(jsonval.String) {
		b.json = append(b.json, `"content":[{"type":"text"`...)
		b.member("text", content)
		b.json = append(b.json, "}]"...)
	} else if content.Is(jsonval.Missing) {
		b.json = append(b.json, `"content":[]`...)
	} else {
		b.inner("content", content)
	}
	b.inner("isError", item.Get("is_error"))
	b.json = append(b.json, "}}}"...)
}

// choice adds what one choice of an OpenAI chat response says, or a chunk of it.
func (b *blocks) choice(choice jsonval.Value) {
	m := choice.Get("message")
	if !m.Is(jsonval.Object) {
		m = choice.Get("delta")
	}
	if !m.Is(jsonval.Object) {
		b.part(choice)
		return
	}
	if reasoning := firstOf(m, "reasoning_content", "reasoning"); reasoning.Text() != "" {
		b.thinking(reasoning.Text(), jsonval.Value{})
	}
	content := m.Get("content")
	if content.Text() != "" {
		b.text(content)
	}
	b.parts(content)
	for call := range m.Get("tool_calls").Items() {
		if f := call.Get("function"); f.Is(jsonval.Object) {
			b.toolRequest(call.Get("id"), f.Get("name"), f.Get("arguments"))
		} else {
			b.part(call)
		}
	}
	if f := m.Get("function_call"); f.Is(jsonval.Object) {
		b.toolRequest(jsonval.Value{}, f.Get("name"), f.Get("arguments"))
	}
}

func (b *blocks) parts(list jsonval.Value) {
	for item := range list.Items() {
		b.part(item)
	}
}

// part adds an item of any provider's content.
func (b *blocks) part(item jsonval.Value) {
	switch item.Get("type").Text() {
	case "text", "output_text":
		b.text(item.Get("text"))
	case "thinking":
		// Goose's own and Anthropic's are alike.
		if text := item.Get("thinking"); text.Is(jsonval.String) {
			b.thinking(text.Text(), item.Get("signature"))
			return
		}
		b.itself(item)
	case "reasoning":
		if text, signature, ok := reasoning(item); ok {
			b.thinking(text, signature)
			return
		}
		b.itself(item)
	case "tool_use":
		b.toolRequest(firstOf(item, "id", "tool_use_id"), item.Get("name"), item.Get("input"))
	case "function_call":
		b.toolRequest(firstOf(item, "call_id", "id"), item.Get("name"), item.Get("arguments"))
	case "tool_result":
		b.toolResponse(item)
	case "message":
		switch content := item.Get("content"); content.Kind() {
		case jsonval.String:
			b.text(content)
		case jsonval.Array:
			b.parts(content)
		default:
			b.itself(item)
		}
	case "":
		b.untyped(item)
	default:
		b.itself(item)
	}
}

// untyped adds a part of Google's, which tells its kind by its keys.
func (b *blocks) untyped(part jsonval.Value) {
	text, call := part.Get("text"), part.Get("functionCall")
	switch {
	case call.Is(jsonval.Object):
		b.toolRequest(call.Get("id"), call.Get("name"), call.Get("args"))
	case text.Is(jsonval.String) && part.Get("thought").Is(jsonval.True):
		b.thinking(text.Text(), part.Get("thoughtSignature"))
	case text.Is(jsonval.String):
		b.text(text)
	default:
		b.itself(part)
	}
}

// reasoning joins the texts of a reasoning item's summary, or of its content
// where the provider shows that; ok is false when it has none.
func reasoning(item jsonval.Value) (text string, signature jsonval.Value, ok bool) {
	var texts []string
	for _, key := range []string{"summary", "content"} {
		for part := range item.Get(key).Items() {
			t := part
			if part.Is(jsonval.Object) {
				t = part.Get("text")
			}
			if !t.Is(jsonval.String) {
				continue
			}
			texts = append(texts, t.Text())
			ok = true
			if s := part.Get("signature"); s.Present() {
				signature = s
			}
		}
		if ok {
			break
		}
	}
	return strings.Join(texts, "\n"), signature, ok
}
