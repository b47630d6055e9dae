// Package value holds the Go types that stand for DuckDB values, and their
// text and JSON forms. It is free of cgo, so that what prints rows does not
// link the database.
//
//	BOOLEAN                         bool
//	TINYINT ... BIGINT              int64
//	UTINYINT ... UINTEGER           int64
//	UBIGINT                         uint64
//	HUGEINT, UHUGEINT, BIGNUM       *big.Int
//	FLOAT                           float32
//	DOUBLE                          float64
//	DECIMAL                         Decimal
//	TIMESTAMP, _S, _MS, _NS         time.Time in UTC, the clock as stored
//	TIMESTAMP WITH TIME ZONE        Instant
//	JSON                            JSON
//	BLOB, GEOMETRY                  []byte
//	LIST, ARRAY                     []any
//	STRUCT                          Struct
//	MAP                             Map
//	UNION                           the value of its member
//	VARCHAR, ENUM, DATE, TIME,
//	INTERVAL, UUID, BIT             string
//	an infinite DATE or TIMESTAMP   string, "infinity" or "-infinity"
//	NULL                            nil
package value

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"gander/schemas/jsonval"
)

// Column is the name and the DuckDB type of a column of a result.
type Column struct {
	Name string
	Type string
}

// JSON is the text of a JSON value, as stored.
type JSON string

// Decimal is a DECIMAL, all its digits as text.
type Decimal string

// Instant is a TIMESTAMP WITH TIME ZONE.
type Instant time.Time

// Field is a field of a Struct.
type Field struct {
	Name  string
	Value any
}

// Struct is a STRUCT, its fields in declared order.
type Struct []Field

// Entry is an entry of a Map.
type Entry struct {
	Key, Value any
}

// Map is a MAP, its entries in stored order.
type Map []Entry

// timeLayout is ISO 8601 without a zone; trailing zeros of the fraction, and
// an empty fraction with its dot, are left out.
const timeLayout = "2006-01-02T15:04:05.999999999"

// AppendText appends v for a reader of plain text: nothing for NULL, nested
// values as JSON, everything else as AppendJSON has it but unquoted.
func AppendText(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return dst
	case string:
		return append(dst, v...)
	case JSON:
		return append(dst, v...)
	case float32:
		return appendFloat(dst, float64(v), 32)
	case float64:
		return appendFloat(dst, v, 64)
	case []byte:
		return hex.AppendEncode(dst, v)
	case time.Time:
		return v.AppendFormat(dst, timeLayout)
	case Instant:
		return time.Time(v).UTC().AppendFormat(dst, timeLayout+"Z")
	}
	return AppendJSON(dst, v)
}

// AppendJSON appends v as one JSON value on one line. Integers and decimals
// keep every digit; a double has the fewest digits that give it back and
// always a point or an exponent, NaN and the infinities are null; bytes are
// lower-case hex. JSON values stand as stored. Nothing is escaped but what
// JSON demands, and what is not UTF-8 becomes U+FFFD.
func AppendJSON(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case uint64:
		return strconv.AppendUint(dst, v, 10)
	case *big.Int:
		return v.Append(dst, 10)
	case float32:
		return appendJSONFloat(dst, float64(v), 32)
	case float64:
		return appendJSONFloat(dst, v, 64)
	case Decimal:
		return append(dst, v...)
	case string:
		return AppendQuoted(dst, v)
	case JSON:
		return appendRaw(dst, string(v))
	case []byte:
		return append(hex.AppendEncode(append(dst, '"'), v), '"')
	case time.Time, Instant:
		return append(AppendText(append(dst, '"'), v), '"')
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendJSON(dst, e)
		}
		return append(dst, ']')
	case Struct:
		dst = append(dst, '{')
		for i, f := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(AppendQuoted(dst, f.Name), ':')
			dst = AppendJSON(dst, f.Value)
		}
		return append(dst, '}')
	case Map:
		dst = append(dst, '{')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(AppendQuoted(dst, string(AppendText(nil, e.Key))), ':')
			dst = AppendJSON(dst, e.Value)
		}
		return append(dst, '}')
	}
	panic(fmt.Sprintf("value: %T is no value of a result", v))
}

// AppendQuoted appends s as a JSON string.
func AppendQuoted(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = string([]rune(s)) // each byte that is not UTF-8 becomes U+FFFD
	}
	return jsonval.AppendQuoted(dst, s)
}

// appendRaw appends JSON text as it is. DuckDB takes NaN for JSON and keeps
// white space: the former becomes a string, a line break in the latter a space.
func appendRaw(dst []byte, s string) []byte {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if !json.Valid([]byte(s)) {
		return AppendQuoted(dst, s)
	}
	if !strings.ContainsAny(s, "\r\n") {
		return append(dst, s...)
	}
	for i := range len(s) {
		if s[i] == '\r' || s[i] == '\n' {
			dst = append(dst, ' ')
		} else {
			dst = append(dst, s[i])
		}
	}
	return dst
}

func appendJSONFloat(dst []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	return appendFloat(dst, f, bits)
}

func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, format, -1, bits)
	if format == 'f' && bytes.IndexByte(dst[start:], '.') < 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}
