package duckdb

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"gander/load/duckdb/value"
)

// logical is a DuckDB type as far as it is needed to name it and to read its
// vectors.
type logical struct {
	id       mapping.Type
	name     string
	json     bool
	internal mapping.Type // of a DECIMAL or ENUM: the integer that stores it
	scale    int          // of a DECIMAL
	size     int          // of an ARRAY
	dict     []string     // of an ENUM
	fields   []string     // of a STRUCT or UNION
	children []*logical   // of a nested type; a MAP has key and value
}

var typeNames = map[mapping.Type]string{
	mapping.TypeBoolean: "BOOLEAN", mapping.TypeTinyInt: "TINYINT", mapping.TypeSmallInt: "SMALLINT",
	mapping.TypeInteger: "INTEGER", mapping.TypeBigInt: "BIGINT", mapping.TypeUTinyInt: "UTINYINT",
	mapping.TypeUSmallInt: "USMALLINT", mapping.TypeUInteger: "UINTEGER", mapping.TypeUBigInt: "UBIGINT",
	mapping.TypeHugeInt: "HUGEINT", mapping.TypeUHugeInt: "UHUGEINT", mapping.TypeBigNum: "BIGNUM",
	mapping.TypeFloat: "FLOAT", mapping.TypeDouble: "DOUBLE", mapping.TypeVarchar: "VARCHAR",
	mapping.TypeBlob: "BLOB", mapping.TypeBit: "BIT", mapping.TypeUUID: "UUID", mapping.TypeDate: "DATE",
	mapping.TypeTime: "TIME", mapping.TypeTimeNS: "TIME_NS", mapping.TypeTimeTZ: "TIME WITH TIME ZONE",
	mapping.TypeTimestamp: "TIMESTAMP", mapping.TypeTimestampS: "TIMESTAMP_S", mapping.TypeTimestampMS: "TIMESTAMP_MS",
	mapping.TypeTimestampNS: "TIMESTAMP_NS", mapping.TypeTimestampTZ: "TIMESTAMP WITH TIME ZONE",
	mapping.TypeInterval: "INTERVAL", mapping.TypeSQLNull: "NULL", mapping.TypeGeometry: "GEOMETRY",
}

// describe reads a DuckDB type. It fails for a type without a Go value.
func describe(lt mapping.LogicalType) (*logical, error) {
	t := &logical{id: mapping.GetTypeId(lt)}
	t.name = typeNames[t.id]
	child := func(c mapping.LogicalType) (*logical, error) {
		defer mapping.DestroyLogicalType(&c)
		d, err := describe(c)
		t.children = append(t.children, d)
		return d, err
	}
	switch t.id {
	case mapping.TypeDecimal:
		t.internal = mapping.DecimalInternalType(lt)
		t.scale = int(mapping.DecimalScale(lt))
		t.name = fmt.Sprintf("DECIMAL(%d,%d)", mapping.DecimalWidth(lt), t.scale)
	case mapping.TypeEnum:
		t.internal = mapping.EnumInternalType(lt)
		quoted := make([]string, mapping.EnumDictionarySize(lt))
		for i := range quoted {
			t.dict = append(t.dict, mapping.EnumDictionaryValue(lt, mapping.IdxT(i)))
			quoted[i] = quoteText(t.dict[i])
		}
		t.name = "ENUM(" + strings.Join(quoted, ", ") + ")"
	case mapping.TypeList:
		c, err := child(mapping.ListTypeChildType(lt))
		if err != nil {
			return nil, err
		}
		t.name = c.name + "[]"
	case mapping.TypeArray:
		c, err := child(mapping.ArrayTypeChildType(lt))
		if err != nil {
			return nil, err
		}
		t.size = int(mapping.ArrayTypeArraySize(lt))
		t.name = c.name + "[" + strconv.Itoa(t.size) + "]"
	case mapping.TypeMap:
		k, err := child(mapping.MapTypeKeyType(lt))
		if err != nil {
			return nil, err
		}
		v, err := child(mapping.MapTypeValueType(lt))
		if err != nil {
			return nil, err
		}
		t.name = "MAP(" + k.name + ", " + v.name + ")"
	case mapping.TypeStruct, mapping.TypeUnion:
		word, count := "STRUCT", mapping.StructTypeChildCount
		fieldName, fieldType := mapping.StructTypeChildName, mapping.StructTypeChildType
		if t.id == mapping.TypeUnion {
			word, count = "UNION", mapping.UnionTypeMemberCount
			fieldName, fieldType = mapping.UnionTypeMemberName, mapping.UnionTypeMemberType
		}
		parts := make([]string, count(lt))
		for i := range parts {
			c, err := child(fieldType(lt, mapping.IdxT(i)))
			if err != nil {
				return nil, err
			}
			t.fields = append(t.fields, fieldName(lt, mapping.IdxT(i)))
			parts[i] = quoteName(t.fields[i]) + " " + c.name
		}
		t.name = word + "(" + strings.Join(parts, ", ") + ")"
	}
	if t.name == "" {
		return nil, fmt.Errorf("a result column of DuckDB's type %d cannot be read: cast it to VARCHAR", t.id)
	}
	if mapping.LogicalTypeGetAlias(lt) == "JSON" {
		t.name, t.json = "JSON", true
	}
	return t, nil
}

