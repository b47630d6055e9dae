package transform

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const permissionRel = ".config/goose/permission.yaml"

func readPermissions(t testing.TB, text string, records int64) settingsOut {
	t.Helper()
	return readDocument(t, settingsInfo("permission_yaml", permissionRel), func(i FileInfo) TextStore { return NewPermissionYAML(i) }, text, records)
}

// outline is an event a line: the number of its line in the file, then the
// setting, or "!" and the bad line in quotes.
func outline(t testing.TB, out settingsOut) string {
	t.Helper()
	var lines []string
	for _, e := range out.tables["events"] {
		text := e["text"].(string)
		if setting, ok := strings.CutPrefix(text, "permission setting: "); ok {
			text = strings.TrimSuffix(setting, " (from "+permissionRel+", file mtime)")
		} else if line, ok := strings.CutPrefix(text, "parser: unparseable line (not a category, level or list item): "); ok {
			text = fmt.Sprintf("!%q", line)
		}
		lines = append(lines, fmt.Sprint(e["source_line"], " ", text))
	}
	return strings.Join(lines, "\n")
}

func TestPermissionYAML(t *testing.T) {
	const head = "user:\n  always_allow:\n"
	for _, c := range []struct {
		name, text string
		want       string
		malformed  bool
	}{
		{"as Goose writes it", "smart_approve:\n  always_allow: []\n  ask_before:\n  - edit\n  - 'a''b'\n  never_allow: []\nuser:\n  always_allow:\n  - tree\n  ask_before: []\n  never_allow: []\n",
			"4 smart_approve.ask_before=edit\n5 smart_approve.ask_before=a'b\n9 user.always_allow=tree", false},
		{"with CRLF, a BOM, comments and a mark", "\uFEFF# all\r\n---\r\nuser: # mine\r\n  always_allow:\r\n\r\n  # these\r\n  - tree # one\r\n", "7 user.always_allow=tree", false},
		{"nothing: no text", "", "", false},
		{"nothing: a comment", "# c\n\n", "", false},
		{"nothing: a mark", "---\n", "", false},
		{"nothing: null", "null", "", false},
		{"nothing: an empty map", "{}\n", "", false},
		{"nothing: empty categories and levels", "a:\nb: {}\nc:\n  ask_before:\nd: ~\ne:\n  never_allow: []\n", "", false},
		{"flow lists", "user:\n  always_allow: [a, \"b, c\",\n    'd']\n  ask_before: []\n", "2 user.always_allow=a\n2 user.always_allow=b, c\n3 user.always_allow=d", false},
		{"flow maps", "{user: {always_allow: [a],\n never_allow: [b]}, x: }", "1 user.always_allow=a\n2 user.never_allow=b", false},
		{"quotes of both kinds", head + "  - \"x\\ty\\u00e9\"\n  - 'it''s # no comment'\n  - \"\"\n  - ''\n", "3 user.always_allow=x\tyé\n4 user.always_allow=it's # no comment\n5 user.always_allow=\n6 user.always_allow=", false},
		{"names that YAML takes for something else", head + "  - 12\n  - null\n  - yes\n  - 1.50\n  - !!str t\n  - &x u\n", "3 user.always_allow=12\n4 user.always_allow=null\n5 user.always_allow=yes\n6 user.always_allow=1.50\n7 user.always_allow=t\n8 user.always_allow=u", false},
		{"any category", "\"my mode\":\n  always_allow:\n  - a\nalways_allow:\n  ask_before:\n  - b\n12:\n  never_allow:\n  - c\n", "3 my mode.always_allow=a\n6 always_allow.ask_before=b\n9 12.never_allow=c", false},
		{"deeper indentation", "user:\n    always_allow:\n        - a\n", "3 user.always_allow=a", false},
		{"keys twice", "user:\n  always_allow:\n  - a\n  always_allow: [b]\nuser:\n  always_allow:\n  - a\n", "3 user.always_allow=a\n4 user.always_allow=b\n7 user.always_allow=a", false},
		{"two documents", "a:\n  ask_before: [x]\n---\nb:\n  ask_before: [y]\n", "2 a.ask_before=x\n5 b.ask_before=y", false},
		{"a tool with a colon", head + "  - a:b\n", "3 user.always_allow=a:b", false},

		{"a bad line", head + "  - a\n what is this\n  - b\n  never_allow:\n  - c\n", "3 user.always_allow=a\n4 !\" what is this\"\n5 user.always_allow=b\n7 user.never_allow=c", true},
		{"a bad line that is no YAML", head + "  - a\n@@ {\n  - b\n  never_allow:\n  - c\nx:\n  ask_before: [d]\n", "3 user.always_allow=a\n4 !\"@@ {\"\n5 user.always_allow=b\n7 user.never_allow=c\n9 x.ask_before=d", true},
		{"a bad line with CRLF", "user:\r\n  always_allow:\r\n  - a\r\n{{\r\n  - b", "3 user.always_allow=a\n4 !\"{{\"\n5 user.always_allow=b", true},
		{"a bad line that YAML takes for a category", head + "  - a\nb: c\n  - d\n  never_allow:\n  - e\nx:\n  ask_before: [y]\n", "3 user.always_allow=a\n4 !\"b: c\"\n5 user.always_allow=d\n7 user.never_allow=e\n9 x.ask_before=y", true},
		{"a bad line that YAML folds the next into", head + "  - a\nb: c\n  - d\nx:\n  ask_before: [y]\n", "3 user.always_allow=a\n4 !\"b: c\"\n5 user.always_allow=d\n7 x.ask_before=y", false},
		{"a mark between a category and its levels", "user:\n---\n  always_allow:\n  - a\n", "4 user.always_allow=a", false},
		{"a category off the margin", "  user:\n    always_allow:\n    - a\n", "1 !\"  user:\"\n2 !\"    always_allow:\"\n3 !\"    - a\"", false},
		{"a bad item", head + "  - a\n  - {b: 1}\n  - c\n", "3 user.always_allow=a\n4 !\"  - {b: 1}\"\n5 user.always_allow=c", false},
		{"an item of nothing", head + "  -\n  - a\n", "3 !\"  -\"\n4 user.always_allow=a", false},
		{"a list in a list", head + "  - - a\n  - b\n", "3 !\"  - - a\"\n4 user.always_allow=b", false},
		{"an item on more lines", head + "  - a\n    b\n  - |\n    c\n  - d\n", "3 user.always_allow=a\n4 !\"    b\"\n5 !\"  - |\"\n6 !\"    c\"\n7 user.always_allow=d", false},
		{"an item below its dash", head + "  -\n    a\n", "3 !\"  -\"\n4 !\"    a\"", false},
		{"a bad item in a flow list", "user:\n  always_allow: [a, [b]]\n  never_allow: [c]\n", "2 !\"  always_allow: [a, [b]]\"\n3 user.never_allow=c", false},
		{"a text for a list", "user:\n  always_allow: a\n  never_allow:\n  - b\n", "2 !\"  always_allow: a\"\n4 user.never_allow=b", false},
		{"a map for a list", "user:\n  always_allow: {}\n", "2 !\"  always_allow: {}\"", false},
		{"an unknown level", head + "  - a\n  sometimes:\n  - b\n  ask_before:\n  - c\n", "3 user.always_allow=a\n4 !\"  sometimes:\"\n5 !\"  - b\"\n7 user.ask_before=c", false},
		{"an unknown level where the rest is no YAML", head + "  - a\n  sometimes:\n  - b\n{{\n", "3 user.always_allow=a\n4 !\"  sometimes:\"\n5 !\"  - b\"\n6 !\"{{\"", true},
		{"an unknown level in a flow map", "a: {always_allow: [x], more: [y]}\nb:\n  ask_before: [z]\n", "1 !\"a: {always_allow: [x], more: [y]}\"\n3 b.ask_before=z", false},
		{"an unknown level in a flow document", "{a: {always_allow: [x]}, b: {more: [y]}}\n", "1 !\"{a: {always_allow: [x]}, b: {more: [y]}}\"", false},
		{"a text for a category", "version: 1\nuser:\n  always_allow:\n  - a\n", "1 !\"version: 1\"\n4 user.always_allow=a", false},
		{"a list for a category", "a:\n- x\nb:\n  ask_before: [y]\nc: []\n", "2 !\"- x\"\n4 b.ask_before=y\n5 !\"c: []\"", false},
		{"a text", "hello\nworld\n", "1 !\"hello\"\n2 !\"world\"", false},
		{"a list", "- a\n", "1 !\"- a\"", false},
		{"a bad document among good", "a:\n  ask_before: [x]\n---\nnone\n---\nb:\n  ask_before: [y]\n", "2 a.ask_before=x\n4 !\"none\"\n7 b.ask_before=y", false},
		{"an item before any level", "user:\n  - a\n  always_allow:\n  - b\n", "2 !\"  - a\"\n4 user.always_allow=b", true},
		{"a level before any category", "  always_allow:\n  - a\n", "1 !\"  always_allow:\"\n2 !\"  - a\"", false},
		{"a category ends the level", head + "  - a\nx:\n  - b\n{{", "3 user.always_allow=a\n5 !\"  - b\"\n6 !\"{{\"", true},
		{"tabs", "user:\n\talways_allow:\n\t- a\n", "3 user.always_allow=a", true},
		{"a control character", head + "  - a\x01\n  - b\n", "3 !\"  - a\\x01\"\n4 user.always_allow=b", true},
		{"cut in a quote", head + "  - a\n  - 'b", "3 user.always_allow=a\n4 !\"  - 'b\"", true},
		{"line by line: quotes, comments, flow lists, marks", "{{\n---\nuser: {} # c\n  \"always_allow\":  # c\n  - \"a\\tb\" # c\n  # c\n  ask_before: [ c, 'd' ] # c\n  never_allow: null\n  - e\n...\n",
			"1 !\"{{\"\n5 user.always_allow=a\tb\n7 user.ask_before=c\n7 user.ask_before=d\n9 user.never_allow=e", true},

		{"an alias for a tool", head + "  - &x a\n  - *x\n", "3 user.always_allow=a\n4 !\"  - *x\"", false},
		{"an alias for a list", "user:\n  always_allow: &x [a]\n  never_allow: *x\n", "2 user.always_allow=a\n3 !\"  never_allow: *x\"", false},
		{"an alias for a category", "a: &x\n  always_allow: [z]\nb: *x\n", "2 a.always_allow=z\n3 !\"b: *x\"", false},
		{"a merge key", "a: &x\n  always_allow: [z]\n<<: *x\nb:\n  <<: *x\n  ask_before: [y]\n", "2 a.always_allow=z\n3 !\"<<: *x\"\n5 !\"  <<: *x\"\n6 b.ask_before=y", false},
		{"a merge key with a map", "<<:\n  always_allow: [z]\n", "1 !\"<<:\"\n2 !\"  always_allow: [z]\"", false},
		{"an alias to nowhere", head + "  - *x\n  - a\n", "3 !\"  - *x\"\n4 user.always_allow=a", true},
		{"an alias to itself", "a: &x [*x]\n", "1 !\"a: &x [*x]\"", false},
		{"tags", "a: !foo\n  always_allow: [x]\nb:\n  always_allow: !!set [y]\n  never_allow:\n  - !!binary eA==\n  - z\n", "1 !\"a: !foo\"\n2 !\"  always_allow: [x]\"\n4 !\"  always_allow: !!set [y]\"\n6 !\"  - !!binary eA==\"\n7 b.never_allow=z", false},
		{"line breaks of YAML alone", "user:\u2028  always_allow: [a]\u0085  never_allow: [b]\r  ask_before: c", "2 user.always_allow=a\n3 user.never_allow=b\n4 !\"  ask_before: c\"", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := readPermissions(t, c.text, -1)
			check(t, "events", outline(t, out), c.want)
			if out.malformed != c.malformed {
				t.Errorf("malformed = %v", out.malformed)
			}
			if got := strings.Contains(out.rows("issues", "code"), "bad_yaml"); got != c.malformed {
				t.Errorf("issue bad_yaml: %v", got)
			}
		})
	}
}

