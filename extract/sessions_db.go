package extract

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"gander/extract/internal/sqlitefile"
	"gander/extract/internal/sqlitero"
	"gander/schemas"
	"gander/schemas/batch"
	"gander/schemas/fault"
	"gander/schemas/values"
)

// SourceOptions are what sources need beside their file.
type SourceOptions struct {
	Mem     memory.Allocator
	Scratch string // existing directory for copies; outside every input
}

// sessionChunk is how many sessions are told before their messages.
const sessionChunk = 512

// SessionsDBSource reads a sessions database of any schema version, fork or
// state of repair. The stream is, in this order:
//
//   - db_tables;
//   - raw.sessions in order of rowid, at most 512 rows at a time, each time
//     followed by the raw.messages of those sessions: session by session, its
//     rows of messages by id, then those of thread_messages by id;
//   - raw.sessions rows with missing set for the session_ids that only
//     messages know, in order of their lowest message id, then for those that
//     only thread messages know, each followed by its raw.messages;
//   - raw.usage by id.
//
// raw.issues come in between. A row is yielded once or accounted for by an
// unreadable_rows issue; no index is trusted with that. Memory beside the
// batches: 16 bytes per message, 16 more per message while copied ones are
// looked for and 16 per copied one after, and about 100 per session.
type SessionsDBSource struct {
	home    *Home
	file    *File
	opt     SourceOptions
	report  Report
	reading atomic.Pointer[sessionsReader]
}

// NewSessionsDB returns the source of a sessions database.
func NewSessionsDB(home *Home, file *File, opt SourceOptions) *SessionsDBSource {
	if opt.Mem == nil {
		opt.Mem = memory.DefaultAllocator
	}
	return &SessionsDBSource{home: home, file: file, opt: opt,
		report: Report{Status: file.Status, Note: file.Note, Size: file.Size, SHA256: file.SHA256}}
}

// Report implements Source.
func (s *SessionsDBSource) Report() Report { return s.report }

// Records implements Source.
func (s *SessionsDBSource) Records(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return stream(s.file, s.opt.Mem, func(out *batch.Set) error { return s.read(ctx, out) })
}

// ConfirmationContents yields the content_json of every message of a session
// that may hold a toolConfirmationResponse: its messages by id, then its
// thread messages by id. ordinal is the session's of raw.sessions. It is for
// who ranges over Records, between two batches; a content that cannot be read
// is left out, as it is from Records. A content is valid until the next.
func (s *SessionsDBSource) ConfirmationContents(ctx context.Context, ordinal int64) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		r := s.reading.Load()
		if r == nil {
			yield("", s.fault(fault.Internal, "read confirmations", errors.New("no records are being read")))
			return
		}
		err := r.confirmations(ctx, ordinal, func(content string) bool { return yield(content, nil) })
		if err != nil && !errors.Is(err, errStopped) {
			yield("", s.fault(fault.Source, "read confirmations", err))
		}
	}
}

// errStopped ends the reading for a consumer that wants no more.
var errStopped = errors.New("stopped")

func (s *SessionsDBSource) fault(kind fault.Kind, op string, err error) error {
	e := &fault.Error{Kind: kind, Op: op, Home: s.home.ID, Source: string(SessionsDB), Path: s.file.Path, Err: err}
	if kind == fault.Output {
		e.Hint = "Make room for a copy of the database in the warehouse's file system, or give another warehouse."
	}
	return e
}

