package transform

import (
	"sort"
	"strconv"
	"strings"

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

// decide applies rule request_log to a block of a logged message. matched
// tells that some block of the message went by its id or as a call.
func (o *Overlap) decide(r *loggedReply, b *loggedBlock, matched bool) verdict {
	switch {
	case b.byID.seen:
		return verdict{ruleLog, b.byID.ref}
	case b.byCall.seen:
		return verdict{ruleLog, b.byCall.ref}
	case b.byText.seen && (matched || !r.hasID || !o.knownID):
		return verdict{ruleLog, b.byText.ref}
	}
	return verdict{}
}

// matched reports that a block of the message went by rule (a) or (b).
func (r *loggedReply) matched() bool {
	for _, b := range r.blocks {
		if b.byID.seen || b.byCall.seen {
			return true
		}
	}
	return false
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
		o.blocks[key] = append(o.blocks[key], ref)
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
	kept := o.blocks[key]
	if len(kept) == 0 {
		return verdict{}
	}
	o.blocks[key] = kept[1:]
	return verdict{ruleLegacy, kept[0]}
}

// historyEntry applies rule history.
func (o *Overlap) historyEntry(text string) verdict {
	if s := o.prompts[o.textHash(trimmed(text), "prompt")]; s != nil && s.seen {
		return verdict{ruleHistory, s.ref}
	}
	return verdict{}
}

// Resolve gives each logged call its ledger row: one to one, of the same model
// first, then the nearest in time, then of the call's own session. It is called
// once, when the primary stores are through.
func (o *Overlap) Resolve() {
	sessions := map[*LoggedCall]optText{}
	for _, m := range o.matches {
		if _, ok := sessions[m.call]; !ok {
			sessions[m.call] = m.call.session()
		}
	}
	own := func(m *usageMatch) bool { return sessions[m.call] == some(m.session) }
	sort.SliceStable(o.matches, func(i, j int) bool {
		a, b := &o.matches[i], &o.matches[j]
		switch {
		case a.sameModel != b.sameModel:
			return a.sameModel
		case a.distance != b.distance:
			return a.distance < b.distance
		}
		return own(a) && !own(b)
	})
	taken := map[int64]bool{}
	for _, m := range o.matches {
		if !m.call.usageRow.OK && !taken[m.row] {
			m.call.usageRow.V, m.call.usageRow.OK = m.row, true
			taken[m.row] = true
		}
	}
	o.matches = nil
}

// session returns the one session that a logged call belongs to.
func (c *LoggedCall) session() optText {
	var ids, calls, texts sessionSet
	for _, r := range c.replies {
		ids.merge(r.sessions)
		for _, b := range r.blocks {
			switch b.kind {
			case "tool_request":
				calls.merge(b.sessions)
			case "text":
				texts.merge(b.sessions)
			}
		}
	}
	for _, s := range []sessionSet{ids, calls, texts} {
		if s.some && !s.several {
			return some(s.id)
		}
	}
	if c.lastUser != nil && c.lastUser.some && !c.lastUser.several {
		return some(c.lastUser.id)
	}
	return optText{}
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
	key := o.itemKey(it)
	known := o.items[key]
	if known == nil {
		o.items[key] = &bodyItem{call: c}
	} else if c.newer(known.call) {
		known.call = c
	}
}

// newer orders logs by start, then by name: a lower number finished later.
func (c *LoggedCall) newer(than *LoggedCall) bool {
	switch {
	case c.StartedAt.OK != than.StartedAt.OK:
		return c.StartedAt.OK
	case c.StartedAt.V != than.StartedAt.V:
		return c.StartedAt.V > than.StartedAt.V
	}
	return c.Name < than.Name
}

// hold notes that an event holds what an item of a body may say.
func (o *Overlap) hold(e *event) {
	if len(o.items) == 0 {
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
	if it := o.items[key]; it != nil {
		it.held = true
	}
}

// Lost reports that a body holds something that events do not.
func (o *Overlap) Lost() bool {
	for _, it := range o.items {
		if !it.held {
			return true
		}
	}
	return false
}

// claim reports that the item is to be told by this log: no event holds it,
// and no newer log has it. It says so once.
func (o *Overlap) claim(it provider.Item, c *LoggedCall) bool {
	known := o.items[o.itemKey(it)]
	if known == nil || known.held || known.call != c {
		return false
	}
	known.held = true
	return true
}
