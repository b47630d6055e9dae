package provider

import (
	"strings"
	"testing"
	"unicode/utf8"

	"gander/schemas/jsonval"
)

func parse(t testing.TB, src string) jsonval.Value {
	t.Helper()
	var d jsonval.Doc
	if err := d.Parse(src); err != nil {
		t.Fatalf("%.200s: %v", src, err)
	}
	return d.Root()
}

func TestMessage(t *testing.T) {
	const request = `{"type":"toolRequest","id":"c1","toolCall":{"status":"success","value":{"name":"shell","arguments":{"b":1,"a":[2.50]}}}}`
	message := func(content string) string { return `{"role":"assistant","content":[` + content + `]}` }
	for _, c := range []struct{ name, in, want string }{
		// Goose's own.
		{"goose", `{"id":"m","role":"user","created":7,"content":[{"type":"text","text":"a"},{"type":"toolRequest"},5],"metadata":{"x":1}}`,
			`{"id":"m","role":"user","created":7,"content":[{"type":"text","text":"a"},{"type":"toolRequest"},5],"metadata":{"x":1}}`},
		{"goose, made canonical", "{ \"role\" : \"user\", \"content\": [ {\"text\":\"\\u0041\"} ] }", `{"role":"user","content":[{"text":"A"}]}`},
		{"goose, empty", `{"role":"assistant","content":[]}`, `{"role":"assistant","content":[]}`},
		{"no role is not Goose's", `{"content":[{"type":"toolRequest","id":"x"}],"metadata":1}`, message(`{"type":"toolRequest","id":"x"}`)},
		{"null role is not Goose's", `{"role":null,"content":[]}`, message(``)},
		{"tool_use is not Goose's", `{"role":"user","content":[{"type":"tool_use","id":"c1","name":"shell","input":{"b":1,"a":[2.50]}}]}`, message(request)},
		{"tool_result is not Goose's", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"out","is_error":true}]}`,
			message(`{"type":"toolResponse","id":"c1","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"out"}],"isError":true}}}`)},
		{"output_text is not Goose's", `{"role":"user","content":[{"type":"output_text","text":"x","annotations":[]}]}`, message(`{"type":"text","text":"x"}`)},
		{"function_call is not Goose's", `{"role":"user","content":[{"type":"function_call","call_id":"c1","name":"shell","arguments":"{\"b\":1,\"a\":[2.50]}"}]}`, message(request)},
		{"only items count, not what is in them", `{"role":"user","content":[{"type":"x","in":{"type":"tool_use"}}]}`, `{"role":"user","content":[{"type":"x","in":{"type":"tool_use"}}]}`},

		// None of the shapes.
		{"lines", `{"lines":3,"usage":{}}`, ""},
		{"string", `"x"`, ""}, {"null", `null`, ""}, {"list", `[{"content":[]}]`, ""}, {"empty", `{}`, ""},
		{"text content", `{"role":"assistant","content":"x"}`, `{"role":"assistant","content":[{"type":"text","text":"x"}]}`},
		{"choices is no list", `{"choices":{"message":{"content":"x"}}}`, ""},

		// OpenAI chat.
		{"chat", `{"id":"chatcmpl-1","object":"chat.completion","created":1796068329,"choices":[{"index":0,"message":{"role":"assistant","content":"hi","reasoning_content":"hm","tool_calls":[{"id":"c1","type":"function","function":{"name":"shell","arguments":"{\"b\": 1, \"a\": [2.50]}"}}]}}]}`,
			`{"id":"chatcmpl-1","role":"assistant","created":1796068329,"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"hi"},` + request + `]}`},
		{"chat, parts", `{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"refusal","refusal":"no"},"s",{"text":"b"}]}}]}`,
			message(`{"type":"text","text":"a"},{"type":"refusal","refusal":"no"},"s",{"type":"text","text":"b"}`)},
		{"chat, nothing said", `{"choices":[{"message":{"content":null,"reasoning_content":""}},{"message":{"content":""}}]}`, message(``)},
		{"chat, no choices", `{"id":"x","choices":[]}`, `{"id":"x","role":"assistant","content":[]}`},
		{"chat, delta", `{"choices":[{"delta":{"content":"a"}}]}`, message(`{"type":"text","text":"a"}`)},
		{"chat, message before delta", `{"choices":[{"delta":{"content":"a"},"message":{"content":"b"}}]}`, message(`{"type":"text","text":"b"}`)},
		{"chat, null message", `{"choices":[{"delta":{"content":"a"},"message":null}]}`, message(`{"type":"text","text":"a"}`)},
		{"chat, neither", `{"choices":[{"index":0},3]}`, message(`{"index":0},3`)},
		{"chat, several choices", `{"choices":[{"message":{"content":"a"}},{"message":{"content":"b"}}]}`, message(`{"type":"text","text":"a"},{"type":"text","text":"b"}`)},
		{"chat, calls of other shapes", `{"choices":[{"message":{"tool_calls":[{"type":"custom","custom":{}},{"type":"tool_use","name":"n"},7],"function_call":{"name":"f","arguments":"{}"}}}]}`,
			message(`{"type":"custom","custom":{}},{"type":"toolRequest","toolCall":{"status":"success","value":{"name":"n"}}},7,{"type":"toolRequest","toolCall":{"status":"success","value":{"name":"f","arguments":{}}}}`)},
		{"chat, reasoning", `{"choices":[{"message":{"reasoning":"r"}}]}`, message(`{"type":"thinking","thinking":"r"}`)},
		{"chat, reasoning parts", `{"choices":[{"message":{"content":[{"type":"reasoning","summary":[{"type":"summary_text","text":"r","signature":"s"}]},{"type":"text","text":"t"}]}}]}`,
			message(`{"type":"thinking","thinking":"r","signature":"s"},{"type":"text","text":"t"}`)},
		{"choices before content", `{"choices":[],"content":[{"type":"text","text":"a"}]}`, message(``)},

		// Arguments.
		{"arguments, an object", `{"output":[{"type":"function_call","call_id":"c1","name":"shell","arguments":{"b":1,"a":[2.50]}}]}`, message(request)},
		{"arguments, no JSON", `{"output":[{"type":"function_call","name":"n","arguments":"{\"a\":"}]}`, message(`{"type":"toolRequest","toolCall":{"status":"success","value":{"name":"n","arguments":"{\"a\":"}}}`)},
		{"arguments, an empty string", `{"output":[{"type":"function_call","name":"n","arguments":""}]}`, message(`{"type":"toolRequest","toolCall":{"status":"success","value":{"name":"n","arguments":""}}}`)},
		{"arguments, a JSON string", `{"output":[{"type":"function_call","name":"n","arguments":" \"x\" "}]}`, message(`{"type":"toolRequest","toolCall":{"status":"success","value":{"name":"n","arguments":"x"}}}`)},
		{"arguments, none", `{"output":[{"type":"function_call","name":"n"}]}`, message(`{"type":"toolRequest","toolCall":{"status":"success","value":{"name":"n"}}}`)},
		{"arguments, no name", `{"output":[{"type":"function_call","arguments":"{}"}]}`, message(`{"type":"toolRequest","toolCall":{"status":"success","value":{"arguments":{}}}}`)},

		// Anthropic.
		{"anthropic", `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"text","text":"hi","citations":null},{"type":"tool_use","id":"c1","name":"shell","input":{"b":1,"a":[2.50]}},{"type":"redacted_thinking","data":"x"}],"usage":{}}`,
			`{"id":"msg_1","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"text","text":"hi"},` + request + `,{"type":"redacted_thinking","data":"x"}]}`},
		{"anthropic, no thinking in it", `{"content":[{"type":"thinking","thinking":7},{"type":"thinking","thinking":"","signature":null}]}`, message(`{"type":"thinking","thinking":7},{"type":"thinking","thinking":""}`)},
		{"anthropic, a text that is none", `{"content":[{"type":"text","text":7},{"type":"text"}]}`, message(`{"type":"text","text":7},{"type":"text"}`)},
		{"anthropic, result of parts", `{"content":[{"type":"tool_result","content":[{"type":"text","text":"o"}]},{"type":"tool_result","tool_use_id":null}]}`,
			message(`{"type":"toolResponse","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"o"}]}}},{"type":"toolResponse","toolResult":{"status":"success","value":{"content":[]}}}`)},

		// OpenAI responses.
		{"responses", `{"id":"resp_1","created_at":1796068329,"output":[{"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"a"},"b"]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]},{"type":"function_call","id":"fc","call_id":"c1","name":"shell","arguments":"{\"b\":1,\"a\":[2.50]}"}]}`,
			`{"id":"resp_1","role":"assistant","created":1796068329,"content":[{"type":"thinking","thinking":"a\nb"},{"type":"text","text":"hi"},` + request + `]}`},
		{"responses, id without call_id", `{"output":[{"type":"function_call","id":"fc","name":"n"}]}`, message(`{"type":"toolRequest","id":"fc","toolCall":{"status":"success","value":{"name":"n"}}}`)},
		{"responses, hidden reasoning", `{"output":[{"type":"reasoning","summary":[],"encrypted_content":"x"}]}`, message(`{"type":"reasoning","summary":[],"encrypted_content":"x"}`)},
		{"responses, open reasoning", `{"output":[{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"r"}]}]}`, message(`{"type":"thinking","thinking":"r"}`)},
		{"responses, string content", `{"output":[{"type":"message","content":"s"},{"type":"message","content":7},{"type":"web_search_call"}]}`,
			message(`{"type":"text","text":"s"},{"type":"message","content":7},{"type":"web_search_call"}`)},

		// Google.
		{"google", `{"candidates":[{"content":{"role":"model","parts":[{"text":"hm","thought":true,"thoughtSignature":"sig"},{"text":"hi","thought":false},{"functionCall":{"id":"c1","name":"shell","args":{"b":1,"a":[2.50]}}},{"inlineData":{}}]}}],"responseId":"r"}`,
			message(`{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"text","text":"hi"},` + request + `,{"inlineData":{}}`)},
		{"google, no id", `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"n"}}]}}]}`, message(`{"type":"toolRequest","toolCall":{"status":"success","value":{"name":"n"}}}`)},
		{"google, a call that is none", `{"candidates":[{"content":{"parts":[{"functionCall":"x"},{"text":5,"thought":true}]}},{},null]}`, message(`{"functionCall":"x"},{"text":5,"thought":true}`)},

		// Id and time.
		{"created before created_at", `{"created":1,"created_at":2,"content":[]}`, `{"role":"assistant","created":1,"content":[]}`},
		{"created that is no number", `{"created":"1","created_at":2.5,"content":[]}`, `{"role":"assistant","created":2.5,"content":[]}`},
		{"neither is a number", `{"created":"1","created_at":null,"content":[]}`, `{"role":"assistant","content":[]}`},
		{"null id", `{"id":null,"content":[]}`, `{"role":"assistant","content":[]}`},
		{"id that is no string", `{"id":5,"content":[]}`, `{"id":5,"role":"assistant","content":[]}`},
	} {
		got, ok := Message(parse(t, c.in))
		if string(got) != c.want || ok != (c.want != "") {
			t.Errorf("%s:\n got %s %v\nwant %s", c.name, got, ok, c.want)
		}
	}
	if got, ok := Message(jsonval.Value{}); got != nil || ok {
		t.Errorf("missing data: %s %v", got, ok)
	}
}

