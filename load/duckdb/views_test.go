package duckdb

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gander/load/duckdb/value"
	"gander/schemas"
	"gander/schemas/fault"
)

// whiteSpace is Unicode's White_Space, spelled out once more.
const whiteSpace = "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"

func viewsWarehouse(t *testing.T) (string, *DB) {
	t.Helper()
	dir := t.TempDir()
	newWarehouse(t, dir)
	// a was found three times, only the newest is read; b has no row in homes.
	writeParquet(t, dir, "a", schemas.Homes, "a.parquet",
		row{"host": "old", "user": "old", "superseded_by": "new.tar"},
		row{"host": "ha", "user": "ua"},
		row{"host": "zzz", "user": "zzz", "superseded_by": "new.tar"})
	when := at("2026-10-03T16:55:31.123999Z")
	writeParquet(t, dir, "a", schemas.Events, "a.parquet",
		row{"kind": "text", "turn_type": "user", "occurred_at": when, "session_id": "s", "project_path": "/p", "provider": "p", "model": "m",
			"tool_name": "", "text": whiteSpace + "a " + whiteSpace + " b" + whiteSpace, "user_visible": true, "source_file": "f", "source_line": 3},
		row{"kind": "text", "turn_type": "user", "occurred_at": at("2026-10-03T16:55:31Z"), "text": "  hidden\n", "user_visible": false, "model": "m"},
		row{"kind": "tool_response", "turn_type": "tool_result", "text": "  failed", "is_error": true, "user_visible": false, "provider": "", "model": "m",
			"tool_name": "t", "tool_use_id": "id"},
		row{"kind": "tool_request", "turn_type": "tool_use", "text": "", "is_error": true, "provider": "p"},
		row{"kind": "tool_request", "turn_type": "tool_use", "is_error": false, "provider": "p", "model": ""},
		row{"kind": "text", "turn_type": "user", "text": "", "user_visible": false},
		row{"kind": "text", "turn_type": "user", "text": " \x00 \u200b\u180e ", "user_visible": nil},
		row{"kind": "text", "turn_type": "user", "text": "both", "is_error": true, "user_visible": false})
	writeParquet(t, dir, "b", schemas.Events, "a.parquet", row{"kind": "thinking", "turn_type": "thinking", "text": "x", "user_visible": false})

	writeParquet(t, dir, "a", schemas.Sessions, "a.parquet",
		row{"store": "sessions_db", "session_id": "s", "source_file": "db", "created_at": when, "name": "n", "last_call_total_tokens": 999999},
		row{"store": "sessions_db", "session_id": "fork", "source_file": "db"},
		row{"store": "legacy_jsonl", "session_id": "s", "source_file": "s.jsonl", "superseded": true})
	writeParquet(t, dir, "a", schemas.Messages, "a.parquet",
		row{"session_id": "s", "source_file": "db", "kind": "prompt", "superseded": false},
		row{"session_id": "s", "source_file": "db", "kind": "assistant"},
		row{"session_id": "fork", "source_file": "db", "kind": "prompt", "copied_from_session_id": "s"},
		row{"session_id": "fork", "source_file": "db", "kind": "prompt"},
		row{"session_id": "s", "source_file": "s.jsonl", "kind": "prompt", "superseded": true})
	call := func(session, tool, status string, more row) row {
		r := row{"session_id": session, "source_file": "db", "tool_name": tool, "extension": "dev", "provider": "p", "model": "m",
			"status": status, "request_event_id": "e", "requested_at": when, "result_bytes": 10}
		for k, v := range more {
			r[k] = v
		}
		return r
	}
	writeParquet(t, dir, "a", schemas.ToolCalls, "a.parquet",
		call("s", "shell", "success", nil),
		call("s", "shell", "error", row{"requested_at": at("2026-10-01T00:00:00Z")}),
		call("s", "shell", "tool_error", nil),
		call("s", "shell", "invalid_call", row{"result_bytes": nil}),
		call("s", "shell", "declined", nil),
		call("s", "shell", "no_response", nil),
		call("s", "shell", "orphan_response", row{"request_event_id": nil}),
		call("fork", "shell", "success", row{"copied_from_session_id": "s"}),
		call("fork", "shell", "success", row{"model": "other"}))
	writeParquet(t, dir, "a", schemas.Usage, "a.parquet",
		row{"session_id": "s", "source_file": "db", "occurred_at": at("2026-10-03T23:59:59.999999Z"), "provider": "p", "model": "m", "input_tokens": 1, "output_tokens": 2, "cache_read_tokens": 3, "total_tokens": 6, "cost_usd": 0.1},
		row{"session_id": "s", "source_file": "db", "occurred_at": at("2026-10-03T00:00:00Z"), "provider": "p", "model": "m", "input_tokens": 9007199254740993, "cost_usd": 0.2, "is_compaction": true, "is_carried_forward": false},
		row{"session_id": "s", "source_file": "db", "occurred_at": at("2026-10-03T01:00:00Z"), "provider": "p", "model": "m", "cost_usd": nil},
		row{"session_id": "s", "source_file": "db", "occurred_at": at("2026-10-04T00:00:00Z"), "provider": "p", "input_tokens": 100, "is_carried_forward": true},
		row{"session_id": "gone", "source_file": "db", "provider": "p", "model": "m", "input_tokens": int64(1<<63 - 1), "cost_usd": 0.0},
		row{"session_id": "gone", "source_file": "db", "provider": "p", "model": "m", "input_tokens": int64(1<<63 - 1), "cost_usd": 0.0})
	writeParquet(t, dir, "b", schemas.Usage, "a.parquet",
		row{"session_id": "s", "source_file": "db", "occurred_at": at("2026-10-03T12:00:00Z"), "provider": "p", "model": "m", "input_tokens": 5})
	return dir, built(t, dir, Options{})
}

