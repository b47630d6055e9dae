package transform

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"gander/schemas"
	"gander/schemas/batch/batchtest"
)

func TestRecovered(t *testing.T) {
	mem := memory.NewCheckedAllocator(batchtest.Poison{})
	defer mem.AssertSize(t, 0)
	db := &SessionsDB{HomeID: "h", File: "/f", Mem: mem, Overlap: NewOverlap()}
	for b, err := range db.Tables(context.Background(), chat(rec{"provider_name": "openai", "model_config_json": `{"model_name":"m"}`}).batches(t, mem)) {
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
	}
	var s stream
	lost := func(table string, row int, session, change, values string, commit int) {
		s.add(schemas.RecoveredRows, rec{"source_file": "/f", "source_table": table, "row_id": row, "session_id": session, "change": change,
			"evidence": "wal_committed", "first_commit": commit, "last_commit": commit + 1, "created_at": "2026-10-01 09:00:00", "row_values": values})
	}
	gone := `{"id":"s9","name":"n","working_dir":"/gone","created_at":"2026-10-01 09:00:00","goose_mode":"auto","provider_name":"p","model_config_json":"{\"model_name\":\"x\"}","updated_at":"`
	lost("sessions", 3, "s9", "deleted", gone+`1"}`, 1)
	lost("sessions", 3, "s9", "deleted", gone+`2"}`, 2) // says the same
	lost("sessions", 1, "s1", "updated", gone+`3"}`, 3) // is no deletion
	message := func(content string) string {
		return `{"id":7,"message_id":"m","role":"user","content_json":` + quote(content) + `,"metadata_json":null}`
	}
	lost("messages", 7, "s9", "deleted", message("["+textBlock("hi")+","+shCall+"]"), 2)
	lost("messages", 7, "s9", "deleted", message("["+textBlock("hi")+"]"), 1) // an older version of it
	lost("messages", 8, "s1", "deleted", message("["+textBlock("hi")+"]"), 1) // of a session that is there
	lost("messages", 9, "s1", "updated", message("["+textBlock("old")+"]"), 1)
	lost("messages", 10, "s1", "deleted", message(`[{"type"`), 1)
	lost("usage_ledger", 1, "s1", "deleted", `{"id":1}`, 1)
	out := tables{}
	r := NewRecovered(FileInfo{HomeID: "h", Store: "sessions_db", Path: "/f", Mem: mem}, db)
	for b, err := range r.Tables(context.Background(), s.batches(t, mem)) {
		if err != nil {
			t.Fatal(err)
		}
		out.add(t, b)
		b.Release()
	}
	if len(out["recovered_rows"]) != len(s) {
		t.Errorf("%d of %d rows pass", len(out["recovered_rows"]), len(s))
	}
	if len(out["events"])+len(out["tool_calls"])+len(out["messages"])+len(out["usage"]) != 0 {
		t.Error("what was deleted is among what is there")
	}
	want := []string{
		"session_start ¦ s9 ¦ /gone ¦ p ¦ x ¦ 1 ¦ session start | n",
		"permission_mode ¦ s9 ¦ /gone ¦ p ¦ x ¦ 1 ¦ permission mode: auto",
		"model ¦ s9 ¦ /gone ¦ p ¦ x ¦ 1 ¦ model: x provider=p",
		"text ¦ s9 ¦ /gone ¦ p ¦ x ¦ 2 ¦ hi",
		`tool_request ¦ s9 ¦ /gone ¦ p ¦ x ¦ 2 ¦ {"a":1,"b":2}`,
		"text ¦ s1 ¦ /w ¦ openai ¦ m ¦ 1 ¦ hi",
		`parser_issue ¦ s1 ¦ /w ¦ ∅ ¦ ∅ ¦ 1 ¦ parser: unparseable record (messages.content_json: json): [{"type"`,
	}
	if diff := cmp.Diff(want, pick(out["recovered_events"], "", "kind", "session_id", "project_path", "provider", "model", "first_commit", "text")); diff != "" {
		t.Error(diff)
	}
	ids := map[any]bool{}
	for _, e := range out["recovered_events"] {
		ids[e["event_id"]] = true
	}
	if len(ids) != len(want) {
		t.Errorf("%d ids of %d events", len(ids), len(want))
	}
}
