package sqlitefile

import (
	"encoding/binary"
	"math"
	"unicode/utf16"
	"unicode/utf8"

	"gander/extract/internal/sqlitero"
)

// Value is a stored value. Texts are UTF-8, whatever the database's encoding,
// as far as the stored bytes are valid.
type Value = sqlitero.Value

// The storage classes.
const (
	Null = sqlitero.Null
	Int  = sqlitero.Int
	Real = sqlitero.Real
	Text = sqlitero.Text
	Blob = sqlitero.Blob
)

// MaxRecord is the largest record that is read, in bytes: SQLite's own limit.
const MaxRecord = 1_000_000_000

// Text encodings, as the header of a database has them.
const (
	encUTF8    = 1
	encUTF16le = 2
	encUTF16be = 3
)

// varint reads a variable-length integer; n is 0 when b ends within it.
func varint(b []byte) (v uint64, n int) {
	for i := 0; i < len(b) && i < 8; i++ {
		v = v<<7 | uint64(b[i]&0x7f)
		if b[i] < 0x80 {
			return v, i + 1
		}
	}
	if len(b) < 9 {
		return 0, 0
	}
	return v<<8 | uint64(b[8]), 9
}

// bodySize returns the bytes that a value of a serial type takes; ok is false
// for the types that SQLite reserves and for sizes beyond MaxRecord.
func bodySize(serial uint64) (n int, ok bool) {
	switch {
	case serial < 10:
		return int([...]uint8{0, 1, 2, 3, 4, 6, 8, 8, 0, 0}[serial]), true
	case serial < 12, serial > 2*MaxRecord:
		return 0, false
	}
	return int(serial-12) / 2, true
}

// headerSize returns the size of a record's header: sound says that it is
// inside the record.
func headerSize(payload []byte) (size, varintSize int, sound bool) {
	h, n := varint(payload)
	if n == 0 || h < uint64(n) || h > uint64(len(payload)) {
		return 0, 0, false
	}
	return int(h), n, true
}

// decodeRecord appends the values of a record to dst. ok is false for bytes
// that are no record: then nothing of them is to be used. Values refer to
// payload; texts of UTF-16 databases are converted.
func decodeRecord(dst []Value, payload []byte, encoding int) (_ []Value, ok bool) {
	return decodePart(dst, payload, len(payload), encoding, math.MaxInt)
}

// decodePart is decodeRecord for the first values of a record of size bytes, of
// which payload holds those at least.
func decodePart(dst []Value, payload []byte, size, encoding, most int) (_ []Value, ok bool) {
	h, ok := openHeader(payload, size)
	if !ok {
		return dst, false
	}
	for n := 0; h.more() && n < most; n++ {
		from := h.body
		serial, ok := h.next()
		if !ok || h.body > len(payload) {
			return dst, false
		}
		dst = append(dst, decodeValue(serial, payload[from:h.body], encoding))
	}
	return dst, true
}

// prefix returns how many bytes of a record of size bytes hold its first most
// values, 0 when its header is not whole in payload or not sound so far.
func prefix(payload []byte, size, most int) int {
	h, ok := openHeader(payload, size)
	for n := 0; ok && h.more() && n < most; n++ {
		_, ok = h.next()
	}
	if !ok {
		return 0
	}
	return h.body
}

// header walks over the header of a record.
type header struct {
	types []byte // serial types that are left
	body  int    // where the next value begins
	size  int    // of the record
}

func openHeader(payload []byte, size int) (header, bool) {
	h, at, ok := headerSize(payload)
	if !ok {
		return header{}, false
	}
	return header{payload[at:h], h, size}, true
}

func (h *header) more() bool { return len(h.types) > 0 }

// next takes the next serial type and steps over its value, which is inside
// the record.
func (h *header) next() (serial uint64, ok bool) {
	serial, width := varint(h.types)
	if width == 0 {
		return 0, false
	}
	length, ok := bodySize(serial)
	if !ok || length > h.size-h.body {
		return 0, false
	}
	h.types = h.types[width:]
	h.body += length
	return serial, true
}

func decodeValue(serial uint64, b []byte, encoding int) Value {
	switch serial {
	case 0, 10, 11:
		return Value{}
	case 7:
		f := math.Float64frombits(binary.BigEndian.Uint64(b))
		if math.IsNaN(f) { // SQLite reads a NaN as NULL
			return Value{}
		}
		return Value{Kind: Real, Real: f}
	case 8, 9:
		return Value{Kind: Int, Int: int64(serial - 8)}
	}
	if serial < 7 {
		v := int64(int8(b[0]))
		for _, c := range b[1:] {
			v = v<<8 | int64(c)
		}
		return Value{Kind: Int, Int: v}
	}
	if serial&1 == 0 {
		return Value{Kind: Blob, Bytes: b}
	}
	switch encoding {
	case encUTF16le:
		b = fromUTF16(b, binary.LittleEndian)
	case encUTF16be:
		b = fromUTF16(b, binary.BigEndian)
	}
	return Value{Kind: Text, Bytes: b}
}

// fromUTF16 converts a text; a lone surrogate becomes U+FFFD, an odd last byte
// is dropped as SQLite drops it.
func fromUTF16(b []byte, order binary.ByteOrder) []byte {
	out := make([]byte, 0, len(b)/2)
	for ; len(b) >= 2; b = b[2:] {
		r := rune(order.Uint16(b))
		if utf16.IsSurrogate(r) {
			pair := rune(utf8.RuneError)
			if len(b) >= 4 {
				pair = utf16.DecodeRune(r, rune(order.Uint16(b[2:])))
			}
			if r = pair; r != utf8.RuneError {
				b = b[2:]
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}