func TestPermissionYAMLRows(t *testing.T) {
	out := readPermissions(t, "user:\n  always_allow:\n  - a\n  - [b]\n", 2)
	check(t, "events", out.rows("events", "store", "kind", "occurred_at", "text", "source_file", "source_line"), strings.Join([]string{
		"permission_yaml ¦ permission_setting ¦ " + fileChanged + " ¦ permission setting: user.always_allow=a (from " + permissionRel + ", file mtime) ¦ /home/u/" + permissionRel + " ¦ 3",
		"permission_yaml ¦ parser_issue ¦ ∅ ¦ parser: unparseable line (not a category, level or list item):   - [b] ¦ /home/u/" + permissionRel + " ¦ 4",
	}, "\n"))
	check(t, "rows", out.rows("permissions", "store", "category", "level", "subject", "changed_at", "extra", "source_line"),
		"permission_yaml ¦ user ¦ always_allow ¦ a ¦ "+fileChanged+" ¦ ∅ ¦ 3")
	check(t, "issues", out.rows("issues", "code", "message", "raw", "source_line"),
		"bad_line ¦ parser: unparseable line (not a category, level or list item) ¦   - [b] ¦ 4")
	if out.Bad != 1 || out.WithRows != 1 {
		t.Errorf("%+v", out.Tally)
	}
}

