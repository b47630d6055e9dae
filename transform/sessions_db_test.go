package transform

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gander/schemas"
)

func TestSessionEvents(t *testing.T) {
	for _, c := range []struct {
		name    string
		session rec
		want    []string // kind ¦ occurred_at ¦ provider ¦ model ¦ model_basis ¦ text
	}{
		{"everything", rec{"name": "N", "description": "D", "session_type": "scheduled", "parent_session_id": "p", "schedule_id": "j",
			"archived_at": "2026-10-02 00:00:00", "archived_at_text": "2026-10-02T00:00:00+00:00", "goose_mode": "approve",
			"provider_name": "openai", "model_config_json": `{"model_name":"gpt-4o"}`},
			[]string{
				"session_start ¦ 2026-10-01 09:00:00 ¦ openai ¦ gpt-4o ¦ session_last ¦ session start | N | D | type=scheduled | parent=p | schedule=j | archived=2026-10-02T00:00:00+00:00",
				"permission_mode ¦ 2026-10-01 09:00:00 ¦ openai ¦ gpt-4o ¦ session_last ¦ permission mode: approve",
				"model ¦ 2026-10-01 09:00:00 ¦ openai ¦ gpt-4o ¦ session_last ¦ model: gpt-4o provider=openai",
			}},
		{"nothing", rec{"session_type": nil, "created_at": nil, "created_at_text": nil, "name": "", "working_dir": nil},
			[]string{"session_start ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ session start"}},
		{"no provider", rec{"model_config_json": `{"model_name":"m"}`},
			[]string{
				"session_start ¦ 2026-10-01 09:00:00 ¦ ∅ ¦ m ¦ session_last ¦ session start | type=user",
				"model ¦ 2026-10-01 09:00:00 ¦ ∅ ¦ m ¦ session_last ¦ model: m provider=-",
			}},
		{"gateway", rec{"session_type": "gateway", "name": "telegram/alice", "working_dir": "/h/.config/goose/gateway/telegram/123"},
			[]string{
				"session_start ¦ 2026-10-01 09:00:00 ¦ ∅ ¦ ∅ ¦ ∅ ¦ session start | telegram/alice | type=gateway",
				"session_relayed ¦ 2026-10-01 09:00:00 ¦ ∅ ¦ ∅ ¦ ∅ ¦ session relayed: gateway telegram user 123 display alice (from sessions.db session_type gateway, created_at)",
			}},
		{"gateway on Windows, display is the id", rec{"session_type": "gateway", "name": "telegram/123", "working_dir": `C:\Users\c\AppData\Roaming\Block\goose\config\gateway\telegram\123\`},
			[]string{
				"session_start ¦ 2026-10-01 09:00:00 ¦ ∅ ¦ ∅ ¦ ∅ ¦ session start | telegram/123 | type=gateway",
				"session_relayed ¦ 2026-10-01 09:00:00 ¦ ∅ ¦ ∅ ¦ ∅ ¦ session relayed: gateway telegram user 123 display - (from sessions.db session_type gateway, created_at)",
			}},
		{"gateway elsewhere", rec{"session_type": "gateway", "working_dir": "/w"},
			[]string{
				"session_start ¦ 2026-10-01 09:00:00 ¦ ∅ ¦ ∅ ¦ ∅ ¦ session start | type=gateway",
				"session_relayed ¦ 2026-10-01 09:00:00 ¦ ∅ ¦ ∅ ¦ ∅ ¦ session relayed: gateway - user - display - (from sessions.db session_type gateway, created_at)",
			}},
		{"bad model config", rec{"provider_name": "p", "model_config_json": `{"model_name":`},
			[]string{
				"session_start ¦ 2026-10-01 09:00:00 ¦ p ¦ ∅ ¦ ∅ ¦ session start | type=user",
				"parser_issue ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ " + `parser: unparseable record 1 (sessions.model_config_json: json): {"model_name":`,
			}},
		{"model config of another type", rec{"model_config_json": `["m"]`},
			[]string{
				"session_start ¦ 2026-10-01 09:00:00 ¦ ∅ ¦ ∅ ¦ ∅ ¦ session start | type=user",
				"parser_issue ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ " + `parser: unparseable record 1 (sessions.model_config_json: type): ["m"]`,
			}},
		{"model config without a name", rec{"model_config_json": `{"model_name":7}`},
			[]string{"session_start ¦ 2026-10-01 09:00:00 ¦ ∅ ¦ ∅ ¦ ∅ ¦ session start | type=user"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, _ := run(t, chat(c.session))
			if diff := cmp.Diff(c.want, pick(out["events"], "", "kind", "occurred_at", "provider", "model", "model_basis", "text")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSessionRow(t *testing.T) {
	out, _ := run(t, chat(rec{
		"model_config_json": `{"model_name": "m"}`, "recipe_json": "not json", "user_recipe_values_json": "", "extension_data": ` { } `,
		"extra": `{"thread_id":"t"}`, "input_tokens": 10, "cache_read_tokens": 4, "accumulated_input_tokens": -5, "accumulated_cost": 0.5,
	}, rec{"content_json": "[]", "created_at": "2026-10-01 10:00:05"}, rec{"content_json": "[]", "created_at": nil}, rec{"content_json": "[]", "created_at": "2026-10-01 10:00:01"}))
	got := pick(out["sessions"], "", "model", "model_config", "recipe", "user_recipe_values", "extension_data", "extra",
		"last_call_input_tokens", "accumulated_input_tokens", "accumulated_cost_usd", "message_count", "first_message_at", "last_message_at", "superseded", "source_table", "source_line")
	want := []string{`m ¦ {"model_name":"m"} ¦ ∅ ¦ ∅ ¦ {} ¦ {"thread_id":"t","recipe":"not json"} ¦ 10 ¦ -5 ¦ 0.5 ¦ 3 ¦ 2026-10-01 10:00:01 ¦ 2026-10-01 10:00:05 ¦ false ¦ sessions ¦ 1`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"bad_json ¦ not json ¦ 8"}, pick(out["issues"], "", "code", "raw", "raw_bytes")); diff != "" {
		t.Error(diff)
	}
}

func TestModelOfMessages(t *testing.T) {
	say := func(inference string) rec {
		return rec{"role": "assistant", "content_json": `[{"type":"text","text":"x"}]`, "metadata_json": `{"inference":` + inference + `}`}
	}
	out, _ := run(t, chat(rec{"provider_name": "openai", "model_config_json": `{"model_name":"m1"}`},
		say(`{"provider":"openai","requestedModel":"m1"}`),                        // no change
		say(`{"provider":"openai","requestedModel":"m1","resolvedModel":"m1-b"}`), // change, another was requested
		say(`{"provider":"openai","requestedModel":"m1","resolvedModel":"m1-b"}`), // no change
		say(`{"provider":"azure","resolvedModel":"m2"}`),                          // change, nothing requested
		say(`{}`),                      // the session's pair
		say(`{"requestedModel":"m3"}`), // change, no provider
		say(`{"requestedModel":"","resolvedModel":""}`), // as none
	))
	want := []string{
		"text ¦ openai ¦ m1 ¦ message ¦ x",
		"model_change ¦ openai ¦ m1 ¦ message ¦ model: m1 -> m1-b provider=openai requested=m1",
		"text ¦ openai ¦ m1 ¦ message ¦ x",
		"text ¦ openai ¦ m1 ¦ message ¦ x",
		"model_change ¦ azure ¦ m2 ¦ message ¦ model: m1-b -> m2 provider=azure",
		"text ¦ azure ¦ m2 ¦ message ¦ x",
		"text ¦ openai ¦ m1 ¦ session_last ¦ x",
		"model_change ¦ ∅ ¦ m3 ¦ message ¦ model: m2 -> m3 provider=-",
		"text ¦ ∅ ¦ m3 ¦ message ¦ x",
		"text ¦ openai ¦ m1 ¦ session_last ¦ x",
	}
	if diff := cmp.Diff(want, pick(out["events"][2:], "", "kind", "provider", "model", "model_basis", "text")); diff != "" {
		t.Error(diff)
	}
}

func TestMissingSession(t *testing.T) {
	var s stream
	s.add(schemas.RawSessions, rec{"ordinal": 0, "missing": true, "session_id": "gone"})
	s.add(schemas.RawMessages, rec{"session": 0, "source_table": "messages", "row_id": 4, "role": "assistant", "content_json": `[{"type":"text","text":"x"}]`,
		"metadata_json": `{"inference":{"provider":"p","requestedModel":"m"}}`})
	s.add(schemas.RawMessages, rec{"session": 0, "source_table": "messages", "row_id": 5, "role": "user", "content_json": `[{"type":"text","text":"y"}]`})
	out, _ := run(t, s)
	want := []string{
		"model_change ¦ gone ¦ ∅ ¦ p ¦ m ¦ model: - -> m provider=p",
		"text ¦ gone ¦ ∅ ¦ p ¦ m ¦ x",
		"text ¦ gone ¦ ∅ ¦ ∅ ¦ ∅ ¦ y",
	}
	if diff := cmp.Diff(want, pick(out["events"], "", "kind", "session_id", "project_path", "provider", "model", "text")); diff != "" {
		t.Error(diff)
	}
	if len(out["sessions"]) != 0 || len(out["messages"]) != 2 {
		t.Errorf("%d sessions, %d messages", len(out["sessions"]), len(out["messages"]))
	}
	if diff := cmp.Diff([]string{"session_missing ¦ gone"}, pick(out["issues"], "", "code", "raw")); diff != "" {
		t.Error(diff)
	}
}

func TestBadRecords(t *testing.T) {
	deep := strings.Repeat("[", 1001) + strings.Repeat("]", 1001)
	out, tally := run(t, chat(nil,
		rec{"content_json": `[{"type":"text"`, "metadata_json": `{"userVisible":false}`},
		rec{"content_json": `{}`},
		rec{"content_json": `"text"`},
		rec{"content_json": ``},
		rec{"content_json": nil},
		rec{"content_json": deep},
		rec{"content_json": `[{"type":"text","text":"fine"}]`, "metadata_json": `[]`},
		rec{"content_json": `[NaN]`, "metadata_json": `{`},
		rec{"content_json": `[]`, "metadata_json": ``},
	))
	want := []string{
		`parser_issue ¦ ∅ ¦ s1 ¦ /w ¦ parser: unparseable record 1 (messages.content_json: json): [{"type":"text"`,
		`parser_issue ¦ ∅ ¦ s1 ¦ /w ¦ parser: unparseable record 2 (messages.content_json: type): {}`,
		`parser_issue ¦ ∅ ¦ s1 ¦ /w ¦ parser: unparseable record 3 (messages.content_json: type): "text"`,
		`parser_issue ¦ ∅ ¦ s1 ¦ /w ¦ parser: unparseable record 4 (messages.content_json: empty): `,
		`parser_issue ¦ ∅ ¦ s1 ¦ /w ¦ parser: unparseable record 5 (messages.content_json: empty): `,
		`parser_issue ¦ ∅ ¦ s1 ¦ /w ¦ parser: unparseable record 6 (messages.content_json: depth): ` + deep,
		`parser_issue ¦ ∅ ¦ s1 ¦ /w ¦ parser: unparseable record 7 (messages.metadata_json: type): []`,
		`text ¦ 2026-10-01 10:00:06 ¦ s1 ¦ /w ¦ fine`,
		`parser_issue ¦ ∅ ¦ s1 ¦ /w ¦ parser: unparseable record 8 (messages.metadata_json: json): {`,
		`parser_issue ¦ ∅ ¦ s1 ¦ /w ¦ parser: unparseable record 8 (messages.content_json: json): [NaN]`,
	}
	if diff := cmp.Diff(want, pick(out["events"][1:], "", "kind", "occurred_at", "session_id", "project_path", "text")); diff != "" {
		t.Error(diff)
	}
	codes := []string{"bad_json", "bad_type", "bad_type", "bad_empty", "bad_empty", "bad_depth", "bad_type", "bad_json", "bad_json"}
	if diff := cmp.Diff(codes, pick(out["issues"], "", "code")); diff != "" {
		t.Error(diff)
	}
	if tally.Bad != 7 || tally.WithRows != 2 || tally.WithoutRows != 1 {
		t.Errorf("tally %+v", tally)
	}
	if got := pick(out["messages"], "", "block_count", "kind"); got[0] != "∅ ¦ other" || got[6] != "1 ¦ prompt" || got[8] != "0 ¦ other" {
		t.Errorf("messages: %q", got)
	}
	ids := map[string]bool{}
	for _, e := range out["events"] {
		ids[e["event_id"].(string)] = true
	}
	if len(ids) != len(out["events"]) {
		t.Errorf("%d events have %d ids", len(out["events"]), len(ids))
	}
}

func TestMessageKinds(t *testing.T) {
	const text = `[{"type":"text","text":"hello"}]`
	for _, c := range []struct {
		name    string
		session rec
		message rec
		want    string // kind ¦ is_slash_command
	}{
		{"prompt", nil, rec{"content_json": text}, "prompt ¦ false"},
		{"slash command", nil, rec{"content_json": `[{"type":"text","text":"/compact"}]`}, "prompt ¦ true"},
		{"slash later", nil, rec{"content_json": `[{"type":"text","text":" /compact"}]`}, "prompt ¦ false"},
		{"assistant that begins with a slash", nil, rec{"role": "assistant", "content_json": `[{"type":"text","text":"/x"}]`}, "assistant ¦ false"},
		{"image alone", nil, rec{"content_json": `[{"type":"image","data":"","mimeType":"image/png"}]`}, "prompt ¦ false"},
		{"sub agent", rec{"session_type": "sub_agent"}, rec{"content_json": text}, "other ¦ false"},
		{"hidden", nil, rec{"content_json": text, "metadata_json": `{"userVisible":false}`}, "other ¦ false"},
		{"visible", nil, rec{"content_json": text, "metadata_json": `{"userVisible":true}`}, "prompt ¦ false"},
		{"turn context before all", nil, rec{"content_json": `[{"type":"toolResponse","id":"","toolResult":{}}]`, "metadata_json": `{"turnContext":true}`}, "turn_context ¦ false"},
		{"tool results before compaction", nil, rec{"content_json": `[{"type":"toolResponse","id":"","toolResult":{}}]`, "metadata_json": `{"operations":{"compaction":{}}}`}, "tool_results ¦ false"},
		{"compaction by operation", nil, rec{"role": "assistant", "content_json": text, "metadata_json": `{"operations":{"compaction":{"synthetic_turn":true}}}`}, "compaction_summary ¦ false"},
		{"compaction by shape", nil, rec{"content_json": text, "message_id": "chatcmpl-1", "metadata_json": `{"userVisible":false,"agentVisible":true}`}, "compaction_summary ¦ false"},
		{"its own id is no summary", nil, rec{"content_json": text, "message_id": "msg_1", "metadata_json": `{"userVisible":false,"agentVisible":true}`}, "other ¦ false"},
		{"no id is no summary", nil, rec{"content_json": text, "metadata_json": `{"userVisible":false,"agentVisible":true}`}, "other ¦ false"},
		{"an empty id is one that is not msg_", nil, rec{"content_json": text, "message_id": "", "metadata_json": `{"userVisible":false,"agentVisible":true}`}, "compaction_summary ¦ false"},
		{"not agent visible", nil, rec{"content_json": text, "message_id": "c", "metadata_json": `{"userVisible":false,"agentVisible":false}`}, "other ¦ false"},
		{"only a request", nil, rec{"role": "user", "content_json": `[{"type":"toolRequest","id":"a","toolCall":{}}]`}, "other ¦ false"},
		{"no role", nil, rec{"role": nil, "content_json": text}, "other ¦ false"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, _ := run(t, chat(c.session, c.message))
			if diff := cmp.Diff([]string{c.want}, pick(out["messages"], "", "kind", "is_slash_command")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMessageColumns(t *testing.T) {
	out, _ := run(t, chat(nil, rec{"role": "assistant", "message_id": "m", "content_json": `[{"type":"text","text":"x"}]`, "stored_at": "2026-10-01 10:00:09", "extra": `{"tokens":3}`,
		"copied_from_session_id": "s0",
		"metadata_json": `{"userVisible":"maybe","agentVisible":true,"inference":{"provider":"p","requestedModel":"m","providerSessionId":"x"},"steer":true,
			"usage":{"inputTokens":100,"outputTokens":5,"cacheReadTokens":60,"totalTokens":1.5,"cost":"free","costSource":"estimated","elapsedMs":7,"isCompaction":true}}`}))
	got := pick(out["messages"], "", "seq", "user_visible", "agent_visible", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "total_tokens", "stored_input_tokens", "stored_total_tokens",
		"cost_usd", "cost_source", "elapsed_ms", "time_to_first_token_ms", "block_count", "copied_from_session_id", "extra")
	want := []string{`1 ¦ ∅ ¦ true ¦ 40 ¦ 5 ¦ 60 ¦ ∅ ¦ 105 ¦ 100 ¦ ∅ ¦ ∅ ¦ estimated ¦ 7 ¦ ∅ ¦ 1 ¦ s0 ¦ ` +
		`{"tokens":3,"userVisible":"maybe","steer":true,"inference":{"providerSessionId":"x"},"usage":{"totalTokens":1.5,"cost":"free","isCompaction":true}}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"bad_number ¦ 1.5", "bad_number ¦ free"}, pick(out["issues"], "", "code", "raw")); diff != "" {
		t.Error(diff)
	}
}

func TestFrozenStamps(t *testing.T) {
	at := func(ms any, created, stored string) rec {
		return rec{"content_json": `[{"type":"text","text":"x"}]`, "created_ms": ms, "created_at": created, "stored_at": stored}
	}
	s := chat(nil,
		at(nil, "2026-10-01 10:00:00", "2026-10-01 11:00:00"), // seconds may repeat
		at(nil, "2026-10-01 10:00:00", "2026-10-01 11:00:01"),
		at(1790848800123, "2026-10-01 10:00:00.123", "2026-10-01 11:00:02"),
		at(1790848800124, "2026-10-01 10:00:00.124", "2026-10-01 11:00:03"),
		at(1790848800124, "2026-10-01 10:00:00.124", "2026-10-01 11:00:04"),
		at(1790848800124, "2026-10-01 10:00:00.124", ""),
	)
	// Another session with the same stamp is not suspect.
	s = append(stream{s[0], {schemas.RawSessions, rec{"ordinal": 1, "row_id": 2, "session_id": "s2"}}}, s[1:]...)
	s.add(schemas.RawMessages, rec{"session": 1, "source_table": "messages", "row_id": 9, "role": "user", "content_json": "[]", "created_ms": 1790848800124, "created_at": "2026-10-01 10:00:00.124"})
	out, _ := run(t, s)
	want := []string{
		"false ¦ 2026-10-01 10:00:00", "false ¦ 2026-10-01 10:00:00", "false ¦ 2026-10-01 10:00:00.123", "false ¦ 2026-10-01 10:00:00.124",
		"true ¦ 2026-10-01 10:00:00.124", "true ¦ 2026-10-01 10:00:00.124", "false ¦ 2026-10-01 10:00:00.124",
	}
	if diff := cmp.Diff(want, pick(out["messages"], "", "time_suspect", "created_at")); diff != "" {
		t.Error(diff)
	}
	want = []string{"2026-10-01 10:00:00", "2026-10-01 10:00:00", "2026-10-01 10:00:00.123", "2026-10-01 10:00:00.124", "2026-10-01 11:00:04", "2026-10-01 10:00:00.124"}
	if diff := cmp.Diff(want, pick(out["events"], "text", "occurred_at")); diff != "" {
		t.Error("where the stamp is suspect, stored_at is the time:", diff)
	}
}

func TestSeqAndEventID(t *testing.T) {
	two := func() stream {
		s := chat(nil)
		s.add(schemas.RawSessions, rec{"ordinal": 1, "row_id": 2, "session_id": "s2", "created_at_text": "2026-10-01 12:00:00"})
		for i, session := range []int{0, 0, 1} {
			s.add(schemas.RawMessages, rec{"session": session, "source_table": "messages", "row_id": i + 1, "role": "user", "content_json": `[{"type":"text","text":"a"},{"type":"text","text":"a"}]`})
		}
		return s
	}
	out, _ := run(t, two())
	want := []string{"s1 ¦ 1", "s1 ¦ 2", "s1 ¦ 3", "s1 ¦ 4", "s1 ¦ 5", "s2 ¦ 1", "s2 ¦ 2", "s2 ¦ 3"}
	if diff := cmp.Diff(want, pick(out["events"], "", "session_id", "event_seq")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"s1 ¦ 1", "s1 ¦ 2", "s2 ¦ 1"}, pick(out["messages"], "", "session_id", "seq")); diff != "" {
		t.Error(diff)
	}
	ids := map[string]string{}
	for _, e := range out["events"] {
		id := e["event_id"].(string)
		if len(id) != 32 || ids[id] != "" {
			t.Errorf("event id %q comes twice or is no 32 hex digits", id)
		}
		ids[id] = fmt.Sprint(e["session_id"], e["source_line"], e["block_index"], e["kind"])
	}
	// Without the first session the rows of the second keep their ids.
	alone := two()
	alone = append(stream{alone[1]}, alone[4:]...)
	again, _ := run(t, alone)
	for _, e := range again["events"] {
		if ids[e["event_id"].(string)] == "" {
			t.Errorf("id of %v changed with another session", e)
		}
	}
	// A reused session id has another created_at and another id.
	reused := two()
	reused[1].row["created_at_text"] = "2026-10-01 12:00:01"
	third, _ := run(t, reused)
	if a, b := out["events"][5]["event_id"], third["events"][5]["event_id"]; a == b {
		t.Error("a reused session id keeps the event id")
	}
}

func TestUsage(t *testing.T) {
	say := func(session int, inference string) rec {
		return rec{"session": session, "role": "assistant", "content_json": `[]`, "metadata_json": `{"inference":` + inference + `}`}
	}
	s := chat(rec{"provider_name": "last", "input_tokens": 777, "accumulated_input_tokens": 888, "accumulated_cost": 999.0},
		say(0, `{"provider":"openai","requestedModel":"alias","resolvedModel":"real"}`),
		say(0, `{"provider":"openai","requestedModel":"two"}`),
		say(0, `{"provider":"azure","requestedModel":"two"}`),
	)
	row := 0
	ledger := func(r rec) {
		row++
		base := rec{"row_id": row, "session_id": "s1", "created_at": "2026-10-01 10:00:00.9"}
		for k, v := range r {
			base[k] = v
		}
		s.add(schemas.RawUsage, base)
	}
	ledger(rec{"model": "real", "input_tokens": 100, "output_tokens": 7, "cache_read_tokens": 60, "total_tokens": 107, "cost": 0.25, "cost_source": "estimated", "is_compaction": false})
	ledger(rec{"model": "alias"})
	ledger(rec{"model": "two", "cost": 0.0})
	ledger(rec{"cost_source": "carried_forward", "cost": 1.0, "input_tokens": -5, "output_tokens": 3, "is_compaction": true})
	ledger(rec{"session_id": "gone", "model": "real", "created_at": nil, "extra": `{"x":1}`})
	out, tally := run(t, s)
	got := pick(out["usage"], "", "session_id", "usage_row", "provider", "provider_basis", "model", "project_path", "input_tokens", "total_tokens", "stored_input_tokens", "cost_usd", "price_source", "is_compaction", "is_carried_forward", "dedup_key", "extra")
	want := []string{
		`s1 ¦ 1 ¦ openai ¦ message ¦ real ¦ /w ¦ 40 ¦ 107 ¦ 100 ¦ 0.25 ¦ goose-estimated ¦ false ¦ false ¦ goose|s1|1|1790848800 ¦ ∅`,
		`s1 ¦ 2 ¦ openai ¦ message ¦ alias ¦ /w ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ false ¦ goose|s1|2|1790848800 ¦ ∅`,
		`s1 ¦ 3 ¦ last ¦ session ¦ two ¦ /w ¦ ∅ ¦ ∅ ¦ ∅ ¦ 0 ¦ goose ¦ ∅ ¦ false ¦ goose|s1|3|1790848800 ¦ ∅`,
		`s1 ¦ 4 ¦ last ¦ session ¦ ∅ ¦ /w ¦ 0 ¦ 3 ¦ -5 ¦ 1 ¦ goose-carried_forward ¦ true ¦ true ¦ goose|s1|4|1790848800 ¦ ∅`,
		`gone ¦ 5 ¦ ∅ ¦ ∅ ¦ real ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ false ¦ goose|gone|5| ¦ {"x":1}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if tally.UsageRows != 5 {
		t.Errorf("tally counts %d usage rows", tally.UsageRows)
	}
}

// No counter of the sessions table may reach usage: with every counter set and
// an empty ledger there is no usage, and with one ledger row the numbers are
// the ledger's alone.
func TestSessionCountersNeverReachUsage(t *testing.T) {
	counters := rec{"accumulated_cost": 99.0}
	for _, c := range schemas.RawSessions.Columns {
		if strings.HasSuffix(c.Name, "_tokens") {
			counters[c.Name] = 987654
		}
	}
	if len(counters) != 11 {
		t.Fatalf("raw.sessions has %d counters, this test knows 11", len(counters))
	}
	out, _ := run(t, chat(counters))
	if len(out["usage"]) != 0 {
		t.Errorf("usage without a ledger: %v", out["usage"])
	}
	s := chat(counters)
	s.add(schemas.RawUsage, rec{"row_id": 1, "session_id": "s1"})
	out, _ = run(t, s)
	for column, v := range out["usage"][0] {
		if strings.Contains(column, "tokens") || strings.Contains(column, "cost") {
			t.Errorf("usage.%s = %v, and the ledger row has none", column, v)
		}
	}
}

func TestFindings(t *testing.T) {
	s := chat(nil, rec{"content_json": `["\ud800"]`})
	s.add(schemas.RawIssues, rec{"code": "bad_time", "message": "created_timestamp is no time", "value": "-1", "source_table": "messages", "source_line": 3})
	s.add(schemas.RawIssues, rec{"code": "bad_file", "message": "not a database"})
	s.add(schemas.RawMessages, rec{"session": 0, "source_table": "messages", "row_id": 2, "role": "user", "content_json": `[{"type":"text","text":"y"}]`})
	out, tally := run(t, s)
	want := []string{"invalid_utf8 ¦ messages ¦ 1 ¦ ∅", "bad_time ¦ messages ¦ 3 ¦ -1", "bad_file ¦ ∅ ¦ ∅ ¦ ∅"}
	if diff := cmp.Diff(want, pick(out["issues"], "", "code", "source_table", "source_line", "raw")); diff != "" {
		t.Error(diff)
	}
	want = []string{"s1 ¦ 1 ¦ session start | type=user", "s1 ¦ 2 ¦ \"\uFFFD\"", "∅ ¦ 1 ¦ parser: not a database", "s1 ¦ 3 ¦ y"}
	if diff := cmp.Diff(want, pick(out["events"], "", "session_id", "event_seq", "text")); diff != "" {
		t.Error(diff)
	}
	if tally.Events != 4 || tally.Records() != 3 {
		t.Errorf("tally %+v", tally)
	}
}

// A sum that does not hold is an error, whichever of its terms is wrong.
func TestTallyCheck(t *testing.T) {
	good := Tally{Bad: 1, WithRows: 2, WithoutRows: 3, UsageRows: 4, Events: 5, Duplicates: 2, Built: 7}
	if err := good.Check(10); err != nil {
		t.Error(err)
	}
	if good.Check(9) == nil || good.Check(11) == nil {
		t.Error("a record too few or too many passes")
	}
	lost := good
	lost.Events--
	if lost.Check(10) == nil {
		t.Error("a lost event passes")
	}
}

func TestLargeValues(t *testing.T) {
	big := strings.Repeat("a", 20<<20)
	out, _ := run(t, chat(nil, rec{"content_json": `[{"type":"text","text":"` + big + `"}]`}))
	if got := out["events"][1]["text"].(string); len(got) != len(big) {
		t.Errorf("text of %d bytes", len(got))
	}
}
