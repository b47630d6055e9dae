package sqlitefile

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
)

// Affinity is the type that SQLite prefers for a column's values.
type Affinity uint8

// The affinities.
const (
	AffBlob Affinity = iota
	AffText
	AffNumeric
	AffInteger
	AffReal
)

// Column is a column of a table.
type Column struct {
	Name     string
	Affinity Affinity
	NotNull  bool
	// Alias says that the column is the rowid by another name: records hold
	// NULL in its place.
	Alias bool
	// Default stands for the column in records from before it was added.
	Default Value
	// Computed says that the default is no plain constant, or one that storing
	// it converts: Default is a guess then, and only SQLite knows.
	Computed bool
}

// Table is a table with rowids, as the schema of one state has it.
type Table struct {
	Name    string
	Root    uint32
	Columns []Column // that records hold, in their order
}

// alias returns the position of the column that is the rowid, -1 without one.
func (t *Table) alias() int {
	for i := range t.Columns {
		if t.Columns[i].Alias {
			return i
		}
	}
	return -1
}

// Index returns the position of a column by its name in any case, -1 when the
// table has none.
func (t *Table) Index(name string) int {
	for i := range t.Columns {
		if strings.EqualFold(t.Columns[i].Name, name) {
			return i
		}
	}
	return -1
}

// values brings the values of a record into the shape in which the table has
// them. A record may be short: then it is from before columns were added. ok
// is false when it has more values than the table has columns.
func (t *Table) values(v []Value, rowID int64) (_ []Value, ok bool) {
	if len(v) > len(t.Columns) {
		return v, false
	}
	for i := len(v); i < len(t.Columns); i++ {
		v = append(v, t.Columns[i].Default)
	}
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Alias {
			v[i] = Value{Kind: Int, Int: rowID}
		} else {
			v[i] = c.stored(v[i])
		}
	}
	return v, true
}

// stored brings a value of a record into the shape in which the column has it.
func (c *Column) stored(v Value) Value {
	if c.Affinity == AffReal && v.Kind == Int { // stored small
		return Value{Kind: Real, Real: float64(v.Int)}
	}
	return v
}

// sameColumns says that records of a mean in b what they mean in a.
func (t *Table) sameColumns(b *Table) bool {
	if len(t.Columns) > len(b.Columns) {
		t, b = b, t
	}
	for i := range t.Columns {
		if t.Columns[i].Name != b.Columns[i].Name || t.Columns[i].Alias != b.Columns[i].Alias {
			return false
		}
	}
	return true
}

// parseTable reads the columns from a CREATE TABLE statement. ok is false for
// what is none, and for tables WITHOUT ROWID.
func parseTable(sql string) (t Table, ok bool) {
	p := parser{src: sql}
	p.next()
	if !p.keyword("CREATE") {
		return t, false
	}
	if p.keyword("TEMP") || p.keyword("TEMPORARY") {
		return t, false
	}
	if !p.keyword("TABLE") {
		return t, false
	}
	if p.keyword("IF") && !(p.keyword("NOT") && p.keyword("EXISTS")) {
		return t, false
	}
	t.Name = p.text
	p.next()
	if p.punct(".") {
		t.Name = p.text
		p.next()
	}
	if !p.punct("(") {
		return t, false
	}
	for p.kind != tokEnd && !p.is(")") {
		if p.bare("CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN") {
			p.tableConstraint(&t)
		} else if !p.column(&t) {
			return t, false
		}
		// SQLite takes table constraints without commas between them.
		p.punct(",")
	}
	if !p.punct(")") {
		return t, false
	}
	for p.kind != tokEnd {
		if p.keyword("WITHOUT") {
			return t, false
		}
		p.next()
	}
	// Columns of virtual generated columns are in no record.
	kept := t.Columns[:0]
	for i, c := range t.Columns {
		if !p.computed[i] {
			kept = append(kept, c)
		}
	}
	t.Columns = kept
	return t, len(kept) > 0
}

type token uint8

const (
	tokEnd    token = iota
	tokWord         // bare
	tokQuoted       // identifier in quotes
	tokString
	tokNumber
	tokBlob
	tokPunct
)

