package jsonval

import "strconv"

// ObjectBuilder writes one canonical JSON object member by member. The zero
// value is ready for use; Reset makes it ready again and keeps its buffer.
type ObjectBuilder struct{ buf []byte }

// Reset empties the builder.
func (b *ObjectBuilder) Reset() { b.buf = b.buf[:0] }

func (b *ObjectBuilder) key(key string) {
	if len(b.buf) == 0 {
		b.buf = append(b.buf, '{')
	} else {
		b.buf = append(b.buf, ',')
	}
	b.buf = AppendQuoted(b.buf, key)
	b.buf = append(b.buf, ':')
}

// Value adds a value that stands in a Doc; a missing one adds nothing.
func (b *ObjectBuilder) Value(key string, v Value) {
	if v.Kind() == Missing {
		return
	}
	b.key(key)
	b.buf = v.AppendJSON(b.buf)
}

// Text adds a string; s is valid UTF-8.
func (b *ObjectBuilder) Text(key, s string) {
	b.key(key)
	b.buf = AppendQuoted(b.buf, s)
}

// Int adds a number.
func (b *ObjectBuilder) Int(key string, n int64) {
	b.key(key)
	b.buf = strconv.AppendInt(b.buf, n, 10)
}

// Bool adds true or false.
func (b *ObjectBuilder) Bool(key string, v bool) {
	b.key(key)
	b.buf = strconv.AppendBool(b.buf, v)
}

// Raw adds canonical JSON; "" adds nothing.
func (b *ObjectBuilder) Raw(key, json string) {
	if json == "" {
		return
	}
	b.key(key)
	b.buf = append(b.buf, json...)
}

// Members adds the members of another canonical JSON object; "" adds nothing.
func (b *ObjectBuilder) Members(object string) {
	if len(object) <= len("{}") {
		return
	}
	if len(b.buf) == 0 {
		b.buf = append(b.buf, '{')
	} else {
		b.buf = append(b.buf, ',')
	}
	b.buf = append(b.buf, object[1:len(object)-1]...)
}

// JSON returns the object, nil when nothing was added. It is valid until the
// next call of another method.
func (b *ObjectBuilder) JSON() []byte {
	if len(b.buf) == 0 {
		return nil
	}
	b.buf = append(b.buf, '}')
	out := b.buf
	b.buf = b.buf[:len(b.buf)-1]
	return out
}
