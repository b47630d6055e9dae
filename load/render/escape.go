package render

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Escape shows what could drive or deceive a terminal as \u{…}: the control
// characters, ESC among them, the bidi controls, and the line and paragraph
// separators. What is not UTF-8 becomes U+FFFD.
func Escape(s string) string {
	i := strings.IndexFunc(s, unsafeRune)
	if i < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 8)
	for _, r := range s { // an invalid byte comes as U+FFFD
		if unsafeRune(r) {
			b.WriteString(`\u{`)
			b.WriteString(strconv.FormatInt(int64(r), 16))
			b.WriteByte('}')
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unsafeRune(r rune) bool {
	switch {
	case r < 0x20, 0x7F <= r && r <= 0x9F:
		return true
	case r < 0x61C:
		return false
	case r == 0x61C, r == 0x200E, r == 0x200F, // bidi marks
		0x2028 <= r && r <= 0x202E, // separators, embeddings and overrides
		0x2066 <= r && r <= 0x2069: // isolates
		return true
	}
	return false
}

// appendEscapedJSON appends JSON text with the characters of Escape that JSON
// allows in a string as \uXXXX. They are all below U+10000, and none of them
// may stand outside a string.
func appendEscapedJSON(dst, text []byte) []byte {
	const digits = "0123456789abcdef"
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(text[i:])
		}
		if r >= 0x7F && unsafeRune(r) {
			dst = append(dst, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
		} else {
			dst = append(dst, text[i:i+size]...)
		}
		i += size
	}
	return dst
}
