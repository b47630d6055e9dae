// Package values turns stored values into column values: times, texts and
// token counts. Every rule is pure and total: what does not fit is reported as
// such, never guessed.
package values

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Times a warehouse can hold: from 2000-01-01 (in) to 2100-01-01 (out), in
// microseconds since 1970. Anything outside is a bad time, not a time.
const (
	MinMicros = 946684800_000_000
	MaxMicros = 4102444800_000_000
)

// millisAbove is the number above which a numeric time is in milliseconds.
const millisAbove = 10_000_000_000

func inRange(us int64) (int64, bool) { return us, us >= MinMicros && us < MaxMicros }

// IntTime reads a numeric time: seconds, or milliseconds above 10,000,000,000.
// It returns microseconds since 1970 UTC.
func IntTime(v int64) (us int64, ok bool) {
	switch {
	case v > MaxMicros/1000 || v <= 0:
		return 0, false
	case v > millisAbove:
		return inRange(v * 1000)
	default:
		return inRange(v * 1_000_000)
	}
}

// FloatTime is IntTime for a number with a fraction, which is kept to the
// microsecond.
func FloatTime(v float64) (us int64, ok bool) {
	if math.IsNaN(v) || v <= 0 || v > MaxMicros/1000 {
		return 0, false
	}
	if v > millisAbove {
		return inRange(int64(math.Round(v * 1000)))
	}
	return inRange(int64(math.Round(v * 1_000_000)))
}

// IsMillis reports that IntTime reads v as milliseconds.
func IsMillis(v int64) bool { return v > millisAbove }

// TextTime reads a time as SQLite, chrono and JSON write it: date and time
// apart by a space or T, 0 to 9 fraction digits (cut to microseconds), then Z,
// an offset, or nothing for UTC. White space around it is allowed.
func TextTime(s string) (us int64, ok bool) {
	s = trimASCII(s)
	if len(s) < 19 || s[4] != '-' || s[7] != '-' || (s[10] != ' ' && s[10] != 'T') || s[13] != ':' || s[16] != ':' {
		return 0, false
	}
	year, ok1 := digits(s[0:4])
	month, ok2 := digits(s[5:7])
	day, ok3 := digits(s[8:10])
	hour, ok4 := digits(s[11:13])
	minute, ok5 := digits(s[14:16])
	second, ok6 := digits(s[17:19])
	if !(ok1 && ok2 && ok3 && ok4 && ok5 && ok6) || month < 1 || month > 12 || day < 1 ||
		day > daysIn(year, month) || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	us = time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC).Unix() * 1_000_000
	rest := s[19:]
	if rest != "" && rest[0] == '.' {
		n := 1
		for scale := int64(100_000); n < len(rest) && rest[n] >= '0' && rest[n] <= '9'; n++ {
			us += scale * int64(rest[n]-'0')
			scale /= 10
		}
		if n == 1 || n > 10 {
			return 0, false
		}
		rest = rest[n:]
	}
	offset, ok := zone(trimASCII(rest))
	if !ok {
		return 0, false
	}
	return inRange(us - offset)
}

// zone reads "", "Z", "+hh:mm" or "+hhmm" and returns the offset in microseconds.
func zone(s string) (us int64, ok bool) {
	switch {
	case s == "" || s == "Z":
		return 0, true
	case len(s) == 6 && s[3] == ':':
		s = s[:3] + s[4:]
	case len(s) != 5:
		return 0, false
	}
	hour, ok1 := digits(s[1:3])
	minute, ok2 := digits(s[3:5])
	if !ok1 || !ok2 || hour > 23 || minute > 59 {
		return 0, false
	}
	us = int64(hour*60+minute) * 60_000_000
	switch s[0] {
	case '+':
		return us, true
	case '-':
		return -us, true
	}
	return 0, false
}

func daysIn(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func digits(s string) (int, bool) {
	n := 0
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, true
}

func trimASCII(s string) string {
	for s != "" && (s[0] == ' ' || s[0]-'\t' < 5) {
		s = s[1:]
	}
	for s != "" && (s[len(s)-1] == ' ' || s[len(s)-1]-'\t' < 5) {
		s = s[:len(s)-1]
	}
	return s
}

// IsSpace reports whether r is in Unicode's White_Space set, which timeline
// texts and history entries are trimmed by.
func IsSpace(r rune) bool {
	switch {
	case r >= 0x09 && r <= 0x0D, r == 0x20, r == 0x85, r == 0xA0, r == 0x1680,
		r >= 0x2000 && r <= 0x200A, r == 0x2028, r == 0x2029, r == 0x202F, r == 0x205F, r == 0x3000:
		return true
	}
	return false
}

const replacement = "\uFFFD"

// CleanUTF8 replaces each invalid sequence by one U+FFFD: the longest prefix
// of a well-formed character counts as one sequence, as WHATWG decoders and
// Python have it. ok is false when something was replaced; a clean s comes
// back as it is.
func CleanUTF8(s string) (clean string, ok bool) {
	if utf8.ValidString(s) {
		return s, true
	}
	out := make([]byte, 0, len(s)+16)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r != utf8.RuneError || n > 1 {
			out = append(out, s[i:i+n]...)
			i += n
			continue
		}
		out = append(out, replacement...)
		i += invalidLen(s[i:])
	}
	return string(out), false
}

// invalidLen returns the length of the invalid sequence at the start of s: of
// the maximal subpart of a well-formed character, at least one byte.
func invalidLen(s string) int {
	lo, hi, need := byte(0x80), byte(0xBF), 0
	switch b := s[0]; {
	case b >= 0xC2 && b <= 0xDF:
		need = 1
	case b >= 0xE0 && b <= 0xEF:
		need = 2
		if b == 0xE0 {
			lo = 0xA0
		} else if b == 0xED {
			hi = 0x9F
		}
	case b >= 0xF0 && b <= 0xF4:
		need = 3
		if b == 0xF0 {
			lo = 0x90
		} else if b == 0xF4 {
			hi = 0x8F
		}
	}
	n := 1
	for ; n <= need && n < len(s); n++ {
		if s[n] < lo || s[n] > hi {
			break
		}
		lo, hi = 0x80, 0xBF
	}
	return n
}

// RealText writes a REAL as SQLite does, told apart from an integer by at
// least one decimal, with the shortest digits that read back as v. An exponent
// comes where SQLite has one: below 0.0001 and from 1e15.
func RealText(v float64) string {
	switch {
	case math.IsNaN(v):
		return ""
	case math.IsInf(v, 1):
		return "Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	}
	if a := math.Abs(v); a == 0 || a >= 1e-4 && a < 1e15 {
		s := strconv.FormatFloat(v, 'f', -1, 64)
		if strings.IndexByte(s, '.') < 0 {
			s += ".0"
		}
		return s
	}
	s := strconv.FormatFloat(v, 'e', -1, 64)
	if strings.IndexByte(s, '.') < 0 {
		s = strings.Replace(s, "e", ".0e", 1)
	}
	return s
}

// WholeFloat returns v as an integer when it is one that fits int64.
func WholeFloat(v float64) (int64, bool) {
	if v != math.Trunc(v) || v < -(1<<63) || v >= 1<<63 {
		return 0, false
	}
	return int64(v), true
}

// SHA256Hex returns the SHA-256 of b in lower-case hex.
func SHA256Hex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// RawPrefix returns the first 4,096 bytes of a value, cut back to a whole
// character, as issues.raw holds it.
func RawPrefix(s string) string {
	const limit = 4096
	if len(s) <= limit {
		return s
	}
	n := limit
	for n > limit-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
