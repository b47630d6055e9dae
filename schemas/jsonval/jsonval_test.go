package jsonval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func parse(t testing.TB, src string) Value {
	t.Helper()
	var d Doc
	if err := d.Parse(src); err != nil {
		t.Fatalf("Parse(%.80q): %v", src, err)
	}
	return d.Root()
}

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		` { "b" : 1.50 , "a" : [ 1 , -0 , 1E+400 , {} , [ ] ] } `: `{"b":1.50,"a":[1,-0,1E+400,{},[]]}`,
		`{"k":1,"k":2}`:          `{"k":1,"k":2}`,
		`"\/\u00e9\u0041\u007f"`: `"/éA` + "\x7f" + `"`,
		`"\u0000\u001F\u001f\u000a\u0008\u000c\u000d\u0009"`: `"\u0000\u001f\u001f\n\b\f\r\t"`,
		`"\"\\\b\f\n\r\t"`:               `"\"\\\b\f\n\r\t"`,
		`"\ud83e\udda2"`:                 `"🦢"`,
		`"\ud83e"`:                       "\"\uFFFD\"",
		`"\udda2\ud83e"`:                 "\"\uFFFD\uFFFD\"",
		`"\ud83ex"`:                      "\"\uFFFDx\"",
		`"\ud83e\u0041"`:                 "\"\uFFFDA\"",
		`"<>&` + "\u2028" + `"`:          `"<>&` + "\u2028" + `"`,
		"[1,\n2]":                        "[1,2]",
		`123456789012345678901234567890`: `123456789012345678901234567890`,
		`null`:                           `null`, ` true`: `true`, `false `: `false`,
		`{"\u0061":{"a":"\u0061"}}`: `{"a":{"a":"a"}}`,
	} {
		v := parse(t, in)
		if got := v.JSON(); got != want {
			t.Errorf("JSON of %s = %s, want %s", in, got, want)
		}
		if got := string(v.AppendJSON([]byte("x"))); got != "x"+want {
			t.Errorf("AppendJSON of %s = %s", in, got)
		}
		if got := parse(t, want).JSON(); got != want {
			t.Errorf("canonical form of %s is not stable: %s", want, got)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, in := range []string{
		"", " ", "{", "[", "[1", "[1,", "[1,]", "[,]", `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{1:1}`, `"`, `"\"`, `"\x"`,
		`"\u12"`, `"\u12g4"`, "\"\x00\"", "\"\n\"", "\"\x1f\"", "01", "-", "1.", ".5", "1e", "1e+", "+1", "NaN", "Infinity",
		"-Infinity", "nul", "nulll", "tru", "True", "[1]]", "{}{}", "\ufeff{}", "1 2", "'a'", "[1 2]", `{"a" 1}`, `"\ud83`,
	} {
		var d Doc
		if err := d.Parse(in); !errors.Is(err, ErrSyntax) {
			t.Errorf("Parse(%q) = %v, want ErrSyntax", in, err)
		}
		if d.Root().Kind() != Missing {
			t.Errorf("Parse(%q) failed and has a root", in)
		}
	}
}

func TestDepth(t *testing.T) {
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	mixed := func(n int) string {
		return strings.Repeat(`{"a":[`, n/2) + strings.Repeat(`]}`, n/2)
	}
	var d Doc
	for _, in := range []string{nest(1000), mixed(1000)} {
		if err := d.Parse(in); err != nil {
			t.Errorf("1,000 deep: %v", err)
		}
		if got := d.Root().JSON(); got != in {
			t.Errorf("1,000 deep does not come back")
		}
	}
	for _, in := range []string{nest(1001), mixed(1002), nest(100_000), strings.Repeat("[", 100_000)} {
		if err := d.Parse(in); !errors.Is(err, ErrDepth) {
			t.Errorf("%d bytes deep: %v, want ErrDepth", len(in), err)
		}
	}
	if err := d.Parse(strings.Repeat("[],", 0) + "[" + strings.Repeat("[],", 5000) + "[]]"); err != nil {
		t.Errorf("wide is not deep: %v", err)
	}
}

func TestGet(t *testing.T) {
	v := parse(t, `{"a":1,"b":{"c":"x\ny"},"a":2,"n":null,"\u0065":"escaped key"}`)
	if got, _ := v.Get("a").Int(); got != 2 {
		t.Errorf("the last of equal keys is read: got %d", got)
	}
	if got := v.Get("b").Get("c").Text(); got != "x\ny" {
		t.Errorf("got %q", got)
	}
	if got := v.Get("e").Text(); got != "escaped key" {
		t.Errorf("escaped key: got %q", got)
	}
	if v.Get("n").Present() || v.Get("n").Kind() != Null || v.Get("zz").Kind() != Missing {
		t.Error("null is there and not present; missing is missing")
	}
	if got := v.Get("zz").Get("deeper").JSON(); got != "" {
		t.Errorf("missing has JSON %q", got)
	}
	if v.Len() != 5 || v.Get("b").Len() != 1 {
		t.Errorf("Len = %d", v.Len())
	}
}

func TestNumbers(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "-0": 0, "12": 12, "9223372036854775807": math.MaxInt64, "-9223372036854775808": math.MinInt64,
		"1000.0": 1000, "1e3": 1000, "10E-1": 1, "9007199254740993.0": 9007199254740993,
	} {
		if got, ok := parse(t, in).Int(); !ok || got != want {
			t.Errorf("Int of %s = %d, %v", in, got, ok)
		}
	}
	for _, in := range []string{"1.5", "9223372036854775808", "-9223372036854775809", "1e19", "1e999999999", `"1"`, "true", "null", "[]"} {
		if got, ok := parse(t, in).Int(); ok {
			t.Errorf("Int of %s = %d", in, got)
		}
	}
	if _, ok := parse(t, "1e400").Float(); ok {
		t.Error("1e400 is no finite number")
	}
	if f, ok := parse(t, "0.002355").Float(); !ok || f != 0.002355 {
		t.Errorf("Float = %v %v", f, ok)
	}
	for in, want := range map[string]bool{"1796068329": true, `"2026-10-03 16:55:31"`: true, "0": false, "1e3": false, "null": false, `"x"`: false} {
		if _, ok := parse(t, in).Time(); ok != want {
			t.Errorf("Time of %s: %v", in, ok)
		}
	}
}

