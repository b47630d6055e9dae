package extract

import (
	"math"
	"strconv"
	"unsafe"

	"gander/extract/internal/sqlitero"
	"gander/schemas/batch"
	"gander/schemas/jsonval"
	"gander/schemas/values"
)

// fieldKind is how a stored value becomes a column value.
type fieldKind uint8

const (
	asText     fieldKind = iota
	asTime               // seconds, milliseconds or text
	asTimeText           // the stored form of a time, beside the time
	asMillis             // the stored form of a time in whole milliseconds
	asInt
	asFloat
	asFlag
	asCopied // of no column: copied_from_session_id
)

// field is a column of a raw table.
type field struct {
	column string // of the database
	kind   fieldKind
	extra  string // key in extra for a value that did not fit: its column in the warehouse
}

// The fields follow the columns of the raw tables; before them come those that
// say where the row is, after them comes extra.
var sessionFields = []field{
	{"id", asText, ""},
	{"name", asText, ""},
	{"description", asText, ""},
	{"user_set_name", asFlag, "user_set_name"},
	{"session_type", asText, ""},
	{"working_dir", asText, ""},
	{"created_at", asTime, ""},
	{"created_at", asTimeText, ""},
	{"updated_at", asTime, ""},
	{"archived_at", asTime, ""},
	{"archived_at", asTimeText, ""},
	{"provider_name", asText, ""},
	{"model_config_json", asText, ""},
	{"goose_mode", asText, ""},
	{"schedule_id", asText, ""},
	{"project_id", asText, ""},
	{"parent_session_id", asText, ""},
	{"recipe_json", asText, ""},
	{"user_recipe_values_json", asText, ""},
	{"extension_data", asText, ""},
	{"input_tokens", asInt, "last_call_input_tokens"},
	{"output_tokens", asInt, "last_call_output_tokens"},
	{"total_tokens", asInt, "last_call_total_tokens"},
	{"cache_read_tokens", asInt, "last_call_cache_read_tokens"},
	{"cache_write_tokens", asInt, "last_call_cache_write_tokens"},
	{"accumulated_input_tokens", asInt, "accumulated_input_tokens"},
	{"accumulated_output_tokens", asInt, "accumulated_output_tokens"},
	{"accumulated_total_tokens", asInt, "accumulated_total_tokens"},
	{"accumulated_cache_read_tokens", asInt, "accumulated_cache_read_tokens"},
	{"accumulated_cache_write_tokens", asInt, "accumulated_cache_write_tokens"},
	{"accumulated_cost", asFloat, "accumulated_cost_usd"},
}

var messageFields = []field{
	{"message_id", asText, ""},
	{"role", asText, ""},
	{"content_json", asText, ""},
	{"created_timestamp", asTime, ""},
	{"created_timestamp", asMillis, ""},
	{"timestamp", asTime, ""},
	{"metadata_json", asText, ""},
	{"", asCopied, ""},
}

var usageFields = []field{
	{"session_id", asText, ""},
	{"created_timestamp", asTime, ""},
	{"model", asText, ""},
	{"input_tokens", asInt, "input_tokens"},
	{"output_tokens", asInt, "output_tokens"},
	{"total_tokens", asInt, "total_tokens"},
	{"cache_read_tokens", asInt, "cache_read_tokens"},
	{"cache_write_tokens", asInt, "cache_write_tokens"},
	{"cost", asFloat, "cost_usd"},
	{"cost_source", asText, ""},
	{"is_compaction", asFlag, "is_compaction"},
}

// storedTable is a table that records come from, as this database has it.
type storedTable struct {
	name    string // as gander writes it
	table   *sqlitero.Table
	columns []string       // selected, by their names in the database
	index   map[string]int // of the columns, by the name gander knows
	unknown []int          // of the columns that have no place

	count   int64 // rows that were scanned
	counted bool  // they are all
}