// parser reads the tokens of a statement, one ahead.
type parser struct {
	src  string
	pos  int
	kind token
	text string // unquoted

	types    []string     // declared types, by column
	computed map[int]bool // virtual generated columns
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c >= 0x80
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func (p *parser) next() {
	s := p.src
	for p.pos < len(s) {
		switch c := s[p.pos]; {
		case c == ' ' || c >= '\t' && c <= '\r':
			p.pos++
			continue
		case strings.HasPrefix(s[p.pos:], "--"):
			if n := strings.IndexByte(s[p.pos:], '\n'); n >= 0 {
				p.pos += n + 1
			} else {
				p.pos = len(s)
			}
			continue
		case strings.HasPrefix(s[p.pos:], "/*"):
			if n := strings.Index(s[p.pos+2:], "*/"); n >= 0 {
				p.pos += n + 4
			} else {
				p.pos = len(s)
			}
			continue
		}
		break
	}
	if p.pos >= len(s) {
		p.kind, p.text = tokEnd, ""
		return
	}
	from := p.pos
	switch c := s[from]; {
	case c == '\'' || c == '"' || c == '`':
		p.text = p.quoted(c)
		p.kind = tokQuoted
		if c == '\'' {
			p.kind = tokString
		}
	case c == '[':
		end := strings.IndexByte(s[from:], ']')
		if end < 0 {
			end = len(s) - from
		}
		p.kind, p.text = tokQuoted, s[from+1:from+max(end, 1)]
		p.pos = min(from+end+1, len(s))
	case (c == 'x' || c == 'X') && from+1 < len(s) && s[from+1] == '\'':
		p.pos++
		p.kind, p.text = tokBlob, p.quoted('\'')
	case isDigit(c) || c == '.' && from+1 < len(s) && isDigit(s[from+1]):
		for p.pos < len(s) && (isWord(s[p.pos]) || s[p.pos] == '.' ||
			(s[p.pos] == '+' || s[p.pos] == '-') && (s[p.pos-1] == 'e' || s[p.pos-1] == 'E') && !strings.HasPrefix(s[from:], "0x")) {
			p.pos++
		}
		p.kind, p.text = tokNumber, strings.ReplaceAll(s[from:p.pos], "_", "")
	case isWord(c):
		for p.pos < len(s) && isWord(s[p.pos]) {
			p.pos++
		}
		p.kind, p.text = tokWord, s[from:p.pos]
	default:
		p.pos++
		p.kind, p.text = tokPunct, s[from:p.pos]
	}
}

// quoted reads up to the closing quote; a doubled one stands for itself.
func (p *parser) quoted(quote byte) string {
	var b strings.Builder
	for p.pos++; p.pos < len(p.src); p.pos++ {
		if c := p.src[p.pos]; c != quote {
			b.WriteByte(c)
			continue
		}
		p.pos++
		if p.pos >= len(p.src) || p.src[p.pos] != quote {
			return b.String()
		}
		b.WriteByte(quote)
	}
	return b.String()
}

func (p *parser) is(punct string) bool { return p.kind == tokPunct && p.text == punct }

func (p *parser) punct(punct string) bool {
	if p.is(punct) {
		p.next()
		return true
	}
	return false
}

func (p *parser) bare(words ...string) bool {
	if p.kind == tokWord {
		for _, w := range words {
			if strings.EqualFold(p.text, w) {
				return true
			}
		}
	}
	return false
}

func (p *parser) keyword(word string) bool {
	if p.bare(word) {
		p.next()
		return true
	}
	return false
}

// parens skips a group in parentheses.
func (p *parser) parens() {
	depth := 0
	for p.kind != tokEnd {
		if p.is("(") {
			depth++
		} else if p.is(")") {
			depth--
		}
		p.next()
		if depth == 0 {
			return
		}
	}
}

// column reads a column definition, up to the comma or parenthesis behind it.
func (p *parser) column(t *Table) bool {
	if p.kind != tokWord && p.kind != tokQuoted && p.kind != tokString {
		return false
	}
	c := Column{Name: p.text}
	p.next()
	var declared []string
	for p.kind != tokEnd && !p.is(",") && !p.is(")") &&
		!p.bare("CONSTRAINT", "PRIMARY", "NOT", "NULL", "UNIQUE", "CHECK", "DEFAULT", "COLLATE", "REFERENCES", "GENERATED", "AS") {
		if p.is("(") {
			p.parens() // VARCHAR(20)
			continue
		}
		declared = append(declared, p.text)
		p.next()
	}
	kind := strings.Join(declared, " ")
	c.Affinity = affinityOf(kind)
	i := len(t.Columns)
	for p.kind != tokEnd && !p.is(",") && !p.is(")") {
		switch {
		case p.keyword("PRIMARY"):
			p.keyword("KEY")
			desc := p.keyword("DESC")
			c.Alias = !desc && strings.EqualFold(kind, "INTEGER")
		case p.keyword("NOT"):
			c.NotNull = p.keyword("NULL") || c.NotNull
		case p.keyword("DEFAULT"):
			v, ok := p.literal()
			c.Default = c.Affinity.apply(v)
			c.Computed = !ok || !c.Affinity.keeps(v)
		case p.keyword("AS"):
			if p.is("(") {
				p.parens()
			}
			if !p.bare("STORED") {
				if p.computed == nil {
					p.computed = map[int]bool{}
				}
				p.computed[i] = true
			}
		case p.is("("):
			p.parens()
		default:
			p.next()
		}
	}
	t.Columns = append(t.Columns, c)
	p.types = append(p.types, kind)
	return true
}

// tableConstraint reads a constraint behind the columns. Only PRIMARY KEY of
// one INTEGER column says something about records.
func (p *parser) tableConstraint(t *Table) {
	if p.keyword("CONSTRAINT") {
		p.next()
	}
	depth := 0
	if p.keyword("PRIMARY") {
		p.keyword("KEY")
		if p.punct("(") {
			depth++
			i := t.Index(p.text)
			p.next()
			for p.kind != tokEnd && !p.is(",") && !p.is(")") {
				p.next()
			}
			if p.is(")") && i >= 0 && strings.EqualFold(p.types[i], "INTEGER") {
				t.Columns[i].Alias = true
			}
		}
	}
	for ; p.kind != tokEnd; p.next() {
		switch {
		case p.is("("):
			depth++
		case p.is(")") && depth > 0:
			depth--
		case depth == 0 && (p.is(",") || p.is(")")):
			return
		}
	}
}

// literal reads the constant of a DEFAULT clause. ok is false, and the value
// NULL, for what is no plain constant.
func (p *parser) literal() (v Value, ok bool) {
	depth, minus := 0, false
	for {
		switch {
		case p.punct("("):
			depth++
			continue
		case p.punct("+"):
			continue
		case p.punct("-"):
			minus = !minus
			continue
		}
		break
	}
	ok = true
	switch p.kind {
	case tokString, tokQuoted:
		v = Value{Kind: Text, Bytes: []byte(p.text)}
	case tokBlob:
		b, err := hex.DecodeString(p.text)
		v, ok = Value{Kind: Blob, Bytes: b}, err == nil
	case tokNumber:
		v, ok = number(p.text, minus)
	case tokWord:
		switch {
		case p.bare("NULL"):
		case p.bare("TRUE"):
			v = Value{Kind: Int, Int: 1}
		case p.bare("FALSE"):
			v = Value{Kind: Int}
		case p.bare("CURRENT_TIME", "CURRENT_DATE", "CURRENT_TIMESTAMP") || depth > 0:
			ok = false
		default:
			v = Value{Kind: Text, Bytes: []byte(p.text)}
		}
	default:
		ok = false
	}
	if minus && p.kind != tokNumber {
		ok = false
	}
	p.next()
	for ; depth > 0 && p.kind != tokEnd; p.next() {
		switch {
		case p.is(")"):
			depth--
		case p.is("("):
			depth++
			ok = false
		default:
			ok = false
		}
		if depth == 0 {
			p.next()
			break
		}
	}
	if !ok {
		v = Value{}
	}
	return v, ok
}

func number(s string, minus bool) (v Value, ok bool) {
	sign := ""
	if minus {
		sign = "-"
	}
	if len(s) > 2 && (s[1] == 'x' || s[1] == 'X') {
		n, err := strconv.ParseUint(s[2:], 16, 64)
		if minus {
			n = -n
		}
		return Value{Kind: Int, Int: int64(n)}, err == nil
	}
	if n, err := strconv.ParseInt(sign+s, 10, 64); err == nil {
		return Value{Kind: Int, Int: n}, true
	}
	f, err := strconv.ParseFloat(sign+s, 64)
	return Value{Kind: Real, Real: f}, err == nil || math.IsInf(f, 0)
}

// affinityOf derives the affinity from a declared type by SQLite's rules.
func affinityOf(declared string) Affinity {
	s := strings.ToUpper(declared)
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(s, p) {
				return true
			}
		}
		return false
	}
	switch {
	case has("INT"):
		return AffInteger
	case has("CHAR", "CLOB", "TEXT"):
		return AffText
	case s == "" || has("BLOB"):
		return AffBlob
	case has("REAL", "FLOA", "DOUB"): //nolint:misspell // what SQLite looks for
		return AffReal
	}
	return AffNumeric
}