// read opens the database and tells apart what it may turn out to be.
func (s *SessionsDBSource) read(ctx context.Context, out *batch.Set) error {
	s.report = Report{Status: Read, Note: s.file.Note, Size: s.file.Size, SHA256: s.file.SHA256}
	r := &sessionsReader{source: s, ctx: ctx, out: out, copies: copies{}}
	if s.file.Note != "" {
		r.reasons = append(r.reasons, s.file.Note)
	}
	if s.file.WALMissing {
		r.partial("wal_not_collected", "the write-ahead log or journal was not collected: what is not in the database itself is lost", "its write-ahead log or journal was not collected")
	}
	if s.file.Cut {
		r.partial("", "", "cut off in the archive")
	}
	db, err := sqlitero.Open(ctx, s.paths(), s.opt.Scratch)
	var scratch *sqlitero.ScratchError
	switch {
	case err == nil:
		err = r.read(db)
		s.reading.Store(nil)
		if closed := db.Close(); err == nil && closed != nil {
			err = &sqlitero.ScratchError{Err: closed}
		}
	case errors.Is(err, sqlitero.ErrEmpty):
		if s.report.Status == Read {
			s.report.Status = Empty
		}
		s.report.Size, err = 0, nil
	case errors.Is(err, sqlitero.ErrOnlyWAL):
		r.partial("wal_without_database", "the database is empty and the write-ahead log beside it does not begin with it", "empty beside a write-ahead log")
		s.report.Size, err = 0, nil
	case ctx.Err() != nil, errors.As(err, &scratch):
	default:
		s.report.Status = Unreadable
		if errors.Is(err, sqlitero.ErrNotSQLite) || sqlitero.Damage(err) {
			s.report.Status = Malformed
		}
		r.issue("bad_file", err.Error(), nil, "", 0)
		r.reasons = append(r.reasons, err.Error())
		err = nil
	}
	s.report.Note = strings.Join(r.reasons, "; ")
	switch {
	case err == nil, errors.Is(err, errStopped):
		return err
	case ctx.Err() != nil:
		return s.fault(fault.Source, "read database", ctx.Err())
	case errors.As(err, &scratch):
		return s.fault(fault.Output, "copy database to scratch", err)
	}
	return s.fault(fault.Internal, "read database", err)
}

func (s *SessionsDBSource) paths() sqlitero.Paths {
	p := sqlitero.Paths{Main: s.file.Local, Evidence: s.file.Evidence, Live: s.file.Live}
	if c := s.file.WAL; c != nil {
		p.WAL = c.Local
	}
	if c := s.file.Journal; c != nil {
		p.Journal = c.Local
	}
	return p
}

// quickCheckLines is how much of quick_check's answer is kept.
const quickCheckLines = 10

// sessionsReader is one reading of an open database.
type sessionsReader struct {
	source  *SessionsDBSource
	ctx     context.Context
	out     *batch.Set
	db      *sqlitero.DB
	pages   *sqlitefile.State // nil where only SQLite is to read
	reasons []string          // of the report's note

	tables                             []sqlitero.Table
	sessions, messages, threads, usage *storedTable // nil when not there
	index                              *sessionIndex
	byMessage, byThread                *messageIndex
	copies                             copies
	extra                              []byte // object under construction
}

// partial marks the source as read in part, with an issue and a short reason.
func (r *sessionsReader) partial(code, message, reason string) {
	r.source.report.Status = Partial
	if code != "" {
		r.issue(code, message, nil, "", 0)
	}
	for _, have := range r.reasons {
		if have == reason {
			return
		}
	}
	r.reasons = append(r.reasons, reason)
}

// issue adds a row of raw.issues. value is nil where no value is concerned; a
// line of 0 stands for none.
func (r *sessionsReader) issue(code, message string, value *string, table string, line int64) {
	w := r.out.Table(schemas.RawIssues)
	w.Text(code)
	message, _ = values.CleanUTF8(message)
	w.Text(message)
	if value == nil {
		w.Null()
	} else {
		clean, _ := values.CleanUTF8(*value)
		w.Text(clean)
	}
	w.TextOrNull(table)
	w.OptInt(line, line != 0)
	w.End()
}

// more returns why the reading ends, nil when it goes on.
func (r *sessionsReader) more() error {
	if r.out.Stopped() {
		return errStopped
	}
	return nil
}