func newStoredTable(name string, t *sqlitero.Table) *storedTable {
	s := &storedTable{name: name, table: t, index: map[string]int{}}
	known := []string{"session_id"} // messages: the session it hangs on
	for _, fields := range map[string][][]field{
		"sessions": {sessionFields}, "messages": {messageFields},
		"thread_messages": {messageFields}, "usage_ledger": {usageFields},
	}[name] {
		for _, f := range fields {
			known = append(known, f.column)
		}
	}
	if name == "sessions" {
		known = known[1:]
	}
	for _, c := range t.Columns {
		if c.Alias || !c.Stored() {
			continue
		}
		i := len(s.columns)
		s.columns = append(s.columns, c.Name)
		place := ""
		for _, k := range known {
			if k != "" && sqlitero.SameName(k, c.Name) {
				place = k
			}
		}
		if place == "" {
			s.unknown = append(s.unknown, i)
		} else {
			s.index[place] = i
		}
	}
	return s
}

// at returns the position of a known column among the selected ones, -1 when
// the table has none.
func (s *storedTable) at(column string) int {
	if i, ok := s.index[column]; ok {
		return i
	}
	return -1
}

// column returns the name of a column as the table has it, "" when it has none of that name.
func (s *storedTable) column(name string) string {
	for _, c := range s.table.Columns {
		if c.Stored() && sqlitero.SameName(c.Name, name) {
			return c.Name
		}
	}
	return ""
}

// cells appends the fields of a row and its extra.
func (r *sessionsReader) cells(w *batch.Writer, t *storedTable, fields []field, id int64, v []sqlitero.Value) {
	r.extra = r.extra[:0]
	for _, f := range fields {
		if f.kind == asCopied {
			w.OptText(r.copiedFrom(t, id))
			continue
		}
		i := t.at(f.column)
		if i < 0 || v[i].Kind == sqlitero.Null {
			w.Null()
			continue
		}
		r.cell(w, t, f, id, &v[i])
	}
	for _, i := range t.unknown {
		if v[i].Kind != sqlitero.Null {
			r.addExtra(t, t.columns[i], id, &v[i])
		}
	}
	if len(r.extra) == 0 {
		w.Null()
		return
	}
	r.extra = append(r.extra, '}')
	w.Bytes(r.extra)
}

func (r *sessionsReader) cell(w *batch.Writer, t *storedTable, f field, id int64, v *sqlitero.Value) {
	switch f.kind {
	case asText, asTimeText:
		text, _ := textOf(v)
		w.Text(r.utf8(t, f.column, id, text))
	case asTime:
		us, ok := timeOf(v)
		if !ok {
			r.bad("bad_time", "no time from 2000 to 2100", t, f, id, v)
		}
		w.Micros(us, ok)
	case asMillis:
		w.OptInt(v.Int, v.Kind == sqlitero.Int && values.IsMillis(v.Int))
	case asInt:
		n, ok := wholeNumber(v)
		if !ok {
			r.bad("bad_number", "no whole number of 64 bits", t, f, id, v)
		}
		w.OptInt(n, ok)
	case asFloat:
		n, ok := number(v)
		if !ok {
			r.bad("bad_number", "no number", t, f, id, v)
		}
		w.OptFloat(n, ok)
	case asFlag:
		b, ok := flag(v)
		if !ok {
			r.bad("bad_number", "neither true nor false", t, f, id, v)
		}
		w.OptBool(b, ok)
	}
}

// utf8 returns a text as a column can hold it, with an issue when that is not
// as it is stored.
func (r *sessionsReader) utf8(t *storedTable, column string, id int64, text string) string {
	clean, ok := values.CleanUTF8(text)
	if !ok {
		r.issue("invalid_utf8", t.name+"."+column+" is not UTF-8", &clean, t.name, id)
	}
	return clean
}

// bad reports a value that its column cannot hold, and keeps its text in extra
// where that has a key for it.
func (r *sessionsReader) bad(code, what string, t *storedTable, f field, id int64, v *sqlitero.Value) {
	text, _ := textOf(v)
	r.issue(code, t.name+"."+f.column+" is "+what, &text, t.name, id)
	if f.extra != "" {
		clean, _ := values.CleanUTF8(text)
		r.extraKey(f.extra)
		r.extra = jsonval.AppendQuoted(r.extra, clean)
	}
}