// keeps reports that a constant is stored in a column as it is, or as the REAL
// that a whole number is in a column of those.
func (a Affinity) keeps(v Value) bool {
	switch v.Kind {
	case Text:
		return a == AffText || a == AffBlob
	case Int:
		return a != AffText && (a != AffReal || v.Int == int64(int32(v.Int)))
	case Real:
		return a == AffReal || a == AffBlob
	}
	return true
}

// apply converts a constant as SQLite does when it stores it in a column.
func (a Affinity) apply(v Value) Value {
	switch a {
	case AffText:
		switch v.Kind {
		case Int:
			return Value{Kind: Text, Bytes: strconv.AppendInt(nil, v.Int, 10)}
		case Real:
			s := strconv.FormatFloat(v.Real, 'g', 15, 64)
			if !strings.ContainsAny(s, ".eIN") {
				s += ".0"
			}
			return Value{Kind: Text, Bytes: []byte(s)}
		}
	case AffInteger, AffNumeric, AffReal:
		if v.Kind == Text {
			s := strings.Trim(string(v.Bytes), " \t\n\v\f\r")
			if minus := strings.HasPrefix(s, "-"); decimal(strings.TrimLeft(s, "+-")) {
				if n, ok := number(strings.TrimLeft(s, "+-"), minus); ok {
					v = n
				}
			}
		}
		if a == AffReal && v.Kind == Int {
			return Value{Kind: Real, Real: float64(v.Int)}
		}
		if a != AffReal && v.Kind == Real && v.Real == math.Trunc(v.Real) && math.Abs(v.Real) < 1<<51 {
			return Value{Kind: Int, Int: int64(v.Real)}
		}
	}
	return v
}

func decimal(s string) bool {
	if s == "" {
		return false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; !isDigit(c) && c != '.' && c != 'e' && c != 'E' && c != '-' && c != '+' {
			return false
		}
	}
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}
