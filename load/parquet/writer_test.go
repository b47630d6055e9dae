package parquet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/google/go-cmp/cmp"
	parquetgo "github.com/parquet-go/parquet-go"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"gander/schemas"
	"gander/schemas/batch"
	"gander/schemas/batch/batchtest"
	"gander/schemas/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// row holds a value per column it names; the others are NULL.
type row map[string]any

// write feeds rows through a batch.Set, as producers do.
func write(t testing.TB, mem memory.Allocator, w *Writer, table *schemas.Table, rows ...row) {
	t.Helper()
	set := batch.NewSet(mem, func(rec arrow.RecordBatch) bool {
		defer rec.Release()
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
		return true
	})
	defer set.Release()
	b := set.Table(table)
	for _, r := range rows {
		for _, c := range table.Columns {
			switch v := r[c.Name].(type) {
			case nil:
				b.Null()
			case string:
				b.Text(v)
			case int:
				if c.Kind == schemas.Time {
					b.Micros(int64(v), true)
				} else {
					b.Int(int64(v))
				}
			case float64:
				b.OptFloat(v, true)
			case bool:
				b.Bool(v)
			case []int32:
				b.Ints(v)
			default:
				t.Fatalf("no way to write a %T", v)
			}
		}
		b.End()
	}
	set.Flush()
}

