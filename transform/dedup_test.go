package transform

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gander/schemas"
)

const (
	noon   = 1790856000 // 2026-10-01 12:00:00
	shCall = `{"type":"toolRequest","id":"c1","toolCall":{"status":"success","value":{"name":"sh","arguments":{"a":1,"b":2}}}}`
)

// logOf is a request log: a request with the given last prompt, then one line
// per chunk, then usage.
func logOf(prompt string, chunks ...string) string {
	lines := []string{`{"model_config":{"model_name":"m"},"input":{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":` + quote(prompt) + `}],"tools":[{},{}]}}`}
	for _, c := range chunks {
		lines = append(lines, `{"data":`+c+`,"usage":null}`)
	}
	return strings.Join(append(lines, `{"data":null,"usage":{"input_tokens":10,"output_tokens":2,"total_tokens":12}}`), "\n") + "\n"
}

func chunk(id string, at int, blocks string) string {
	if id != "" {
		id = `"id":` + quote(id) + `,`
	}
	return fmt.Sprintf(`{%s"role":"assistant","created":%d,"content":[%s]}`, id, at, blocks)
}

func textBlock(s string) string { return `{"type":"text","text":` + quote(s) + `}` }

// said is a database session with messages of one assistant.
func said(messages ...rec) stream {
	for i, m := range messages {
		if m["role"] == nil {
			m["role"] = "assistant"
		}
		if m["created_at"] == nil {
			m["created_at"] = "2026-10-01 12:00:00"
		}
		messages[i] = m
	}
	return chat(nil, messages...)
}

func logEvents(out tables) []string {
	var got []string
	for _, e := range out["events"] {
		if e["store"] == "llm_request_log" && e["kind"] != "llm_request" {
			got = append(got, fmt.Sprint(e["kind"], ": ", e["text"]))
		}
	}
	return got
}

