package schemas

import (
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
)

// Kind is the type of a column as readers see it.
type Kind uint8

// The kinds of columns, with the type that SQL readers see.
const (
	Text    Kind = iota // VARCHAR; UTF-8, may hold NUL
	JSON                // JSON in DuckDB, plain UTF8 in Parquet; compact, never ''
	Int                 // BIGINT
	Float               // DOUBLE
	Bool                // BOOLEAN
	Time                // TIMESTAMP, UTC, microseconds, no zone
	IntList             // INTEGER[]
)

// SQL returns the DuckDB name of the type.
func (k Kind) SQL() string {
	return [...]string{"VARCHAR", "JSON", "BIGINT", "DOUBLE", "BOOLEAN", "TIMESTAMP", "INTEGER[]"}[k]
}

// Arrow returns the Arrow type that stands for k in record batches and in
// Parquet: timestamps are microseconds without a zone, so that Parquet says
// isAdjustedToUTC=false.
func (k Kind) Arrow() arrow.DataType {
	switch k {
	case Text, JSON:
		return arrow.BinaryTypes.String
	case Int:
		return arrow.PrimitiveTypes.Int64
	case Float:
		return arrow.PrimitiveTypes.Float64
	case Bool:
		return arrow.FixedWidthTypes.Boolean
	case Time:
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	case IntList:
		// "element" is what Parquet calls it, here and in the schema that files store.
		return arrow.ListOfField(arrow.Field{Name: "element", Type: arrow.PrimitiveTypes.Int32, Nullable: true})
	}
	panic(fmt.Sprintf("schemas: unknown kind %d", k))
}

// Column is one column of a Table. Every column may be NULL.
type Column struct {
	Name string
	Kind Kind
	Doc  string // one sentence: meaning, unit, source
}

// Table is one table. home_id is the hive key of every written table; it is
// not among Columns, since the files themselves do not hold it.
type Table struct {
	Name    string
	Doc     string
	Columns []Column

	once   sync.Once
	schema *arrow.Schema // see Arrow
}

// Keys of the Arrow metadata that gander writes.
const (
	MetaTable = "gander.table" // schema metadata: name of the table
	MetaDoc   = "comment"      // schema and field metadata: the sentence that documents it
)

// HomeIDDoc documents the hive key that every table has beside its columns.
const HomeIDDoc = "Home the row belongs to: <host>-<user>-<first 8 hex of SHA-256(host, NUL, home_path)>; joins to homes."

// Arrow returns the schema of the table's record batches. The table's name and
// the column sentences are in its metadata.
func (t *Table) Arrow() *arrow.Schema {
	t.once.Do(func() {
		fields := make([]arrow.Field, len(t.Columns))
		for i, c := range t.Columns {
			fields[i] = arrow.Field{
				Name: c.Name, Type: c.Kind.Arrow(), Nullable: true,
				Metadata: arrow.NewMetadata([]string{MetaDoc}, []string{c.Doc}),
			}
		}
		md := arrow.NewMetadata([]string{MetaTable, MetaDoc}, []string{t.Name, t.Doc})
		t.schema = arrow.NewSchema(fields, &md)
	})
	return t.schema
}

// Index returns the position of a column, -1 when the table has none of that name.
func (t *Table) Index(column string) int {
	for i, c := range t.Columns {
		if c.Name == column {
			return i
		}
	}
	return -1
}

// NameOf returns the table that a record batch belongs to, "" when its schema
// does not say.
func NameOf(s *arrow.Schema) string {
	md := s.Metadata()
	if i := md.FindKey(MetaTable); i >= 0 {
		return md.Values()[i]
	}
	return ""
}

// Tables lists every table of the warehouse that is written to Parquet, in the
// order of the data dictionary.
func Tables() []*Table {
	return []*Table{
		Homes, Sources, DBTables, Sessions, Messages, Events, ToolCalls, Usage, LLMRequests, RecoveredMessages,
		RecoveredRows, RecoveredEvents, Permissions, Schedules, RoamingPeers, DedupLinks, Issues,
	}
}

// Lookup returns the written table of that name, nil when there is none.
func Lookup(name string) *Table {
	for _, t := range Tables() {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// origin is the tail of every table that is built from records: where the
// record stands in the source.
func origin(columns ...Column) []Column {
	return append(columns,
		Column{"source_file", Text, "Path of the file on the source host; in a tree the home path and the path below it. Windows homes use backslashes."},
		Column{"source_table", Text, "Table of the database: sessions, messages, usage_ledger or thread_messages; NULL for files."},
		Column{"source_line", Int, "Where the record stands: sessions rowid, messages.id, usage_ledger.id; the physical line from 1 in a line file; the item number from 1 in a JSON file."},
	)
}

// tokens is the token group of section "tokens" of the data dictionary.
func tokens() []Column {
	return []Column{
		{"input_tokens", Int, "Input tokens without cache: stored input minus the cache tokens above 0, at least 0; NULL where stored input is NULL."},
		{"output_tokens", Int, "Output tokens as stored; below 0 becomes 0."},
		{"cache_read_tokens", Int, "Input tokens read from the provider's cache, as stored; below 0 becomes 0."},
		{"cache_write_tokens", Int, "Input tokens written to the provider's cache, as stored; below 0 becomes 0."},
		{"total_tokens", Int, "Total as stored; where NULL, 0 or negative, stored input plus stored output (each at least 0)."},
		{"stored_input_tokens", Int, "Input tokens as stored: with cache."},
		{"stored_output_tokens", Int, "Output tokens as stored."},
		{"stored_cache_read_tokens", Int, "Cache read tokens as stored."},
		{"stored_cache_write_tokens", Int, "Cache write tokens as stored."},
		{"stored_total_tokens", Int, "Total tokens as stored."},
	}
}

func columns(groups ...[]Column) []Column {
	var out []Column
	for _, g := range groups {
		out = append(out, g...)
	}
	return out
}
