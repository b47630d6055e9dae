// Package jsonval reads JSON texts as Goose stores them and writes them as the
// warehouse holds them: compact, numbers as stored, keys in stored order with
// duplicates kept, strings with only '"', '\' and U+0000 to U+001F escaped.
//
// It exists because no library gives all of that at once without a copy per
// string: number tokens untouched, duplicate keys kept in writing and the last
// one read, lone surrogates replaced and reported, a depth limit that is told
// apart from a syntax error. Goose's own writer is compact already, and such a
// text, or any part of it, is passed on as it is.
package jsonval

import (
	"encoding/binary"
	"errors"
	"iter"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"gander/schemas/values"
)

// MaxDepth is how many arrays and objects may stand in one another.
const MaxDepth = 1000

// Errors of Parse.
var (
	ErrSyntax = errors.New("not JSON")
	ErrDepth  = errors.New("JSON nested deeper than 1,000")
)

// Kind is the type of a Value. The zero Kind is a value that is not there.
type Kind uint8

// The kinds of values.
const (
	Missing Kind = iota
	Null
	False
	True
	Number
	String
	Array
	Object
)

const (
	escaped     = 1 << iota // the string has a backslash
	uncanonical             // the string has an escape that the canonical form writes otherwise
)

// node is a value on the tape. A container's members follow it; an object's
// are keys and values in turn.
type node struct {
	kind       Kind
	flags      uint8
	next       uint32 // index of the first node behind this value
	start, end uint32 // the value's bytes in src; a string's with its quotes
}

// Doc is a parsed text. It is meant to be reused: Parse invalidates every
// Value and string that came from the text before.
type Doc struct {
	src       string
	nodes     []node
	arena     []byte // decoded strings
	pos       int
	spaced    bool // white space or an uncanonical escape somewhere
	surrogate bool
}

// arenaKeep is the largest arena that is kept from one text to the next.
const arenaKeep = 1 << 20

// Parse reads src, which must be valid UTF-8 and stay as it is while the Doc
// is in use. The error is ErrSyntax or ErrDepth.
func (d *Doc) Parse(src string) error {
	if cap(d.arena) > arenaKeep {
		d.arena = nil
	}
	if cap(d.nodes) > arenaKeep/16 {
		d.nodes = nil
	}
	*d = Doc{src: src, nodes: d.nodes[:0], arena: d.arena[:0]}
	if uint64(len(src)) >= 1<<32 {
		return ErrSyntax
	}
	d.space()
	if err := d.value(1); err != nil {
		d.nodes = d.nodes[:0]
		return err
	}
	d.space()
	if d.pos != len(d.src) {
		d.nodes = d.nodes[:0]
		return ErrSyntax
	}
	return nil
}

// LoneSurrogate reports that the text holds an escape such as \ud800 that is
// no character: its string reads as U+FFFD there.
func (d *Doc) LoneSurrogate() bool { return d.surrogate }

// Root returns the text's value; it is missing when Parse failed.
func (d *Doc) Root() Value {
	if len(d.nodes) == 0 {
		return Value{}
	}
	return Value{d, 0}
}

func (d *Doc) space() {
	for d.pos < len(d.src) {
		switch d.src[d.pos] {
		case ' ', '\t', '\n', '\r':
			d.pos++
			d.spaced = true
		default:
			return
		}
	}
}

