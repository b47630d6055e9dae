package transform

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"gander/schemas"
	"gander/schemas/batch"
	"gander/schemas/batch/batchtest"
	"gander/schemas/values"
)

// rec is a row by column name; a column that is not named is NULL.
type rec map[string]any

// stream is the input of a transform: rows of raw tables in order. Neighbours
// of one table come in one batch.
type stream []struct {
	table *schemas.Table
	row   rec
}

func (s *stream) add(t *schemas.Table, row rec) {
	*s = append(*s, struct {
		table *schemas.Table
		row   rec
	}{t, row})
}

func appendRow(t testing.TB, w *batch.Writer, table *schemas.Table, row rec) {
	for name := range row {
		if table.Index(name) < 0 {
			t.Fatalf("%s has no column %s", table.Name, name)
		}
	}
	for _, c := range table.Columns {
		switch v := row[c.Name].(type) {
		case nil:
			w.Null()
		case string:
			if c.Kind == schemas.Time {
				us, ok := values.TextTime(v)
				w.Micros(us, ok)
			} else {
				w.Text(v)
			}
		case int:
			w.Int(int64(v))
		case int64:
			w.Int(v)
		case float64:
			w.OptFloat(v, true)
		case bool:
			w.Bool(v)
		default:
			t.Fatalf("%s.%s: %T", table.Name, c.Name, v)
		}
	}
	w.End()
}

func (s stream) batches(t testing.TB, mem memory.Allocator) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		set := batch.NewSet(mem, func(r arrow.RecordBatch) bool { return yield(r, nil) })
		defer set.Release()
		for i, r := range s {
			if i > 0 && s[i-1].table != r.table {
				set.Flush()
			}
			appendRow(t, set.Table(r.table), r.table, r.row)
		}
		set.Flush()
	}
}

// tables is what a transform yielded, by table.
type tables map[string][]rec

func (tb tables) add(t testing.TB, b arrow.RecordBatch) {
	name := schemas.NameOf(b.Schema())
	for i := range int(b.NumRows()) {
		row := rec{}
		for c, f := range b.Schema().Fields() {
			col := b.Column(c)
			if col.IsNull(i) {
				continue
			}
			switch a := col.(type) {
			case *array.String:
				row[f.Name] = string([]byte(a.Value(i)))
			case *array.Int64:
				row[f.Name] = a.Value(i)
			case *array.Float64:
				row[f.Name] = a.Value(i)
			case *array.Boolean:
				row[f.Name] = a.Value(i)
			case *array.Timestamp:
				row[f.Name] = a.Value(i).ToTime(arrow.Microsecond).Format("2006-01-02 15:04:05.999999")
			default:
				row[f.Name] = a.ValueStr(i)
			}
		}
		tb[name] = append(tb[name], row)
	}
}

// confirmations answers from the messages of a stream, by session ordinal.
type confirmations struct{ stream }

func (c confirmations) ConfirmationContents(_ context.Context, session int64) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, r := range c.stream {
			if r.table == schemas.RawMessages && r.row["session"] == int(session) {
				if text, ok := r.row["content_json"].(string); ok && !yield(text, nil) {
					return
				}
			}
		}
	}
}

// run passes a stream through SessionsDB with a checked allocator and checks
// that the tally reconciles.
func run(t testing.TB, s stream) (tables, Tally) {
	t.Helper()
	mem := memory.NewCheckedAllocator(batchtest.Poison{})
	if tt, ok := t.(*testing.T); ok {
		defer mem.AssertSize(tt, 0)
	}
	db := &SessionsDB{
		HomeID: "h-u-00000000", File: "/home/u/.local/share/goose/sessions/sessions.db", Mem: mem, Confirmations: confirmations{s}, Overlap: NewOverlap(),
		Spool: func() (Spool, error) { return os.CreateTemp(t.TempDir(), "spool") },
	}
	out := tables{}
	for b, err := range db.Tables(context.Background(), s.batches(t, mem)) {
		if err != nil {
			t.Fatal(err)
		}
		out.add(t, b)
		b.Release()
	}
	records := int64(0)
	for _, r := range s {
		switch {
		case r.table == schemas.RawSessions && r.row["missing"] != true, r.table == schemas.RawMessages, r.table == schemas.RawUsage:
			records++
		}
	}
	tally := db.Tally()
	if err := tally.Check(records); err != nil {
		t.Error(err)
	}
	if n := int64(len(out["events"])); n != tally.Events {
		t.Errorf("%d events, the tally says %d", n, tally.Events)
	}
	if n := int64(len(out["issues"])); n != tally.Issues {
		t.Errorf("%d issues, the tally says %d", n, tally.Issues)
	}
	return out, tally
}

// chat is a stream of one session; the map of each message adds to the defaults.
func chat(session rec, messages ...rec) stream {
	var s stream
	base := rec{"ordinal": 0, "row_id": 1, "session_id": "s1", "working_dir": "/w", "session_type": "user", "created_at": "2026-10-01 09:00:00", "created_at_text": "2026-10-01 09:00:00"}
	for k, v := range session {
		base[k] = v
	}
	s.add(schemas.RawSessions, base)
	for i, m := range messages {
		row := rec{"session": 0, "source_table": "messages", "row_id": i + 1, "role": "user", "created_at": fmt.Sprintf("2026-10-01 10:00:%02d", i%60)}
		for k, v := range m {
			row[k] = v
		}
		s.add(schemas.RawMessages, row)
	}
	return s
}

// pick returns the named columns of every row that has kind, or of all when
// kind is "".
func pick(rows []rec, kind string, columns ...string) []string {
	var out []string
	for _, r := range rows {
		if kind != "" && r["kind"] != kind {
			continue
		}
		line := ""
		for i, c := range columns {
			if i > 0 {
				line += " ¦ "
			}
			if v, ok := r[c]; ok {
				line += fmt.Sprint(v)
			} else {
				line += "∅"
			}
		}
		out = append(out, line)
	}
	return out
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