func (r *sessionsReader) read(db *sqlitero.DB) error {
	r.db = db
	report := &r.source.report
	report.Size = db.Size
	r.tellFacts()
	var err error
	if r.tables, err = db.Tables(r.ctx); err != nil {
		if r.ctx.Err() != nil {
			return err
		}
		report.Status = Malformed
		r.issue("bad_file", err.Error(), nil, "", 0)
		r.reasons = append(r.reasons, err.Error())
		return nil
	}
	r.findTables()
	closePages, err := r.openPages()
	if err != nil {
		return err
	}
	defer closePages()
	checked := r.check()
	defer checked.cancel()
	if err := r.order(); err != nil {
		return err
	}
	r.source.reading.Store(r)
	if err := r.tellTables(); err != nil {
		return err
	}
	close(checked.integrityToo)
	if err := r.tellSessions(); err != nil {
		return err
	}
	if err := r.tellUsage(); err != nil {
		return err
	}
	checked.wait()
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if report.SHA256 == "" {
		report.SHA256 = checked.sha256
	}
	report.Integrity, _ = values.CleanUTF8(checked.integrity)
	if report.Integrity != "ok" {
		r.partial("", "", "quick_check is not ok")
	}
	if db.Changed() {
		r.partial("changed_while_reading", "the database changed while it was read", "changed while it was read")
		report.SHA256 = ""
	}
	return r.more()
}

// check is the hash and the integrity of the database, which are found out
// beside the reading: both go over the whole file, and reading keeps one core
// busy.
type check struct {
	cancel       context.CancelFunc // ends it and waits
	integrityToo chan struct{}
	done         chan struct{}
	panicked     any

	sha256    string
	integrity string
}

func (c *check) wait() {
	<-c.done
	if c.panicked != nil {
		panic(c.panicked)
	}
}

// check begins a check of the database with its hash. Its integrity follows
// when integrityToo is closed: what goes through SQLite waits from then on.
func (r *sessionsReader) check() *check {
	ctx, cancel := context.WithCancel(r.ctx)
	c := &check{integrityToo: make(chan struct{}), done: make(chan struct{})}
	c.cancel = func() { cancel(); <-c.done }
	hashed := r.source.report.SHA256 != ""
	go func() {
		defer close(c.done)
		defer func() { c.panicked = recover() }()
		if !hashed {
			// A file that cannot be read to its end has no hash.
			c.sha256, _ = r.db.Hash(ctx)
		}
		select {
		case <-c.integrityToo:
		case <-ctx.Done():
			return
		}
		var err error
		if c.integrity, err = r.db.QuickCheck(ctx, quickCheckLines); err != nil {
			c.integrity = err.Error()
		}
	}()
	return c
}

// tellFacts reports how the database had to be opened.
func (r *sessionsReader) tellFacts() {
	f := r.db.Facts
	if f.ChangedWhileReading {
		r.partial("changed_while_reading", "the database changed during each of three copies; the last one is read", "changed while it was copied")
		r.source.report.SHA256 = ""
	}
	if f.WALForeign != "" {
		r.partial("wal_foreign", "the write-ahead log belongs to another database: "+f.WALForeign, "its write-ahead log is foreign")
	}
	if f.WALDamaged != "" {
		r.partial("wal_damaged", "the write-ahead log is damaged, what is before is read: "+f.WALDamaged, "its write-ahead log is damaged")
	}
	if f.WALWithoutDatabase {
		r.partial("wal_without_database", "the database is empty; it is read from the write-ahead log beside it", "empty beside a write-ahead log")
	}
	if f.Damaged != "" {
		r.partial("unreadable_rows", "the database is damaged and read as far as it goes: "+f.Damaged, "damaged")
	}
}

// findTables picks the tables that records come from.
func (r *sessionsReader) findTables() {
	ctx := r.ctx
	find := func(name string) *storedTable {
		for i := range r.tables {
			t := &r.tables[i]
			if !sqlitero.SameName(t.Name, name) {
				continue
			}
			if !t.Readable() {
				what := t.Kind
				if t.WithoutRowID {
					what = "table without rowid"
				}
				r.partial("bad_table", fmt.Sprintf("%s is a %s and not read", name, what), name+" is a "+what)
				return nil
			}
			return newStoredTable(name, t)
		}
		return nil
	}
	r.sessions, r.messages, r.threads, r.usage = find("sessions"), find("messages"), find("thread_messages"), find("usage_ledger")
	if r.sessions == nil && r.messages == nil {
		r.reasons = append(r.reasons, "no tables")
		if len(r.tables) > 0 {
			r.issue("no_tables", "the database has neither a sessions nor a messages table", nil, "", 0)
		}
	}
	for i := range r.tables {
		if t := &r.tables[i]; t.Readable() && sqlitero.SameName(t.Name, "schema_version") {
			var v sqlitero.Value
			if err := r.db.QueryRow(ctx, "SELECT max(+version) FROM main."+sqlitero.Quote(t.Name)+" NOT INDEXED", &v); err == nil {
				report := &r.source.report
				report.SchemaVersion.V, report.SchemaVersion.OK = wholeNumber(&v)
			}
		}
	}
}

