package transform

import (
	"strings"
	"testing"
)

const trustRel = ".config/goose/roaming_trust.json"

func TestRoamingTrust(t *testing.T) {
	const from = " (from " + trustRel + ", file mtime)"
	for _, c := range []struct {
		name, text string
		records    int64
		events     []string // line, then what the text has between its prefix and from
		issues     string
	}{
		{"as Goose writes it", "{\n  \"allowed\": [\n    \"k1\",\n    \"k2\"\n  ],\n  \"revoked_keys\": [\"k3\"]\n}", 3,
			[]string{"1 allowed=k1", "2 allowed=k2", "3 revoked_keys=k3"}, ""},
		{"items count in stored order", `{"revoked_keys":["a"],"allowed":["b"]}`, 2, []string{"1 revoked_keys=a", "2 allowed=b"}, ""},
		{"no text", `{"allowed":[1.50,{"k": [null]},null,""]}`, 4, []string{"1 allowed=1.50", `2 allowed={"k":[null]}`, "3 allowed=null", "4 allowed="}, ""},
		{"no lists", `{"allowed":null,"revoked_keys":[]}`, 0, nil, ""},
		{"not a list", `{"allowed":"k","revoked_keys":["a"]}`, 1, []string{"1 revoked_keys=a"}, `bad_value ¦ "k"`},
		{"other keys", `{"policy":"bearer","allowed":["k"],"revoked_tokens":["t"]}`, 1, []string{"1 allowed=k"},
			`unknown_key ¦ {"policy":"bearer"}` + "\n" + `unknown_key ¦ {"revoked_tokens":["t"]}`},
		{"a key twice", `{"allowed":["a"],"allowed":["b"]}`, 1, []string{"1 allowed=b"}, `duplicate_key ¦ {"allowed":["a"]}`},
		{"an item twice", `{"allowed":["a","a"]}`, 2, []string{"1 allowed=a", "2 allowed=a"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := readDocument(t, settingsInfo("roaming_trust", trustRel), func(i FileInfo) TextStore { return NewRoamingTrust(i) }, c.text, c.records)
			var events, rows []string
			for _, e := range c.events {
				line, setting, _ := strings.Cut(e, " ")
				level, key, _ := strings.Cut(setting, "=")
				events = append(events, "permission_setting ¦ "+fileChanged+" ¦ permission setting: roaming_trust."+setting+from+" ¦ "+line)
				rows = append(rows, "roaming_trust ¦ roaming_trust ¦ "+level+" ¦ "+key+" ¦ "+fileChanged+" ¦ ∅ ¦ /home/u/"+trustRel+" ¦ "+line)
			}
			check(t, "events", out.rows("events", "kind", "occurred_at", "text", "source_line"), strings.Join(events, "\n"))
			check(t, "rows", out.rows("permissions", "store", "category", "level", "subject", "changed_at", "extra", "source_file", "source_line"), strings.Join(rows, "\n"))
			check(t, "issues", out.rows("issues", "code", "raw"), c.issues)
		})
	}
}

func TestRoamingDirectory(t *testing.T) {
	const entry = `{"endpoint_id":"e1","label":null,"direction":"inbound","agent_id":"a","first_seen_ms":1790000000123,"last_seen_ms":1790000001000,"connected":true}`
	const row = "e1 ¦ ∅ ¦ inbound ¦ a ¦ 2026-09-21 14:13:20.123 ¦ 2026-09-21 14:13:21 ¦ true ¦ 1"
	const none = " ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ "
	for _, c := range []struct {
		name, text string
		records    int64
		rows       string
		issues     string
	}{
		{"a list", "[" + entry + "]", 1, row, ""},
		{"a list under peers", `{"peers":[` + entry + `]}`, 1, row, ""},
		{"a list under entries, and more", `{"version":1,"entries":[` + entry + `]}`, 1, row, `unknown_key ¦ {"version":1} ¦ ∅`},
		{"by endpoint", `{"other":` + entry + `,"e2":{}}`, 2, row + "\ne2" + none + "2", ""},
		{"by endpoint, one called peers", `{"peers":{}}`, 1, "peers" + none + "1", ""},
		{"no object", `[1,{}]`, 2, "∅" + none + "2", "bad_item ¦ 1 ¦ 1"},
		{"no object under an endpoint", `{"e":"x"}`, 1, "", `bad_item ¦ "x" ¦ 1`},
		{"a key without a column", `[{"endpoint_id":"e","scope":"control"}]`, 1, "e" + none + "1", `unknown_key ¦ {"scope":"control"} ¦ 1`},
		{"no text", `[{"endpoint_id":7,"connected":"yes"}]`, 1, "7" + none + "1", "bad_value ¦ yes ¦ 1"},
		{"times of the range", `[{"first_seen_ms":946684800000,"last_seen_ms":4102444799999}]`, 1, "∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ 2000-01-01 00:00:00 ¦ 2099-12-31 23:59:59.999 ¦ ∅ ¦ 1", ""},
		{"a time before it", `[{"first_seen_ms":946684799999}]`, 1, "∅" + none + "1", "bad_time ¦ 946684799999 ¦ 1"},
		{"times beyond it", `[{"first_seen_ms":4102444800000,"last_seen_ms":18446744073709551615}]`, 1, "∅" + none + "1", "bad_time ¦ 4102444800000 ¦ 1\nbad_time ¦ 18446744073709551615 ¦ 1"},
		{"no times", `[{"first_seen_ms":0,"last_seen_ms":-1}]`, 1, "∅" + none + "1", "bad_time ¦ 0 ¦ 1\nbad_time ¦ -1 ¦ 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := readDocument(t, settingsInfo("roaming_directory", "d.json"), func(i FileInfo) TextStore { return NewRoamingDirectory(i) }, c.text, c.records)
			check(t, "rows", out.rows("roaming_peers", "endpoint_id", "label", "direction", "agent_id", "first_seen", "last_seen", "connected", "source_line"), c.rows)
			check(t, "issues", out.rows("issues", "code", "raw", "source_line"), c.issues)
			if out.WithRows != 0 || out.Events != out.Bad {
				t.Errorf("entries gave events: %+v", out.Tally)
			}
			if len(out.tables["permissions"]) != 0 {
				t.Error("entries gave permissions")
			}
		})
	}
}
