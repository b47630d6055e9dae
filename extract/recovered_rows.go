package extract

import (
	"context"
	"errors"
	"iter"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/zeebo/xxh3"

	"gander/extract/internal/sqlitefile"
	"gander/schemas"
	"gander/schemas/batch"
	"gander/schemas/fault"
	"gander/schemas/jsonval"
	"gander/schemas/values"
)

// RecoveredRowsSource reads from the files of a sessions database what the
// database no longer holds: rows that were deleted, and versions of rows
// before they were updated. It yields schemas.RecoveredRows, by evidence, then
// table, rowid and commit, or place in the file; and schemas.RawIssues where
// the files cannot be searched.
//
// It reads the files where they are, writes nothing anywhere and needs no
// scratch. A live database may go on changing: what comes out has been read
// twice and was the same. Memory beside the batches and one row: package sqlitefile states it.
type RecoveredRowsSource struct {
	home   *Home
	file   *File
	opt    SourceOptions
	report Report
}

// NewRecoveredRows returns the source of what a sessions database lost.
func NewRecoveredRows(home *Home, file *File, opt SourceOptions) *RecoveredRowsSource {
	if opt.Mem == nil {
		opt.Mem = memory.DefaultAllocator
	}
	return &RecoveredRowsSource{home: home, file: file, opt: opt,
		report: Report{Status: file.Status, Note: file.Note, Size: file.Size, SHA256: file.SHA256}}
}

// Report implements Source. Records counts the versions; a file that could not
// be searched, or not whole, has status Partial and a note that says why.
func (s *RecoveredRowsSource) Report() Report { return s.report }

// Records implements Source.
func (s *RecoveredRowsSource) Records(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return stream(s.file, s.opt.Mem, func(out *batch.Set) error {
		err := s.read(ctx, out)
		if err == nil || errors.Is(err, errStopped) {
			return err
		}
		return &fault.Error{Kind: fault.Source, Op: "recover rows", Home: s.home.ID, Source: string(SessionsDB), Path: s.file.Path, Err: err}
	})
}

// recoveredTables are the tables whose rows are recovered.
var recoveredTables = []string{"sessions", "messages", "usage_ledger"}

// read goes through the files. The error is ctx's or errStopped: what is wrong
// with the files is told.
func (s *RecoveredRowsSource) read(ctx context.Context, out *batch.Set) error {
	s.report.Records = 0
	if c := s.file.Journal; c != nil && c.Size != 0 {
		s.partial(out, "recovery_skipped", "a rollback journal lies beside the database: what was deleted is not looked for", "not searched for deleted rows: rollback journal")
		return nil
	}
	log := ""
	if c := s.file.WAL; c != nil {
		log = c.Local
	}
	before := s.stamp(log)
	f, err := sqlitefile.Open(ctx, s.file.Local, log)
	if errors.Is(err, sqlitefile.ErrForeign) {
		f, err = sqlitefile.Open(ctx, s.file.Local, "")
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		// Reading the database itself says what it is.
		s.partial(out, "", "", "not searched for deleted rows: "+err.Error())
		return nil
	}
	defer f.Close()
	r := &recoveredReader{
		source: s, ctx: ctx, out: out, known: map[string]struct{}{}, sessions: map[string]struct{}{},
		rows: map[string]map[xxh3.Uint128]struct{}{},
	}
	if err := r.current(ctx, f); err != nil {
		return err
	}
	err = f.Recover(ctx, sqlitefile.Options{Tables: recoveredTables, Fits: r.fits}, r.tell)
	if err != nil {
		return err
	}
	if f.Exhausted() {
		s.partial(out, "recovery_incomplete", "the database's pages point to each other in a way that would take too long to follow: some deleted rows are left out", "some deleted rows are left out")
	}
	if !s.file.Live && s.stamp(log) != before {
		s.partial(out, "changed_while_reading", "the database changed while deleted rows were looked for", "changed while deleted rows were looked for")
	}
	return nil
}

func (s *RecoveredRowsSource) partial(out *batch.Set, code, message, reason string) {
	s.report.Status = Partial
	if s.report.Note != "" {
		s.report.Note += "; "
	}
	s.report.Note += reason
	if code == "" {
		return
	}
	w := out.Table(schemas.RawIssues)
	w.Text(code)
	w.Text(message)
	w.Null()
	w.Null()
	w.Null()
	w.End()
}

