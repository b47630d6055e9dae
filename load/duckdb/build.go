package duckdb

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"gander/load/duckdb/views"
	"gander/schemas"
	"gander/schemas/fault"
)

// FileName is the name of the database in a warehouse.
const FileName = "gander.duckdb"

// noHome is the home_id of the empty file that each table has; it holds no row.
const noHome = "none"

// Options says with what means a database is built.
type Options struct {
	// Scratch is a directory on the file system of the warehouse for the
	// unfinished database and what does not fit into memory; "" takes one
	// inside the warehouse. Nothing is left in it.
	Scratch string

	// MemoryLimit is the memory that DuckDB may take, such as "2GB"; "" begins
	// with 200MB and takes more only when a value needs it.
	MemoryLimit string

	// Threads is how many tables are loaded at a time; 0 takes every processor.
	Threads int
}

// Build makes dir's gander.duckdb from its Parquet files and runs/*.json,
// whatever was there before. Rows are in the order of home_id, file name and
// file. A reader that has the database open keeps the old one.
func Build(ctx context.Context, dir string, opts Options) error {
	if err := build(ctx, dir, opts); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		hint := "The Parquet files are complete; free what is short and run `gander run` again to build the database from them."
		if outOfMemory(err) {
			hint = "The Parquet files are complete; run `gander run` again with a higher --memory-limit to build the database from them."
		}
		return &fault.Error{Kind: fault.Output, Op: "build database", Path: filepath.Join(dir, FileName), Err: err, Hint: hint}
	}
	return nil
}

