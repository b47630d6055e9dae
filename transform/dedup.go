package transform

import (
	"strconv"
	"strings"

	"gander/transform/internal/memo"
	"gander/transform/internal/provider"
)

// Rules of dedup_links.
const (
	ruleLegacy  = "legacy"
	ruleLog     = "request_log"
	ruleHistory = "history"
	ruleThread  = "thread"
	ruleSession = "session_in_database"
)

// verdict is what becomes of a row: it stays, or another event stays for it.
type verdict struct {
	rule string // "": it stays
	kept eventRef
}

// legacyKey is what a legacy block and its copy in the database have in common.
func (o *Overlap) legacyKey(p *place, e *event) hash {
	second := "-"
	if e.at.OK {
		second = strconv.FormatInt(e.at.V/1_000_000, 10)
	}
	return o.textHash(withoutCode(e.text.s), "legacy", p.session.s, e.turnType, e.toolUseID.s, second, e.dataSHA)
}

// withoutCode drops the codes that Goose puts in front of an error at each
// rewrite, the import of a legacy session among them.
func withoutCode(s string) string {
	for strings.HasPrefix(s, "-32603: ") {
		s = s[len("-32603: "):]
	}
	return s
}

// databaseBlock remembers a block of a database session that a legacy file has too.
func (o *Overlap) databaseBlock(p *place, e *event, ref eventRef) {
	if _, ok := o.legacy[p.session.s]; ok {
		key := o.legacyKey(p, e)
		q := queue{first: ref}
		if v, ok := o.table.Get(key); ok {
			q = readQueue(&v)
			o.table.Put(numbered(key, partQueue, int64(q.n)), (&sighting{seen: true, ref: ref}).value())
		}
		q.n++
		o.table.Put(key, q.value())
	}
}

// databaseSession remembers the start of a database session that a legacy file
// has too.
func (o *Overlap) databaseSession(id string, ref eventRef) {
	if _, ok := o.legacy[id]; ok {
		o.replaced[strings.Clone(id)] = ref
	}
}

// legacyBlock applies rule legacy: one block of the database for one of the file.
func (o *Overlap) legacyBlock(p *place, e *event) verdict {
	key := o.legacyKey(p, e)
	v, ok := o.table.Get(key)
	q := readQueue(&v)
	if !ok || q.taken == q.n {
		return verdict{}
	}
	kept := q.first
	if q.taken > 0 {
		kept = o.answer(numbered(key, partQueue, int64(q.taken))).ref
	}
	q.taken++
	o.table.Put(key, q.value())
	return verdict{ruleLegacy, kept}
}

// historyEntry applies rule history.
func (o *Overlap) historyEntry(text string) verdict {
	if s := o.answer(o.promptHash(text)); s.seen {
		return verdict{ruleHistory, s.ref}
	}
	return verdict{}
}

// --- recovery

// roleOf brings the roles of providers on those of turns.
func roleOf(role string) string {
	if role == "model" {
		return "assistant"
	}
	return role
}

func (o *Overlap) itemKey(it provider.Item) hash {
	switch it.Kind {
	case "tool_request":
		return o.textHash(it.Compare, "item call", it.ToolUseID, it.ToolName)
	case "tool_response":
		return o.textHash(it.Compare, "item result", it.ToolUseID)
	}
	return o.textHash(it.Compare, "item text", roleOf(it.Role))
}

// wantItem notes an item of a body; the newest log that has it will tell it.
func (o *Overlap) wantItem(it provider.Item, c *LoggedCall) {
	o.asksItems = true
	key := o.itemKey(it)
	known, ok := o.item(key)
	switch {
	case !ok:
		o.lost++
	case !c.newer(o.logs[known.log]):
		return
	}
	known.log = c.number
	o.table.Put(key, known.value())
}

// item returns what is known of an item of a body.
func (o *Overlap) item(key hash) (bodyItem, bool) {
	v, ok := o.table.Get(key)
	return readItem(&v), ok
}

// hold notes that an event holds what an item of a body may say.
func (o *Overlap) hold(e *event) {
	if !o.asksItems {
		return
	}
	switch e.kind {
	case "text":
		o.holdText(e.turnType, e.text.s)
		o.current.texts, o.current.turn = append(o.current.texts, e.text.s), e.turnType
	case "history_entry":
		o.holdText("user", e.text.s)
	case "thinking": // some providers are sent it as plain text
		o.holdText("assistant", e.text.s)
	case "tool_request": // some are sent it without its id
		arguments := sortedJSON(e.text.s)
		if arguments == "" {
			arguments = "{}" // absent ones are sent as an empty object
		}
		o.holdItem(o.textHash(arguments, "item call", e.toolUseID.s, e.toolName.s))
		o.holdItem(o.textHash(arguments, "item call", "", e.toolName.s))
	case "tool_response":
		o.holdItem(o.textHash(provider.ResultText(e.text.s), "item result", e.toolUseID.s))
	}
}

func (o *Overlap) holdText(turn, text string) {
	o.holdItem(o.textHash(trimmed(text), "item text", turn))
}

func (o *Overlap) holdItem(key hash) {
	if it, ok := o.item(key); ok && !it.held {
		it.held = true
		o.table.Put(key, it.value())
		o.lost--
	}
}

// Lost reports that a body holds something that events do not.
func (o *Overlap) Lost() bool { return o.lost > 0 }

// claim reports that the item is to be told by this log: no event holds it,
// and no newer log has it. It says so once.
func (o *Overlap) claim(it provider.Item, c *LoggedCall) bool {
	key := o.itemKey(it)
	known, ok := o.item(key)
	if !ok || known.held || known.log != c.number {
		return false
	}
	o.holdItem(key)
	return true
}

// once reports that a key comes for the first time.
func (o *Overlap) once(key hash) bool {
	if _, ok := o.table.Get(key); ok {
		return false
	}
	o.table.Put(key, memo.Value{})
	return true
}
