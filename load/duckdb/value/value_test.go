package value_test

import (
	"encoding/json"
	"math"
	"math/big"
	"testing"
	"time"

	"gander/load/duckdb/value"
)

func TestAppend(t *testing.T) {
	huge, _ := new(big.Int).SetString("170141183460469231731687303715884105727", 10)
	tests := []struct {
		name       string
		v          any
		json, text string
	}{
		{"null", nil, `null`, ``},
		{"bool", true, `true`, `true`},
		{"int64 min", int64(math.MinInt64), `-9223372036854775808`, `-9223372036854775808`},
		{"beyond 2^53", int64(9007199254740993), `9007199254740993`, `9007199254740993`},
		{"uint64 max", uint64(math.MaxUint64), `18446744073709551615`, `18446744073709551615`},
		{"hugeint", huge, huge.String(), huge.String()},
		{"decimal", value.Decimal("-0.10"), `-0.10`, `-0.10`},
		{"double", 0.1, `0.1`, `0.1`},
		{"whole double", 3.0, `3.0`, `3.0`},
		{"large double", 1e21, `1e+21`, `1e+21`},
		{"small double", 1.5e-7, `1.5e-07`, `1.5e-07`},
		{"float keeps its own shortest form", float32(0.1), `0.1`, `0.1`},
		{"nan", math.NaN(), `null`, `nan`},
		{"inf", math.Inf(-1), `null`, `-inf`},
		{"text", "a<&>\"\\\u2028\U0001F600", "\"a<&>\\\"\\\\\u2028\U0001F600\"", "a<&>\"\\\u2028\U0001F600"},
		{"controls", "\x00\b\t\n\f\r\x1b\x7f", "\"\\u0000\\b\\t\\n\\f\\r\\u001b\x7f\"", "\x00\b\t\n\f\r\x1b\x7f"},
		{"invalid UTF-8", "a\xff\xfeb\xc3", "\"a\uFFFD\uFFFDb\uFFFD\"", "a\xff\xfeb\xc3"},
		{"U+FFFD stays", "\uFFFD", "\"\uFFFD\"", "\uFFFD"},
		{"json verbatim", value.JSON(`{"a":1.0,"a":1e400}`), `{"a":1.0,"a":1e400}`, `{"a":1.0,"a":1e400}`},
		{"json on one line", value.JSON("{\n\"a\":\r1}"), `{ "a": 1}`, "{\n\"a\":\r1}"},
		{"json that is none", value.JSON("NaN"), `"NaN"`, `NaN`},
		{"json with invalid UTF-8", value.JSON("\"\xff\""), "\"\uFFFD\"", "\"\xff\""},
		{"time", time.Date(2026, 10, 3, 16, 55, 31, 123456000, time.UTC), `"2026-10-03T16:55:31.123456"`, `2026-10-03T16:55:31.123456`},
		{"time, zeros cut", time.Date(2026, 10, 3, 16, 55, 31, 120000000, time.UTC), `"2026-10-03T16:55:31.12"`, `2026-10-03T16:55:31.12`},
		{"time, whole second", time.Date(2026, 10, 3, 16, 55, 30, 0, time.UTC), `"2026-10-03T16:55:30"`, `2026-10-03T16:55:30`},
		{"instant", value.Instant(time.Date(2026, 10, 3, 16, 55, 30, 0, time.FixedZone("", 3600))), `"2026-10-03T15:55:30Z"`, `2026-10-03T15:55:30Z`},
		{"blob", []byte{0, 0xab}, `"00ab"`, `00ab`},
		{"list", []any{int64(1), nil, "x"}, `[1,null,"x"]`, `[1,null,"x"]`},
		{"empty list", []any{}, `[]`, `[]`},
		{"struct in order", value.Struct{{"z", int64(1)}, {"a\"", value.JSON(`[2]`)}}, `{"z":1,"a\"":[2]}`, `{"z":1,"a\"":[2]}`},
		{"map", value.Map{{int64(2), "x"}, {int64(1), nil}}, `{"2":"x","1":null}`, `{"2":"x","1":null}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := string(value.AppendJSON(nil, tt.v))
			if got != tt.json {
				t.Errorf("AppendJSON = %s, want %s", got, tt.json)
			}
			if !json.Valid([]byte(got)) {
				t.Errorf("AppendJSON = %s: not JSON", got)
			}
			if got := string(value.AppendText([]byte("<"), tt.v)); got != "<"+tt.text {
				t.Errorf("AppendText = %q, want %q", got, "<"+tt.text)
			}
		})
	}
}

func TestAppendJSONRefusesForeignTypes(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("AppendJSON(int) did not panic")
		}
	}()
	value.AppendJSON(nil, 1)
}
