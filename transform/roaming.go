package transform

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"gander/schemas"
	"gander/schemas/jsonval"
)

// RoamingTrust transforms roaming_trust.json: the keys of peers that may drive
// this host's agent, and of those that may no longer.
type RoamingTrust struct{ textFile }

// NewRoamingTrust returns the transform of one file.
func NewRoamingTrust(info FileInfo) *RoamingTrust {
	return &RoamingTrust{textFile{info: info}}
}

// Tables implements TextStore.
func (t *RoamingTrust) Tables(_ context.Context, in iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return t.tables(in, t.document, nil)
}

func (t *RoamingTrust) document(p piece) error {
	root, ok := t.jsonFile(p.text, jsonval.Object)
	if !ok {
		return nil
	}
	n := int64(0) // over both lists
	for key, list := range t.members(root) {
		if key != "allowed" && key != "revoked_keys" {
			t.unknownKey(&place{}, key, list)
			continue
		}
		if list.Present() && !list.Is(jsonval.Array) {
			t.issues.write(&place{}, issue{"bad_value", key + " is not a list", some(list.JSON())})
		}
		for peer := range list.Items() {
			n++
			t.setting(item(n), "roaming_trust", key, peer.TextOrJSON())
		}
	}
	return nil
}

// RoamingDirectory transforms roaming_directory.json: the peers this host met.
// They are no events, only rows of roaming_peers.
type RoamingDirectory struct {
	textFile
	n int64 // entries so far
}

// NewRoamingDirectory returns the transform of one file.
func NewRoamingDirectory(info FileInfo) *RoamingDirectory {
	return &RoamingDirectory{textFile: textFile{info: info}}
}

// Tables implements TextStore.
func (t *RoamingDirectory) Tables(_ context.Context, in iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return t.tables(in, t.document, nil)
}

// document reads a list of entries, as Goose writes it, or an object: with the
// list under a key, or of entries by their endpoint.
func (t *RoamingDirectory) document(p piece) error {
	root, ok := t.jsonFile(p.text, jsonval.Array, jsonval.Object)
	if !ok {
		return nil
	}
	if root.Is(jsonval.Array) {
		t.entries(root)
		return nil
	}
	listed := root.Get("peers").Is(jsonval.Array) || root.Get("entries").Is(jsonval.Array)
	for key, v := range t.members(root) {
		switch {
		case listed && (key == "peers" || key == "entries") && v.Is(jsonval.Array):
			t.entries(v)
		case listed:
			t.unknownKey(&place{}, key, v)
		default:
			t.entry(some(key), v)
		}
	}
	return nil
}

func (t *RoamingDirectory) entries(list jsonval.Value) {
	for v := range list.Items() {
		t.entry(optText{}, v)
	}
}

// entry writes one peer; endpoint is the key it stands under.
func (t *RoamingDirectory) entry(endpoint optText, v jsonval.Value) {
	t.n++
	at := item(t.n)
	if !v.Is(jsonval.Object) {
		t.badItem(at, v)
		return
	}
	t.tally.WithoutRows++
	// What does not fit is told by its issue: the table has no extra.
	f := fields{&t.textFile, at, v, &jsonval.ObjectBuilder{}}
	if id := f.text("endpoint_id"); id.ok {
		endpoint = id
	}
	label, direction, agent := f.text("label"), f.text("direction"), f.text("agent_id")
	first, last := f.time("first_seen_ms"), f.time("last_seen_ms")
	connected := f.flag("connected")
	for key, other := range v.Members() {
		switch key {
		case "endpoint_id", "label", "direction", "agent_id", "first_seen_ms", "last_seen_ms", "connected":
		default:
			t.unknownKey(at, key, other)
		}
	}
	o := t.set.Table(schemas.RoamingPeers)
	for _, text := range []optText{endpoint, label, direction, agent} {
		o.OptText(text.s, text.ok)
	}
	o.Micros(first.V, first.OK)
	o.Micros(last.V, last.OK)
	o.OptBool(connected.v, connected.ok)
	t.events.origin(o, at)
	o.End()
}
