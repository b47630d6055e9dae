package transform

import (
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"
)

func keyOf(session, model string) providerKey {
	h := xxh3.New()
	_, _ = h.WriteString(session)
	_, _ = h.Write([]byte{0})
	_, _ = h.WriteString(model)
	return providerKey(h.Sum64())
}

// noteProviders remembers which provider served a model in the session.
func (r *sessionsReader) noteProviders(meta *metadata) {
	if meta.provider.s == "" {
		return
	}
	for i, model := range []string{meta.resolved.s, meta.requested.s} {
		if model == "" || i == 1 && model == meta.resolved.s {
			continue
		}
		key := keyOf(r.session.id.s, model)
		known, ok := r.providers[key]
		switch {
		case !ok:
			r.providers[key] = servedBy{name: r.intern(meta.provider.s)}
		case known.name != meta.provider.s:
			r.providers[key] = servedBy{mixed: true}
		}
	}
}

// intern returns one copy of a provider's name: a home has few of them.
func (r *sessionsReader) intern(name string) string {
	if kept, ok := r.names[name]; ok {
		return kept
	}
	kept := strings.Clone(name)
	r.names[kept] = kept
	return kept
}

// ledger writes the usage row of one row of usage_ledger.
func (r *sessionsReader) ledger(at row) {
	r.tally.UsageRows++
	session, hasSession := at.text("session_id")
	model, hasModel := at.text("model")
	facts, known := r.facts[xxh3.HashString(session)]
	if !hasSession {
		facts, known = sessionFacts{}, false
	}
	name, basis := facts.provider, ""
	if name.s != "" {
		basis = "session"
	} else {
		name = optText{}
	}
	if hasModel && model != "" {
		if p, ok := r.providers[keyOf(session, model)]; ok && !p.mixed {
			name, basis = some(p.name), "message"
		}
	}
	created := at.micros("created_at")
	cost, priced := at.float("cost")
	source, hasSource := at.text("cost_source")
	compaction, hasCompaction := at.bool("is_compaction")
	line := at.int("row_id")
	p := place{table: some("usage_ledger"), line: line}
	r.t.Overlap.seeLedger(line.V, session, created, model, at.tokens(""))

	o := r.usage
	o.OptText(session, hasSession)
	o.OptInt(line.V, line.OK)
	o.Micros(created.V, created.OK)
	o.OptText(name.s, name.ok)
	o.TextOrNull(basis)
	o.OptText(model, hasModel)
	o.OptText(facts.project.s, known && facts.project.ok)
	writeTokens(o, at.tokens(""))
	o.OptFloat(cost, priced)
	o.OptText(source, hasSource)
	switch {
	case !priced:
		o.Null()
	case source == "":
		o.Text("goose")
	default:
		o.Text("goose-" + source)
	}
	o.OptBool(compaction, hasCompaction)
	o.Bool(source == "carried_forward")
	o.Text(dedupKey(session, line.V, created.V, created.OK))
	extra, hasExtra := at.text("extra")
	o.OptText(extra, hasExtra)
	r.events.origin(o, &p)
	o.End()
}

// dedupKey names a ledger row within its home.
func dedupKey(session string, line, micros int64, known bool) string {
	seconds := ""
	if known {
		seconds = strconv.FormatInt(micros/1_000_000, 10)
	}
	return "goose|" + session + "|" + strconv.FormatInt(line, 10) + "|" + seconds
}
