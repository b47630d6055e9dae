package values

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestTextTime(t *testing.T) {
	at := func(s string) int64 {
		v, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return v.UnixMicro()
	}
	good := map[string]string{
		"2026-10-03 16:55:31":                 "2026-10-03T16:55:31Z",
		"2026-10-03T16:55:31":                 "2026-10-03T16:55:31Z",
		" 2026-10-03T16:55:31Z\n":             "2026-10-03T16:55:31Z",
		"2026-10-03T16:55:31.1Z":              "2026-10-03T16:55:31.1Z",
		"2026-10-03T16:55:31.123456789+00:00": "2026-10-03T16:55:31.123456Z",
		"2026-10-03T16:55:31.999999999Z":      "2026-10-03T16:55:31.999999Z",
		"2026-10-03T16:55:31+05:30":           "2026-10-03T11:25:31Z",
		"2026-10-03T16:55:31 -0800":           "2026-10-04T00:55:31Z",
		"2024-02-29 00:00:00":                 "2024-02-29T00:00:00Z",
		"2000-01-01 00:00:00":                 "2000-01-01T00:00:00Z",
		"2099-12-31 23:59:59.999999":          "2099-12-31T23:59:59.999999Z",
		"1999-12-31T23:00:00-01:00":           "2000-01-01T00:00:00Z",
	}
	for in, want := range good {
		if got, ok := TextTime(in); !ok || got != at(want) {
			t.Errorf("TextTime(%q) = %d, %v; want %s", in, got, ok, want)
		}
	}
	for _, in := range []string{
		"", "now", "2026-10-03", "2026-10-03 16:55", "2026-10-03_16:55:31", "2026-13-03 16:55:31",
		"2026-02-29 00:00:00", "2026-10-32 16:55:31", "2026-10-03 24:00:00", "2026-10-03 16:60:31",
		"2026-10-03 16:55:60", "2026-10-03 16:55:31.", "2026-10-03 16:55:31.1234567890", "2026-10-03 16:55:31X",
		"2026-10-03 16:55:31+5", "2026-10-03 16:55:31+24:00", "2026-10-03 16:55:31+05:60", "2026-10-03 16:55:31 UTC",
		"1999-12-31 23:59:59.999999", "2100-01-01 00:00:00", "2000-01-01T00:00:00+00:01", "-026-10-03 16:55:31", "1796068329",
	} {
		if got, ok := TextTime(in); ok {
			t.Errorf("TextTime(%q) = %d, want none", in, got)
		}
	}
}

func TestNumberTime(t *testing.T) {
	for _, c := range []struct {
		in   int64
		want int64 // 0: none
	}{
		{0, 0}, {-1, 0}, {math.MinInt64, 0}, {math.MaxInt64, 0},
		{946684799, 0}, {946684800, 946684800_000_000},
		{4102444799, 4102444799_000_000}, {4102444800, 0},
		{10_000_000_000, 0}, // seconds, the year 2286
		{10_000_000_001, 0}, // milliseconds, 1970
		{946684799_999, 0},  // milliseconds, just before 2000
		{946684800_000, MinMicros},
		{1796068149_123, 1796068149_123_000},
		{4102444799_999, 4102444799_999_000}, {4102444800_000, 0},
	} {
		got, ok := IntTime(c.in)
		if ok != (c.want != 0) || ok && got != c.want {
			t.Errorf("IntTime(%d) = %d, %v; want %d", c.in, got, ok, c.want)
		}
	}
	if got, ok := FloatTime(1796068329.25); !ok || got != 1796068329_250_000 {
		t.Errorf("FloatTime keeps the fraction: %d %v", got, ok)
	}
	if got, ok := FloatTime(1796068149123.5); !ok || got != 1796068149_123_500 {
		t.Errorf("FloatTime of milliseconds keeps the fraction: %d %v", got, ok)
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1.5, 1e300, 946684799.999999} {
		if got, ok := FloatTime(v); ok {
			t.Errorf("FloatTime(%v) = %d, want none", v, got)
		}
	}
}

