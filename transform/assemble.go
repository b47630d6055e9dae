package transform

import (
	"strings"

	"gander/schemas/jsonval"
	"gander/schemas/values"
)

// assembler joins the chunks of a streamed reply into messages, as Goose does
// when it pushes them on its conversation: consecutive messages of one id
// become one, and within it a chunk of text or thinking extends the last block
// where both are of one kind. It holds the reply of one call.
type assembler struct {
	messages []*assembled
}

// assembled is a message in the making. Its first chunk gives id, role, time
// and visibility.
type assembled struct {
	id           optText
	role         optText
	created      values.Int // microseconds
	badCreated   string     // created as stored, when it is no time
	userVisible  tristate
	agentVisible tristate
	blocks       []*chunkBlock
}

// chunkBlock is a block of a message in the making.
type chunkBlock struct {
	kind      string // text, thinking, or other
	raw       string // canonical JSON of the first chunk's block
	text      []byte // of text and thinking, all chunks
	merged    bool   // of more than one chunk
	audience  string // canonical JSON of annotations.audience; "" without
	signature string
}

// push adds a message: an object with content, a list (anything else counts
// as empty).
func (a *assembler) push(m jsonval.Value) {
	meta := m.Get("metadata")
	role, id := stringOf(m.Get("role")), stringOf(m.Get("id"))
	content := m.Get("content")
	limit := meta.Get("outputTokenLimitReached").Is(jsonval.True)
	if content.Len() == 0 && (limit || meta.Get("inference").Present()) {
		// It only tells something about a message that is there: the latest of
		// its role that the user sees. Without one, only the limit is kept.
		if limit && !a.tells(role, id) {
			lone := newAssembled(m)
			lone.userVisible, lone.agentVisible = tristate{true, true}, tristate{false, true}
			a.messages = append(a.messages, lone)
		}
		return
	}
	if n := len(a.messages); n > 0 && id.ok && a.messages[n-1].id == id {
		a.messages[n-1].extend(content)
		return
	}
	a.messages = append(a.messages, newAssembled(m))
}

// newAssembled begins a message with its first chunk.
func newAssembled(m jsonval.Value) *assembled {
	meta, id, role := m.Get("metadata"), stringOf(m.Get("id")), stringOf(m.Get("role"))
	next := &assembled{
		id: optText{strings.Clone(id.s), id.ok}, role: optText{strings.Clone(role.s), role.ok},
		userVisible: flag(meta.Get("userVisible")), agentVisible: flag(meta.Get("agentVisible")),
	}
	if created := m.Get("created"); created.Present() {
		next.created.V, next.created.OK = created.Time()
		if !next.created.OK {
			next.badCreated = strings.Clone(created.TextOrJSON())
		}
	}
	for b := range m.Get("content").Items() {
		next.blocks = append(next.blocks, newChunk(b))
	}
	return next
}

// tells reports that a message is there that an empty chunk with the limit
// flag is about.
func (a *assembler) tells(role, id optText) bool {
	for _, m := range a.messages {
		if m.role == role && m.id == id && (!m.userVisible.ok || m.userVisible.v) {
			return true
		}
	}
	return false
}

func newChunk(b jsonval.Value) *chunkBlock {
	c := &chunkBlock{raw: strings.Clone(b.JSON())}
	switch kind := b.Get("type").Text(); kind {
	case "text", "thinking":
		if text := b.Get(kind); text.Is(jsonval.String) {
			c.kind = kind
			c.text = append(c.text, text.Text()...)
		}
	}
	c.audience = strings.Clone(b.Get("annotations").Get("audience").JSON())
	if c.audience == "null" {
		c.audience = ""
	}
	c.signature = strings.Clone(b.Get("signature").Text())
	return c
}

// extend adds the content of a further chunk.
func (m *assembled) extend(content jsonval.Value) {
	if content.Len() == 1 && len(m.blocks) > 0 {
		last := m.blocks[len(m.blocks)-1]
		for b := range content.Items() {
			next := newChunk(b)
			switch {
			case last.kind == "text" && next.kind == "text" && last.audience == next.audience,
				last.kind == "thinking" && next.kind == "thinking" && (last.signature == "" || next.signature == last.signature):
				last.text = append(last.text, next.text...)
				last.merged = true
				if next.signature != "" {
					last.signature = next.signature
				}
				return
			}
		}
	}
	for b := range content.Items() {
		m.blocks = append(m.blocks, newChunk(b))
	}
}

// content returns the blocks as a JSON array.
func (m *assembled) content() string {
	var d jsonval.Doc
	out := []byte{'['}
	for i, b := range m.blocks {
		if i > 0 {
			out = append(out, ',')
		}
		if !b.merged {
			out = append(out, b.raw...)
			continue
		}
		out = b.appendJSON(out, &d)
	}
	return string(append(out, ']'))
}

// appendJSON writes a block of several chunks: the first one's keys with the
// text of all and the last signature.
func (b *chunkBlock) appendJSON(out []byte, d *jsonval.Doc) []byte {
	if d.Parse(b.raw) != nil {
		return append(out, b.raw...) // cannot be: it was parsed before
	}
	var o jsonval.ObjectBuilder
	signed := false
	for key, v := range d.Root().Members() {
		switch {
		case key == b.kind:
			o.Text(key, string(b.text))
		case key == "signature" && b.kind == "thinking":
			o.Text(key, b.signature)
			signed = true
		default:
			o.Value(key, v)
		}
	}
	if !signed && b.signature != "" {
		o.Text("signature", b.signature)
	}
	return append(out, o.JSON()...)
}