// vector is a column of a chunk, or what one nests. It is of no use once the
// chunk is destroyed; the values it gives are.
type vector struct {
	t           *logical
	data, valid unsafe.Pointer
	children    []vector
}

func (t *logical) bind(v mapping.Vector) vector {
	out := vector{t: t, data: mapping.VectorGetData(v), valid: mapping.VectorGetValidity(v)}
	switch t.id {
	case mapping.TypeList:
		out.children = []vector{t.children[0].bind(mapping.ListVectorGetChild(v))}
	case mapping.TypeArray:
		out.children = []vector{t.children[0].bind(mapping.ArrayVectorGetChild(v))}
	case mapping.TypeMap: // a list of structs
		entries := mapping.ListVectorGetChild(v)
		for i, c := range t.children {
			out.children = append(out.children, c.bind(mapping.StructVectorGetChild(entries, mapping.IdxT(i))))
		}
	case mapping.TypeStruct:
		for i, c := range t.children {
			out.children = append(out.children, c.bind(mapping.StructVectorGetChild(v, mapping.IdxT(i))))
		}
	case mapping.TypeUnion: // a struct whose first field tells which of the others counts
		tag := &logical{id: mapping.TypeUTinyInt}
		out.children = append(out.children, tag.bind(mapping.StructVectorGetChild(v, 0)))
		for i, c := range t.children {
			out.children = append(out.children, c.bind(mapping.StructVectorGetChild(v, mapping.IdxT(i+1))))
		}
	}
	return out
}

// load reads element i of a vector whose elements are T.
func load[T any](v *vector, i int) T {
	return *(*T)(unsafe.Add(v.data, uintptr(i)*unsafe.Sizeof(*new(T))))
}

// The layouts of the C interface that are read here.
type (
	hugeInt   struct{ lower, upper uint64 }
	interval  struct{ months, days, micros int64 }
	listEntry struct{ offset, length uint64 }
)

