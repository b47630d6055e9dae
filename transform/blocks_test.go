package transform

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every shape a block can have, and the row it gives.
func TestBlocks(t *testing.T) {
	const (
		request = `{"type":"toolRequest","id":"c1","toolCall":{"status":"success","value":{"name":"dev__shell","arguments":{"command":"ls"}}}}`
		pixel   = "iVBORw0KGgo=" // 8 bytes
		pixelID = "4c4b6a3be1314ab86138bef4314dde022e600960d8689a2c8f8631802d20dab6"
	)
	for _, c := range []struct {
		name, role, content string
		want                []string // kind ¦ turn_type ¦ tool_name ¦ tool_use_id ¦ is_error ¦ text ¦ extra
	}{
		{"text", "user", `[{"type":"text","text":" hi "}]`, []string{"text ¦ user ¦ ∅ ¦ ∅ ¦ ∅ ¦  hi  ¦ ∅"}},
		{"text of the assistant, annotated", "assistant", `[{"type":"text","text":"","annotations":{"audience":["user"]},"_meta":{"a":1}}]`,
			[]string{`text ¦ assistant ¦ ∅ ¦ ∅ ¦ ∅ ¦  ¦ {"annotations":{"audience":["user"]},"_meta":{"a":1}}`}},
		{"text of another role", "tool", `[{"type":"text","text":"x"}]`, []string{"text ¦ system ¦ ∅ ¦ ∅ ¦ ∅ ¦ x ¦ ∅"}},
		{"text that is a number", "user", `[{"type":"text","text":5}]`, []string{`unknown_block ¦ system ¦ ∅ ¦ ∅ ¦ ∅ ¦ {"type":"text","text":5} ¦ ∅`}},
		{"text that is missing", "user", `[{"type": "text"}]`, []string{`unknown_block ¦ system ¦ ∅ ¦ ∅ ¦ ∅ ¦ {"type":"text"} ¦ ∅`}},
		{"image", "user", `[{"type":"image","data":"` + pixel + `","mimeType":"image/png"}]`, []string{"image ¦ user ¦ ∅ ¦ ∅ ¦ ∅ ¦ [image] image/png ¦ ∅"}},
		{"document", "user", `[{"type":"document","data":"x","mimeType":"application/pdf","name":"a.pdf"}]`,
			[]string{`document ¦ user ¦ ∅ ¦ ∅ ¦ ∅ ¦ [document] a.pdf | application/pdf ¦ {"data_not_base64":true}`}},
		{"document without a name", "user", `[{"type":"document","mimeType":"application/pdf"}]`,
			[]string{`document ¦ user ¦ ∅ ¦ ∅ ¦ ∅ ¦ [document] application/pdf ¦ ∅`}},
		{"thinking", "assistant", `[{"type":"thinking","thinking":"hm","signature":"abc"}]`, []string{`thinking ¦ thinking ¦ ∅ ¦ ∅ ¦ ∅ ¦ hm ¦ {"signature":3}`}},
		{"reasoning", "assistant", `[{"type":"reasoning","text":"hm"}]`, []string{"thinking ¦ thinking ¦ ∅ ¦ ∅ ¦ ∅ ¦ hm ¦ ∅"}},
		{"redacted thinking", "assistant", `[{"type":"redactedThinking","data":"zz"}]`,
			[]string{`redacted_thinking ¦ thinking ¦ ∅ ¦ ∅ ¦ ∅ ¦ [redacted thinking] ¦ {"data":"zz"}`}},
		{"request and response", "assistant", `[` + request + `,{"type":"toolResponse","id":"c1","toolResult":{"status":"success","value":{"resultType":"complete","content":[{"type":"text","text":"a"},{"type":"text","text":"b","annotations":{"priority":0.0}}],"isError":false}}}]`,
			[]string{
				`tool_request ¦ tool_use ¦ dev__shell ¦ c1 ¦ false ¦ {"command":"ls"} ¦ {"status":"success"}`,
				"tool_response ¦ tool_result ¦ dev__shell ¦ c1 ¦ false ¦ a\nb ¦ " + `{"status":"success","is_error":false,"annotations":[null,{"priority":0.0}],"resultType":"complete"}`,
			}},
		{"request that failed", "assistant", `[{"type":"toolRequest","id":"c","toolCall":{"status":"error","error":"-32602: no"}}]`,
			[]string{`tool_request ¦ tool_use ¦ ∅ ¦ c ¦ true ¦ -32602: no ¦ {"status":"error"}`}},
		{"request without arguments, without id", "assistant", `[{"type":"toolRequest","toolCall":{"status":"success","value":{"name":"x","arguments":null}}}]`,
			[]string{`tool_request ¦ tool_use ¦ x ¦  ¦ false ¦ ∅ ¦ {"status":"success"}`}},
		{"request of old rows: arguments a string, id a number", "assistant", `[{"type":"toolRequest","id":7,"toolCall":{"status":"success","value":{"name":"x","arguments":"a b","more":1}},"_meta":{"goose_extension":"dev"},"metadata":{"k":1},"z":2}]`,
			[]string{`tool_request ¦ tool_use ¦ x ¦ 7 ¦ false ¦ "a b" ¦ {"status":"success","_meta":{"goose_extension":"dev"},"metadata":{"k":1},"z":2,"toolCall":{"more":1}}`}},
		{"toolCall of the wrong type", "assistant", `[{"type":"toolRequest","id":"c","toolCall":"x"}]`,
			[]string{`unknown_block ¦ system ¦ ∅ ¦ ∅ ¦ ∅ ¦ {"type":"toolRequest","id":"c","toolCall":"x"} ¦ ∅`}},
		{"toolResult of the wrong type", "user", `[{"type":"toolResponse","id":"c","toolResult":[]}]`,
			[]string{`unknown_block ¦ system ¦ ∅ ¦ ∅ ¦ ∅ ¦ {"type":"toolResponse","id":"c","toolResult":[]} ¦ ∅`}},
		{"response: bare array of old rows", "user", `[{"type":"toolResponse","id":"c","toolResult":{"status":"success","value":[{"type":"text","text":"x"}]}}]`,
			[]string{`tool_response ¦ tool_result ¦ ∅ ¦ c ¦ false ¦ x ¦ {"status":"success"}`}},
		{"response: isError", "user", `[{"type":"toolResponse","id":"c","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"x"}],"isError":true}}}]`,
			[]string{`tool_response ¦ tool_result ¦ ∅ ¦ c ¦ true ¦ x ¦ {"status":"success","is_error":true}`}},
		{"response: error", "user", `[{"type":"toolResponse","id":"c","toolResult":{"status":"error","error":"-32603: boom"}}]`,
			[]string{`tool_response ¦ tool_result ¦ ∅ ¦ c ¦ true ¦ -32603: boom ¦ {"status":"error"}`}},
		{"response: parts of every kind", "user", `[{"type":"toolResponse","id":"c","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"t"},{"type":"image","data":"` + pixel + `","mimeType":"image/png"},{"type":"audio","data":"!","mimeType":"audio/wav"},{"type":"resource","resource":{"uri":"file:///a","text":"body","mimeType":"text/plain"}},{"type":"resource","resource":{"uri":"file:///b","blob":"` + pixel + `"}},{"type":"resource_link","uri":"file:///c","name":"c"},{"type":"later","x":1},"bare"]}}}]`,
			[]string{"tool_response ¦ tool_result ¦ ∅ ¦ c ¦ false ¦ t\n[image] image/png\n[audio] audio/wav\nbody\n[resource] file:///b\n[resource_link] file:///c\n" + `{"type":"later","x":1}` + "\nbare ¦ " +
				`{"status":"success","parts":[{"type":"image","mime":"image/png","bytes":8,"sha256":"` + pixelID + `"},{"type":"audio","mime":"audio/wav","bytes":1,"sha256":"bb7208bc9b5d7c04f1236a82a0093a5e33f40423d5ba8d4266f7092c3ba43b62"},{"type":"resource","mime":"text/plain","uri":"file:///a"},{"type":"resource","bytes":8,"sha256":"` + pixelID + `","uri":"file:///b"},{"type":"resource_link","uri":"file:///c","name":"c"},{"type":"later","x":1}]}`}},
		{"response: structured content alone", "user", `[{"type":"toolResponse","id":"c","toolResult":{"status":"success","value":{"content":[],"structuredContent":{"exit_code": 1},"_meta":{"m":2}}}}]`,
			[]string{`tool_response ¦ tool_result ¦ ∅ ¦ c ¦ false ¦ {"exit_code":1} ¦ {"status":"success","structured_content":{"exit_code":1},"_meta":{"m":2}}`}},
		{"response: no value", "user", `[{"type":"toolResponse","id":"c","toolResult":{"status":"success"}}]`,
			[]string{`tool_response ¦ tool_result ¦ ∅ ¦ c ¦ false ¦  ¦ {"status":"success"}`}},
		{"confirmation request of old releases", "assistant", `[{"type":"toolConfirmationRequest","id":"c","toolName":"sh","arguments":{"a":1},"prompt":"sure?"}]`,
			[]string{`confirmation_request ¦ system ¦ sh ¦ c ¦ ∅ ¦ confirmation requested: sh | sure? | {"a":1} ¦ ∅`}},
		{"permission request, null prompt, no arguments", "assistant", `[{"type":"actionRequired","data":{"actionType":"toolConfirmation","id":"c","toolName":"sh","prompt":null,"arguments":null}}]`,
			[]string{`permission_request ¦ system ¦ sh ¦ c ¦ ∅ ¦ permission request: sh ¦ ∅`}},
		{"permission decision", "user", `[` + request + `,{"type":"actionRequired","data":{"actionType":"toolConfirmationResponse","id":"c1","permission":"allow_once"}}]`,
			[]string{
				`tool_request ¦ tool_use ¦ dev__shell ¦ c1 ¦ false ¦ {"command":"ls"} ¦ {"status":"success"}`,
				`permission_decision ¦ system ¦ dev__shell ¦ c1 ¦ ∅ ¦ permission decision: allow_once (toolConfirmationResponse) ¦ ∅`,
			}},
		{"permission decision of no call, null", "user", `[{"type":"actionRequired","data":{"actionType":"toolConfirmationResponse","id":"zz","permission":null}}]`,
			[]string{`permission_decision ¦ system ¦ ∅ ¦ zz ¦ ∅ ¦ permission decision: - (toolConfirmationResponse) ¦ ∅`}},
		{"elicitation", "assistant", `[{"type":"actionRequired","data":{"actionType":"elicitation", "id":"e"}}]`,
			[]string{`action_required ¦ system ¦ ∅ ¦ ∅ ¦ ∅ ¦ action required: {"actionType":"elicitation","id":"e"} ¦ ∅`}},
		{"action without data", "assistant", `[{"type":"actionRequired"}]`, []string{`action_required ¦ system ¦ ∅ ¦ ∅ ¦ ∅ ¦ action required: null ¦ ∅`}},
		{"notification", "assistant", `[{"type":"systemNotification","notificationType":"inlineMessage","msg":"m","data":{"a":1}},{"type":"systemNotification"}]`,
			[]string{
				`notification ¦ system ¦ ∅ ¦ ∅ ¦ ∅ ¦ inlineMessage: m ¦ {"data":{"a":1}}`,
				`notification ¦ system ¦ ∅ ¦ ∅ ¦ ∅ ¦ notification:  ¦ ∅`,
			}},
		{"error", "assistant", `[{"type":"error","kind":"authentication","message":"401"}]`, []string{`error ¦ system ¦ ∅ ¦ ∅ ¦ ∅ ¦ error authentication: 401 ¦ ∅`}},
		{"unknown, retired, no object", "assistant", `[{"type":"conversationCompacted","msg": "x"},3,null,"s",[1]]`,
			[]string{
				`unknown_block ¦ system ¦ ∅ ¦ ∅ ¦ ∅ ¦ {"type":"conversationCompacted","msg":"x"} ¦ ∅`,
				`unknown_block ¦ system ¦ ∅ ¦ ∅ ¦ ∅ ¦ 3 ¦ ∅`, `unknown_block ¦ system ¦ ∅ ¦ ∅ ¦ ∅ ¦ null ¦ ∅`,
				`unknown_block ¦ system ¦ ∅ ¦ ∅ ¦ ∅ ¦ "s" ¦ ∅`, `unknown_block ¦ system ¦ ∅ ¦ ∅ ¦ ∅ ¦ [1] ¦ ∅`,
			}},
		{"nothing", "assistant", `[]`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, _ := run(t, chat(nil, rec{"role": c.role, "content_json": c.content}))
			got := pick(out["events"][1:], "", "kind", "turn_type", "tool_name", "tool_use_id", "is_error", "text", "extra")
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestImageIsHashedNotStored(t *testing.T) {
	out, _ := run(t, chat(nil, rec{"content_json": `[{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}]`}))
	got := pick(out["events"], "image", "mime_type", "data_bytes", "data_sha256")
	want := []string{"image/png ¦ 8 ¦ 4c4b6a3be1314ab86138bef4314dde022e600960d8689a2c8f8631802d20dab6"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestToolCalls(t *testing.T) {
	req := func(id, name string) string {
		return `{"type":"toolRequest","id":` + quote(id) + `,"toolCall":{"status":"success","value":{"name":"` + name + `","arguments":{"n":"` + name + `"}}}}`
	}
	res := func(id, text string) string {
		return `{"type":"toolResponse","id":` + quote(id) + `,"toolResult":{"status":"success","value":{"content":[{"type":"text","text":"` + text + `"}]}}}`
	}
	for _, c := range []struct {
		name     string
		messages []string
		want     []string // tool_use_id ¦ tool_name ¦ status ¦ result_bytes
	}{
		{"pair", []string{req("a", "x"), res("a", "ok")}, []string{"a ¦ x ¦ success ¦ 2"}},
		{"orphan", []string{res("a", "ok")}, []string{"a ¦ ∅ ¦ orphan_response ¦ 2"}},
		{"no response", []string{req("a", "x"), req("b", "y"), res("b", "")}, []string{"b ¦ y ¦ success ¦ 0", "a ¦ x ¦ no_response ¦ ∅"}},
		{"an id twice in one message: first block first", []string{req("a", "x") + "," + req("a", "y"), res("a", "1"), res("a", "22")},
			[]string{"a ¦ x ¦ success ¦ 1", "a ¦ y ¦ success ¦ 2"}},
		{"an id in two messages: the latest first", []string{req("a", "x"), req("a", "y"), res("a", "1"), res("a", "22")},
			[]string{"a ¦ y ¦ success ¦ 1", "a ¦ x ¦ success ¦ 2"}},
		{"'' as an id, twice", []string{req("", "x"), req("", "y"), res("", "1"), res("", "22"), res("", "333")},
			[]string{" ¦ y ¦ success ¦ 1", " ¦ x ¦ success ¦ 2", " ¦ ∅ ¦ orphan_response ¦ 3"}},
		{"a response before its request", []string{res("a", "1"), req("a", "x")}, []string{"a ¦ ∅ ¦ orphan_response ¦ 1", "a ¦ x ¦ no_response ¦ ∅"}},
		{"bytes, not characters", []string{req("a", "x"), res("a", "é🦢")}, []string{"a ¦ x ¦ success ¦ 6"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ms []rec
			for _, m := range c.messages {
				ms = append(ms, rec{"content_json": "[" + m + "]"})
			}
			out, _ := run(t, chat(nil, ms...))
			if diff := cmp.Diff(c.want, pick(out["tool_calls"], "", "tool_use_id", "tool_name", "status", "result_bytes")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestToolCallStatus(t *testing.T) {
	const call = `{"type":"toolRequest","id":"a","toolCall":{"status":"success","value":{"name":"ext__tool__x","arguments":{}}},"_meta":{"goose.executable":true}}`
	decide := func(p string) string {
		return `{"type":"actionRequired","data":{"actionType":"toolConfirmationResponse","id":"a","permission":"` + p + `"}}`
	}
	result := func(value string) string {
		return `{"type":"toolResponse","id":"a","toolResult":` + value + `}`
	}
	text := func(s string) string {
		return result(`{"status":"success","value":{"content":[{"type":"text","text":` + quote(s) + `}]}}`)
	}
	for _, c := range []struct{ name, blocks, want string }{ // status ¦ error_codes ¦ exit_code ¦ decision ¦ executable ¦ extension ¦ subagent
		{"success", call + "," + text("x"), "success ¦ ∅ ¦ ∅ ¦ ∅ ¦ true ¦ ext ¦ ∅"},
		{"exit code, subagent", call + "," + result(`{"status":"success","value":{"content":[],"structuredContent":{"exit_code":3},"_meta":{"subagent_session_id":"s9"}}}`), "success ¦ ∅ ¦ 3 ¦ ∅ ¦ true ¦ ext ¦ s9"},
		{"exit code that is no integer", call + "," + result(`{"status":"success","value":{"content":[],"structuredContent":{"exit_code":3.5}}}`), "success ¦ ∅ ¦ ∅ ¦ ∅ ¦ true ¦ ext ¦ ∅"},
		{"error with codes", call + "," + result(`{"status":"error","error":"-32603: -32603: -32602: no -1: x"}`), "error ¦ [-32603,-32603,-32602] ¦ ∅ ¦ ∅ ¦ true ¦ ext ¦ ∅"},
		{"code of four digits is text", call + "," + result(`{"status":"error","error":"-3260: x"}`), "error ¦ ∅ ¦ ∅ ¦ ∅ ¦ true ¦ ext ¦ ∅"},
		{"tool error", call + "," + result(`{"status":"success","value":{"content":[],"isError":true}}`), "tool_error ¦ ∅ ¦ ∅ ¦ ∅ ¦ true ¦ ext ¦ ∅"},
		{"allowed", call + "," + decide("allow_once") + "," + text("x"), "success ¦ ∅ ¦ ∅ ¦ allow_once ¦ true ¦ ext ¦ ∅"},
		{"denied before an error", call + "," + decide("deny_once") + "," + result(`{"status":"error","error":"-32600: no"}`), "declined ¦ [-32600] ¦ ∅ ¦ deny_once ¦ true ¦ ext ¦ ∅"},
		{"always denied", call + "," + decide("always_deny") + "," + text("x"), "declined ¦ ∅ ¦ ∅ ¦ always_deny ¦ true ¦ ext ¦ ∅"},
		{"cancelled", call + "," + decide("cancel") + "," + text("x"), "declined ¦ ∅ ¦ ∅ ¦ cancel ¦ true ¦ ext ¦ ∅"},
		{"the newest decision counts", call + "," + decide("deny_once") + "," + decide("allow_once") + "," + text("x"), "success ¦ ∅ ¦ ∅ ¦ allow_once ¦ true ¦ ext ¦ ∅"},
		{"declined by its text", call + "," + text("The user has declined to run this tool. More."), "declined ¦ ∅ ¦ ∅ ¦ ∅ ¦ true ¦ ext ¦ ∅"},
		{"not quite that text", call + "," + text("The user has declined to run this tool"), "success ¦ ∅ ¦ ∅ ¦ ∅ ¦ true ¦ ext ¦ ∅"},
		{"denied, never answered", call + "," + decide("deny_once"), "no_response ¦ ∅ ¦ ∅ ¦ deny_once ¦ true ¦ ext ¦ ∅"},
		{"invalid", `{"type":"toolRequest","id":"a","toolCall":{"status":"error","error":"-32602: bad"}},` + text("x"), "invalid_call ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅"},
		{"invalid, never answered", `{"type":"toolRequest","id":"a","toolCall":{"status":"error","error":"-32602: bad"}}`, "no_response ¦ [-32602] ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅"},
		{"unparseable", `{"type":"toolRequest","id":"a","toolCall":{"status":"success","value":{"name":"unparseable_tool_call","arguments":{}}}},` + result(`{"status":"error","error":"-32602: x"}`), "invalid_call ¦ [-32602] ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅"},
		{"extension from _meta", `{"type":"toolRequest","id":"a","toolCall":{"status":"success","value":{"name":"shell","arguments":{}}},"_meta":{"goose_extension":"developer"}},` + text("x"), "success ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ developer ¦ ∅"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, _ := run(t, chat(nil, rec{"content_json": "[" + c.blocks + "]"}))
			got := pick(out["tool_calls"], "", "status", "error_codes", "exit_code", "decision", "executable", "extension", "subagent_session_id")
			if diff := cmp.Diff([]string{c.want}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNotExecutable(t *testing.T) {
	const call = `[{"type":"toolRequest","id":"a","toolCall":{"status":"success","value":{"name":"sh","arguments":{}}},"_meta":{"goose.executable":false}}]`
	const answer = `[{"type":"actionRequired","data":{"actionType":"tool\u0043onfirmationResponse","id":"a","permission":"deny_once"}}]`
	const want = "sh ¦ a ¦ permission decision: not executable (goose.executable=false)"
	decisions := func(ms ...rec) []string {
		out, _ := run(t, chat(nil, ms...))
		return pick(out["events"], "permission_decision", "tool_name", "tool_use_id", "text")
	}
	if diff := cmp.Diff([]string{want}, decisions(rec{"content_json": call})); diff != "" {
		t.Error("unanswered:", diff)
	}
	if got := decisions(rec{"content_json": call}, rec{"content_json": answer}); len(got) != 1 || !strings.Contains(got[0], "deny_once") {
		t.Error("answered later, however the key is spelled:", got)
	}
	other := strings.Replace(answer, `"id":"a"`, `"id":"b"`, 1)
	if got := decisions(rec{"content_json": call}, rec{"content_json": other}); len(got) != 2 || got[0] != want {
		t.Error("another call's answer:", got)
	}
	if got := decisions(rec{"content_json": strings.Replace(call, "false", `"false"`, 1)}); len(got) != 0 {
		t.Error("a flag that is a string:", got)
	}
}

// Arguments above the bound on memory go through the spool and come back whole.
func TestSpooledArguments(t *testing.T) {
	big := strings.Repeat("x", argumentsInMemory/2+1)
	call := func(id string) rec {
		return rec{"content_json": `[{"type":"toolRequest","id":"` + id + `","toolCall":{"status":"success","value":{"name":"w","arguments":"` + id + big + `"}}}]`}
	}
	out, _ := run(t, chat(nil, call("a"), call("b"), call("c")))
	var got []string
	for _, r := range out["tool_calls"] {
		a := r["arguments"].(string)
		got = append(got, a[:3])
		if len(a) != len(big)+3 {
			t.Errorf("arguments of %v have %d bytes", r["tool_use_id"], len(a))
		}
	}
	if diff := cmp.Diff([]string{`"ax`, `"bx`, `"cx`}, got); diff != "" {
		t.Error(diff)
	}
}
