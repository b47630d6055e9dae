package transform

import (
	"strings"
	"testing"
)

const toolPermissionsRel = ".config/goose/permissions/tool_permissions.json"

func TestToolPermissions(t *testing.T) {
	const from = " (from " + toolPermissionsRel + ")"
	for _, c := range []struct {
		name, text string
		records    int64
		events     string // time and text up to from, a line each
		rows       string // level, subject, changed_at, extra, source_line
		issues     string
	}{
		{"as older releases write it", `{
  "permissions": {
    "developer__shell:ab12": [
      {"tool_name": "developer__shell", "allowed": true, "context_hash": "ab12", "readable_context": "Tool: shell", "timestamp": 1760000000, "expiry": null},
      {"tool_name": "developer__shell", "allowed": false, "context_hash": "ab12", "timestamp": 1760000001, "expiry": 1760003600}
    ],
    "edit:cd": [{"tool_name": "edit", "allowed": true, "context_hash": "cd", "timestamp": 1760000002, "expiry": null}]
  },
  "version": 1
}`, 3,
			"2025-10-09 08:53:20 ¦ developer__shell allowed=true\n2025-10-09 08:53:21 ¦ developer__shell allowed=false\n2025-10-09 08:53:22 ¦ edit allowed=true",
			`allowed=true ¦ developer__shell ¦ 2025-10-09 08:53:20 ¦ {"key":"developer__shell:ab12","context_hash":"ab12","readable_context":"Tool: shell","expiry":null} ¦ 1
allowed=false ¦ developer__shell ¦ 2025-10-09 08:53:21 ¦ {"key":"developer__shell:ab12","context_hash":"ab12","expiry":1760003600} ¦ 2
allowed=true ¦ edit ¦ 2025-10-09 08:53:22 ¦ {"key":"edit:cd","context_hash":"cd","expiry":null} ¦ 3`, ""},
		{"at the top level, beside version", `{"version":1,"edit:cd":[{"tool_name":"edit","allowed":true}]}`, 1, "∅ ¦ edit allowed=true", `allowed=true ¦ edit ¦ ∅ ¦ {"key":"edit:cd"} ¦ 1`, ""},
		{"single records", `{"permissions":{"edit:cd":{"tool_name":"edit","allowed":true}},"other":2}`, 1, "∅ ¦ edit allowed=true", `allowed=true ¦ edit ¦ ∅ ¦ {"key":"edit:cd"} ¦ 1`, `unknown_key ¦ {"other":2} ¦ ∅`},
		{"nothing", `{"permissions":{},"version":1}`, 0, "", "", ""},
		{"nothing in lists", `{"permissions":null,"a:b":[],"c:d":null}`, 0, "", "", ""},
		{"no tool_name", `{"a:b:cd":[{"allowed":false}],"x":[{"tool_name":"","allowed":false}]}`, 2, "∅ ¦ a:b allowed=false\n∅ ¦ - allowed=false",
			`allowed=false ¦ a:b ¦ ∅ ¦ {"key":"a:b:cd"} ¦ 1` + "\n" + `allowed=false ¦  ¦ ∅ ¦ {"key":"x"} ¦ 2`, ""},
		{"allowed is no flag", `{"e:f":[{"tool_name":1,"allowed":"yes"},{}]}`, 2, "∅ ¦ 1 allowed=yes\n∅ ¦ e allowed=-",
			`∅ ¦ 1 ¦ ∅ ¦ {"key":"e:f","allowed":"yes"} ¦ 1` + "\n" + `∅ ¦ e ¦ ∅ ¦ {"key":"e:f"} ¦ 2`, "bad_value ¦ yes ¦ 1"},
		{"times", `{"e:f":[{"allowed":true,"timestamp":946684800},{"allowed":true,"timestamp":946684799},{"allowed":true,"timestamp":null}]}`, 3,
			"2000-01-01 00:00:00 ¦ e allowed=true\n∅ ¦ e allowed=true\n∅ ¦ e allowed=true",
			`allowed=true ¦ e ¦ 2000-01-01 00:00:00 ¦ {"key":"e:f"} ¦ 1` + "\n" + `allowed=true ¦ e ¦ ∅ ¦ {"key":"e:f","timestamp":946684799} ¦ 2` + "\n" + `allowed=true ¦ e ¦ ∅ ¦ {"key":"e:f"} ¦ 3`, "bad_time ¦ 946684799 ¦ 2"},
		{"no object", `{"e:f":[1,{"allowed":true}],"g:h":"x"}`, 3, "∅ ¦ e allowed=true", `allowed=true ¦ e ¦ ∅ ¦ {"key":"e:f"} ¦ 2`, "bad_item ¦ 1 ¦ 1\n" + `bad_item ¦ "x" ¦ 3`},
		{"a key twice", `{"e:f":[{"allowed":true}],"e:f":[{"allowed":false}]}`, 1, "∅ ¦ e allowed=false", `allowed=false ¦ e ¦ ∅ ¦ {"key":"e:f"} ¦ 1`, `duplicate_key ¦ {"e:f":[{"allowed":true}]} ¦ ∅`},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := readDocument(t, settingsInfo("tool_permissions_json", toolPermissionsRel), func(i FileInfo) TextStore { return NewToolPermissions(i) }, c.text, c.records)
			var events []string
			for _, e := range strings.Split(c.events, "\n") {
				if at, text, ok := strings.Cut(e, " ¦ "); ok {
					events = append(events, at+" ¦ permission record: "+text+from)
				}
			}
			check(t, "events", strings.Join(pick(out.tables["events"], "permission_record", "occurred_at", "text"), "\n"), strings.Join(events, "\n"))
			check(t, "rows", out.rows("permissions", "level", "subject", "changed_at", "extra", "source_line"), c.rows)
			check(t, "issues", out.rows("issues", "code", "raw", "source_line"), c.issues)
			for _, r := range out.tables["permissions"] {
				if r["store"] != "tool_permissions_json" || r["category"] != "tool_permissions" {
					t.Errorf("row %v", r)
				}
			}
		})
	}
}