// at returns element i as the value package has it.
func (v *vector) at(i int) any {
	if v.valid != nil {
		if word := *(*uint64)(unsafe.Add(v.valid, i/64*8)); word>>(i%64)&1 == 0 {
			return nil
		}
	}
	switch v.t.id {
	case mapping.TypeBoolean:
		return load[bool](v, i)
	case mapping.TypeTinyInt:
		return int64(load[int8](v, i))
	case mapping.TypeSmallInt:
		return int64(load[int16](v, i))
	case mapping.TypeInteger:
		return int64(load[int32](v, i))
	case mapping.TypeBigInt:
		return load[int64](v, i)
	case mapping.TypeUTinyInt:
		return int64(load[uint8](v, i))
	case mapping.TypeUSmallInt:
		return int64(load[uint16](v, i))
	case mapping.TypeUInteger:
		return int64(load[uint32](v, i))
	case mapping.TypeUBigInt:
		return load[uint64](v, i)
	case mapping.TypeHugeInt:
		return load[hugeInt](v, i).signed()
	case mapping.TypeUHugeInt:
		return load[hugeInt](v, i).unsigned()
	case mapping.TypeBigNum:
		return bigNum(v.bytes(i))
	case mapping.TypeFloat:
		return load[float32](v, i)
	case mapping.TypeDouble:
		return load[float64](v, i)
	case mapping.TypeDecimal:
		return v.decimal(i)
	case mapping.TypeVarchar:
		if v.t.json {
			return value.JSON(v.bytes(i))
		}
		return string(v.bytes(i))
	case mapping.TypeEnum:
		return v.t.dict[v.enum(i)]
	case mapping.TypeBlob, mapping.TypeGeometry:
		return append([]byte{}, v.bytes(i)...)
	case mapping.TypeBit:
		return bits(v.bytes(i))
	case mapping.TypeUUID:
		h := load[hugeInt](v, i)
		s := fmt.Sprintf("%016x%016x", h.upper^1<<63, h.lower)
		return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
	case mapping.TypeDate:
		return date(load[int32](v, i))
	case mapping.TypeTime:
		return clock(load[int64](v, i) * 1000)
	case mapping.TypeTimeNS:
		return clock(load[int64](v, i))
	case mapping.TypeTimeTZ:
		return clockTZ(load[uint64](v, i))
	case mapping.TypeTimestampS:
		return timestamp(load[int64](v, i), func(n int64) time.Time { return time.Unix(n, 0) })
	case mapping.TypeTimestampMS:
		return timestamp(load[int64](v, i), time.UnixMilli)
	case mapping.TypeTimestamp:
		return timestamp(load[int64](v, i), time.UnixMicro)
	case mapping.TypeTimestampNS:
		return timestamp(load[int64](v, i), func(n int64) time.Time { return time.Unix(0, n) })
	case mapping.TypeTimestampTZ:
		at := timestamp(load[int64](v, i), time.UnixMicro)
		if t, ok := at.(time.Time); ok {
			return value.Instant(t)
		}
		return at
	case mapping.TypeInterval:
		return v.interval(i)
	case mapping.TypeList:
		e := load[listEntry](v, i)
		return v.children[0].slice(int(e.offset), int(e.length))
	case mapping.TypeArray:
		return v.children[0].slice(i*v.t.size, v.t.size)
	case mapping.TypeMap:
		e := load[listEntry](v, i)
		out := make(value.Map, e.length)
		for n := range out {
			at := int(e.offset) + n
			out[n] = value.Entry{Key: v.children[0].at(at), Value: v.children[1].at(at)}
		}
		return out
	case mapping.TypeStruct:
		out := make(value.Struct, len(v.children))
		for n := range out {
			out[n] = value.Field{Name: v.t.fields[n], Value: v.children[n].at(i)}
		}
		return out
	case mapping.TypeUnion:
		tag, ok := v.children[0].at(i).(int64)
		if !ok {
			return nil
		}
		return v.children[tag+1].at(i)
	case mapping.TypeSQLNull:
		return nil
	}
	panic(fmt.Sprintf("duckdb: no reader for %s", v.t.name)) // describe lets none through
}

func (v *vector) slice(from, n int) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = v.at(from + i)
	}
	return out
}

// bytes returns element i of a vector of strings. It points into the chunk.
func (v *vector) bytes(i int) []byte {
	const inline = 12 // longest string that stands in the element itself
	p := unsafe.Add(v.data, i*16)
	n := *(*uint32)(p)
	if n <= inline {
		return unsafe.Slice((*byte)(unsafe.Add(p, 4)), n)
	}
	return unsafe.Slice(*(**byte)(unsafe.Add(p, 8)), n)
}

func (v *vector) enum(i int) int {
	switch v.t.internal {
	case mapping.TypeUTinyInt:
		return int(load[uint8](v, i))
	case mapping.TypeUSmallInt:
		return int(load[uint16](v, i))
	}
	return int(load[uint32](v, i))
}

func (v *vector) decimal(i int) value.Decimal {
	var n *big.Int
	switch v.t.internal {
	case mapping.TypeSmallInt:
		n = big.NewInt(int64(load[int16](v, i)))
	case mapping.TypeInteger:
		n = big.NewInt(int64(load[int32](v, i)))
	case mapping.TypeBigInt:
		n = big.NewInt(load[int64](v, i))
	default:
		n = load[hugeInt](v, i).signed()
	}
	sign := ""
	if n.Sign() < 0 {
		sign = "-"
	}
	digits := n.Abs(n).String()
	if v.t.scale > 0 {
		if missing := v.t.scale + 1 - len(digits); missing > 0 {
			digits = strings.Repeat("0", missing) + digits
		}
		point := len(digits) - v.t.scale
		digits = digits[:point] + "." + digits[point:]
	}
	return value.Decimal(sign + digits)
}

