package transform

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gander/schemas/jsonval"
)

func assemble(t testing.TB, chunks ...string) *assembler {
	t.Helper()
	a := &assembler{}
	for _, c := range chunks {
		var d jsonval.Doc
		if err := d.Parse(c); err != nil {
			t.Fatalf("%s: %v", c, err)
		}
		a.push(d.Root())
	}
	return a
}

func TestAssemble(t *testing.T) {
	text := func(id, s string) string {
		return `{"id":"` + id + `","role":"assistant","created":1,"content":[{"type":"text","text":"` + s + `"}]}`
	}
	think := func(id, s, signature string) string {
		return `{"id":"` + id + `","role":"assistant","content":[{"type":"thinking","thinking":"` + s + `","signature":"` + signature + `"}]}`
	}
	for _, c := range []struct {
		name   string
		chunks []string
		want   []string // the content of each message
	}{
		{"text grows", []string{text("a", "Hel"), text("a", "lo")}, []string{`[{"type":"text","text":"Hello"}]`}},
		{"another id", []string{text("a", "x"), text("b", "y")}, []string{`[{"type":"text","text":"x"}]`, `[{"type":"text","text":"y"}]`}},
		{"an id that comes back after another", []string{text("a", "x"), text("b", "y"), text("a", "z")},
			[]string{`[{"type":"text","text":"x"}]`, `[{"type":"text","text":"y"}]`, `[{"type":"text","text":"z"}]`}},
		{"no id stays apart", []string{`{"role":"assistant","content":[{"type":"text","text":"x"}]}`, `{"role":"assistant","content":[{"type":"text","text":"y"}]}`},
			[]string{`[{"type":"text","text":"x"}]`, `[{"type":"text","text":"y"}]`}},
		{"the role does not matter", []string{text("a", "x"), `{"id":"a","role":"user","content":[{"type":"text","text":"y"}]}`}, []string{`[{"type":"text","text":"xy"}]`}},
		{"a chunk of two blocks only adds", []string{text("a", "x"), `{"id":"a","role":"assistant","content":[{"type":"text","text":"y"},{"type":"text","text":"z"}]}`},
			[]string{`[{"type":"text","text":"x"},{"type":"text","text":"y"},{"type":"text","text":"z"}]`}},
		{"only the last block grows", []string{text("a", "x"), `{"id":"a","role":"assistant","content":[{"type":"image","data":"","mimeType":"m"}]}`, text("a", "y")},
			[]string{`[{"type":"text","text":"x"},{"type":"image","data":"","mimeType":"m"},{"type":"text","text":"y"}]`}},
		{"an audience change", []string{text("a", "x"), `{"id":"a","role":"assistant","content":[{"type":"text","text":"y","annotations":{"audience":["user"]}}]}`, `{"id":"a","role":"assistant","content":[{"type":"text","text":"z","annotations":{"audience":["user"]}}]}`},
			[]string{`[{"type":"text","text":"x"},{"type":"text","text":"yz","annotations":{"audience":["user"]}}]`}},
		{"a null audience is none", []string{text("a", "x"), `{"id":"a","role":"assistant","content":[{"type":"text","text":"y","annotations":{"audience":null,"priority":1}}]}`},
			[]string{`[{"type":"text","text":"xy"}]`}},
		{"thinking takes the signature", []string{think("a", "x", ""), think("a", "y", ""), think("a", "", "sig")}, []string{`[{"type":"thinking","thinking":"xy","signature":"sig"}]`}},
		{"an unsigned delta after a signed block", []string{think("a", "x", "sig"), think("a", "y", "")},
			[]string{`[{"type":"thinking","thinking":"x","signature":"sig"},{"type":"thinking","thinking":"y","signature":""}]`}},
		{"the same signature grows", []string{think("a", "x", "sig"), think("a", "y", "sig")}, []string{`[{"type":"thinking","thinking":"xy","signature":"sig"}]`}},
		{"text after thinking", []string{think("a", "x", ""), text("a", "y")}, []string{`[{"type":"thinking","thinking":"x","signature":""},{"type":"text","text":"y"}]`}},
		{"an empty chunk of another id is a message", []string{text("a", "x"), `{"id":"b","role":"assistant","content":[]}`}, []string{`[{"type":"text","text":"x"}]`, `[]`}},
		{"an empty chunk of its id adds nothing", []string{text("a", "x"), `{"id":"a","role":"assistant","content":[]}`, text("a", "y")}, []string{`[{"type":"text","text":"xy"}]`}},
		{"an empty chunk with inference is no message", []string{text("a", "x"), `{"id":"b","role":"assistant","content":[],"metadata":{"inference":{}}}`}, []string{`[{"type":"text","text":"x"}]`}},
		{"even where there is none to tell", []string{`{"id":"b","role":"assistant","content":[],"metadata":{"inference":{}}}`}, nil},
		{"the limit flag about a message that is there", []string{text("a", "x"), `{"id":"a","role":"assistant","content":[],"metadata":{"outputTokenLimitReached":true}}`}, []string{`[{"type":"text","text":"x"}]`}},
		{"the limit flag about another id is kept", []string{text("a", "x"), `{"id":"b","role":"assistant","content":[],"metadata":{"outputTokenLimitReached":true}}`}, []string{`[{"type":"text","text":"x"}]`, `[]`}},
		{"the limit flag about another role is kept", []string{text("a", "x"), `{"id":"a","role":"user","content":[],"metadata":{"outputTokenLimitReached":true}}`}, []string{`[{"type":"text","text":"x"}]`, `[]`}},
		{"text that is no string stays apart", []string{text("a", "x"), `{"id":"a","role":"assistant","content":[{"type":"text","text":7}]}`}, []string{`[{"type":"text","text":"x"},{"type":"text","text":7}]`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, m := range assemble(t, c.chunks...).messages {
				got = append(got, m.content())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAssembleKeepsTheFirstChunk(t *testing.T) {
	m := assemble(t,
		`{"id":"a","role":"assistant","created":1790841600,"content":[{"type":"text","text":"x"}],"metadata":{"userVisible":false}}`,
		`{"id":"a","role":"user","created":1790841700,"content":[{"type":"text","text":"y"}],"metadata":{"userVisible":true}}`).messages[0]
	if m.role.s != "assistant" || m.created.V != 1790841600_000_000 || m.userVisible.v || !m.userVisible.ok {
		t.Errorf("%+v", m)
	}
}

// However a text is cut into chunks, the whole of it comes back.
func TestAssembleAnyCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.String(), 1, 8).Draw(t, "parts")
		a := &assembler{}
		whole := ""
		for _, p := range parts {
			var d jsonval.Doc
			src := append([]byte(`{"id":"a","role":"assistant","content":[{"type":"text","text":`), jsonval.AppendQuoted(nil, p)...)
			if err := d.Parse(string(src) + "}]}"); err != nil {
				t.Fatal(err)
			}
			a.push(d.Root())
			whole += p
		}
		var d jsonval.Doc
		if err := d.Parse(a.messages[0].content()); err != nil {
			t.Fatal(err)
		}
		for b := range d.Root().Items() {
			if got := b.Get("text").Text(); got != whole || len(a.messages) != 1 {
				t.Fatalf("%q became %q", whole, got)
			}
		}
	})
}
