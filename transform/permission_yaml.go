package transform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"go.yaml.in/yaml/v3"

	"gander/schemas/values"
)

// PermissionYAML transforms permission.yaml: per category and level the tools
// that the user, or a mode of Goose, has settled.
//
// The file is read as YAML. Where it is none, and where a part of it is not
// what Goose writes, it is read line by line, each line by itself as YAML: a
// line that is no category, level or list item then costs nothing but itself.
// No alias is ever followed, so no document reads as more than it is long.
type PermissionYAML struct {
	textFile
	lines []string
	// What the lines so far have opened, not ok for nothing: a line that is read
	// by itself stands below it.
	category, level optText
}

// NewPermissionYAML returns the transform of one file.
func NewPermissionYAML(info FileInfo) *PermissionYAML {
	return &PermissionYAML{textFile: textFile{info: info}}
}

// Tables implements TextStore.
func (t *PermissionYAML) Tables(_ context.Context, in iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return t.tables(in, t.document, nil)
}

func (t *PermissionYAML) document(p piece) error {
	t.lines = yamlLines(p.text)
	docs, err := yamlDocuments(p.text)
	if err != nil {
		t.malformed = true
		t.issues.write(&place{}, issue{code: "bad_yaml", message: "the file is read line by line: " + err.Error()})
		t.byLine(1, len(t.lines)+1) // and docs has none
	}
	for i, doc := range docs {
		end := len(t.lines) + 1
		if i+1 < len(docs) {
			end = docs[i+1].Line
		}
		t.categories(doc.Content[0], doc.Line, end)
	}
	return nil
}

// categories reads the root of a document on the lines from begin to before end.
func (t *PermissionYAML) categories(root *yaml.Node, begin, end int) {
	switch {
	case isNull(root):
	case !isMap(root), isFlow(root) && !all(root, isWholeCategory):
		t.byLine(begin, end)
	default:
		for c := range pairs(root, end) {
			if !isCategory(c) || !isFlow(root) && c.key.Column != 1 {
				t.byLine(c.key.Line, c.end)
			} else {
				t.levels(c)
			}
		}
	}
}

// levels reads the value of a category. Flow style can put many levels on one
// line, so there one that is none makes the category be read by its lines.
func (t *PermissionYAML) levels(category pair) {
	if isFlow(category.value) && !all(category.value, isLevel) {
		t.byLine(category.key.Line, category.end)
		return
	}
	t.category, t.level = some(category.key.Value), optText{}
	for level := range pairs(category.value, category.end) {
		if !isLevel(level) || !t.onLines(level.value) {
			t.byLine(level.key.Line, level.end)
			continue
		}
		t.level = some(level.key.Value)
		for _, tool := range level.value.Content {
			t.tool(tool.Line, tool.Value)
		}
	}
}

// onLines reports that every item of a block list has a line of its own and
// ends there: what YAML folds into an item from the lines below is no name.
func (t *PermissionYAML) onLines(list *yaml.Node) bool {
	if isFlow(list) {
		return true
	}
	for _, tool := range list.Content {
		if tool.Line > len(t.lines) {
			return false
		}
		node, _ := yamlLine(t.lines[tool.Line-1])
		if alone, ok := itemOf(node); !ok || alone != tool.Value {
			return false
		}
	}
	return true
}

// byLine reads the lines from begin to before end, each by itself.
func (t *PermissionYAML) byLine(begin, end int) {
	for n := begin; n < min(end, len(t.lines)+1); n++ {
		if !t.line(n, t.lines[n-1]) {
			t.badSetting(n, t.lines[n-1])
		}
	}
}

// line reads one line by itself; it reports false for a bad one. A key that is
// no level's ends the level before: what it lists was not granted there.
func (t *PermissionYAML) line(n int, line string) bool {
	node, blank := yamlLine(line)
	if blank {
		return true
	}
	indented := strings.TrimLeft(line, " \t") != line
	if tool, ok := itemOf(node); ok {
		if !indented || !t.level.ok {
			return false
		}
		t.tool(n, tool)
		return true
	}
	if node == nil || !isMap(node) || isFlow(node) || len(node.Content) != 2 {
		return false
	}
	p := pair{node.Content[0], node.Content[1], 0}
	switch {
	case !indented && isCategory(p) && len(p.value.Content) == 0:
		t.category, t.level = some(p.key.Value), optText{}
		return true
	case !indented:
		return false
	case !t.category.ok || !isLevel(p):
		if isNull(p.value) {
			t.level = optText{}
		}
		return false
	}
	t.level = some(p.key.Value)
	for _, tool := range p.value.Content {
		t.tool(n, tool.Value)
	}
	return true
}

// tool writes a tool that is listed below the open category and level.
func (t *PermissionYAML) tool(line int, tool string) {
	t.setting(item(int64(line)), t.category.s, t.level.s, tool)
}