func (v *vector) interval(i int) string {
	p := unsafe.Add(v.data, i*16)
	return interval{
		months: int64(*(*int32)(p)),
		days:   int64(*(*int32)(unsafe.Add(p, 4))),
		micros: *(*int64)(unsafe.Add(p, 8)),
	}.String()
}

// String is what DuckDB prints: 1 year 2 months -3 days 04:05:06.7.
func (iv interval) String() string {
	var parts []string
	add := func(n int64, unit string) {
		if n == 0 {
			return
		}
		if n != 1 && n != -1 {
			unit += "s"
		}
		parts = append(parts, strconv.FormatInt(n, 10)+" "+unit)
	}
	add(iv.months/12, "year")
	add(iv.months%12, "month")
	add(iv.days, "day")
	if iv.micros != 0 || len(parts) == 0 {
		sign, micros := "", uint64(iv.micros)
		if iv.micros < 0 {
			sign, micros = "-", -micros
		}
		text := fmt.Sprintf("%s%02d:%02d:%02d", sign, micros/3_600_000_000, micros/60_000_000%60, micros/1_000_000%60)
		if f := micros % 1_000_000; f != 0 {
			text += strings.TrimRight(fmt.Sprintf(".%06d", f), "0")
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

func (h hugeInt) unsigned() *big.Int {
	n := new(big.Int).SetUint64(h.upper)
	return n.Add(n.Lsh(n, 64), new(big.Int).SetUint64(h.lower))
}

func (h hugeInt) signed() *big.Int {
	n := big.NewInt(int64(h.upper))
	return n.Add(n.Lsh(n, 64), new(big.Int).SetUint64(h.lower))
}

// bigNum reads a BIGNUM: three bytes of length, whose first bit is set for
// numbers that are not negative, then the magnitude; a negative number has all
// its bits turned over.
func bigNum(b []byte) *big.Int {
	if len(b) < 4 {
		return new(big.Int)
	}
	if b[0]&0x80 != 0 {
		return new(big.Int).SetBytes(b[3:])
	}
	m := make([]byte, len(b)-3)
	for i := range m {
		m[i] = ^b[3+i]
	}
	n := new(big.Int).SetBytes(m)
	return n.Neg(n)
}

// bits reads a BIT: a byte with the number of bits to skip, then the bits.
func bits(b []byte) string {
	if len(b) < 2 {
		return ""
	}
	var out strings.Builder
	for _, c := range b[1:] {
		fmt.Fprintf(&out, "%08b", c)
	}
	return out.String()[b[0]:]
}

const (
	infinity    = "infinity"
	negInfinity = "-infinity"
)

func date(days int32) string {
	switch days {
	case math.MaxInt32:
		return infinity
	case -math.MaxInt32:
		return negInfinity
	}
	return time.Unix(int64(days)*86400, 0).UTC().Format(time.DateOnly)
}

func timestamp(n int64, at func(int64) time.Time) any {
	switch n {
	case math.MaxInt64:
		return infinity
	case -math.MaxInt64:
		return negInfinity
	}
	return at(n).UTC()
}

// clock prints a time of day, 24:00:00 included.
func clock(nanos int64) string {
	s := fmt.Sprintf("%02d:%02d:%02d", nanos/3_600_000_000_000, nanos/60_000_000_000%60, nanos/1_000_000_000%60)
	if f := nanos % 1_000_000_000; f != 0 {
		s += strings.TrimRight(fmt.Sprintf(".%09d", f), "0")
	}
	return s
}

// clockTZ prints a TIME WITH TIME ZONE: microseconds in the upper 40 bits, the
// offset in seconds, counted down from 15:59:59, in the lower 24.
func clockTZ(n uint64) string {
	const maxOffset = 16*3600 - 1
	offset := maxOffset - int64(n&(1<<24-1))
	sign := "+"
	if offset < 0 {
		sign, offset = "-", -offset
	}
	zone := fmt.Sprintf("%s%02d:%02d", sign, offset/3600, offset/60%60)
	if s := offset % 60; s != 0 {
		zone += fmt.Sprintf(":%02d", s)
	}
	return clock(int64(n>>24)*1000) + zone
}