// stamp is what must stay as it is while the files are read.
func (s *RecoveredRowsSource) stamp(log string) (stamp [4]int64) {
	for i, path := range []string{s.file.Local, log} {
		if path == "" {
			continue
		}
		if st, err := os.Stat(path); err == nil {
			stamp[2*i], stamp[2*i+1] = st.Size(), st.ModTime().UnixNano()
		}
	}
	return stamp
}

// recoveredReader turns versions into rows.
type recoveredReader struct {
	source *RecoveredRowsSource
	ctx    context.Context
	out    *batch.Set
	now    *sqlitefile.State
	// sessions are the ids and creation times of the current sessions, known
	// the ids of all sessions that any row names.
	sessions, known map[string]struct{}
	damaged         bool // sessions may not be all
	// rows are the current rows of a table by what rowOf says, made when a
	// version without row_id is met: about 30 bytes a row.
	rows   map[string]map[xxh3.Uint128]struct{}
	object jsonval.ObjectBuilder
	doc    jsonval.Doc
}

// current learns what the database holds now.
func (r *recoveredReader) current(ctx context.Context, f *sqlitefile.File) error {
	r.now = f.State(f.Commits())
	t := r.now.Table("sessions")
	if t == nil {
		return nil
	}
	err := r.now.Walk(ctx, t, func(row *sqlitefile.Row) bool {
		r.sessions[lifeOf(t.Columns, row.Values)] = struct{}{}
		id, _ := textOf(columnOf(t.Columns, row.Values, "id"))
		r.known[strings.Clone(id)] = struct{}{}
		return true
	})
	r.damaged = r.now.Damaged()
	return err
}

// lifeOf names a session: ids are used again, so its creation is part.
func lifeOf(columns []sqlitefile.Column, v []sqlitefile.Value) string {
	id, _ := textOf(columnOf(columns, v, "id"))
	at := columnOf(columns, v, "created_at")
	created, _ := textOf(at)
	if us, ok := timeOf(at); ok {
		created = strconv.FormatInt(us, 10)
	}
	return id + "\x00" + created
}

// columnOf returns the value of a column, NULL when there is none.
func columnOf(columns []sqlitefile.Column, v []sqlitefile.Value, name string) *sqlitefile.Value {
	for i := range columns {
		if strings.EqualFold(columns[i].Name, name) {
			return &v[i]
		}
	}
	return &sqlitefile.Value{}
}

// tell adds a row of recovered_rows.
func (r *recoveredReader) tell(v *sqlitefile.Version) error {
	w := r.out.Table(schemas.RecoveredRows)
	w.Text(r.source.file.Path)
	w.Text(v.Table)
	w.OptInt(v.RowID, v.HasRowID)
	id, created := "session_id", "created_timestamp"
	if v.Table == "sessions" {
		id, created = "id", "created_at"
	}
	session, ok := textOf(columnOf(v.Columns, v.Values, id))
	session, _ = values.CleanUTF8(session)
	w.OptText(session, ok)
	if v.Evidence == sqlitefile.WALCommitted {
		r.known[strings.Clone(session)] = struct{}{}
	}
	if r.deleted(v) {
		w.Text("deleted")
	} else {
		w.Text("updated")
	}
	w.Text(v.Evidence.String())
	committed := v.Evidence == sqlitefile.WALCommitted
	w.OptInt(int64(v.First), committed)
	w.OptInt(int64(v.Last), committed)
	w.Micros(timeOf(columnOf(v.Columns, v.Values, created)))
	w.Bytes(r.rowValues(v))
	w.Int(int64(v.Page))
	w.Int(int64(v.Offset))
	w.End()
	r.source.report.Records++
	if r.out.Stopped() {
		return errStopped
	}
	return nil
}

// deleted reports that nothing is left of the row that a version is of. What
// may be on a page that cannot be read is not called deleted.
func (r *recoveredReader) deleted(v *sqlitefile.Version) bool {
	if v.Table == "sessions" {
		_, ok := r.sessions[lifeOf(v.Columns, v.Values)]
		return !ok && !r.damaged
	}
	t := r.now.Table(v.Table)
	if t == nil {
		return true
	}
	if v.HasRowID {
		return !r.now.Has(t, v.RowID)
	}
	if r.rows[v.Table] == nil {
		rows := map[xxh3.Uint128]struct{}{}
		// The walk is cut short only with the reading as a whole.
		_ = r.now.Walk(r.ctx, t, func(row *sqlitefile.Row) bool {
			rows[rowOf(t.Columns, row.Values)] = struct{}{}
			return true
		})
		r.rows[v.Table] = rows
	}
	_, ok := r.rows[v.Table][rowOf(v.Columns, v.Values)]
	return !ok && !r.now.Damaged()
}