// nested is n arrays in one another.
func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// TestMessageDepth holds a message to what can be read again, which is less
// than some sources hold.
func TestMessageDepth(t *testing.T) {
	deepest := jsonval.MaxDepth - valueDepth
	for _, c := range []struct{ name, in, want string }{
		{"object", `{"content":[{"type":"tool_use","input":` + nested(deepest) + `}]}`, `"arguments":[`},
		{"object, too deep", `{"content":[{"type":"tool_use","input":` + nested(deepest+1) + `}]}`, `"arguments":"[`},
		{"string", `{"output":[{"type":"function_call","arguments":"` + nested(deepest) + `"}]}`, `"arguments":[`},
		{"string, too deep", `{"output":[{"type":"function_call","arguments":"` + nested(deepest+1) + `"}]}`, `"arguments":"[`},
		{"string, too deep for any", `{"output":[{"type":"function_call","arguments":"` + nested(jsonval.MaxDepth+1) + `"}]}`, `"arguments":"[`},
		{"name", `{"content":[{"type":"tool_use","name":` + nested(deepest+1) + `}]}`, `"name":"[`},
		{"result", `{"content":[{"type":"tool_result","content":` + nested(deepest+1) + `,"is_error":` + nested(deepest+1) + `}]}`, `"isError":"[`},
		{"wide is not deep", `{"content":[{"type":"tool_use","input":[` + strings.Repeat("{},", 5000) + `0]}]}`, `"arguments":[`},
		{"members count", `{"content":[{"type":"tool_use","input":` + strings.Repeat(`{"a":`, deepest+1) + "0" + strings.Repeat("}", deepest+1) + `}]}`, `"arguments":"{`},
	} {
		got, ok := Message(parse(t, c.in))
		if !ok || !strings.Contains(string(got), c.want) {
			t.Errorf("%s: %.120s", c.name, got)
			continue
		}
		parse(t, string(got))
	}
}

