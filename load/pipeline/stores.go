package pipeline

import (
	"context"
	"errors"
	"iter"
	"runtime"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"gander/extract"
	"gander/schemas/fault"
	"gander/schemas/values"
	"gander/transform"
)

// readFiles reads every file of the home, in this order: what the secondary
// stores hold is noted first; then the primary stores stream by; then the
// secondary ones give what no primary store has; and at last the request logs
// are asked for what is nowhere else.
func (h *home) readFiles(ctx context.Context) (err error) {
	files := h.job.Home.Files
	h.overlap = h.newOverlap()
	defer func() { err = errors.Join(err, h.overlap.Close()) }()
	calls := make([]*transform.LoggedCall, len(files))
	digests := make([]string, len(files))
	for i := range files {
		if err := h.scan(ctx, &files[i], &calls[i], &digests[i]); err != nil {
			return err
		}
		if err := h.overlap.Err(); err != nil {
			return err
		}
	}
	for i := range files {
		f := &files[i]
		h.told = 0
		if err := h.file(ctx, f, calls[i], digests[i]); err != nil {
			return err
		}
		h.r.observe().Bytes(f.Bytes() - h.told)
	}
	for i := range files {
		if calls[i] == nil || !h.overlap.Lost() {
			continue
		}
		log := transform.NewRequestLog(h.info(&files[i]), h.overlap, nil, digests[i], calls[i])
		if err := h.drain(log.Recover(ctx, h.text(&files[i], extract.JSONLines).Records(ctx))); err != nil {
			return err
		}
	}
	return h.overlap.Err()
}

// scan notes what a secondary store holds.
func (h *home) scan(ctx context.Context, f *extract.File, call **transform.LoggedCall, digest *string) (err error) {
	if f.Status != extract.Read {
		return nil
	}
	switch f.Store {
	case extract.LegacyJSONL:
		h.overlap.WantSession(transform.LegacySessionID(f.Rel))
	case extract.LLMRequestLog:
		source := h.text(f, extract.JSONLines)
		*call, err = transform.NewRequestLog(h.info(f), h.overlap, nil, "", nil).Scan(source.Records(ctx))
		if *digest = source.Report().SHA256; *digest == "" {
			// The log changed while it was read: what names it is its place.
			*digest = values.SHA256Hex([]byte(f.Path))
		}
	case extract.CLIHistory:
		err = transform.NewCLIHistory(h.info(f), h.overlap).Scan(h.text(f, extract.History).Records(ctx))
	}
	return err
}

// info is what the rows of a text file say of it.
func (h *home) info(f *extract.File) transform.FileInfo {
	info := transform.FileInfo{HomeID: h.job.Home.ID, Store: string(f.Store), Path: f.Path, Rel: f.Rel, Size: f.Size, Mem: h.r.mem()}
	if !f.MTime.IsZero() {
		info.MTime = values.Int{V: f.MTime.UnixMicro(), OK: true}
	}
	return info
}

func (h *home) sourceOptions() extract.SourceOptions {
	return extract.SourceOptions{Mem: h.r.mem(), Scratch: h.r.Warehouse.Scratch()}
}

func (h *home) text(f *extract.File, mode extract.TextMode) *extract.TextFileSource {
	return extract.NewTextFile(&h.job.Home, f, mode, h.sourceOptions())
}

// file reads one file for its rows and writes its row of sources.
func (h *home) file(ctx context.Context, f *extract.File, call *transform.LoggedCall, digest string) error {
	if f.Status != extract.Read {
		h.sourceRow(f, extract.Report{Status: f.Status, Note: f.Note, Size: f.Size, SHA256: f.SHA256}, transform.Tally{})
		return h.failed
	}
	spool := &spool{dir: h.r.Warehouse.Scratch()}
	defer spool.close()
	info := h.info(f)
	switch f.Store {
	case extract.SessionsDB:
		return h.database(ctx, f, spool)
	case extract.LegacyJSONL:
		return h.textFile(ctx, f, extract.JSONLines, transform.NewLegacyJSONL(info, h.overlap, spool.open))
	case extract.LLMRequestLog:
		return h.textFile(ctx, f, extract.JSONLines, transform.NewRequestLog(info, h.overlap, spool.open, digest, call))
	case extract.CLIHistory:
		return h.textFile(ctx, f, extract.History, transform.NewCLIHistory(info, h.overlap))
	case extract.PermissionYAML:
		return h.textFile(ctx, f, extract.Document, transform.NewPermissionYAML(info))
	case extract.ToolPermissionsJSON:
		return h.textFile(ctx, f, extract.Document, transform.NewToolPermissions(info))
	case extract.RoamingTrust:
		return h.textFile(ctx, f, extract.Document, transform.NewRoamingTrust(info))
	case extract.RoamingDirectory:
		return h.textFile(ctx, f, extract.Document, transform.NewRoamingDirectory(info))
	case extract.ScheduleJSON:
		return h.textFile(ctx, f, extract.Document, transform.NewSchedules(info))
	}
	h.sourceRow(f, extract.Report{Status: extract.NotRead, Note: f.Note, Size: f.Size, SHA256: f.SHA256}, transform.Tally{})
	return h.failed
}