// value reads the value at pos; depth is the depth a container here would have.
func (d *Doc) value(depth int) error {
	if d.pos >= len(d.src) {
		return ErrSyntax
	}
	i := len(d.nodes)
	start := uint32(d.pos)
	switch c := d.src[d.pos]; {
	case c == '"':
		return d.str()
	case c == '{' || c == '[':
		if depth > MaxDepth {
			return ErrDepth
		}
		kind := Array
		if c == '{' {
			kind = Object
		}
		d.nodes = append(d.nodes, node{kind: kind, start: start})
		d.pos++
		if err := d.members(kind, depth); err != nil {
			return err
		}
	case c == '-' || c >= '0' && c <= '9':
		if !d.number() {
			return ErrSyntax
		}
		d.nodes = append(d.nodes, node{kind: Number, start: start})
	default:
		kind := Null
		word := "null"
		switch c {
		case 't':
			kind, word = True, "true"
		case 'f':
			kind, word = False, "false"
		}
		if !strings.HasPrefix(d.src[d.pos:], word) {
			return ErrSyntax
		}
		d.pos += len(word)
		d.nodes = append(d.nodes, node{kind: kind, start: start})
	}
	d.nodes[i].end = uint32(d.pos)
	d.nodes[i].next = uint32(len(d.nodes))
	return nil
}

// members reads what stands between the brackets, and the closing one.
func (d *Doc) members(kind Kind, depth int) error {
	closing := byte(']')
	if kind == Object {
		closing = '}'
	}
	d.space()
	if d.pos < len(d.src) && d.src[d.pos] == closing {
		d.pos++
		return nil
	}
	for {
		if kind == Object {
			if d.pos >= len(d.src) || d.src[d.pos] != '"' {
				return ErrSyntax
			}
			if err := d.str(); err != nil {
				return err
			}
			d.space()
			if d.pos >= len(d.src) || d.src[d.pos] != ':' {
				return ErrSyntax
			}
			d.pos++
			d.space()
		}
		if err := d.value(depth + 1); err != nil {
			return err
		}
		d.space()
		if d.pos >= len(d.src) {
			return ErrSyntax
		}
		c := d.src[d.pos]
		d.pos++
		if c == closing {
			return nil
		}
		if c != ',' {
			return ErrSyntax
		}
		d.space()
	}
}

func (d *Doc) number() bool {
	digits := func() bool {
		from := d.pos
		for d.pos < len(d.src) && d.src[d.pos] >= '0' && d.src[d.pos] <= '9' {
			d.pos++
		}
		return d.pos > from
	}
	at := func(set string) bool {
		if d.pos < len(d.src) && strings.IndexByte(set, d.src[d.pos]) >= 0 {
			d.pos++
			return true
		}
		return false
	}
	at("-")
	if !at("0") && !digits() {
		return false
	}
	if at(".") && !digits() {
		return false
	}
	if at("eE") {
		at("+-")
		return digits()
	}
	return true
}

// str reads the string at pos, a quote.
func (d *Doc) str() error {
	start := d.pos
	d.pos++
	var flags uint8
	for {
		d.pos += plain(d.src[d.pos:])
		if d.pos >= len(d.src) {
			return ErrSyntax
		}
		switch d.src[d.pos] {
		case '"':
			d.pos++
			d.nodes = append(d.nodes, node{String, flags, uint32(len(d.nodes) + 1), uint32(start), uint32(d.pos)})
			return nil
		case '\\':
			flags |= escaped
			n, same, lone := escape(d.src[d.pos:])
			if n == 0 {
				return ErrSyntax
			}
			if !same {
				flags |= uncanonical
				d.spaced = true
			}
			d.surrogate = d.surrogate || lone
			d.pos += n
		default: // a control character
			return ErrSyntax
		}
	}
}

// plain returns how many bytes at the start of s are neither a quote, a
// backslash nor a control character, eight at a time.
func plain(s string) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	b := unsafe.Slice(unsafe.StringData(s), len(s))
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote := w ^ '"'*ones
		back := w ^ '\\'*ones
		// A byte below 0x20, or a zero byte in quote or back, borrows into its
		// high bit; bytes at or above 0x80 are masked out by &^ of themselves.
		hit := ((w-0x20*ones)&^w | (quote-ones)&^quote | (back-ones)&^back) & highs
		if hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for ; i < len(b); i++ {
		if b[i] == '"' || b[i] == '\\' || b[i] < 0x20 {
			break
		}
	}
	return i
}