func TestRequestLogRules(t *testing.T) {
	stored := func(id, blocks string) rec { return rec{"message_id": id, "content_json": "[" + blocks + "]"} }
	at := func(clock, blocks string) rec {
		return rec{"content_json": "[" + blocks + "]", "created_at": "2026-10-01 " + clock}
	}
	thinking := `{"type":"thinking","thinking":"hm","signature":"s"}`
	for _, c := range []struct {
		name string
		db   []rec
		log  []string // chunks
		want []string // events that stay
	}{
		{"(a) the same message and text", []rec{stored("m1", textBlock("hi"))}, []string{chunk("m1", noon, textBlock("hi"))}, nil},
		{"(a) however late it was stored", []rec{{"message_id": "m1", "content_json": "[" + textBlock("hi") + "]", "created_at": "2026-10-03 12:00:00"}}, []string{chunk("m1", noon, textBlock("hi"))}, nil},
		{"(a) the same message, another text", []rec{stored("m1", textBlock("hi"))}, []string{chunk("m1", noon, textBlock("ho"))}, []string{"text: ho"}},
		{"(a) another kind of the same text", []rec{stored("m1", thinking)}, []string{chunk("m1", noon, textBlock("hm"))}, []string{"text: hm"}},
		{"(a) a signed thinking block", []rec{stored("m1", thinking)}, []string{chunk("m1", noon, thinking)}, nil},
		{"(a) stored in pieces, logged whole", []rec{stored("m1", textBlock("a")+","+textBlock("b")+","+textBlock("c"))}, []string{chunk("m1", noon, textBlock("ab")), chunk("m1", noon, textBlock("c"))}, nil},
		{"(a) logged in pieces, stored whole", []rec{stored("m1", textBlock("ab"))}, []string{chunk("m1", noon, textBlock("a")+","+textBlock("b"))}, nil},
		{"(a) pieces that another block sets apart", []rec{stored("m1", textBlock("a")+","+thinking+","+textBlock("b"))}, []string{chunk("m1", noon, textBlock("ab"))}, []string{"text: ab"}},
		{"(a) the same tool id, other arguments", []rec{stored("m1", shCall)}, []string{chunk("m1", noon, strings.Replace(shCall, `"a":1`, `"a":9`, 1))}, nil},
		{"(a) a message whose content cannot be read", []rec{{"message_id": "m1", "content_json": "[" + textBlock("hi")}}, []string{chunk("m1", noon, textBlock("hi"))}, []string{"text: hi"}},
		{"(a) a result under the id of its request", []rec{stored("m1", shCall)}, []string{chunk("m1", noon, `{"type":"toolResponse","id":"c1","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"only here"}]}}}`)}, []string{"tool_response: only here"}},
		{"(b) no arguments are not empty ones", []rec{stored("m2", strings.Replace(shCall, `{"a":1,"b":2}`, `{}`, 1))}, []string{chunk("m1", noon, strings.Replace(shCall, `{"a":1,"b":2}`, `null`, 1))}, []string{"tool_request: <nil>"}},
		{"(b) the call under another message", []rec{stored("m2", shCall)}, []string{chunk("m1", noon, shCall)}, nil},
		{"(b) arguments in another order", []rec{stored("m2", shCall)}, []string{chunk("m1", noon, strings.Replace(shCall, `"a":1,"b":2`, `"b":2,"a":1`, 1))}, nil},
		{"(b) other arguments", []rec{stored("m2", shCall)}, []string{chunk("m1", noon, strings.Replace(shCall, `"a":1`, `"a":9`, 1))}, []string{`tool_request: {"a":9,"b":2}`}},
		{"(b) another tool", []rec{stored("m2", shCall)}, []string{chunk("m1", noon, strings.Replace(shCall, `"sh"`, `"zsh"`, 1))}, []string{`tool_request: {"a":1,"b":2}`}},
		{"(c) another block went by (b)", []rec{stored("m2", shCall), stored("m3", textBlock("hi"))}, []string{chunk("m1", noon, textBlock("hi")), chunk("m1", noon, shCall)}, nil},
		{"(c) no block went, and ids work", []rec{stored("m3", textBlock("hi")), stored("m9", textBlock("other"))},
			[]string{chunk("m1", noon, textBlock("hi")), chunk("m9", noon, textBlock("other"))}, []string{"text: hi"}},
		{"(c) no id", []rec{stored("m3", textBlock("hi"))}, []string{chunk("", noon, textBlock("hi"))}, nil},
		{"(c) a database without ids", []rec{{"content_json": "[" + textBlock("hi") + "]"}}, []string{chunk("m1", noon, textBlock("hi"))}, nil},
		{"(c) 600 seconds", []rec{stored("", textBlock("hi"))}, []string{chunk("m1", noon-600, textBlock("hi"))}, nil},
		{"(c) 601 seconds", []rec{stored("", textBlock("hi"))}, []string{chunk("m1", noon-601, textBlock("hi"))}, []string{"text: hi"}},
		{"(c) 600 seconds on the other side", []rec{stored("", textBlock("hi"))}, []string{chunk("m1", noon+600, textBlock("hi"))}, nil},
		{"(c) 601 seconds on the other side", []rec{stored("", textBlock("hi"))}, []string{chunk("m1", noon+601, textBlock("hi"))}, []string{"text: hi"}},
		{"(c) 600 seconds and a microsecond", []rec{at("12:00:00.000001", textBlock("hi"))}, []string{chunk("m1", noon-600, textBlock("hi"))}, []string{"text: hi"}},
		{"(c) 600 seconds and a microsecond on the other side", []rec{at("11:59:59.999999", textBlock("hi"))}, []string{chunk("m1", noon+600, textBlock("hi"))}, []string{"text: hi"}},
		{"(c) a microsecond less than 600 seconds", []rec{at("11:59:59.999999", textBlock("hi"))}, []string{chunk("m1", noon-600, textBlock("hi"))}, nil},
		{"(c) a microsecond less than 600 seconds on the other side", []rec{at("12:00:00.000001", textBlock("hi"))}, []string{chunk("m1", noon+600, textBlock("hi"))}, nil},
		{"(c) one of many is near", []rec{at("11:00:00", textBlock("hi")), at("12:09:00", textBlock("hi")), at("13:00:00", textBlock("hi"))}, []string{chunk("m1", noon, textBlock("hi"))}, nil},
		{"(c) none of many is near", []rec{at("11:00:00", textBlock("hi")), at("11:49:59", textBlock("hi")), at("12:10:01", textBlock("hi"))}, []string{chunk("m1", noon, textBlock("hi"))}, []string{"text: hi"}},
		{"(c) no time", []rec{stored("", textBlock("hi"))}, []string{`{"role":"assistant","content":[` + textBlock("hi") + `]}`}, []string{"text: hi"}},
		{"(c) another turn", []rec{{"role": "user", "content_json": "[" + textBlock("hi") + "]", "created_at": "2026-10-01 12:00:00"}}, []string{chunk("m1", noon, textBlock("hi"))}, []string{"text: hi"}},
		{"(c) calls do not go by time", []rec{stored("m2", strings.Replace(shCall, `"c1"`, `"c2"`, 1))}, []string{chunk("m1", noon, shCall)}, []string{`tool_request: {"a":1,"b":2}`}},
		{"(d) nothing stored", nil, []string{chunk("m1", noon, textBlock("hi")), chunk("m1", noon, shCall)}, []string{"text: hi", `tool_request: {"a":1,"b":2}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := runHome(t, homeOf{database: said(c.db...), logs: map[string]string{"llm_request.0.jsonl": logOf("p", c.log...)}})
			if diff := cmp.Diff(c.want, logEvents(out)); diff != "" {
				t.Error(diff)
			}
			if n := len(pick(out["events"], "llm_request", "text")); n != 1 {
				t.Errorf("%d llm_request rows", n)
			}
		})
	}
}

func TestRequestLogTables(t *testing.T) {
	reply := chunk("m1", noon, textBlock("hi")) // stored in session s1
	db := said(rec{"message_id": "m1", "content_json": "[" + textBlock("hi") + "]"}, rec{"role": "user", "content_json": "[" + textBlock("the prompt") + "]"})
	ledger := func(row int, model string, at string) {
		db.add(schemas.RawUsage, rec{"row_id": row, "session_id": "s1", "model": model, "created_at": at, "input_tokens": 10, "output_tokens": 2, "total_tokens": 12})
	}
	ledger(1, "other", "2026-10-01 12:00:00") // nearest, of another model
	ledger(2, "m", "2026-10-01 12:10:00")     // 600 s, of the model
	ledger(3, "m", "2026-10-01 12:10:01")     // too late for the first two
	out := runHome(t, homeOf{database: db, logs: map[string]string{
		"llm_request.0.jsonl": logOf("the prompt\n<turn-context>\nx\n</turn-context>", chunk("m7", noon, textBlock("a title"))),
		"llm_request.1.jsonl": logOf("p", reply),
		"llm_request.2.jsonl": `{"model_config":{"model_name":"m"},"input":{"messages":7}}` + "\n" + `{"error":{"code":500}}` + "\n",
		"llm_request.3.jsonl": logOf("p", `{"lines":3}`),
		"llm_request.4.jsonl": "not json\n" + `{"data":` + reply + `,"usage":null}` + "\n" + `{"data":{"id":"m8","ro`,
	}})
	got := pick(out["llm_requests"], "", "log_name", "started_at", "model", "messages", "tools", "response_messages", "chunks", "stored_input_tokens", "error", "complete", "matched_session_id", "matched_usage_row", "extra")
	want := []string{
		"llm_request.0.jsonl ¦ 2026-10-01 12:00:00 ¦ m ¦ 2 ¦ 2 ¦ 1 ¦ 1 ¦ 10 ¦ ∅ ¦ true ¦ s1 ¦ 2 ¦ ∅",
		"llm_request.1.jsonl ¦ 2026-10-01 12:00:00 ¦ m ¦ 2 ¦ 2 ¦ 1 ¦ 1 ¦ 10 ¦ ∅ ¦ true ¦ s1 ¦ 1 ¦ ∅",
		`llm_request.2.jsonl ¦ 2026-10-02 12:00:00 ¦ m ¦ 7 ¦ ∅ ¦ 0 ¦ 0 ¦ ∅ ¦ {"code":500} ¦ true ¦ ∅ ¦ ∅ ¦ ∅`,
		`llm_request.3.jsonl ¦ 2026-10-02 12:00:00 ¦ m ¦ 2 ¦ 2 ¦ 0 ¦ 1 ¦ 10 ¦ ∅ ¦ true ¦ ∅ ¦ ∅ ¦ {"data":{"lines":3}}`,
		"llm_request.4.jsonl ¦ 2026-10-01 12:00:00 ¦ ∅ ¦ ∅ ¦ ∅ ¦ 1 ¦ 1 ¦ ∅ ¦ ∅ ¦ false ¦ s1 ¦ ∅ ¦ ∅",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	events := []string{
		"llm_request ¦ llm request | 2 messages | last user: the prompt\n<turn-context>\nx\n</turn-context> ¦ m ¦ log",
		"text ¦ a title ¦ m ¦ log",
		"llm_request ¦ llm request | 2 messages | last user: p ¦ m ¦ log",
		"llm_request ¦ llm request | 7 messages ¦ m ¦ log",
		`llm_error ¦ llm error: {"code":500} ¦ m ¦ log`,
		"llm_request ¦ llm request | 2 messages | last user: p ¦ m ¦ log",
		"parser_issue ¦ parser: unparseable record 1 (line: json): not json ¦ ∅ ¦ ∅",
		`parser_issue ¦ parser: unparseable record 3 (line: json): {"data":{"id":"m8","ro ¦ ∅ ¦ ∅`,
		"llm_request ¦ llm request ¦ ∅ ¦ ∅",
	}
	var logs []rec
	for _, e := range out["events"] {
		if e["store"] == "llm_request_log" {
			logs = append(logs, e)
		}
	}
	if diff := cmp.Diff(events, pick(logs, "", "kind", "text", "model", "model_basis")); diff != "" {
		t.Error(diff)
	}
}

// A log keeps its ids when its name rotates.
func TestRequestLogIDs(t *testing.T) {
	content := logOf("p", chunk("m1", noon, textBlock("a")+","+textBlock("a")), chunk("m2", noon, textBlock("a")))
	ids := func(name string) []string {
		out := runHome(t, homeOf{logs: map[string]string{name: content}})
		return append(pick(out["events"], "", "event_id"), pick(out["llm_requests"], "", "log_id")...)
	}
	if diff := cmp.Diff(ids("llm_request.0.jsonl"), ids("llm_request.7.jsonl")); diff != "" {
		t.Error(diff)
	}
}

func TestHistory(t *testing.T) {
	db := chat(nil,
		rec{"content_json": "[" + textBlock("the same") + "]"}, rec{"content_json": "[" + textBlock("the same") + "]"},
		rec{"role": "assistant", "content_json": "[" + textBlock("an answer") + "]"})
	out := runHome(t, homeOf{database: db, history: []string{" the same\u00a0", "the same", "the same", "an answer", "/mode auto", "The same"}})
	want := []string{"history_entry ¦ user ¦ an answer", "history_entry ¦ user ¦ /mode auto", "history_entry ¦ user ¦ The same"}
	if diff := cmp.Diff(want, pick(out["events"], "history_entry", "kind", "turn_type", "text")); diff != "" {
		t.Error(diff)
	}
	links := pick(out["dedup_links"], "", "store", "rule", "seconds_apart")
	if diff := cmp.Diff([]string{"cli_history ¦ history ¦ ∅", "cli_history ¦ history ¦ ∅", "cli_history ¦ history ¦ ∅"}, links); diff != "" {
		t.Error("the prompt typed three times goes three times:", diff)
	}
}

func TestLegacyRule(t *testing.T) {
	const meta = `{"description":"old","working_dir":"/w","created_at":"2026-10-01T08:00:00Z","message_count":2,"total_tokens":5,"zzz":1}` + "\n"
	line := func(role string, created string, blocks string) string {
		return `{"id":"x","role":"` + role + `","created":` + created + `,"content":[` + blocks + `]}` + "\n"
	}
	at := fmt.Sprint(noon)
	failed := `{"type":"toolResponse","id":"c","toolResult":{"status":"error","error":"-32603: -32602: no"}}`
	for _, c := range []struct {
		name string
		db   []rec
		file string
		want []string // events of the file that stay
	}{
		{"imported", []rec{{"role": "user", "content_json": "[" + textBlock("a") + "]", "created_at": "2026-10-01 12:00:00.5"}}, meta + line("user", at, textBlock("a")), nil},
		{"another second", []rec{{"role": "user", "content_json": "[" + textBlock("a") + "]", "created_at": "2026-10-01 12:00:01"}}, meta + line("user", at, textBlock("a")), []string{"text ¦ a"}},
		{"another turn", []rec{{"role": "assistant", "content_json": "[" + textBlock("a") + "]", "created_at": "2026-10-01 12:00:00"}}, meta + line("user", at, textBlock("a")), []string{"text ¦ a"}},
		{"no times", []rec{{"role": "user", "content_json": "[" + textBlock("a") + "]", "created_at": nil}}, meta + line("user", "null", textBlock("a")), nil},
		{"one to one", []rec{{"role": "user", "content_json": "[" + textBlock("a") + "]", "created_at": "2026-10-01 12:00:00"}}, meta + line("user", at, textBlock("a")) + line("user", at, textBlock("a")), []string{"text ¦ a"}},
		{"a code more in front", []rec{{"role": "user", "content_json": `[{"type":"toolResponse","id":"c","toolResult":{"status":"error","error":"-32603: -32603: -32602: no"}}]`, "created_at": "2026-10-01 12:00:00"}}, meta + line("user", at, failed), nil},
		{"another tool id", []rec{{"role": "user", "content_json": "[" + strings.Replace(failed, `"c"`, `"d"`, 1) + "]", "created_at": "2026-10-01 12:00:00"}}, meta + line("user", at, failed), []string{"tool_response ¦ -32603: -32602: no"}},
		{"images by their bytes", []rec{{"role": "user", "content_json": `[{"type":"image","data":"AAAA","mimeType":"m"}]`, "created_at": "2026-10-01 12:00:00"}},
			meta + line("user", at, `{"type":"image","data":"AAAA","mimeType":"m"},{"type":"image","data":"BBBB","mimeType":"m"}`), []string{"image ¦ [image] m"}},
		{"nothing imported", nil, meta + line("user", at, textBlock("a")), []string{"text ¦ a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := runHome(t, homeOf{database: chat(rec{"session_id": "20261001_080000"}, c.db...), legacy: map[string]string{"20261001_080000": c.file}})
			var legacy []rec
			for _, e := range out["events"] {
				if e["store"] == "legacy_jsonl" {
					legacy = append(legacy, e)
				}
			}
			if diff := cmp.Diff(c.want, pick(legacy, "", "kind", "text")); diff != "" {
				t.Error(diff)
			}
			rules := pick(out["dedup_links"], "session_start", "rule")
			if diff := cmp.Diff([]string{"session_in_database"}, rules); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLegacyFile(t *testing.T) {
	out := runHome(t, homeOf{legacy: map[string]string{
		"20250301_090000": `{"description":"old","name":"n","working_dir":"/w","message_count":2,"total_tokens":5,"accumulated_cost":"x","zzz":1}
{"role":"user","created":1740819600,"content":"plain text"}
{"id":"m2","role":"assistant","created":1740819601,"content":[{"type":"toolRequest","id":"c","toolCall":{"status":"success","value":{"name":"sh","arguments":{}}}}],"metadata":{"userVisible":false},"extra":1}
{"role":"user","created":1740819602,"content":[{"type":"toolResponse","id":"c","toolResult":{"status":"success","value":[{"type":"text","text":"ok"}]}}]}
{"role":"user","created":0,"content":[]}
{"torn":
{"data":1}
["list"]
`,
		"pre-1.0": `{"role":"user","created":1740819600,"content":[{"text":"hi"}]}
{"role":"assistant","created":1740819600,"content":[{"tool_name":"t","arguments":{"a":1}}]}
{"role":"user","created":1740819600,"content":[{"id":"x","tool_result":[{"type":"text","text":"r"}]}]}
`,
		"bad-first": `{"description":` + "\n" + `{"role":"user","created":1740819600,"content":"x"}` + "\n",
		"none-good": `nothing` + "\n",
	}})
	want := []string{
		"20250301_090000 ¦ 1 ¦ session_start ¦ 2025-03-01 09:00:00 ¦ ∅ ¦ session start (legacy) | old | 2 messages",
		"20250301_090000 ¦ 2 ¦ text ¦ 2025-03-01 09:00:00 ¦ ∅ ¦ plain text",
		"20250301_090000 ¦ 3 ¦ tool_request ¦ 2025-03-01 09:00:01 ¦ sh ¦ {}",
		"20250301_090000 ¦ 4 ¦ tool_response ¦ 2025-03-01 09:00:02 ¦ sh ¦ ok",
		"20250301_090000 ¦ 6 ¦ parser_issue ¦ ∅ ¦ ∅ ¦ parser: unparseable record 6 (line: json): {\"torn\":",
		"20250301_090000 ¦ 7 ¦ parser_issue ¦ ∅ ¦ ∅ ¦ parser: unparseable record 7 (line: type): {\"data\":1}",
		"20250301_090000 ¦ 8 ¦ parser_issue ¦ ∅ ¦ ∅ ¦ parser: unparseable record 8 (line: type): [\"list\"]",
		"bad-first ¦ 1 ¦ parser_issue ¦ ∅ ¦ ∅ ¦ parser: unparseable record 1 (line: json): {\"description\":",
		"bad-first ¦ 2 ¦ text ¦ 2025-03-01 09:00:00 ¦ ∅ ¦ x",
		"none-good ¦ 1 ¦ parser_issue ¦ ∅ ¦ ∅ ¦ parser: unparseable record 1 (line: json): nothing",
		"pre-1.0 ¦ 1 ¦ text ¦ 2025-03-01 09:00:00 ¦ ∅ ¦ hi",
		"pre-1.0 ¦ 2 ¦ tool_request ¦ 2025-03-01 09:00:00 ¦ t ¦ {\"a\":1}",
		"pre-1.0 ¦ 3 ¦ tool_response ¦ 2025-03-01 09:00:00 ¦ ∅ ¦ r",
	}
	if diff := cmp.Diff(want, pick(out["events"], "", "session_id", "source_line", "kind", "occurred_at", "tool_name", "text")); diff != "" {
		t.Error(diff)
	}
	want = []string{
		`20250301_090000 ¦ n ¦ old ¦ /w ¦ 2025-03-01 09:00:00 ¦ 5 ¦ ∅ ¦ 4 ¦ 2025-03-01 09:00:02 ¦ false ¦ 1 ¦ {"accumulated_cost_usd":"x","zzz":1,"message_count":2}`,
		`bad-first ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ 1 ¦ 2025-03-01 09:00:00 ¦ false ¦ ∅ ¦ ∅`,
		`none-good ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ 0 ¦ ∅ ¦ false ¦ ∅ ¦ ∅`,
		`pre-1.0 ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ 3 ¦ 2025-03-01 09:00:00 ¦ false ¦ ∅ ¦ ∅`,
	}
	if diff := cmp.Diff(want, pick(out["sessions"], "", "session_id", "name", "description", "working_dir", "created_at", "last_call_total_tokens", "accumulated_cost_usd", "message_count", "last_message_at", "superseded", "source_line", "extra")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"c ¦ sh ¦ success", "x ¦ ∅ ¦ orphan_response", " ¦ t ¦ no_response"}, pick(out["tool_calls"], "", "tool_use_id", "tool_name", "status")); diff != "" {
		t.Error(diff)
	}
	if got := pick(out["messages"], "", "message_row", "stored_at", "kind", "superseded")[:2]; got[0] != "∅ ¦ ∅ ¦ prompt ¦ false" || got[1] != "∅ ¦ ∅ ¦ assistant ¦ false" {
		t.Errorf("messages %q", got)
	}
	codes := pick(out["issues"], "", "code", "source_line")
	if diff := cmp.Diff([]string{"bad_time ¦ 5", "bad_json ¦ 6", "unknown_line ¦ 7", "unknown_line ¦ 8", "bad_number ¦ 1", "bad_json ¦ 1", "bad_json ¦ 1"}, codes); diff != "" {
		t.Error(diff)
	}
}

// A tool call that the database has is no call of the file too.
func TestToolCallsAfterDeduplication(t *testing.T) {
	db := chat(rec{"session_id": "20261001_080000"},
		rec{"role": "assistant", "content_json": "[" + shCall + "]", "created_at": "2026-10-01 12:00:00"},
		rec{"content_json": `[{"type":"toolResponse","id":"c1","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"ok"}]}}}]`, "created_at": "2026-10-01 12:00:00"})
	file := fmt.Sprintf(`{"role":"assistant","created":%d,"content":[%s]}`, noon, shCall) + "\n" +
		fmt.Sprintf(`{"role":"user","created":%d,"content":[{"type":"toolResponse","id":"c1","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"changed"}]}}}]}`, noon) + "\n"
	out := runHome(t, homeOf{database: db, legacy: map[string]string{"20261001_080000": file}, logs: map[string]string{"llm_request.0.jsonl": logOf("p", chunk("m1", noon, shCall))}})
	want := []string{"sessions_db ¦ sh ¦ success", "legacy_jsonl ¦ ∅ ¦ orphan_response"}
	if diff := cmp.Diff(want, pick(out["tool_calls"], "", "store", "tool_name", "status")); diff != "" {
		t.Error(diff)
	}
	// The response that stays still knows its tool.
	if got := pick(out["events"], "tool_response", "store", "tool_name", "text"); got[1] != "legacy_jsonl ¦ sh ¦ changed" {
		t.Errorf("%q", got)
	}
}

func TestThreadRule(t *testing.T) {
	thread := func(id, role, text, at string) rec {
		return rec{"session": 0, "source_table": "thread_messages", "message_id": id, "role": role, "created_at": at, "content_json": "[" + textBlock(text) + "]"}
	}
	s := stream{{schemas.DBTables, rec{"table_name": "thread_messages", "rows": 1}}}
	s = append(s, chat(nil, rec{"message_id": "m1", "content_json": "[" + textBlock("a") + "]", "created_at": "2026-10-01 12:00:00"})...)
	for _, m := range []rec{
		thread("m1", "user", "changed", "2026-10-09 12:00:00"),  // the id
		thread("m2", "user", "a", "2026-10-01 12:00:00.9"),      // role, second and text
		thread("m3", "user", "a", "2026-10-01 12:00:01"),        // another second
		thread("m4", "assistant", "a", "2026-10-01 12:00:00"),   // another role
		thread("", "user", "other text", "2026-10-01 12:00:00"), // another text
	} {
		m["row_id"] = len(s)
		s.add(schemas.RawMessages, m)
	}
	out := runHome(t, homeOf{database: s})
	var got []string
	for _, e := range out["events"] {
		if e["source_table"] == "thread_messages" {
			got = append(got, fmt.Sprint(e["message_id"]))
		}
	}
	if diff := cmp.Diff([]string{"m3", "m4", ""}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"thread", "thread"}, pick(out["dedup_links"], "", "rule")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"1 ¦ false", "∅ ¦ true", "∅ ¦ true", "∅ ¦ false", "∅ ¦ false", "∅ ¦ false"}, pick(out["messages"], "", "message_row", "superseded")); diff != "" {
		t.Error(diff)
	}
}

func TestRecovery(t *testing.T) {
	body := func(messages string, chunks ...string) string {
		return `{"model_config":{"model_name":"m"},"input":{"messages":[` + messages + `]}}` + "\n" + `{"data":` + strings.Join(chunks, `,"usage":null}`+"\n"+`{"data":`) + `,"usage":{}}` + "\n"
	}
	const (
		system   = `{"role":"system","content":"you are"}`
		kept     = `,{"role":"user","content":"kept prompt\n<turn-context>\nnow\n</turn-context>"}`
		typed    = `,{"role":"user","content":"typed prompt"}`
		lost     = `,{"role":"user","content":"lost prompt"}`
		call     = `,{"role":"assistant","content":"I look.","tool_calls":[{"id":"c1","type":"function","function":{"name":"sh","arguments":"{\"a\": 1}"}}]}`
		result   = `,{"role":"tool","tool_call_id":"c1","content":"the result"}`
		failed   = `,{"role":"tool","tool_call_id":"c2","content":"The tool call returned the following error:\n-32602: no"}`
		replied  = `{"id":"r1","role":"assistant","created":1790856000,"content":[{"type":"text","text":"I look."}]}`
		replied2 = `{"id":"r2","role":"assistant","created":1790856060,"content":[{"type":"text","text":"Done."}]}`
	)
	db := chat(nil,
		rec{"content_json": "[" + textBlock(" kept prompt ") + "]"},
		rec{"content_json": "[" + textBlock("<turn-context>\nnow\n</turn-context>") + "]", "metadata_json": `{"turnContext":true}`},
		rec{"content_json": `[{"type":"toolResponse","id":"c2","toolResult":{"status":"error","error":"-32603: -32602: no"}}]`},
	)
	out := runHome(t, homeOf{database: db, history: []string{"typed prompt"}, logs: map[string]string{
		"llm_request.1.jsonl": body(system+kept+typed+lost+failed, replied),
		"llm_request.0.jsonl": body(system+kept+typed+lost+call+result+failed, replied2),
	}})
	want := []string{
		"3 ¦ user ¦ text ¦ ∅ ¦ ∅ ¦ lost prompt",
		"4 ¦ assistant ¦ tool_request ¦ sh ¦ c1 ¦ {\"a\":1}",
		"5 ¦ tool ¦ tool_response ¦ sh ¦ c1 ¦ the result",
	}
	if diff := cmp.Diff(want, pick(out["recovered_messages"], "", "position", "role", "kind", "tool_name", "tool_use_id", "text")); diff != "" {
		t.Error(diff)
	}
	newest := out["llm_requests"][0]["log_id"]
	for _, r := range out["recovered_messages"] {
		if r["log_id"] != newest {
			t.Errorf("%v comes from an older log", r)
		}
	}
	// With everything stored there is nothing to recover.
	full := append(stream{}, db...)
	full = append(full, chat(nil,
		rec{"content_json": "[" + textBlock("lost prompt") + "]"},
		rec{"role": "assistant", "content_json": `[{"type":"toolRequest","id":"c1","toolCall":{"status":"success","value":{"name":"sh","arguments":{"a":1}}}}]`},
		rec{"content_json": `[{"type":"toolResponse","id":"c1","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"the result"}]}}}]`})[1:]...)
	for i, r := range full[1:] {
		r.row["row_id"] = i + 1
	}
	out = runHome(t, homeOf{database: full, history: []string{"typed prompt"}, logs: map[string]string{"llm_request.0.jsonl": body(system+kept+typed+lost+call+result+failed, replied2), "llm_request.1.jsonl": body(system, replied)}})
	if len(out["recovered_messages"]) != 0 {
		t.Errorf("%v", out["recovered_messages"])
	}
}

// Nothing that a log holds vanishes, whatever it looks like.
func TestOddLogs(t *testing.T) {
	out := runHome(t, homeOf{logs: map[string]string{
		"llm_request.0.jsonl": "\n" + logOf("after a blank line"),
		"llm_request.1.jsonl": "\n   \n",
		"llm_request.2.jsonl": logOf("p", `{"role":"assistant","id":"q","content":"a plain string"}`, `{"lines":3}`, `"bare"`),
		"llm_request.3.jsonl": "",
	}})
	want := []string{
		"llm_request.0.jsonl ¦ 2 ¦ 0 ¦ true ¦ ∅", "llm_request.1.jsonl ¦ ∅ ¦ 0 ¦ false ¦ ∅", `llm_request.2.jsonl ¦ 2 ¦ 1 ¦ true ¦ {"data":[{"lines":3},"bare"]}`,
	}
	if diff := cmp.Diff(want, pick(out["llm_requests"], "", "log_name", "messages", "response_messages", "complete", "extra")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"text: a plain string"}, logEvents(out)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"after a blank line", "p"}, pick(out["recovered_messages"], "", "text")); diff != "" {
		t.Error(diff)
	}
	if n := len(pick(out["events"], "llm_request", "text")); n != 3 {
		t.Errorf("%d llm_request rows", n)
	}
}