func closed(t testing.TB, w *Writer) []File {
	t.Helper()
	files, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// readGo reads a file with parquet-go, values as row has them.
func readGo(t testing.TB, path string, table *schemas.Table) []row {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := parquetgo.NewReader(f)
	defer r.Close()
	var rows []row
	buf := make([]parquetgo.Row, 64)
	for {
		n, err := r.ReadRows(buf)
		for _, values := range buf[:n] {
			out := row{}
			for _, v := range values {
				c := table.Columns[v.Column()] // every column is one leaf
				switch {
				case c.Kind == schemas.IntList:
					if v.DefinitionLevel() > 0 {
						list, _ := out[c.Name].([]int32)
						out[c.Name] = append(list, v.Int32())
					}
				case v.IsNull():
				case c.Kind == schemas.Int, c.Kind == schemas.Time:
					out[c.Name] = int(v.Int64())
				case c.Kind == schemas.Float:
					out[c.Name] = v.Double()
				case c.Kind == schemas.Bool:
					out[c.Name] = v.Boolean()
				default:
					out[c.Name] = string(v.ByteArray())
				}
			}
			rows = append(rows, out)
		}
		if errors.Is(err, io.EOF) {
			return rows
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// readArrow reads a file with pqarrow, values as row has them.
func readArrow(t testing.TB, path string) ([]row, *arrow.Schema) {
	t.Helper()
	r, err := file.OpenParquetFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	fr, err := pqarrow.NewFileReader(r, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	tbl, err := fr.ReadTable(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer tbl.Release()
	rows := make([]row, tbl.NumRows())
	for i := range rows {
		rows[i] = row{}
	}
	tr := array.NewTableReader(tbl, 0)
	defer tr.Release()
	for at := 0; tr.Next(); {
		rec := tr.RecordBatch()
		for c, col := range rec.Columns() {
			name := rec.ColumnName(c)
			for i := range int(rec.NumRows()) {
				if col.IsNull(i) {
					continue
				}
				out := rows[at+i]
				switch a := col.(type) {
				case *array.String:
					out[name] = strings.Clone(a.Value(i))
				case *array.Int64:
					out[name] = int(a.Value(i))
				case *array.Timestamp:
					out[name] = int(a.Value(i))
				case *array.Float64:
					out[name] = a.Value(i)
				case *array.Boolean:
					out[name] = a.Value(i)
				case *array.List:
					start, end := a.ValueOffsets(i)
					out[name] = append([]int32(nil), a.ListValues().(*array.Int32).Int32Values()[start:end]...)
				default:
					t.Fatalf("%s is a %T", name, col)
				}
			}
		}
		at += int(rec.NumRows())
	}
	return rows, fr.Manifest.OriginSchema
}

func TestRoundTrip(t *testing.T) {
	mem := memory.NewCheckedAllocator(batchtest.Poison{})
	defer mem.AssertSize(t, 0)
	dir := filepath.Join(t.TempDir(), "a", "b")
	want := map[*schemas.Table][]row{
		schemas.Events: {
			{"event_id": "e1", "event_seq": 1, "text": "nul \x00 inside", "is_error": true, "occurred_at": 1_790_000_000_123_456},
			{"event_id": "e2", "event_seq": 2, "text": "", "tool_use_id": "", "extra": `{"a":1}`, "is_error": false},
			{},
			{"event_id": "é\U0001F986�", "event_seq": -1, "text": "\r\n\u2028"},
		},
		schemas.ToolCalls: {
			{"tool_name": "shell", "error_codes": []int32{-32603, -32000}, "exit_code": 0},
			{"tool_name": "shell"},
			{"tool_name": "x", "error_codes": []int32{-1}},
		},
		schemas.Usage: {
			{"cost_usd": 0.0, "stored_total_tokens": 1<<63 - 1},
			{"stored_total_tokens": -1 << 63},
		},
	}
	w := NewWriter(dir, Options{Mem: mem})
	for table, rows := range want {
		write(t, mem, w, table, rows...)
	}
	files := closed(t, w)

	var names []string
	for _, f := range files {
		names = append(names, f.Table)
		table := schemas.Lookup(f.Table)
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		if diff := cmp.Diff(want[table], readGo(t, path, table)); diff != "" {
			t.Errorf("%s read with parquet-go (-want +got):\n%s", f.Table, diff)
		}
		rows, _ := readArrow(t, path)
		if diff := cmp.Diff(want[table], rows); diff != "" {
			t.Errorf("%s read with pqarrow (-want +got):\n%s", f.Table, diff)
		}
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(body)
		wantFile := File{f.Table, f.Table + "/data.parquet", int64(len(want[table])), int64(len(body)), hex.EncodeToString(sum[:])}
		if diff := cmp.Diff(wantFile, f); diff != "" {
			t.Errorf("file (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff([]string{"events", "tool_calls", "usage"}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("tables without rows must write nothing: %v, %v", entries, err)
	}
}

// Whatever the values and however batches and groups are cut, both readers
// give back what was written.
func TestRoundTripProperty(t *testing.T) {
	root := t.TempDir()
	text := rapid.OneOf(rapid.Just(""), rapid.String(), rapid.SampledFrom([]string{"shell", "\x00", strings.Repeat("long ", 100)}))
	gen := rapid.Custom(func(t *rapid.T) row {
		r := row{}
		for _, c := range schemas.ToolCalls.Columns {
			if rapid.Bool().Draw(t, "null") {
				continue
			}
			switch c.Kind {
			case schemas.Text, schemas.JSON:
				r[c.Name] = text.Draw(t, "text")
			case schemas.Int, schemas.Time:
				r[c.Name] = int(rapid.Int64().Draw(t, "int"))
			case schemas.Bool:
				r[c.Name] = rapid.Bool().Draw(t, "bool")
			case schemas.IntList:
				r[c.Name] = rapid.SliceOfN(rapid.Int32(), 1, 5).Draw(t, "list")
			}
		}
		return r
	})
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		rows := rapid.SliceOfN(gen, 1, 40).Draw(rt, "rows")
		budget := rapid.SampledFrom([]int64{1, 1000, 0}).Draw(rt, "budget")
		cut := rapid.IntRange(0, len(rows)).Draw(rt, "cut")
		dir := filepath.Join(root, fmt.Sprint(runs))
		runs++
		// An allocator may give memory that is not clear.
		w := NewWriter(dir, Options{Budget: budget, Mem: batchtest.Poison{}})
		write(t, batchtest.Poison{}, w, schemas.ToolCalls, rows[:cut]...)
		write(t, batchtest.Poison{}, w, schemas.ToolCalls, rows[cut:]...)
		path := filepath.Join(dir, closed(t, w)[0].Path)
		if diff := cmp.Diff(rows, readGo(t, path, schemas.ToolCalls)); diff != "" {
			rt.Fatalf("parquet-go (-want +got):\n%s", diff)
		}
		if got, _ := readArrow(t, path); !cmp.Equal(rows, got) {
			rt.Fatalf("pqarrow (-want +got):\n%s", cmp.Diff(rows, got))
		}
	})
}

// meta opens a file with parquet-go.
func meta(t testing.TB, path string) *parquetgo.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	pf, err := parquetgo.OpenFile(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	return pf
}

func TestDocumentation(t *testing.T) {
	dir := t.TempDir()
	w := NewWriter(dir, Options{})
	write(t, memory.DefaultAllocator, w, schemas.ToolCalls, row{"tool_name": "shell"})
	written := filepath.Join(dir, closed(t, w)[0].Path)
	if err := WriteEmpty(dir, schemas.ToolCalls); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{written, filepath.Join(dir, EmptyFile)} {
		pf := meta(t, path)
		for key, want := range map[string]string{schemas.MetaTable: "tool_calls", schemas.MetaDoc: schemas.ToolCalls.Doc} {
			if got, ok := pf.Lookup(key); !ok || got != want {
				t.Errorf("%s: %s = %q, want %q", path, key, got, want)
			}
		}
		raw, _ := pf.Lookup(MetaColumns)
		var docs []struct{ Name, Type, Comment string }
		if err := json.Unmarshal([]byte(raw), &docs); err != nil || len(docs) != len(schemas.ToolCalls.Columns) {
			t.Fatalf("%s: %s = %.80q: %v", path, MetaColumns, raw, err)
		}
		_, stored := readArrow(t, path)
		if stored == nil {
			t.Fatalf("%s: no ARROW:schema", path)
		}
		for i, c := range schemas.ToolCalls.Columns {
			if docs[i].Name != c.Name || docs[i].Type != c.Kind.SQL() || docs[i].Comment != c.Doc {
				t.Errorf("%s: column %d is documented as %+v", path, i, docs[i])
			}
			if got, _ := stored.Field(i).Metadata.GetValue(schemas.MetaDoc); stored.Field(i).Name != c.Name || got != c.Doc {
				t.Errorf("%s: stored field %s says %q, want %q", path, stored.Field(i).Name, got, c.Doc)
			}
		}
	}
}

func TestTypes(t *testing.T) {
	dir := t.TempDir()
	for _, table := range schemas.Tables() {
		sub := filepath.Join(dir, table.Name)
		if err := WriteEmpty(sub, table); err != nil {
			t.Fatal(err)
		}
		pf := meta(t, filepath.Join(sub, EmptyFile))
		if pf.NumRows() != 0 || len(pf.RowGroups()) != 0 {
			t.Errorf("%s: %d rows in %d groups", table.Name, pf.NumRows(), len(pf.RowGroups()))
		}
		fields := pf.Schema().Fields()
		if len(fields) != len(table.Columns) {
			t.Fatalf("%s has %d columns, want %d", table.Name, len(fields), len(table.Columns))
		}
		for i, c := range table.Columns {
			want := map[schemas.Kind]string{
				schemas.Text: "STRING", schemas.JSON: "STRING", schemas.Int: "INT(64,true)", schemas.Float: "DOUBLE",
				schemas.Bool: "BOOLEAN", schemas.Time: "TIMESTAMP(isAdjustedToUTC=false,unit=MICROS)", schemas.IntList: "LIST",
			}[c.Kind]
			if got := fields[i].Type().String(); fields[i].Name() != c.Name || got != want || !fields[i].Optional() {
				t.Errorf("%s.%s: %s is %s, want optional %s", table.Name, c.Name, fields[i].Name(), got, want)
			}
		}
	}
	list := meta(t, filepath.Join(dir, "tool_calls", EmptyFile)).Schema().String()
	want := "\toptional group error_codes (LIST) {\n\t\trepeated group list {\n\t\t\toptional int32 element"
	if !strings.Contains(list, want) {
		t.Errorf("error_codes is no list of three levels:\n%s", list)
	}
}

// groupRows returns the rows of each row group.
func groupRows(pf *parquetgo.File) []int64 {
	var rows []int64
	for _, g := range pf.RowGroups() {
		rows = append(rows, g.NumRows())
	}
	return rows
}

func TestGroupRows(t *testing.T) {
	for _, tc := range []struct {
		n    int
		want []int64
	}{
		{GroupRows - 1, []int64{GroupRows - 1}},
		{GroupRows, []int64{GroupRows}},
		{GroupRows + 1, []int64{GroupRows, 1}},
	} {
		dir := t.TempDir()
		w := NewWriter(dir, Options{})
		write(t, memory.DefaultAllocator, w, schemas.DBTables, make([]row, tc.n)...)
		files := closed(t, w)
		if files[0].Rows != int64(tc.n) {
			t.Errorf("%d rows: file says %d", tc.n, files[0].Rows)
		}
		if diff := cmp.Diff(tc.want, groupRows(meta(t, filepath.Join(dir, files[0].Path)))); diff != "" {
			t.Errorf("%d rows (-want +got):\n%s", tc.n, diff)
		}
	}
}

// nullBytes is what a row of NULLs counts in a table of numbers and texts.
func nullBytes(t *schemas.Table) int {
	n := 0
	for _, c := range t.Columns {
		if c.Kind == schemas.Int {
			n += 8
		} else {
			n += 4
		}
	}
	return n
}

func TestGroupBytes(t *testing.T) {
	fixed := nullBytes(schemas.Issues)
	text := strings.Repeat("0123456789abcdef", 1<<16/16)[:1<<16-fixed]
	const perGroup = GroupBytes >> 16 // rows of 64 KiB
	for _, tc := range []struct {
		name string
		last string // in place of the last text of the first group
		want []int64
	}{
		{"reached exactly", text, []int64{perGroup, 2}},
		{"a byte short", text[1:], []int64{perGroup + 1, 1}},
	} {
		rows := make([]row, perGroup+2)
		for i := range rows {
			rows[i] = row{"raw": text}
		}
		rows[perGroup-1]["raw"] = tc.last
		dir := t.TempDir()
		w := NewWriter(dir, Options{})
		write(t, memory.DefaultAllocator, w, schemas.Issues, rows...)
		path := filepath.Join(dir, closed(t, w)[0].Path)
		if diff := cmp.Diff(tc.want, groupRows(meta(t, path))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestBudget(t *testing.T) {
	const budget = 3 << 20
	dir := t.TempDir()
	w := NewWriter(dir, Options{Budget: budget})
	for range 40 {
		write(t, memory.DefaultAllocator, w, schemas.Issues, row{"raw": strings.Repeat("x", 600_000)})
		write(t, memory.DefaultAllocator, w, schemas.Homes, row{"host": strings.Repeat("y", 1000)})
		held := int64(0)
		for _, tf := range w.tables {
			held += tf.groupBytes
		}
		if held != w.held || held > budget {
			t.Fatalf("%d bytes are held and %d counted, budget %d", held, w.held, budget)
		}
	}
	files := closed(t, w)
	for _, tc := range []struct {
		file   File
		groups int
	}{{files[0], 1}, {files[1], 7}} { // 40 texts, six a group: the small table is left alone
		pf := meta(t, filepath.Join(dir, tc.file.Path))
		if tc.file.Rows != 40 || len(pf.RowGroups()) != tc.groups {
			t.Errorf("%s: %d rows in groups of %v, want %d groups", tc.file.Table, tc.file.Rows, groupRows(pf), tc.groups)
		}
	}
}

func TestStatisticsAndDictionaries(t *testing.T) {
	dir := t.TempDir()
	w := NewWriter(dir, Options{})
	huge := strings.Repeat("h", 3<<20)
	rows := []row{
		{"event_id": "a", "store": "cli_history", "kind": "text", "text": "t", "project_path": huge, "event_seq": 7},
		{"event_id": "b", "store": "sessions_db", "text": "t", "event_seq": 9},
	}
	write(t, memory.DefaultAllocator, w, schemas.Events, rows...)
	path := filepath.Join(dir, closed(t, w)[0].Path)
	pf := meta(t, path)
	for _, tc := range []struct {
		column   string
		dict     bool
		min, max string
		nulls    int64
	}{
		{"store", true, "cli_history", "sessions_db", 0},
		{"kind", true, "text", "text", 1},
		{"event_id", false, "a", "b", 0},
		{"text", false, "", "", 0},
		{"extra", false, "", "", 0},
		{"project_path", true, "", "", 1}, // too long for the footer
	} {
		md := pf.Metadata().RowGroups[0].Columns[schemas.Events.Index(tc.column)].MetaData
		dict := dictionary(t, path, schemas.Events.Index(tc.column))
		st := md.Statistics
		if dict != tc.dict || string(st.MinValue) != tc.min || string(st.MaxValue) != tc.max || st.NullCount != tc.nulls {
			t.Errorf("%s: dictionary %v, min %.20q, max %.20q, nulls %d; want %+v", tc.column, dict, st.MinValue, st.MaxValue, st.NullCount, tc)
		}
		if md.Codec.String() != "ZSTD" {
			t.Errorf("%s is compressed with %s", tc.column, md.Codec)
		}
	}
	if diff := cmp.Diff(rows, readGo(t, path, schemas.Events)); diff != "" {
		t.Error("the huge path did not come back")
	}
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(body); n > 200_000 {
		t.Errorf("the file has %d bytes: a text is stored in metadata", n)
	}
}

// dictionary tells whether a column of a file has one.
func dictionary(t *testing.T, path string, column int) bool {
	t.Helper()
	for _, e := range meta(t, path).Metadata().RowGroups[0].Columns[column].MetaData.Encoding {
		if e.String() == "RLE_DICTIONARY" || e.String() == "PLAIN_DICTIONARY" {
			return true
		}
	}
	return false
}

func TestFewRows(t *testing.T) {
	fixed := nullBytes(schemas.Issues)
	for _, tc := range []struct {
		rows, bytes int
		dict        bool
	}{
		{fewRows - 1, 0, false},
		{fewRows, 0, true},
		{fewRows + 1, 0, true},
		{2, fewBytes - 1, false},
		{2, fewBytes, true},
	} {
		rows := make([]row, tc.rows)
		for i := range rows {
			rows[i] = row{"code": "bad_json"}
		}
		if tc.bytes > 0 {
			rows[1]["raw"] = strings.Repeat("x", tc.bytes-2*fixed-2*len("bad_json"))
		}
		dir := t.TempDir()
		w := NewWriter(dir, Options{})
		for cut := range slices.Chunk(rows, 100) { // several batches wait
			write(t, memory.DefaultAllocator, w, schemas.Issues, cut...)
		}
		path := filepath.Join(dir, closed(t, w)[0].Path)
		if got := dictionary(t, path, schemas.Issues.Index("code")); got != tc.dict {
			t.Errorf("%d rows, %d bytes: dictionary %v, want %v", tc.rows, tc.bytes, got, tc.dict)
		}
		if diff := cmp.Diff(rows, readGo(t, path, schemas.Issues)); diff != "" {
			t.Errorf("%d rows, %d bytes (-want +got):\n%s", tc.rows, tc.bytes, diff)
		}
	}
}

// peak returns the highest heap in use while f runs, over the heap before.
func peak(f func()) int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, high := m.HeapAlloc, uint64(0)
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-done:
				return
			default:
				runtime.ReadMemStats(&m)
				high = max(high, m.HeapAlloc)
				time.Sleep(5 * time.Millisecond)
			}
		}
	}()
	f()
	close(done)
	<-stopped
	return int64(high) - int64(before)
}

func TestHugeValue(t *testing.T) {
	if testing.Short() {
		t.Skip("holds some hundred MB")
	}
	const size = 100 << 20
	text := strings.Repeat("All the geese. ", size/15+1)[:size]
	dir := t.TempDir()
	w := NewWriter(dir, Options{})
	var files []File
	high := peak(func() {
		write(t, memory.DefaultAllocator, w, schemas.Events, row{"text": "before"}, row{"text": text, "event_id": "huge"}, row{"text": "after"})
		files = closed(t, w)
	})
	if high > 7*size {
		t.Errorf("peak %d MiB for a text of %d MiB", high>>20, size>>20)
	}
	t.Logf("peak %d MiB for a text of %d MiB", high>>20, size>>20)
	pf := meta(t, filepath.Join(dir, files[0].Path))
	if diff := cmp.Diff([]int64{2, 1}, groupRows(pf)); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	rows := readGo(t, filepath.Join(dir, files[0].Path), schemas.Events)
	if len(rows) != 3 || rows[1]["text"] != text || rows[2]["text"] != "after" {
		t.Error("the text did not come back")
	}
	footer := 0
	body, err := os.ReadFile(filepath.Join(dir, files[0].Path))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		footer |= int(body[len(body)-8+i]) << (8 * i)
	}
	if footer > 40_000 {
		t.Errorf("the footer has %d bytes", footer)
	}
}

func TestRefused(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	events := schemas.Events.Arrow()
	md := events.Metadata()
	for name, schema := range map[string]*arrow.Schema{
		"no table":         arrow.NewSchema(events.Fields(), nil),
		"raw table":        schemas.RawUsage.Arrow(),
		"a column missing": arrow.NewSchema(events.Fields()[1:], &md),
	} {
		b := array.NewRecordBuilder(mem, schema)
		for _, f := range b.Fields() {
			f.AppendNull()
		}
		rec := b.NewRecordBatch()
		dir := t.TempDir()
		w := NewWriter(dir, Options{Mem: mem})
		write(t, mem, w, schemas.Homes, row{"host": "h"})
		if err := w.Write(rec); err == nil || fault.KindOf(err) != fault.Internal {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := w.Close(); err == nil {
			t.Errorf("%s: Close after a refused batch gives files", name)
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 0 {
			t.Errorf("%s: %v is left", name, entries)
		}
		rec.Release()
		b.Release()
	}
}

func TestAbort(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	dir := t.TempDir()
	w := NewWriter(dir, Options{Mem: mem, Budget: 1 << 20})
	big := row{"raw": strings.Repeat("x", 700_000)}
	write(t, mem, w, schemas.Issues, big, big, big) // a group is on disk, another in memory
	write(t, mem, w, schemas.Homes, row{"host": "h"})
	w.Abort()
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("%v is left", entries)
	}
	if _, err := w.Close(); err == nil {
		t.Error("Close after Abort gives files")
	}

	w = NewWriter(dir, Options{Mem: mem})
	write(t, mem, w, schemas.Homes, row{"host": "h"})
	path := filepath.Join(dir, closed(t, w)[0].Path)
	w.Abort()
	if _, err := os.Stat(path); err != nil {
		t.Errorf("Abort after Close: %v", err)
	}
}

func TestDiskFull(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full")
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	w := NewWriter(dir, Options{Budget: 1})
	write(t, memory.DefaultAllocator, w, schemas.Homes, row{"host": "h"})
	tf := w.tables["homes"]
	tf.f.Close()
	tf.f = full
	tf.out.w.Reset(full)
	_, err = w.Close()
	var fe *fault.Error
	if !errors.As(err, &fe) || fe.Kind != fault.Output || fe.Path != tf.path || fe.Hint == "" || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Close on a full disk: %#v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("%v is left", entries)
	}

	// A file in the place of the directory.
	w = NewWriter(filepath.Join(dir, "file"), Options{})
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schemas.Homes.Arrow())
	for _, f := range b.Fields() {
		f.AppendNull()
	}
	if err := w.Write(b.NewRecordBatch()); err != nil {
		t.Error(err)
	}
	if _, err := w.Close(); err == nil || fault.KindOf(err) != fault.Output {
		t.Errorf("Close below a file: %v", err)
	}
}

func TestWriteEmpty(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home_id=none")
	path := filepath.Join(dir, EmptyFile)
	if err := WriteEmpty(dir, schemas.Events); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := os.Stat(path)
	if err := WriteEmpty(dir, schemas.Events); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.Stat(path); !os.SameFile(before, after) {
		t.Error("a right file is written again")
	}
	if err := os.WriteFile(path, first[:len(first)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WriteEmpty(dir, schemas.Events); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); !bytes.Equal(got, first) {
		t.Error("a cut file is kept")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("directory holds %v", entries)
	}
}