// escape measures the escape at the start of s: its length (both halves of a
// surrogate pair; 0 when it is none), whether the canonical form writes it the
// same, and whether it is a lone surrogate.
func escape(s string) (n int, same, lone bool) {
	if len(s) < 2 {
		return 0, false, false
	}
	switch s[1] {
	case '"', '\\', 'b', 'f', 'n', 'r', 't':
		return 2, true, false
	case '/':
		return 2, false, false
	case 'u':
		r, ok := hex4(s[2:])
		if !ok {
			return 0, false, false
		}
		if utf16.IsSurrogate(r) {
			if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
				if low, ok := hex4(s[8:]); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
					return 12, false, false
				}
			}
			return 6, false, true
		}
		canonical := r < 0x20 && strings.IndexByte("\b\t\n\f\r", byte(r)) < 0 && s[4] <= '1' && lower(s[5])
		return 6, canonical, false
	}
	return 0, false, false
}

func lower(c byte) bool { return c < 'A' || c > 'F' }

func hex4(s string) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	var r rune
	for i := 0; i < 4; i++ {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// unescape appends what the inside of a string stands for.
func unescape(dst []byte, s string) []byte {
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:i]...)
		s = s[i:]
		n, _, lone := escape(s)
		switch c := s[1]; c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r, _ := hex4(s[2:])
			if n == 12 {
				low, _ := hex4(s[8:])
				r = utf16.DecodeRune(r, low)
			} else if lone {
				r = utf8.RuneError
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
		s = s[n:]
	}
}

// Value is a value of a Doc. The zero Value is missing: it has no members, no
// text and no JSON.
type Value struct {
	d *Doc
	i uint32
}

func (v Value) node() *node { return &v.d.nodes[v.i] }

// Kind returns the value's type, Missing for a value that is not there.
func (v Value) Kind() Kind {
	if v.d == nil {
		return Missing
	}
	return v.node().kind
}

// Present reports that the value is there and not null.
func (v Value) Present() bool { return v.Kind() > Null }

// Is reports that the value is of kind k.
func (v Value) Is(k Kind) bool { return v.Kind() == k }

// Get returns the member of that key, the last of several; missing when there
// is none or v is no object.
func (v Value) Get(key string) Value {
	var found Value
	for k, m := range v.Members() {
		if k == key {
			found = m
		}
	}
	return found
}

// Members yields an object's keys and values in stored order, duplicates
// included; nothing for another kind.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.Kind() != Object {
			return
		}
		for i, end := v.i+1, v.node().next; i < end; {
			m := Value{v.d, i + 1}
			if !yield((Value{v.d, i}).Text(), m) {
				return
			}
			i = m.node().next
		}
	}
}

// Items yields an array's values in order; nothing for another kind.
func (v Value) Items() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != Array {
			return
		}
		for i, end := v.i+1, v.node().next; i < end; i = v.d.nodes[i].next {
			if !yield(Value{v.d, i}) {
				return
			}
		}
	}
}

// Len returns the number of items of an array or members of an object.
func (v Value) Len() int {
	n := 0
	for range v.Items() {
		n++
	}
	for range v.Members() {
		n++
	}
	return n
}

// Text returns what a string stands for, "" for another kind. It is valid
// until the next Parse.
func (v Value) Text() string {
	if v.Kind() != String {
		return ""
	}
	n := v.node()
	raw := v.d.src[n.start+1 : n.end-1]
	if n.flags&escaped == 0 {
		return raw
	}
	from := len(v.d.arena)
	v.d.arena = unescape(v.d.arena, raw)
	return unsafe.String(unsafe.SliceData(v.d.arena[from:]), len(v.d.arena)-from)
}

// TextOrJSON returns the text of a string, the canonical JSON of anything
// else, and "" for a value that is missing.
func (v Value) TextOrJSON() string {
	if v.Kind() == String {
		return v.Text()
	}
	return v.JSON()
}