func (r *sessionsReader) extraKey(key string) {
	if len(r.extra) == 0 {
		r.extra = append(r.extra, '{')
	} else {
		r.extra = append(r.extra, ',')
	}
	clean, _ := values.CleanUTF8(key)
	r.extra = append(jsonval.AppendQuoted(r.extra, clean), ':')
}

func (r *sessionsReader) addExtra(t *storedTable, column string, id int64, v *sqlitero.Value) {
	r.extraKey(column)
	switch v.Kind {
	case sqlitero.Int:
		r.extra = strconv.AppendInt(r.extra, v.Int, 10)
	case sqlitero.Real:
		text := values.RealText(v.Real)
		if math.IsInf(v.Real, 0) || math.IsNaN(v.Real) {
			r.extra = jsonval.AppendQuoted(r.extra, text)
		} else {
			r.extra = append(r.extra, text...)
		}
	default:
		text, _ := textOf(v)
		r.extra = jsonval.AppendQuoted(r.extra, r.utf8(t, column, id, text))
	}
}

// textOf returns the text of a value of any storage class: a BLOB's bytes, a
// number's digits. ok is false for NULL. It is valid as long as the value.
func textOf(v *sqlitero.Value) (text string, ok bool) {
	switch v.Kind {
	case sqlitero.Int:
		return strconv.FormatInt(v.Int, 10), true
	case sqlitero.Real:
		return values.RealText(v.Real), true
	}
	return view(v.Bytes), v.Kind != sqlitero.Null
}

// view is b as a text, without a copy.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// timeOf reads a time: a number of seconds or milliseconds, or a text.
func timeOf(v *sqlitero.Value) (us int64, ok bool) {
	switch v.Kind {
	case sqlitero.Null:
		return 0, false
	case sqlitero.Int:
		return values.IntTime(v.Int)
	case sqlitero.Real:
		return values.FloatTime(v.Real)
	}
	return values.TextTime(view(v.Bytes))
}

// wholeNumber reads an integer from a number or from the text of one.
func wholeNumber(v *sqlitero.Value) (int64, bool) {
	switch v.Kind {
	case sqlitero.Null:
		return 0, false
	case sqlitero.Int:
		return v.Int, true
	case sqlitero.Real:
		return values.WholeFloat(v.Real)
	}
	n, err := strconv.ParseInt(view(v.Bytes), 10, 64)
	return n, err == nil
}

// number reads a finite number from a number or from the text of one.
func number(v *sqlitero.Value) (float64, bool) {
	switch v.Kind {
	case sqlitero.Null:
		return 0, false
	case sqlitero.Int:
		return float64(v.Int), true
	case sqlitero.Real:
		return v.Real, !math.IsInf(v.Real, 0) && !math.IsNaN(v.Real)
	}
	return numberText(view(v.Bytes))
}

// numberText reads a decimal literal: no hexadecimal, no underscores, no words.
func numberText(s string) (float64, bool) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c == '+', c == '-', c == '.', c == 'e', c == 'E':
		default:
			return 0, false
		}
	}
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil
}

// flag reads a truth value: a number that is 0 or not, or its text, or the
// words for it in any case.
func flag(v *sqlitero.Value) (is, ok bool) {
	switch v.Kind {
	case sqlitero.Null:
		return false, false
	case sqlitero.Int:
		return v.Int != 0, true
	case sqlitero.Real:
		n, ok := values.WholeFloat(v.Real)
		return n != 0, ok
	}
	return flagText(view(v.Bytes))
}

func flagText(s string) (is, ok bool) {
	switch {
	case s == "1", sqlitero.SameName(s, "true"):
		return true, true
	case s == "0", sqlitero.SameName(s, "false"):
		return false, true
	}
	return false, false
}