func TestReuse(t *testing.T) {
	var d Doc
	if err := d.Parse(`"\ud800"`); err != nil || !d.LoneSurrogate() {
		t.Fatalf("lone surrogate not reported: %v", err)
	}
	if err := d.Parse(`["\ud83e\udda2", "b"]`); err != nil || d.LoneSurrogate() {
		t.Fatalf("state of the text before: %v", err)
	}
	var got []string
	for v := range d.Root().Items() {
		got = append(got, v.Text())
	}
	if !reflect.DeepEqual(got, []string{"🦢", "b"}) {
		t.Errorf("got %q", got)
	}
}

func TestPlain(t *testing.T) {
	for c := 0; c < 256; c++ {
		want := c < 0x20 || c == '"' || c == '\\'
		for at := 0; at < 20; at++ {
			b := bytes.Repeat([]byte{'a'}, 20)
			b[at] = byte(c)
			got := plain(string(b))
			if want && got != at || !want && got != 20 {
				t.Fatalf("plain with %#x at %d = %d", c, at, got)
			}
		}
	}
}

func TestObjectBuilder(t *testing.T) {
	var b ObjectBuilder
	if b.JSON() != nil {
		t.Error("an empty builder has JSON")
	}
	v := parse(t, `{"x": [1, 2]}`)
	b.Text("a\n", "\x00é")
	b.Value("v", v.Get("x"))
	b.Value("gone", v.Get("gone"))
	b.Int("n", -1)
	b.Bool("t", true)
	b.Raw("r", `{"q":1}`)
	b.Raw("none", "")
	b.Members(`{"m":1,"n":2}`)
	b.Members(`{}`)
	want := `{"a\n":"\u0000é","v":[1,2],"n":-1,"t":true,"r":{"q":1},"m":1,"n":2}`
	if got := string(b.JSON()); got != want || got != string(b.JSON()) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	b.Reset()
	b.Members(`{"m":1}`)
	if got := string(b.JSON()); got != `{"m":1}` {
		t.Errorf("got %s", got)
	}
}

// decode reads with the standard library, numbers as tokens.
func decode(src []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.UseNumber()
	err = dec.Decode(&v)
	return v, err
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`[{"type":"text","text":"hi \ud83e\udda2"}]`, `{"a":1,"a":[true,null,-1.5e3]}`, `"\u0000\ud800\/"`, ` [ ] `, `{"":{"":""}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if !utf8.ValidString(src) {
			return
		}
		var d Doc
		err := d.Parse(src)
		if errors.Is(err, ErrDepth) {
			return
		}
		if valid := json.Valid([]byte(src)); valid != (err == nil) {
			t.Fatalf("Parse(%q) = %v, standard library says %v", src, err, valid)
		}
		if err != nil {
			return
		}
		canonical := d.Root().JSON()
		a, _ := decode([]byte(src))
		b, err := decode([]byte(canonical))
		if err != nil || !reflect.DeepEqual(a, b) {
			t.Fatalf("%q became %q: %v", src, canonical, err)
		}
		var again Doc
		if err := again.Parse(canonical); err != nil || again.spaced || again.Root().JSON() != canonical {
			t.Fatalf("%q is not canonical: %v", canonical, err)
		}
		if s, ok := a.(string); ok && d.Root().Text() != s {
			t.Fatalf("Text of %q = %q, want %q", src, d.Root().Text(), s)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	text := strings.Repeat("A tool result of some length, with \\\"quotes\\\" and\\nlines. ", 60)
	src := fmt.Sprintf(`[{"type":"toolResponse","id":"call_1","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"%s"}],"isError":false}}}]`, text)
	var d Doc
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Parse(src); err != nil {
			b.Fatal(err)
		}
		for v := range d.Root().Items() {
			v.Get("toolResult").Get("value").Get("content").JSON()
		}
	}
}
