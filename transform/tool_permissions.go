package transform

import (
	"context"
	"iter"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"gander/schemas/jsonval"
)

// ToolPermissions transforms tool_permissions.json of older releases: every
// answer to a question whether a tool may run with these arguments.
type ToolPermissions struct {
	textFile
	n     int64 // records so far
	extra jsonval.ObjectBuilder
}

// NewToolPermissions returns the transform of one file.
func NewToolPermissions(info FileInfo) *ToolPermissions {
	return &ToolPermissions{textFile: textFile{info: info}}
}

// Tables implements TextStore.
func (t *ToolPermissions) Tables(_ context.Context, in iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return t.tables(in, t.document, nil)
}

// document reads {"permissions": {"<tool>:<hash>": [records]}, "version": 1},
// or the inner object in place of the outer one.
func (t *ToolPermissions) document(p piece) error {
	root, ok := t.jsonFile(p.text, jsonval.Object)
	if !ok {
		return nil
	}
	inner := root.Get("permissions").Is(jsonval.Object)
	for key, v := range t.members(root) {
		switch {
		case inner && key == "permissions":
			for key, v := range t.members(v) {
				t.records(key, v)
			}
		case key == "version" && !v.Is(jsonval.Array) && !v.Is(jsonval.Object):
		case key == "permissions" && !v.Present():
		case inner:
			t.unknownKey(&place{}, key, v)
		default:
			t.records(key, v)
		}
	}
	return nil
}

// records reads what stands under a key: a list, or one record.
func (t *ToolPermissions) records(key string, v jsonval.Value) {
	if !v.Is(jsonval.Array) {
		if v.Present() {
			t.record(key, v)
		}
		return
	}
	for record := range v.Items() {
		t.record(key, record)
	}
}

func (t *ToolPermissions) record(key string, v jsonval.Value) {
	t.n++
	at := item(t.n)
	if !v.Is(jsonval.Object) {
		t.badItem(at, v)
		return
	}
	t.tally.WithRows++
	t.extra.Reset()
	t.extra.Text("key", key)
	f := fields{&t.textFile, at, v, &t.extra}
	f.others("tool_name", "allowed", "timestamp")
	tool := f.text("tool_name")
	if !tool.ok {
		tool = some(toolOfKey(key))
	}
	when, allowed := f.time("timestamp"), f.flag("allowed")
	text := "permission record: " + tool.orDash() + " allowed=" + f.text("allowed").orDash() + " (from " + t.info.Rel + ")"
	t.emit(at, system("permission_record", text, when))
	row := permission{category: "tool_permissions", subject: tool, changedAt: when, extra: t.extra.JSON()}
	if allowed.ok {
		row.level = some("allowed=" + f.text("allowed").s)
	}
	t.permission(at, &row)
}

// toolOfKey is the tool that a key "<tool>:<hash of the arguments>" names.
func toolOfKey(key string) string {
	if i := strings.LastIndexByte(key, ':'); i >= 0 {
		return key[:i]
	}
	return key
}