// badSetting writes issue and event of a line that is none of the three.
func (t *PermissionYAML) badSetting(n int, line string) {
	const text = "parser: unparseable line (not a category, level or list item)"
	t.tally.Bad++
	at := item(int64(n))
	t.issues.write(at, issue{"bad_line", text, some(line)})
	t.emit(at, system("parser_issue", text+": "+line, values.Int{}))
}

// pair is a key of a mapping with its value, on the lines from the key's to
// before end where the mapping is in block style.
type pair struct {
	key, value *yaml.Node
	end        int
}

// pairs yields the pairs of a mapping that ends before a line.
func pairs(mapping *yaml.Node, end int) iter.Seq[pair] {
	return func(yield func(pair) bool) {
		c := mapping.Content
		for ; len(c) >= 2; c = c[2:] {
			p := pair{c[0], c[1], end}
			if len(c) > 2 {
				p.end = c[2].Line
			}
			if !yield(p) {
				return
			}
		}
	}
}

func all(mapping *yaml.Node, good func(pair) bool) bool {
	for p := range pairs(mapping, 0) {
		if !good(p) {
			return false
		}
	}
	return true
}

// isCategory reports a key that names a category, and a value that can hold
// its levels.
func isCategory(p pair) bool { return isName(p.key) && (isNull(p.value) || isMap(p.value)) }

// isWholeCategory is isCategory with nothing but levels in it.
func isWholeCategory(p pair) bool { return isCategory(p) && all(p.value, isLevel) }

// isLevel reports one of the three levels, and a list of nothing but names.
func isLevel(p pair) bool {
	switch {
	case !isName(p.key) || p.key.Value != "always_allow" && p.key.Value != "ask_before" && p.key.Value != "never_allow":
		return false
	case isNull(p.value):
		return true
	case p.value.Kind != yaml.SequenceNode || isTagged(p.value):
		return false
	}
	return !slices.ContainsFunc(p.value.Content, func(n *yaml.Node) bool { return !isName(n) })
}

// itemOf returns the name in a block list of that name alone.
func itemOf(node *yaml.Node) (name string, ok bool) {
	if node == nil || node.Kind != yaml.SequenceNode || isFlow(node) || isTagged(node) || len(node.Content) != 1 || !isName(node.Content[0]) {
		return "", false
	}
	return node.Content[0].Value, true
}

// isName reports a scalar that serde_yaml reads as a string and writes on one
// line: 12 and null are names too; an alias, a merge key or nothing is none.
func isName(n *yaml.Node) bool {
	switch {
	case n.Kind != yaml.ScalarNode, n.Tag == "!!merge", isTagged(n) && n.Tag != "!!str",
		n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return false
	}
	return n.Value != "" || n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0
}

func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Tag == "!!null" && !isTagged(n)
}

func isMap(n *yaml.Node) bool { return n.Kind == yaml.MappingNode && !isTagged(n) }

func isFlow(n *yaml.Node) bool { return n.Style&yaml.FlowStyle != 0 }

func isTagged(n *yaml.Node) bool { return n.Style&yaml.TaggedStyle != 0 }

// yamlLine reads a line by itself, without its indentation. The node is nil
// when it is no YAML; blank is true for a line that says nothing: white space,
// a comment, a mark of a document.
func yamlLine(line string) (node *yaml.Node, blank bool) {
	line = strings.Trim(line, " \t")
	if line == "..." { // an end needs its document
		return nil, true
	}
	docs, err := yamlDocuments(line)
	switch {
	case err != nil || len(docs) > 1:
		return nil, false
	case len(docs) == 0:
		return nil, true
	}
	node = docs[0].Content[0]
	return node, isNull(node) && node.Value == "" && node.Anchor == ""
}

// yamlDocuments parses a text into its documents, none for an empty one.
func yamlDocuments(text string) (docs []*yaml.Node, err error) {
	// The parser panics where it believes something cannot be. A file that
	// makes it do so must cost no more than any other that is no YAML.
	defer func() {
		if r := recover(); r != nil {
			docs, err = nil, fmt.Errorf("yaml: %v", r)
		}
	}()
	d := yaml.NewDecoder(strings.NewReader(text))
	for {
		doc := new(yaml.Node)
		switch err := d.Decode(doc); {
		case errors.Is(err, io.EOF):
			return docs, nil
		case err != nil:
			return nil, err
		case len(doc.Content) != 1:
			return nil, errors.New("yaml: a document without a value")
		}
		docs = append(docs, doc)
	}
}

// yamlLines splits a text where YAML counts lines.
func yamlLines(text string) []string {
	var lines []string
	for {
		i := strings.IndexAny(text, "\r\n\u0085\u2028\u2029")
		if i < 0 {
			return append(lines, text)
		}
		lines = append(lines, text[:i])
		_, n := utf8.DecodeRuneInString(text[i:])
		if strings.HasPrefix(text[i:], "\r\n") {
			n = 2
		}
		text = text[i+n:]
	}
}