// gap reports rows that cannot be read, a range of rowids of a table.
func (r *sessionsReader) gap(table string) func(sqlitero.Gap) error {
	return func(g sqlitero.Gap) error {
		rows := fmt.Sprintf("rows %d to %d", g.From, g.To)
		switch all := g.From == -1<<63; {
		case g.From == g.To:
			rows = fmt.Sprintf("row %d", g.From)
		case all && g.To == 1<<63-1:
			rows = "rows"
		case all:
			rows = fmt.Sprintf("rows up to %d", g.To)
		case g.To == 1<<63-1:
			rows = fmt.Sprintf("rows from %d on", g.From)
		}
		line := g.From
		if line == -1<<63 {
			line = 0
		}
		what := "cannot be read"
		if errors.Is(g.Err, sqlitero.ErrAgain) {
			what = "come again"
		}
		r.partial("", "", "rows of "+table+" "+what)
		r.issue("unreadable_rows", fmt.Sprintf("%s of %s %s: %v", rows, table, what, g.Err), nil, table, line)
		return r.more()
	}
}

// tellSessions yields the sessions with their messages.
func (r *sessionsReader) tellSessions() error {
	readers := map[*storedTable]*rowReader{}
	for _, t := range []*storedTable{r.sessions, r.messages, r.threads} {
		if t != nil {
			readers[t] = r.reader(t, t.columns)
			defer readers[t].Close()
		}
	}
	total := len(r.index.keys)
	for from := 0; from < total; {
		to, err := r.tellChunk(readers[r.sessions], from, min(from+sessionChunk, total))
		if err != nil {
			return err
		}
		for ordinal := from; ordinal < to; ordinal++ {
			if err := r.tellMessages(readers[r.messages], r.messages, r.byMessage, ordinal); err != nil {
				return err
			}
			if err := r.tellMessages(readers[r.threads], r.threads, r.byThread, ordinal); err != nil {
				return err
			}
		}
		r.out.Table(schemas.RawMessages).Flush()
		if err := r.more(); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// tellChunk yields the sessions with the ordinals from from on, at most to the
// ordinal to and as one batch: the messages of a batch come before the next. It
// returns the ordinal behind them.
func (r *sessionsReader) tellChunk(reader *rowReader, from, to int) (int, error) {
	w := r.out.Table(schemas.RawSessions)
	defer w.Flush()
	next := from
	if rows := min(to, len(r.index.ids)); next < rows {
		var err error
		if next, err = r.tellRows(reader, next, rows); err != nil || next < rows || w.Rows() == 0 {
			return next, err
		}
	}
	for ; next < to; next++ {
		if r.missing(next); w.Rows() == 0 {
			return next + 1, nil
		}
	}
	return next, nil
}

// errBatch ends the reading of rows when their batch is full.
var errBatch = errors.New("the batch is full")

// tellRows yields the sessions rows with the ordinals [from, to), or those of
// them that fill a batch. It returns the ordinal behind the last.
func (r *sessionsReader) tellRows(reader *rowReader, from, to int) (int, error) {
	w := r.out.Table(schemas.RawSessions)
	ordinal := from
	gap := r.gaps("sessions")
	told := func() error {
		if ordinal++; w.Rows() == 0 {
			return errBatch
		}
		return nil
	}
	err := reader.Fetch(r.ctx, r.index.ids[from:to], func(id int64, v []sqlitero.Value) error {
		w.Int(int64(ordinal))
		w.Bool(false)
		w.Int(id)
		r.cells(w, r.sessions, sessionFields, id, v)
		w.End()
		r.source.report.Records++
		if err := r.more(); err != nil {
			return err
		}
		return told()
	}, func(id int64, err error) error {
		// Its messages still need it to come before them.
		r.missing(ordinal)
		if err := gap.add(id, err); err != nil {
			return err
		}
		return told()
	})
	if err != nil && !errors.Is(err, errBatch) {
		return ordinal, err
	}
	return ordinal, gap.flush()
}

// missing yields a session of which nothing but the id is known.
func (r *sessionsReader) missing(ordinal int) {
	w := r.out.Table(schemas.RawSessions)
	w.Int(int64(ordinal))
	w.Bool(true)
	w.Null()
	w.OptText(r.index.keys[ordinal].clean())
	for range len(schemas.RawSessions.Columns) - 4 {
		w.Null()
	}
	w.End()
}

// tellMessages yields the rows of one session in messages or thread_messages.
func (r *sessionsReader) tellMessages(reader *rowReader, t *storedTable, index *messageIndex, ordinal int) error {
	if t == nil {
		return nil
	}
	w := r.out.Table(schemas.RawMessages)
	gap := r.gaps(t.name)
	for ids := range index.runs(ordinal) {
		err := reader.Fetch(r.ctx, ids, func(id int64, v []sqlitero.Value) error {
			w.Int(int64(ordinal))
			w.Text(t.name)
			w.Int(id)
			r.cells(w, t, messageFields, id, v)
			w.End()
			r.source.report.Records++
			return r.more()
		}, gap.add)
		if err != nil {
			return err
		}
	}
	return gap.flush()
}

// tellUsage yields usage_ledger.
func (r *sessionsReader) tellUsage() error {
	t := r.usage
	if t == nil {
		return nil
	}
	reader := r.reader(t, t.columns)
	defer reader.Close()
	w := r.out.Table(schemas.RawUsage)
	return r.scanWith(reader, t, func(id int64, v []sqlitero.Value) error {
		w.Int(id)
		r.cells(w, t, usageFields, id, v)
		w.End()
		r.source.report.Records++
		return r.more()
	}, r.gap(t.name))
}

// confirmations calls each for the contents of a session that may hold a
// toolConfirmationResponse: those that name it, and those with an escaped
// character, which may name it too.
func (r *sessionsReader) confirmations(ctx context.Context, ordinal int64, each func(string) bool) error {
	if ordinal < 0 || ordinal >= int64(len(r.index.keys)) {
		return fmt.Errorf("no session has ordinal %d", ordinal)
	}
	for _, part := range []struct {
		t     *storedTable
		index *messageIndex
	}{{r.messages, r.byMessage}, {r.threads, r.byThread}} {
		if part.t == nil || part.t.at("content_json") < 0 {
			continue
		}
		reader := r.reader(part.t, []string{"content_json"})
		defer reader.Close()
		for ids := range part.index.runs(int(ordinal)) {
			err := reader.Fetch(ctx, ids, func(_ int64, v []sqlitero.Value) error {
				content, _ := textOf(&v[0])
				if !strings.Contains(content, "toolConfirmationResponse") && !strings.Contains(content, `\u`) {
					return nil
				}
				content, _ = values.CleanUTF8(content)
				if !each(content) {
					return errStopped
				}
				return nil
			}, func(int64, error) error { return nil }) // Records tells of them
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// gaps joins rowids that cannot be read into ranges.
func (r *sessionsReader) gaps(table string) *gapJoiner { return &gapJoiner{tell: r.gap(table)} }

type gapJoiner struct {
	tell func(sqlitero.Gap) error
	open bool
	gap  sqlitero.Gap
}

func (j *gapJoiner) add(id int64, err error) error {
	if j.open && j.gap.To+1 == id {
		j.gap.To = id
		return nil
	}
	ended := j.flush()
	j.open, j.gap = true, sqlitero.Gap{From: id, To: id, Err: err}
	return ended
}

func (j *gapJoiner) flush() error {
	if !j.open {
		return nil
	}
	j.open = false
	return j.tell(j.gap)
}