// A document that would be gigabytes with its aliases followed, and one as
// deep as the parser goes and deeper, read in no time.
func TestPermissionYAMLHarmless(t *testing.T) {
	laughs := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'z'; c++ {
		laughs += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 9), ","))
	}
	start := time.Now()
	if out := readPermissions(t, laughs, 26); out.WithRows != 0 || out.malformed {
		t.Errorf("%+v", out.Tally)
	}
	for _, depth := range []int{9000, 100_000} {
		if out := readPermissions(t, "a: "+nested(depth), 1); out.Bad != 1 || out.malformed != (depth > 10_000) {
			t.Errorf("depth %d: %+v malformed=%v", depth, out.Tally, out.malformed)
		}
	}
	readPermissions(t, "user:\n  always_allow:\n"+strings.Repeat("  - tool\n", 50_000), 50_000)
	readPermissions(t, "user:\n  always_allow:\n"+strings.Repeat("  - tool\n{{\n", 20_000), 40_000)
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("took %s", took)
	}
}

func FuzzPermissionYAML(f *testing.F) {
	for _, s := range []string{
		"", "null", "{}", "---\n", "user:\n  always_allow:\n  - a\n  - 'b'\n  ask_before: [c, \"d\"]\n", "user: {always_allow: [a], x: 1}\n", "a: &x [*x]\n<<: *x\n",
		"user:\r\n  always_allow:\r\n  - a\r\n bad\r\n{{\r\n", "? a\n: always_allow: [b]\n", "user:\n  always_allow:\n  - |\n    a\n  -\n    b\n", "a: !foo b\n---\n- c\n...\n", "%YAML 1.1\n---\na:\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "\uFFFD")
		out := readPermissions(t, text, -1)
		lines := int64(len(yamlLines(text)))
		if out.WithoutRows != 0 || out.Bad > lines {
			t.Errorf("%d lines: %+v", lines, out.Tally)
		}
		if n := int64(len(out.tables["permissions"])); n != out.WithRows {
			t.Errorf("%d permissions: %+v", n, out.Tally)
		}
		last := int64(0)
		for _, e := range out.tables["events"] {
			line := e["source_line"].(int64)
			if line < last || line > lines {
				t.Errorf("line %d after %d of %d", line, last, lines)
			}
			last = line
		}
	})
}