func (h *home) database(ctx context.Context, f *extract.File, spool *spool) error {
	source := extract.NewSessionsDB(&h.job.Home, f, h.sourceOptions())
	tables := &transform.SessionsDB{HomeID: h.job.Home.ID, File: f.Path, Mem: h.r.mem(), Confirmations: source, Spool: spool.open, Overlap: h.overlap}
	lost, stop := h.deleted(ctx, f)
	defer stop()
	if err := h.drain(tables.Tables(ctx, h.watched(f, source.Records(ctx)))); err != nil {
		return err
	}
	report, tally := source.Report(), tables.Tally()
	if err := h.check(f, tally, report.Records); err != nil {
		return err
	}
	if lost != nil {
		recovered := transform.NewRecovered(h.info(f), tables)
		if err := h.drain(recovered.Tables(ctx, lost)); err != nil {
			return err
		}
		tally.Issues += recovered.Tally().Issues
	}
	h.sourceRow(f, report, tally)
	return h.failed
}

// watched tells the observer how much of a database went by: the bytes of its
// records, at most those of its files.
func (h *home) watched(f *extract.File, in iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for rec, err := range in {
			if err == nil {
				n := min(textBytes(rec), f.Bytes()-h.told)
				h.told += n
				h.r.observe().Bytes(n)
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// textBytes is the size of the texts of a batch.
func textBytes(rec arrow.RecordBatch) int64 {
	var n int64
	for _, col := range rec.Columns() {
		if a, ok := col.(*array.String); ok {
			n += int64(len(a.ValueBytes()))
		}
	}
	return n
}

// deleted looks in the database's files for rows that it no longer holds; nil
// where it does not look: a running Goose would write them meanwhile. It does so
// while what the database does hold is read, when a processor is free for that,
// else after.
func (h *home) deleted(ctx context.Context, f *extract.File) (lost iter.Seq2[arrow.RecordBatch, error], stop func()) {
	if h.r.SkipDeleted || f.Live {
		return nil, func() {}
	}
	source := extract.NewRecoveredRows(&h.job.Home, f, h.sourceOptions())
	if int(h.r.reading.Load()) >= runtime.GOMAXPROCS(0) {
		return source.Records(ctx), func() {}
	}
	return readAhead(ctx, 1, source.Records)
}

// textFile reads a text file: its tally must account for each record, which is
// a line or an entry, the whole file of a request log, an item of a document.
func (h *home) textFile(ctx context.Context, f *extract.File, mode extract.TextMode, store transform.TextStore) error {
	source := h.text(f, mode)
	if err := h.drain(store.Tables(ctx, source.Records(ctx))); err != nil {
		return err
	}
	report, tally := source.Report(), store.Tally()
	records := report.Records
	switch {
	case f.Store == extract.LLMRequestLog:
		records = min(max(f.Size, 0), 1)
	case mode == extract.Document:
		records = tally.Records() // how many items there are the transform alone can say
	}
	if err := h.check(f, tally, records); err != nil {
		return err
	}
	if store.Malformed() && (report.Status == extract.Read || report.Status == extract.Partial) {
		report.Status = extract.Malformed
	}
	h.sourceRow(f, report, tally)
	return h.failed
}

func (h *home) check(f *extract.File, tally transform.Tally, records int64) error {
	err := tally.Check(records)
	if err == nil {
		return nil
	}
	return &fault.Error{Kind: fault.Internal, Op: "reconcile", Home: h.job.Home.ID, Source: string(f.Store), Path: f.Path, Err: err,
		Hint: "This is a fault of gander: the home was not committed. Please report it."}
}