func TestTimeline(t *testing.T) {
	_, db := viewsWarehouse(t)
	got, columns, err := collect(db, "FROM timeline")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range columns {
		names = append(names, c.Name)
		if want := "VARCHAR"; c.Name == "source_line" && c.Type != "BIGINT" || c.Name != "source_line" && c.Type != want {
			t.Errorf("%s is %s", c.Name, c.Type)
		}
	}
	want := "timestamp_utc host user agent session_id project_path git_branch turn_type model tool_name tool_use_id text source_file source_line"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("columns are\n%s, want\n%s", got, want)
	}
	none := any(nil)
	rows := [][]any{
		{"2026-10-03T16:55:31.123Z", "ha", "ua", "goose", "s", "/p", "", "user", "p/m", "", "", "a " + whiteSpace + " b", "f", int64(3)},
		{"2026-10-03T16:55:31.000Z", "ha", "ua", "goose", "", "", "", "user", "m", "", "", "[hidden]   hidden", "", none},
		{"", "ha", "ua", "goose", "", "", "", "tool_result", "m", "t", "id", "[error]   failed", "", none},
		{"", "ha", "ua", "goose", "", "", "", "tool_use", "", "", "", "[error]", "", none},
		{"", "ha", "ua", "goose", "", "", "", "tool_use", "", "", "", "", "", none},
		{"", "ha", "ua", "goose", "", "", "", "user", "", "", "", "[hidden]", "", none},
		{"", "ha", "ua", "goose", "", "", "", "user", "", "", "", "\x00 \u200b\u180e", "", none},
		{"", "ha", "ua", "goose", "", "", "", "user", "", "", "", "[error] [hidden] both", "", none},
		{"", "", "", "goose", "", "", "", "thinking", "", "", "", "x", "", none},
	}
	if diff := cmp.Diff(rows, got); diff != "" {
		t.Error(diff)
	}
}