func FuzzMessage(f *testing.F) {
	for _, s := range []string{
		`{"id":"m","role":"assistant","created":1,"content":[{"type":"text","text":"a"}]}`,
		`{"id":"c","created":1,"choices":[{"message":{"content":[{"type":"text","text":"a"}],"reasoning_content":"r","tool_calls":[{"id":"1","function":{"name":"n","arguments":"{\"a\":\"\\ud800\"}"}}]}}]}`,
		`{"choices":[{"delta":{"content":"a","tool_calls":[{"type":"tool_use"}]}},{"type":"tool_result"}]}`,
		`{"content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"tool_use","id":1,"input":{}},{"type":"tool_result","content":null,"is_error":{}}]}`,
		`{"created_at":1.5,"output":[{"type":"reasoning","summary":["a",{"text":"b"}]},{"type":"message","content":[{"type":"message","content":[{"type":"output_text"}]}]},{"type":"function_call","name":null}]}`,
		`{"candidates":[{"content":{"parts":[{"text":"a","thought":true},{"functionCall":{}},{}]}}]}`,
		`{"lines":3}`, `"x"`, `[]`, `{}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		var d, again jsonval.Doc
		if !utf8.ValidString(src) || d.Parse(src) != nil {
			return
		}
		got, ok := Message(d.Root())
		if !ok {
			if got != nil {
				t.Fatalf("%q is no message and gave %q", src, got)
			}
			return
		}
		if err := again.Parse(string(got)); err != nil {
			t.Fatalf("%q became %q: %v", src, got, err)
		}
		if !isGoose(again.Root()) {
			t.Fatalf("%q became %q, no message of Goose's", src, got)
		}
		if same := string(again.Root().AppendJSON(nil)); same != string(got) {
			t.Fatalf("%q became %q, not canonical", src, got)
		}
	})
}