// rowOf stands for the row_id of a version that lost it: what Goose never
// changes in a row of messages or usage_ledger.
func rowOf(columns []sqlitefile.Column, v []sqlitefile.Value) xxh3.Uint128 {
	var b []byte
	for _, name := range []string{"session_id", "message_id", "role", "created_timestamp", "model", "input_tokens", "output_tokens"} {
		text, ok := textOf(columnOf(columns, v, name))
		b = strconv.AppendBool(b, ok)
		b = strconv.AppendInt(b, int64(len(text)), 10)
		b = append(append(b, ' '), text...)
	}
	return xxh3.Hash128(b)
}

// rowValues writes the values by column.
func (r *recoveredReader) rowValues(v *sqlitefile.Version) []byte {
	r.object.Reset()
	for i := range v.Columns {
		name, _ := values.CleanUTF8(v.Columns[i].Name)
		switch x := v.Values[i]; x.Kind {
		case sqlitefile.Null:
			r.object.Raw(name, "null")
		case sqlitefile.Int:
			r.object.Int(name, x.Int)
		case sqlitefile.Real:
			if text := values.RealText(x.Real); math.IsInf(x.Real, 0) {
				r.object.Text(name, text)
			} else {
				r.object.Raw(name, text)
			}
		default:
			text, _ := values.CleanUTF8(string(x.Bytes))
			r.object.Text(name, text)
		}
	}
	return r.object.JSON()
}

// fits tells rows from other bytes that happen to have the form of a record.
// It holds for every row that Goose writes: a session's id is known or reads
// YYYYMMDD_n, a time reads as one, a role is a lower-case word, a text is
// without control characters other than white space, and JSON is whole, with
// content_json an array or a string.
func (r *recoveredReader) fits(table string, columns []sqlitefile.Column, v []sqlitefile.Value) bool {
	id, created := "session_id", "created_timestamp"
	if table == "sessions" {
		id, created = "id", "created_at"
	}
	needs := 2
	for i := range columns {
		x := v[i]
		name := strings.ToLower(columns[i].Name)
		switch {
		case name == id:
			if x.Kind != sqlitefile.Text || !r.isSession(string(x.Bytes)) {
				return false
			}
			needs--
		case name == created:
			if _, ok := timeOf(&x); !ok || table != "sessions" && x.Kind == sqlitefile.Text {
				return false
			}
			needs--
		case x.Kind != sqlitefile.Text:
			if name == "role" || name == "content_json" {
				return false
			}
		case name == "role":
			if !isRole(x.Bytes) {
				return false
			}
		case name == "timestamp" || strings.HasSuffix(name, "_at"):
			if _, ok := values.TextTime(string(x.Bytes)); !ok {
				return false
			}
		case name == "content_json":
			if kind := r.jsonKind(x.Bytes); kind != jsonval.Array && kind != jsonval.String {
				return false
			}
		case name == "extension_data" || strings.HasSuffix(name, "_json"):
			if len(x.Bytes) > 0 && r.jsonKind(x.Bytes) == jsonval.Missing {
				return false
			}
		case !isPlain(x.Bytes):
			return false
		}
	}
	return needs == 0
}

// jsonKind is Missing for what is no JSON.
func (r *recoveredReader) jsonKind(b []byte) jsonval.Kind {
	if r.doc.Parse(string(b)) != nil {
		return jsonval.Missing
	}
	return r.doc.Root().Kind()
}

// isSession reports that an id is known, or is a date and a number as Goose
// gives them.
func (r *recoveredReader) isSession(id string) bool {
	if _, ok := r.known[id]; ok {
		return true
	}
	if len(id) < len("20260102_1") || len(id) > len("20260102_")+19 || id[8] != '_' {
		return false
	}
	for i := range len(id) {
		if i != 8 && (id[i] < '0' || id[i] > '9') {
			return false
		}
	}
	_, ok := values.TextTime(id[:4] + "-" + id[4:6] + "-" + id[6:8] + " 00:00:00")
	return ok
}

// maxRole is the longest role that is taken for one, in bytes.
const maxRole = 32

func isRole(b []byte) bool {
	for _, c := range b {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return len(b) > 0 && len(b) <= maxRole
}

func isPlain(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f {
			return false
		}
	}
	return true
}