func TestSessionOverview(t *testing.T) {
	_, db := viewsWarehouse(t)
	got := all(t, db, `SELECT host, "user", store, session_id, created_at, messages, prompts, tool_calls, failed_calls, calls,
		input_tokens, output_tokens, total_tokens, round(cost_usd, 9), unpriced FROM session_overview ORDER BY ALL`)
	want := [][]any{
		{"ha", "ua", "legacy_jsonl", "s", nil, int64(0), int64(0), int64(0), int64(0), int64(0), nil, nil, nil, nil, int64(0)},
		{"ha", "ua", "sessions_db", "fork", nil, int64(1), int64(1), int64(1), int64(0), int64(0), nil, nil, nil, nil, int64(0)},
		{"ha", "ua", "sessions_db", "s", at("2026-10-03T16:55:31.123999Z").UTC(), int64(2), int64(1), int64(6), int64(3), int64(3),
			int64(9007199254741094), int64(2), int64(6), 0.3, int64(2)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestToolStats(t *testing.T) {
	_, db := viewsWarehouse(t)
	got := all(t, db, "FROM tool_stats ORDER BY ALL")
	when := at("2026-10-03T16:55:31.123999Z").UTC()
	want := [][]any{
		{"shell", "dev", "p", "m", int64(6), int64(1), int64(3), int64(1), int64(1), int64(50), at("2026-10-01T00:00:00Z").UTC(), when},
		{"shell", "dev", "p", "other", int64(1), int64(1), int64(0), int64(0), int64(0), int64(10), when, when},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestUsageDaily(t *testing.T) {
	_, db := viewsWarehouse(t)
	got := all(t, db, "SELECT * REPLACE (round(cost_usd, 9) AS cost_usd) FROM usage_daily ORDER BY ALL")
	want := [][]any{
		{"2026-10-03", "ha", "ua", "p", "m", int64(3), int64(9007199254740994), int64(2), int64(3), nil, int64(6), 0.3, int64(1)},
		{"2026-10-03", nil, nil, "p", "m", int64(1), int64(5), nil, nil, nil, nil, nil, int64(1)},
		{"2026-10-04", "ha", "ua", "p", nil, int64(0), int64(100), nil, nil, nil, nil, nil, int64(1)},
		// A sum beyond BIGINT is not known; what else the row says stands.
		{nil, "ha", "ua", "p", "m", int64(2), nil, nil, nil, nil, nil, 0.0, int64(0)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestExportParquet(t *testing.T) {
	ctx := context.Background()
	dir, _ := viewsWarehouse(t)
	writeParquet(t, dir, "c", schemas.Events, "a.parquet", row{"extra": `{"a":1,"a":2}`, "text": "x\x00y"})
	if err := Build(ctx, dir, Options{}); err != nil {
		t.Fatal(err)
	}
	db, err := Open(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()

	mem, err := openDatabase("", offline)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.close()
	s, err := mem.connect()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	out := filepath.Join(t.TempDir(), "it's.parquet")
	if err := os.WriteFile(out, []byte("what was there"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range Relations() {
		if err := ExportParquet(ctx, dir, name, out); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(out)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		order := " ORDER BY ALL" // views that group have no order
		if schemas.Lookup(name) != nil || name == "timeline" {
			order = ""
		}
		rows, err := s.query(ctx, "SELECT * FROM read_parquet("+quoteText(out)+")"+order, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got [][]any
		for r, err := range rows.All() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, append([]any(nil), r...))
		}
		want, columns, err := collect(db, "SELECT * FROM "+quoteName(name)+order)
		if err != nil {
			t.Fatal(err)
		}
		for i := range columns {
			if columns[i].Type == "JSON" {
				columns[i].Type = "VARCHAR"
				for _, r := range want {
					if j, ok := r[i].(value.JSON); ok {
						r[i] = string(j)
					}
				}
			}
		}
		if diff := cmp.Diff(columns, rows.Columns); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(out))
	if err != nil || len(entries) != 1 {
		t.Errorf("left: %v, %v", entries, err)
	}

	if err := ExportParquet(ctx, dir, `events" --`, out); fault.KindOf(err) != fault.Usage {
		t.Errorf("an unknown name: %v", err)
	}
	if err := ExportParquet(ctx, t.TempDir(), "events", out); fault.KindOf(err) != fault.Usage || !strings.Contains(fault.HintOf(err), "gander run") {
		t.Errorf("no database: %v", err)
	}
	if err := ExportParquet(ctx, dir, "events", filepath.Join(out, "below", "a.parquet")); fault.KindOf(err) != fault.Output {
		t.Errorf("no folder: %v", fmt.Sprint(err))
	}
}
