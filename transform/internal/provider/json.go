package provider

import (
	"slices"
	"strings"

	"gander/schemas/jsonval"
)

// SortedJSON returns the value's canonical JSON with the keys of every object
// in sorted order, the last of equal keys alone; "" when the value is missing.
// Two values that differ in no more than the order of keys have the same.
// Numbers are compared as they are written: 1 and 1.0 differ.
func SortedJSON(v jsonval.Value) string {
	if !v.Is(jsonval.Object) && !v.Is(jsonval.Array) {
		return v.JSON()
	}
	return string(appendSorted(nil, v))
}

type member struct {
	key   string
	value jsonval.Value
}

func appendSorted(dst []byte, v jsonval.Value) []byte {
	switch v.Kind() {
	case jsonval.Object:
		var members []member
		for key, value := range v.Members() {
			members = append(members, member{key, value})
		}
		slices.SortStableFunc(members, func(a, b member) int { return strings.Compare(a.key, b.key) })
		dst = append(dst, '{')
		first := true
		for i, m := range members {
			if i+1 < len(members) && members[i+1].key == m.key {
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = jsonval.AppendQuoted(dst, m.key)
			dst = append(dst, ':')
			dst = appendSorted(dst, m.value)
		}
		return append(dst, '}')
	case jsonval.Array:
		dst = append(dst, '[')
		first := true
		for item := range v.Items() {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = appendSorted(dst, item)
		}
		return append(dst, ']')
	}
	return v.AppendJSON(dst)
}

// unwrapped is the value that a string of JSON holds, in a Doc of its own;
// any other value is itself.
func unwrapped(v jsonval.Value) jsonval.Value {
	if !v.Is(jsonval.String) {
		return v
	}
	var d jsonval.Doc
	if d.Parse(v.Text()) != nil {
		return v
	}
	return d.Root()
}

// deeper reports that more than levels arrays and objects stand in one another.
func deeper(v jsonval.Value, levels int) bool {
	if !v.Is(jsonval.Array) && !v.Is(jsonval.Object) {
		return false
	}
	if levels == 0 {
		return true
	}
	for item := range v.Items() {
		if deeper(item, levels-1) {
			return true
		}
	}
	for _, value := range v.Members() {
		if deeper(value, levels-1) {
			return true
		}
	}
	return false
}

// textOf is a text as it stands, other JSON as it is written, "" for null and
// for what is missing.
func textOf(v jsonval.Value) string {
	if !v.Present() {
		return ""
	}
	return v.TextOrJSON()
}

// firstOf returns the first of the members that is there and not null.
func firstOf(v jsonval.Value, keys ...string) jsonval.Value {
	for _, key := range keys {
		if m := v.Get(key); m.Present() {
			return m
		}
	}
	return jsonval.Value{}
}