// Bool reports whether the value is true; ok is false unless it is true or false.
func (v Value) Bool() (value, ok bool) {
	return v.Kind() == True, v.Kind() == True || v.Kind() == False
}

// Number returns a number's token as stored, "" for another kind.
func (v Value) Number() string {
	if v.Kind() != Number {
		return ""
	}
	n := v.node()
	return v.d.src[n.start:n.end]
}

// Int returns a number that is whole and fits int64, however it is written.
func (v Value) Int() (int64, bool) {
	token := v.Number()
	if token == "" {
		return 0, false
	}
	if i, err := strconv.ParseInt(token, 10, 64); err == nil {
		return i, true
	}
	// 1000.0 and 1e3 are whole. Longer tokens than a whole int64 can need are
	// not worth an exact look, and exponents of many digits would take memory.
	if e := strings.IndexAny(token, "eE"); len(token) > 64 || e >= 0 && len(token)-e > 4 {
		return 0, false
	}
	r, ok := new(big.Rat).SetString(token)
	if !ok || !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	return r.Num().Int64(), true
}

// Float returns a finite number as the nearest float64.
func (v Value) Float() (float64, bool) {
	token := v.Number()
	if token == "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(token, 64)
	return f, err == nil
}

// Time returns a time in microseconds since 1970 UTC: a number by the rules
// of values.IntTime, a string by those of values.TextTime.
func (v Value) Time() (us int64, ok bool) {
	switch v.Kind() {
	case String:
		return values.TextTime(v.Text())
	case Number:
		if i, err := strconv.ParseInt(v.Number(), 10, 64); err == nil {
			return values.IntTime(i)
		}
		if f, ok := v.Float(); ok {
			return values.FloatTime(f)
		}
	}
	return 0, false
}

// JSON returns the value's canonical JSON, "" when it is missing. It is valid
// until the next Parse.
func (v Value) JSON() string {
	if v.d == nil {
		return ""
	}
	n := v.node()
	if !v.d.spaced {
		return v.d.src[n.start:n.end]
	}
	from := len(v.d.arena)
	v.d.arena = v.AppendJSON(v.d.arena)
	return unsafe.String(unsafe.SliceData(v.d.arena[from:]), len(v.d.arena)-from)
}

// AppendJSON appends the value's canonical JSON, nothing when it is missing.
func (v Value) AppendJSON(dst []byte) []byte {
	if v.d == nil {
		return dst
	}
	n := v.node()
	if !v.d.spaced {
		return append(dst, v.d.src[n.start:n.end]...)
	}
	switch n.kind {
	case Object:
		dst = append(dst, '{')
		for i := v.i + 1; i < n.next; {
			if i > v.i+1 {
				dst = append(dst, ',')
			}
			dst = Value{v.d, i}.AppendJSON(dst)
			dst = append(dst, ':')
			m := Value{v.d, i + 1}
			dst = m.AppendJSON(dst)
			i = m.node().next
		}
		return append(dst, '}')
	case Array:
		dst = append(dst, '[')
		for i := v.i + 1; i < n.next; i = v.d.nodes[i].next {
			if i > v.i+1 {
				dst = append(dst, ',')
			}
			dst = Value{v.d, i}.AppendJSON(dst)
		}
		return append(dst, ']')
	case String:
		if n.flags&uncanonical != 0 {
			raw := v.d.src[n.start+1 : n.end-1]
			return AppendQuoted(dst, string(unescape(nil, raw)))
		}
	}
	return append(dst, v.d.src[n.start:n.end]...)
}

// AppendQuoted appends s as a JSON string in canonical form. s is valid UTF-8.
func AppendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for {
		n := plain(s)
		dst = append(dst, s[:n]...)
		if n == len(s) {
			return append(dst, '"')
		}
		switch c := s[n]; c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			const hex = "0123456789abcdef"
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		s = s[n+1:]
	}
}