func TestCleanUTF8(t *testing.T) {
	for in, want := range map[string]string{
		"a\x00b":               "a\x00b",
		"\xff":                 "\uFFFD",
		"a\xff\xfeb":           "a\uFFFD\uFFFDb",
		"\xe2\x82":             "\uFFFD",
		"\xe2\x82x":            "\uFFFDx",
		"\xe2\x28\xa1":         "\uFFFD(\uFFFD",
		"\xf0\x9f\xa6":         "\uFFFD",
		"\xed\xa0\x80":         "\uFFFD\uFFFD\uFFFD", // a surrogate in UTF-8
		"\xc0\xaf":             "\uFFFD\uFFFD",
		"\xf0\x80\x80\x80":     "\uFFFD\uFFFD\uFFFD\uFFFD",
		"\xf4\x90\x80\x80":     "\uFFFD\uFFFD\uFFFD\uFFFD",
		"\xf0\x9f\xa6\xa2\xf0": "\U0001F9A2\uFFFD",
		"\uFFFD":               "\uFFFD",
	} {
		got, ok := CleanUTF8(in)
		if got != want || ok != (in == want) {
			t.Errorf("CleanUTF8(%q) = %q, %v; want %q", in, got, ok, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		clean, ok := CleanUTF8(s)
		if !utf8.ValidString(clean) || ok != utf8.ValidString(s) || ok && clean != s {
			t.Fatalf("CleanUTF8(%q) = %q, %v", s, clean, ok)
		}
	})
}

func TestTokens(t *testing.T) {
	some := func(v int64) Int { return Int{v, true} }
	none := Int{}
	for name, c := range map[string]struct{ in, want Tokens }{
		"cache inside input": {
			Tokens{some(1074), some(42), some(600), none, some(1116)},
			Tokens{some(474), some(42), some(600), none, some(1116)}},
		"cache above input": {
			Tokens{some(10), some(1), some(8), some(3), some(11)},
			Tokens{some(0), some(1), some(8), some(3), some(11)}},
		"negative cache is no cache": {
			Tokens{some(10), some(1), some(-8), some(-3), some(11)},
			Tokens{some(10), some(1), some(0), some(0), some(11)}},
		"negative input": {
			Tokens{some(-2147478642), some(50), some(0), some(5000), some(0)},
			Tokens{some(0), some(50), some(0), some(5000), some(50)}},
		"input unknown": {
			Tokens{none, some(5), some(3), none, none},
			Tokens{none, some(5), some(3), none, some(5)}},
		"all unknown": {Tokens{}, Tokens{}},
		"total of 0 is a sum": {
			Tokens{some(7), none, none, none, some(0)}, Tokens{some(7), none, none, none, some(7)}},
		"total of 1 stays": {
			Tokens{some(7), some(9), none, none, some(1)}, Tokens{some(7), some(9), none, none, some(1)}},
		"total negative, nothing to sum": {
			Tokens{none, none, some(4), none, some(-5)}, Tokens{none, none, some(4), none, none}},
		"sum beyond int64": {
			Tokens{some(math.MaxInt64), some(1), none, none, none},
			Tokens{some(math.MaxInt64), some(1), none, none, some(math.MaxInt64)}},
	} {
		got := c.in.Normalized()
		if !got.Total.OK {
			got.Total.V = 0
		}
		if got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

func TestRawPrefix(t *testing.T) {
	for n, want := range map[int]int{4095: 4095, 4096: 4096, 4097: 4096, 10000: 4096} {
		if got := len(RawPrefix(strings.Repeat("x", n))); got != want {
			t.Errorf("RawPrefix of %d bytes has %d, want %d", n, got, want)
		}
	}
	if got := RawPrefix(strings.Repeat("é", 3000) + "x"); len(got) != 4096 || !utf8.ValidString(got) {
		t.Errorf("RawPrefix cut a character: %d bytes", len(got))
	}
	if got := RawPrefix("x" + strings.Repeat("é", 3000)); len(got) != 4095 || !utf8.ValidString(got) {
		t.Errorf("RawPrefix cut a character: %d bytes", len(got))
	}
}

func TestRealText(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0.0", 1: "1.0", 1.5: "1.5", -0.25: "-0.25", 0.1: "0.1", 1796068329.5: "1796068329.5", 1234567.5: "1234567.5",
		0.0001: "0.0001", 0.00001: "1.0e-05", 999999999999999: "999999999999999.0", 1e15: "1.0e+15", 1.25e20: "1.25e+20", 1e300: "1.0e+300",
	} {
		if got := RealText(v); got != want {
			t.Errorf("RealText(%v) = %q, want %q", v, got, want)
		}
	}
}

func TestWholeFloat(t *testing.T) {
	for v, want := range map[float64]bool{1: true, 1.5: false, -9223372036854775808: true, 9223372036854775808: false, math.Inf(1): false} {
		if _, ok := WholeFloat(v); ok != want {
			t.Errorf("WholeFloat(%v) ok = %v", v, ok)
		}
	}
	if _, ok := WholeFloat(math.NaN()); ok {
		t.Error("WholeFloat(NaN) is whole")
	}
}