func build(ctx context.Context, dir string, opts Options) (err error) {
	if opts.Scratch == "" {
		opts.Scratch = dir
	}
	if strings.Contains(opts.Scratch, "?") {
		return fmt.Errorf("%s: DuckDB can write no database below a directory with a question mark in its name", opts.Scratch)
	}
	scratch, err := os.MkdirTemp(opts.Scratch, ".duckdb-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()

	path := filepath.Join(scratch, FileName)
	limits := []string{opts.MemoryLimit}
	if opts.MemoryLimit == "" {
		limits = memorySteps
	}
	for i, limit := range limits {
		opts.MemoryLimit = limit
		err = fill(ctx, dir, path, filepath.Join(scratch, "spill"), opts)
		if err == nil || i == len(limits)-1 || !outOfMemory(err) || ctx.Err() != nil {
			break
		}
		// A single value can need more than the limit: begin again with more,
		// a table at a time, since each load holds one.
		opts.Threads = 1
		if err = os.RemoveAll(path); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	// A log beside the old database would be replayed into the new one.
	target := filepath.Join(dir, FileName)
	if err := os.Remove(target + ".wal"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return publish(path, target)
}

// memorySteps are the memory limits that are tried one after another when none
// is given: the last leaves it at DuckDB's 80 % of the machine.
var memorySteps = []string{"200MB", "512MB", "2GB", ""}

func outOfMemory(err error) bool { return strings.Contains(err.Error(), "Out of Memory") }

// publish makes a finished file durable under its final name.
func publish(path, target string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	err = errors.Join(f.Chmod(0o600), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(path, target); err != nil {
		return err
	}
	d, err := os.Open(filepath.Dir(target))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// attached is what the database is called while it is filled.
const attached = "gander"

// groupRows is the size of a row group: half of DuckDB's own, so that one of
// long texts fits into the memory that a load begins with.
const groupRows = 61_440

// fill fills a new database at path. Each thread loads a table of its own:
// DuckDB sharing one between threads, in order, is slower than one alone.
func fill(ctx context.Context, dir, path, spill string, opts Options) error {
	settings := map[string]string{"temp_directory": spill, "preserve_insertion_order": "true", "threads": "1"}
	if opts.MemoryLimit != "" {
		settings["memory_limit"] = opts.MemoryLimit
	}
	db, err := openDatabase("", offline, settings)
	if err != nil {
		return err
	}
	defer db.close()
	s, err := db.connect()
	if err != nil {
		return err
	}
	defer s.close()
	// Without a log: a build that is cut off begins anew.
	attach := fmt.Sprintf("ATTACH %s AS %s (ROW_GROUP_SIZE %d, RECOVERY_MODE no_wal_writes)", quoteText(path), attached, groupRows)
	if err := s.run(ctx, attach, "USE "+attached); err != nil {
		return err
	}
	if err := loadTables(ctx, db, s, dir, opts.Threads); err != nil {
		return err
	}
	runs, err := readRuns(filepath.Join(dir, "runs"))
	if err != nil {
		return err
	}
	if err := s.run(ctx, append(createTable(schemas.Runs, false), runs...)...); err != nil {
		return fmt.Errorf("table %s: %w", schemas.Runs.Name, err)
	}
	for _, v := range views.Views() {
		if err := s.run(ctx, createView(v)...); err != nil {
			return fmt.Errorf("view %s: %w", v.Name, err)
		}
	}
	return s.run(ctx, "CHECKPOINT "+attached, "USE memory", "DETACH "+attached)
}

// tableLoad is a table and the files that it is loaded from.
type tableLoad struct {
	table *schemas.Table
	files []string
	bytes int64
}

// inserts returns the statements that load the files.
func (l *tableLoad) inserts() []string {
	var statements []string
	for files := range slices.Chunk(l.files, filesAtOnce) {
		statements = append(statements, insert(l.table, files))
	}
	return statements
}

// loadTables makes the tables of homes and fills them, the largest first.
func loadTables(ctx context.Context, db *database, s *session, dir string, threads int) error {
	var loads []tableLoad
	for _, t := range schemas.Tables() {
		if err := s.run(ctx, createTable(t, true)...); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
		files, bytes, err := tableFiles(dir, t.Name)
		if err != nil {
			return err
		}
		loads = append(loads, tableLoad{t, files, bytes})
	}
	slices.SortStableFunc(loads, func(a, b tableLoad) int { return cmp.Compare(b.bytes, a.bytes) })
	queue := make(chan tableLoad, len(loads))
	for _, l := range loads {
		queue <- l
	}
	close(queue)
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	group, ctx := errgroup.WithContext(ctx)
	for range threads {
		group.Go(func() error {
			s, err := db.connect()
			if err != nil {
				return err
			}
			defer s.close()
			if err := s.run(ctx, "USE "+attached); err != nil {
				return err
			}
			for l := range queue {
				// In one transaction, or every chunk leaves a row group that is not
				// full.
				if err := s.run(ctx, slices.Concat([]string{"BEGIN"}, l.inserts(), []string{"COMMIT"})...); err != nil {
					return fmt.Errorf("table %s: %w", l.table.Name, err)
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// filesAtOnce is how many files one statement loads: DuckDB holds the metadata
// of all, and a thousand of them need more than the memory it begins with.
const filesAtOnce = 200

// tableFiles lists the Parquet files of a table that hold rows of a home, by
// home_id and name, and sums up their sizes.
func tableFiles(dir, table string) (files []string, bytes int64, err error) {
	root := filepath.Join(dir, "parquet", table)
	homes, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, err
	}
	for _, h := range homes {
		if !h.IsDir() || !strings.HasPrefix(h.Name(), homeID+"=") || h.Name() == homeID+"="+noHome {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(root, h.Name()))
		if err != nil {
			return nil, 0, err
		}
		for _, e := range entries {
			if e.IsDir() || !strings.HasSuffix(e.Name(), ".parquet") || strings.HasPrefix(e.Name(), ".") {
				continue
			}
			info, err := e.Info()
			if err != nil {
				return nil, 0, err
			}
			files = append(files, filepath.Join(root, h.Name(), e.Name()))
			bytes += info.Size()
		}
	}
	return files, bytes, nil
}

// insert returns the statement that loads files into t. home_id is taken from
// the last directory alone and stays text: DuckDB's own reading of hive paths
// takes every <name>=<value> of the path for a column, those above the
// warehouse too.
func insert(t *schemas.Table, files []string) string {
	const file = "gander file" // no column is called so
	selected := make([]string, 0, len(t.Columns)+1)
	selected = append(selected, `regexp_extract(`+quoteName(file)+`, '[/\\]`+homeID+`=([^/\\]*)[/\\][^/\\]*$', 1)`)
	for _, c := range t.Columns {
		selected = append(selected, "CAST("+quoteName(c.Name)+" AS "+c.Kind.SQL()+")")
	}
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = quoteText(escapeGlob(f))
	}
	return "INSERT INTO " + quoteName(t.Name) + " SELECT " + strings.Join(selected, ", ") +
		" FROM read_parquet([" + strings.Join(paths, ", ") + "], hive_partitioning = false, filename = " + quoteText(file) + ")"
}

// escapeGlob makes DuckDB take a path as it is.
func escapeGlob(path string) string {
	return strings.NewReplacer("[", "[[]", "*", "[*]", "?", "[?]").Replace(path)
}

// readRuns returns a statement per run that inserts its row, in the order of
// started_at. A key that is no column is left out: a later gander wrote it.
func readRuns(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	type row struct{ started, sql string }
	var rows []row
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".json") || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := filepath.Join(dir, e.Name())
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var record map[string]json.RawMessage
		if err := json.Unmarshal(text, &record); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		literals := make([]string, len(schemas.Runs.Columns))
		for i, c := range schemas.Runs.Columns {
			if literals[i], err = literal(c.Kind, record[c.Name]); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", path, c.Name, err)
			}
		}
		rows = append(rows, row{
			started: literals[schemas.Runs.Index("started_at")],
			sql:     "INSERT INTO " + quoteName(schemas.Runs.Name) + " VALUES (" + strings.Join(literals, ", ") + ")",
		})
	}
	sort.SliceStable(rows, func(i, j int) bool { return rows[i].started < rows[j].started })
	statements := make([]string, len(rows))
	for i, r := range rows {
		statements[i] = r.sql
	}
	return statements, nil
}

// literal returns the SQL literal of a JSON value in a column of that kind.
func literal(k schemas.Kind, raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "NULL", nil
	}
	switch k {
	case schemas.JSON:
		return quoteText(string(raw)), nil
	case schemas.Text:
		var s string
		err := json.Unmarshal(raw, &s)
		return quoteText(s), err
	case schemas.Int:
		var n int64
		err := json.Unmarshal(raw, &n)
		return strconv.FormatInt(n, 10), err
	case schemas.Float:
		var f float64
		err := json.Unmarshal(raw, &f)
		return strconv.FormatFloat(f, 'g', -1, 64), err
	case schemas.Bool:
		var b bool
		err := json.Unmarshal(raw, &b)
		return strconv.FormatBool(b), err
	case schemas.Time:
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return "", err
		}
		t, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t, err = time.Parse("2006-01-02T15:04:05.999999999", s)
		}
		return "TIMESTAMP " + quoteText(t.UTC().Format("2006-01-02 15:04:05.000000")), err
	}
	return "", fmt.Errorf("runs has no column of type %s", k.SQL())
}
