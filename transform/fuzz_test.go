package transform

import (
	"strings"
	"testing"
	"unicode/utf8"

	"gander/schemas"
)

// Whatever content and metadata hold, the message costs only itself and its
// tally holds.
func FuzzContent(f *testing.F) {
	for _, s := range []string{
		`[{"type":"text","text":"a"},{"type":"toolRequest","id":"c","toolCall":{"status":"success","value":{"name":"n","arguments":{}}},"_meta":{"goose.executable":false}}]`,
		`[{"type":"toolResponse","id":"c","toolResult":{"status":"success","value":{"content":[{"type":"image","data":"AA==","mimeType":"m"}],"structuredContent":{"exit_code":1}}}}]`,
		`[{"type":"actionRequired","data":{"actionType":"toolConfirmationResponse","id":"c","permission":"cancel"}},{"type":"thinking","thinking":1},{"type":"error"},null,[]]`,
	} {
		f.Add(s, `{"userVisible":true,"inference":{"requestedModel":"m"},"usage":{"inputTokens":1,"cost":0.1}}`)
	}
	f.Fuzz(func(t *testing.T, content, metadata string) {
		if !utf8.ValidString(content) || !utf8.ValidString(metadata) {
			return
		}
		out, _ := run(t, chat(nil, rec{"content_json": content, "metadata_json": metadata}, rec{"content_json": content}))
		if len(out["messages"]) != 2 || len(out["sessions"]) != 1 {
			t.Errorf("%d messages, %d sessions", len(out["messages"]), len(out["sessions"]))
		}
	})
}

// A home whose text files hold anything is read, its sums hold, no event comes
// twice, and every link names an event.
func FuzzTextStores(f *testing.F) {
	legacy := `{"description":"d","created_at":"2026-10-01T08:00:00Z"}` + "\n" + `{"role":"user","created":1790856000,"content":[{"type":"text","text":"p"}]}`
	f.Add(logOf("p", chunk("m1", noon, textBlock("hi")), chunk("m1", noon, shCall)), legacy, "p")
	f.Add(`{"input":{"contents":[{"role":"user","parts":[{"text":"x"}]}]}}`+"\n"+`{"data":{"candidates":[{"content":{"parts":[{"text":"y"}]}}]}}`, `{"content":"x"}`, "/mode")
	f.Add(`{"input":7}`+"\n"+`{"error":[]}`, `[]`, "")
	f.Fuzz(func(t *testing.T, log, file, entry string) {
		if !utf8.ValidString(log) || !utf8.ValidString(file) || !utf8.ValidString(entry) || strings.ContainsAny(log+file, "\r") {
			return
		}
		db := chat(rec{"session_id": "20261001_080000"}, rec{"message_id": "m1", "role": "assistant", "content_json": "[" + textBlock("hi") + "," + shCall + "]"},
			rec{"content_json": "[" + textBlock("p") + "]", "created_at": "2026-10-01 12:00:00"})
		db.add(schemas.RawUsage, rec{"row_id": 1, "session_id": "s", "created_at": "2026-10-01 12:00:00", "input_tokens": 10, "output_tokens": 2, "total_tokens": 12})
		out := runHome(t, homeOf{
			database: db, legacy: map[string]string{"20261001_080000": file},
			logs: map[string]string{"llm_request.0.jsonl": log, "llm_request.1.jsonl": log + "\n"}, history: []string{entry, entry},
		})
		if n := len(out["events"]) + len(out["dedup_links"]); n < 7 {
			t.Errorf("%d rows", n)
		}
	})
}
