package provider

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"gander/schemas/jsonval"
)

func say(position int, role, text string) Item {
	return Item{Position: position, Role: role, Kind: Text, Text: text, Compare: trim(text)}
}

func note(position int, block string) Item {
	return Item{Position: position, Role: "user", Kind: TurnContext, Text: block, Compare: block}
}

func call(position int, role, id, name, arguments string) Item {
	return Item{position, role, ToolRequest, name, id, arguments, arguments}
}

func result(position int, role, id, name, text string) Item {
	return Item{position, role, ToolResponse, name, id, text, text}
}

func TestItems(t *testing.T) {
	const block = "<turn-context>\n<x>1</x>\n</turn-context>"
	const jsonBlock = `<turn-context>\n<x>1</x>\n</turn-context>`
	for _, c := range []struct {
		name, in string
		want     []Item
	}{
		{"chat", `{"model":"m","messages":[
			{"role":"system","content":"s"},
			{"role":"developer","content":"d"},
			{"role":"user","content":"do it\n` + jsonBlock + `"},
			{"role":"assistant","content":"yes","reasoning_content":"hm","tool_calls":[
				{"id":"c1","type":"function","function":{"name":"shell","arguments":"{\"b\": 1, \"a\": 2}"}},
				{"id":"c2","type":"function","function":{"name":"edit","arguments":"{}"}}]},
			{"role":"tool","content":"out","tool_call_id":"c1"},
			{"role":"tool","content":[{"type":"text","text":"a"},{"type":"image_url"},{"type":"text","text":"b"}],"tool_call_id":"c2"},
			{"role":"tool","content":null,"tool_call_id":"c9"},
			{"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"two"},{"type":"image_url"},{"type":"text","text":"three"}]}]}`,
			[]Item{
				say(2, "user", "do it"), note(2, block),
				say(3, "assistant", "yes"),
				{3, "assistant", ToolRequest, "shell", "c1", `{"b":1,"a":2}`, `{"a":2,"b":1}`},
				call(3, "assistant", "c2", "edit", "{}"),
				result(4, "tool", "c1", "shell", "out"), result(5, "tool", "c2", "edit", "a\nb"), result(6, "tool", "c9", "", ""),
				say(7, "user", "one\ntwo"), say(7, "user", "three"),
			}},
		{"responses", `{"input":[
			{"role":"system","content":[{"type":"input_text","text":"s"}]},
			{"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]},
			{"type":"reasoning","summary":["r"]},
			{"role":"assistant","content":[{"type":"output_text","text":"c"}]},
			{"type":"function_call","call_id":"c1","id":"f","name":"shell","arguments":"{\"a\":1}"},
			{"type":"function_call_output","call_id":"c1","output":"out"},
			{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"x"},{"type":"input_image"}]},
			{"type":"function_call_output","call_id":"c1","output":{"k":1}},
			{"type":"item_reference","id":"x"},
			{"role":"user","content":"d"}]}`,
			[]Item{
				say(1, "user", "a\nb"), say(3, "assistant", "c"),
				call(4, "assistant", "c1", "shell", `{"a":1}`),
				result(5, "tool", "c1", "shell", "out"), result(6, "tool", "c1", "shell", "x"), result(7, "tool", "c1", "shell", `{"k":1}`),
				say(9, "user", "d"),
			}},
		{"responses, one string", `{"input":"hello\n` + jsonBlock + `"}`, []Item{say(0, "user", "hello"), note(0, block)}},
		{"anthropic", `{"system":[{"type":"text","text":"s"}],"messages":[
			{"role":"user","content":[{"type":"text","text":"a","cache_control":{}}]},
			{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"b"},{"type":"tool_use","id":"c1","name":"shell","input":{"a":1}},{"type":"tool_use","id":"c2","name":"n"}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"out"},{"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"x"},{"type":"image"},{"type":"text","text":"y"}],"is_error":true},{"type":"image","source":{}},{"type":"text","text":"c"}]}]}`,
			[]Item{
				say(0, "user", "a"), say(1, "assistant", "b"), call(1, "assistant", "c1", "shell", `{"a":1}`),
				{1, "assistant", ToolRequest, "n", "c2", "", "{}"},
				result(2, "user", "c1", "shell", "out"), result(2, "user", "c2", "n", "x\ny"), say(2, "user", "c"),
			}},
		{"google", `{"contents":[
			{"role":"user","parts":[{"text":"a"},{"text":"b"}]},
			{"role":"model","parts":[{"text":"t","thought":true},{"text":"c"},{"functionCall":{"name":"shell","args":{"a":1}}},{"functionCall":{"id":"c2","name":"edit"}}]},
			{"role":"user","parts":[
				{"functionResponse":{"name":"shell","response":{"content":{"text":"out"}}}},
				{"functionResponse":{"id":"c2","name":"edit","response":{"content":"two"}}},
				{"functionResponse":{"name":"c2","response":{"content":[{"text":"x"},{"text":"y"}]}}},
				{"functionResponse":{"name":"gone","response":{"result":5}}},
				{"inlineData":{}}]}]}`,
			[]Item{
				say(0, "user", "a\nb"), say(1, "model", "c"), call(1, "model", "", "shell", `{"a":1}`), {1, "model", ToolRequest, "edit", "c2", "", "{}"},
				result(2, "user", "", "shell", "out"), result(2, "user", "c2", "edit", "two"),
				result(2, "user", "c2", "edit", "x\ny"), result(2, "user", "gone", "", `{"result":5}`),
			}},

		{"messages before input and contents", `{"messages":[{"role":"user","content":"m"}],"input":[{"role":"user","content":"i"}],"contents":[]}`, []Item{say(0, "user", "m")}},
		{"a count is no conversation", `{"messages":3,"input":[{"role":"user","content":"i"}]}`, []Item{say(0, "user", "i")}},
		{"a list before a string", `{"input":"s","contents":[{"parts":[{"text":"c"}]}]}`, []Item{say(0, "", "c")}},
		{"none", `{"messages":3}`, nil}, {"no object", `[{"role":"user","content":"x"}]`, nil}, {"nothing", `null`, nil},
		{"content before parts", `{"messages":[{"role":"user","content":null,"parts":[{"text":"p"}]},{"role":"user","content":"c","parts":[{"text":"p"}]}]}`, []Item{say(1, "user", "c")}},

		{"blank text is none", `{"messages":[{"role":"user","content":" \n\u3000"},{"role":"user","content":""},{"role":"user","content":[]},{"role":"user","content":" x "}]}`, []Item{say(3, "user", " x ")}},
		{"a result answers a call before it", `{"messages":[{"role":"tool","tool_call_id":"c","content":"a"},{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"n","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"b"}]}`,
			[]Item{result(0, "tool", "c", "", "a"), call(1, "assistant", "c", "n", "{}"), result(2, "tool", "c", "n", "b")}},
		{"the last call of an id", `{"messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"n","arguments":"{}"}},{"id":"c","function":{"name":"m","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"b"}]}`,
			[]Item{call(0, "assistant", "c", "n", "{}"), call(0, "assistant", "c", "m", "{}"), result(1, "tool", "c", "m", "b")}},
		{"a call without id answers nothing", `{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"n","arguments":"{}"}}]},{"role":"tool","content":"b"}]}`,
			[]Item{call(0, "assistant", "", "n", "{}"), result(1, "tool", "", "", "b")}},
		{"an id that is no string", `{"messages":[{"role":"assistant","tool_calls":[{"id":7,"function":{"name":"n","arguments":"{}"}}]},{"role":"tool","tool_call_id":7,"content":"b"}]}`,
			[]Item{call(0, "assistant", "7", "n", "{}"), result(1, "tool", "7", "n", "b")}},
		{"arguments", `{"input":[{"type":"function_call","arguments":"{\"a\":"},{"type":"function_call","arguments":null},{"type":"function_call","arguments":"null"},{"type":"function_call","arguments":[ 1 ]},{"type":"function_call","role":"r","arguments":" {} "}]}`,
			[]Item{call(0, "assistant", "", "", `"{\"a\":"`), {1, "assistant", ToolRequest, "", "", "", "{}"}, {2, "assistant", ToolRequest, "", "", "", "{}"}, call(3, "assistant", "", "", "[1]"), call(4, "r", "", "", "{}")}},
		{"an error", `{"messages":[{"role":"tool","tool_call_id":"c","content":"The tool call returned the following error:\n-32603: -32602: no"}]}`,
			[]Item{{0, "tool", ToolResponse, "", "c", "The tool call returned the following error:\n-32603: -32602: no", "no"}}},
		{"wrong types", `{"messages":[1,null,[],{},{"role":5,"content":5},{"role":"user","content":{"text":"x"}},{"role":"user","content":[1,"s",null,{"type":5},{"type":"text","text":5},{"type":"tool_use","name":5}],"tool_calls":[1,{"function":"f"}]},{"type":"message","content":"ok"},{"type":["message"],"content":"ok too"}]}`,
			[]Item{{6, "user", ToolRequest, "", "", "", "{}"}, say(7, "", "ok"), say(8, "", "ok too")}},

		{"context that the assistant says", `{"messages":[{"role":"assistant","content":"` + jsonBlock + `"}]}`, []Item{say(0, "assistant", block)}},
		{"context alone", `{"messages":[{"role":"user","content":"` + jsonBlock + `"}]}`, []Item{note(0, block)}},
		{"context as a part", `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"` + jsonBlock + `"}]}]}`, []Item{say(0, "user", "a"), note(0, block)}},
		{"prompts and contexts as parts", `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"text","text":"` + jsonBlock + `"},{"type":"text","text":"c"},{"type":"text","text":"` + jsonBlock + `"}]}]}`,
			[]Item{say(0, "user", "a\nb"), note(0, block), say(0, "user", "c"), note(0, block)}},
		{"context as a part of the assistant", `{"messages":[{"role":"assistant","content":[{"type":"text","text":"` + jsonBlock + `"},{"type":"text","text":"a"}]}]}`, []Item{say(0, "assistant", block+"\na")}},
	} {
		got := slices.Collect(Items(parse(t, c.in)))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	if got := slices.Collect(Items(jsonval.Value{})); got != nil {
		t.Errorf("missing input: %v", got)
	}
}

// TestItemsStop stops after every number of items there is.
func TestItemsStop(t *testing.T) {
	in := parse(t, `{"messages":[{"role":"user","content":[{"type":"text","text":"a\n<turn-context>x</turn-context>\n<turn-context>y</turn-context>"},{"type":"tool_result"},{"type":"tool_use"}]},{"role":"user","content":"b"}]}`)
	all := slices.Collect(Items(in))
	if len(all) != 6 {
		t.Fatalf("%d items: %v", len(all), all)
	}
	for n := 1; n <= len(all); n++ {
		var got []Item
		for it := range Items(in) {
			if got = append(got, it); len(got) == n {
				break
			}
		}
		if diff := cmp.Diff(all[:n], got); diff != "" {
			t.Errorf("the first %d: %s", n, diff)
		}
	}
}

func TestSplitContext(t *testing.T) {
	const a, b = "<turn-context>\na\n</turn-context>", "<turn-context>b</turn-context>"
	for _, c := range []struct {
		text, before string
		blocks       []string
	}{
		{"", "", nil},
		{"plain", "plain", nil},
		{a, "", []string{a}},
		{"x\n" + a, "x", []string{a}},
		{"x\n\n" + a, "x\n", []string{a}}, // only the joining line break goes
		{"\n" + a, "", []string{a}},
		{"x" + a, "x" + a, nil},                 // begins no line
		{"x\n " + a, "x\n " + a, nil},           // nor here
		{"x\n" + a + " ", "x\n" + a + " ", nil}, // does not run to the end
		{a + "\nx", a + "\nx", nil},
		{"x\n" + a + "\n" + b, "x", []string{a, b}},
		{a + "\n" + b, "", []string{a, b}},
		{"x\n" + a + b, "x\n" + a + b, nil},                               // b begins no line, and a ends before the end
		{"x\n" + a + "\ny\n" + b, "x\n" + a + "\ny", []string{b}},         // a is the user's
		{"see <turn-context>:\n" + a, "see <turn-context>:", []string{a}}, // so is a mention
		{"<turn-context>\nx\n" + a, "<turn-context>\nx", []string{a}},     // and one that begins a line
		{"<turn-context>\nsee <turn-context>\n</turn-context>", "", []string{"<turn-context>\nsee <turn-context>\n</turn-context>"}},
		{"x</turn-context>", "x</turn-context>", nil},
		{"</turn-context>", "</turn-context>", nil},
		{a + "</turn-context>", a + "</turn-context>", nil}, // closed twice
		{"x\n<turn-context >y</turn-context>", "x\n<turn-context >y</turn-context>", nil},
	} {
		before, blocks := splitContext(c.text)
		if before != c.before || !slices.Equal(blocks, c.blocks) {
			t.Errorf("%q: got %q and %q", c.text, before, blocks)
		}
	}
}

func TestResultText(t *testing.T) {
	for in, want := range map[string]string{
		"":      "",
		"plain": "plain",
		" x ":   " x ",
		"The tool call returned the following error:\n-32603: x":  "x",
		"The tool call returned the following error:\nx":          "x",
		"The tool call returned the following error: x":           "The tool call returned the following error: x",
		"x\nThe tool call returned the following error:\n-32603:": "x\nThe tool call returned the following error:\n-32603:",
		"-32603: -32602: -32000: x":                               "x",
		"-32603: ":                                                "",
		"-32603:x":                                                "-32603:x",
		"-3260: x":                                                "-3260: x",
		"-326033: x":                                              "-326033: x",
		"-3260a: x":                                               "-3260a: x",
		"32603: x":                                                "32603: x",
		"x -32603: y":                                             "x -32603: y",
		"Error: -32603: x":                                        "x",
		"Error: x":                                                "x",
		"Error: Error: x":                                         "Error: x",
		"-32603: Error: x":                                        "Error: x",
		"error: x":                                                "error: x",
		"Error:x":                                                 "Error:x",
		"(empty result)":                                          "",
		"(empty result) ":                                         "(empty result) ",
		"Tool call is done.":                                      "",
		"Tool call is done":                                       "Tool call is done",
	} {
		if got := ResultText(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestLastUser(t *testing.T) {
	for in, want := range map[string]string{
		`{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b\n<turn-context>c</turn-context>"},{"role":"assistant","content":"d"}]}`: "b\n<turn-context>c</turn-context>",
		`{"messages":[{"role":"user","content":"a"},{"role":"user","content":""},{"role":"user","content":[{"type":"tool_result","content":"x"}]}]}`:    "a",
		`{"messages":[{"role":"user","content":[{"text":"a"},{"type":"image"},{"text":5},"s",{"type":"x","text":"b"}]}]}`:                               "a\nb",
		`{"contents":[{"role":"user","parts":[{"text":"a"},{"text":"b"}]},{"role":"model","parts":[{"text":"c"}]}]}`:                                    "a\nb",
		`{"messages":[{"role":"user","content":null,"parts":[{"text":"a"}]}]}`:                                                                          "",
		`{"messages":[{"role":"user","content":" "}]}`:                                                                                                  " ",
		`{"messages":[{"role":"User","content":"a"},{"content":"b"},5]}`:                                                                                "",
		`{"messages":5,"input":[{"role":"user","content":"a"}]}`:                                                                                        "",
		`{"messages":null,"input":[{"role":"user","content":"a"}]}`:                                                                                     "a",
		`{"messages":[],"input":[{"role":"user","content":"a"}]}`:                                                                                       "",
		`{"input":"a"}`: "",
		`{"messages":[{"role":"user","content":{"text":"a"}},{"role":"user","content":7}]}`: "",
		`7`: "",
	} {
		if got := LastUser(parse(t, in)); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for in, want := range map[string]int64{
		`{"messages":[1,2,3]}`:             3,
		`{"messages":[]}`:                  0,
		`{"messages":7}`:                   7,
		`{"messages":7.0}`:                 7,
		`{"messages":7.5}`:                 -1,
		`{"messages":7.5,"input":[1]}`:     -1,
		`{"messages":1e30}`:                -1,
		`{"messages":"7","input":[1]}`:     1,
		`{"messages":null,"contents":[1]}`: 1,
		`{"messages":0,"input":[1]}`:       0,
		`{"messages":true,"contents":2}`:   2,
		`{"input":"x"}`:                    -1,
		`{}`:                               -1,
		`[1]`:                              -1,
	} {
		n, ok := Count(parse(t, in))
		if ok != (want >= 0) || ok && n != want {
			t.Errorf("%s: got %d %v, want %d", in, n, ok, want)
		}
	}
}

func FuzzItems(f *testing.F) {
	for _, s := range []string{
		`{"messages":[{"role":"system","content":"s"},{"role":"user","content":"a\n<turn-context>b</turn-context>"},{"role":"assistant","content":null,"tool_calls":[{"id":"1","function":{"name":"n","arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"1","content":"Error: -32603: x"}]}`,
		`{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]},{"type":"reasoning"},{"type":"function_call","call_id":"1","arguments":"x"},{"type":"function_call_output","call_id":"1","output":[{"text":"a"}]}]}`,
		`{"input":"a"}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"<turn-context></turn-context>"},{"type":"tool_result","tool_use_id":1,"content":{}}]},{"role":"assistant","content":[{"type":"tool_use","id":[],"input":{"b":1,"a":2,"a":3}}]}]}`,
		`{"contents":[{"role":"model","parts":[{"text":"t","thought":true},{"functionCall":{"name":"n"}}]},{"role":"user","parts":[{"functionResponse":{"name":"n","response":{"content":{"text":"a"}}}}]}]}`,
		`{"messages":3}`, `[]`, `"x"`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		var d, again jsonval.Doc
		if !utf8.ValidString(src) || d.Parse(src) != nil {
			return
		}
		n, ok := Count(d.Root())
		last := -1
		for it := range Items(d.Root()) {
			if it.Position < last || ok && it.Position > 0 && body(d.Root(), jsonval.Array, jsonval.Number).Is(jsonval.Array) && int64(it.Position) >= n {
				t.Fatalf("%q: position %d after %d of %d", src, it.Position, last, n)
			}
			last = it.Position
			if !utf8.ValidString(it.Text) || !utf8.ValidString(it.Compare) {
				t.Fatalf("%q: %+v is no UTF-8", src, it)
			}
			switch it.Kind {
			case Text:
				if it.Compare == "" || it.Compare != trim(it.Text) {
					t.Fatalf("%q: %+v", src, it)
				}
			case TurnContext:
				if it.Role != "user" || !strings.HasPrefix(it.Text, contextOpen) || !strings.HasSuffix(it.Text, contextClose) {
					t.Fatalf("%q: %+v", src, it)
				}
			case ToolRequest:
				if again.Parse(it.Compare) != nil || SortedJSON(again.Root()) != it.Compare {
					t.Fatalf("%q: %+v is not in order", src, it)
				}
			case ToolResponse:
				if isCode(it.Compare) {
					t.Fatalf("%q: %+v keeps a code", src, it)
				}
			default:
				t.Fatalf("%q: kind %q", src, it.Kind)
			}
		}
		_ = LastUser(d.Root())
	})
}
