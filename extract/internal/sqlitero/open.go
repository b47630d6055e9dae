package sqlitero

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"modernc.org/sqlite"
)

// Errors that Open returns for files that hold nothing to read.
var (
	ErrNotSQLite = errors.New("not an SQLite database")
	ErrEmpty     = errors.New("empty file")
	// ErrOnlyWAL is an empty database beside a log that cannot be read alone.
	ErrOnlyWAL = errors.New("empty database, and its write-ahead log does not hold the first page")
)

// ScratchError is a failure to write to scratch. Every other error of Open is
// the database's own, or the context's.
type ScratchError struct{ Err error }

func (e *ScratchError) Error() string { return "scratch: " + e.Err.Error() }

// Unwrap gives the cause.
func (e *ScratchError) Unwrap() error { return e.Err }

// Paths are the files of one database.
type Paths struct {
	Main    string
	WAL     string // "" when there is none; it need not be named after Main
	Journal string // likewise
	// Evidence says that the files are an input's. Otherwise they are the
	// caller's own and keep still; they are not written to either.
	Evidence bool
	// Live says that their program may be writing: SQLite's locks are taken
	// part in, which may create a -shm file beside Main.
	Live bool
}

// Facts tell how a database came to be read.
type Facts struct {
	Size    int64  // bytes of the main file
	SHA256  string // of the main file where it had to be copied, else ""
	InPlace bool   // read where it lies

	ChangedWhileReading bool   // three copies, and the files changed during each
	WALForeign          string // why the log was left out
	WALDamaged          string // what is broken in the log; SQLite reads what is before
	WALWithoutDatabase  bool   // main file empty, read from its log alone
	Damaged             string // SQLite's error on opening, read nevertheless
	WAL                 *WAL   // nil without log
}

// DB is a database that is open in one read transaction. Its methods may be
// called from several goroutines; they take turns.
type DB struct {
	Facts
	paths  Paths
	before stamp
	work   string // own directory in scratch, removed by Close
	mu     sync.Mutex
	conn   driver.Conn
}

// copyTries is how often files that change meanwhile are copied.
const copyTries = 3

// Open opens a database so that everything committed is seen and nothing is
// written. Copies go to a directory of their own in scratch.
func Open(ctx context.Context, p Paths, scratch string) (_ *DB, err error) {
	db := &DB{paths: p}
	defer func() {
		if err != nil {
			db.Close()
			if ctx.Err() != nil {
				err = ctx.Err()
			}
		}
	}()
	head, err := readHeader(p.Main)
	if err != nil {
		return nil, err
	}
	db.Size = head.size
	if p.Live {
		if head.size == 0 && size(p.WAL) == 0 {
			return nil, ErrEmpty
		}
		db.InPlace = true
		return db, db.open(ctx, p.Main, "?mode=ro")
	}
	db.before = p.take()
	if db.before.wal.size == 0 && db.before.journal.size == 0 {
		return db, db.inPlace(ctx, head)
	}
	if db.work, err = os.MkdirTemp(scratch, "sqlite-"); err != nil {
		return nil, &ScratchError{err}
	}
	var mode string
	for try := 1; ; try++ {
		if mode, err = db.gather(ctx); err != nil {
			return nil, err
		}
		now := p.take()
		if !p.Evidence || now == db.before {
			break
		}
		if try == copyTries {
			db.ChangedWhileReading = true
			break
		}
		db.before = now
	}
	if mode == "" { // the log is foreign and there is no journal
		return db, db.inPlace(ctx, head)
	}
	if db.ChangedWhileReading {
		db.SHA256 = ""
	}
	return db, db.open(ctx, db.copied(""), mode)
}

// inPlace opens a database that has no companion to mind.
func (db *DB) inPlace(ctx context.Context, head header) error {
	db.InPlace = true
	switch {
	case head.size == 0:
		return ErrEmpty
	case !head.sqlite:
		return ErrNotSQLite
	}
	return db.open(ctx, db.paths.Main, "?mode=ro&immutable=1")
}

func (db *DB) copied(suffix string) string { return filepath.Join(db.work, "copy.db"+suffix) }

// gather brings the database and its companions together in the work
// directory and returns how to open them there, "" when the main file is to be
// read alone where it lies.
func (db *DB) gather(ctx context.Context) (mode string, err error) {
	p := db.paths
	db.WAL, db.WALForeign, db.WALDamaged, db.WALWithoutDatabase, db.SHA256 = nil, "", "", false, ""
	for _, suffix := range []string{"", "-wal", "-journal"} {
		if err := os.Remove(db.copied(suffix)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", &ScratchError{err}
		}
	}
	head, err := readHeader(p.Main)
	if err != nil {
		return "", err
	}
	db.Size = head.size
	if size(p.WAL) > 0 {
		if err := db.gatherWAL(ctx, head); err != nil {
			return "", err
		}
	}
	journal := size(p.Journal) > 0
	if db.WALForeign != "" && !journal {
		return "", nil
	}
	switch {
	case head.size == 0 && db.WAL != nil && !journal:
		db.WALWithoutDatabase = true
		if db.WAL.Page1 == nil {
			return "", ErrOnlyWAL
		}
		// SQLite drops a log beside an empty file. With the log's own page 1
		// in it the file is one that the log continues.
		if err := os.WriteFile(db.copied(""), db.WAL.Page1, 0o600); err != nil {
			return "", &ScratchError{err}
		}
	case !p.Evidence && !journal && os.Link(p.Main, db.copied("")) == nil:
		// Opened with mode=ro nothing is ever written to it.
	default:
		sum := sha256.New()
		if err := copyFile(ctx, db.copied(""), p.Main, sum); err != nil {
			return "", err
		}
		db.SHA256 = hex.EncodeToString(sum.Sum(nil))
	}
	if journal {
		if err := copyFile(ctx, db.copied("-journal"), p.Journal, nil); err != nil {
			return "", err
		}
		return "?mode=rw", nil
	}
	return "?mode=ro", nil
}

// gatherWAL copies the log and judges the copy. A log that cannot be read is a
// damaged one.
func (db *DB) gatherWAL(ctx context.Context, head header) error {
	err := copyFile(ctx, db.copied("-wal"), db.paths.WAL, nil)
	if err == nil {
		db.WAL, err = ScanWAL(ctx, db.copied("-wal"))
	}
	var scratch *ScratchError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &scratch):
		return err
	default:
		db.WALDamaged = err.Error()
		db.WAL = nil
	}
	if db.WAL != nil {
		db.WALDamaged = db.WAL.Damage
		db.WALForeign = head.foreign(db.WAL)
	}
	if db.WAL == nil || db.WALForeign != "" {
		if err := os.Remove(db.copied("-wal")); err != nil && !errors.Is(err, os.ErrNotExist) {
			return &ScratchError{err}
		}
	}
	return nil
}

func size(path string) int64 {
	if path == "" {
		return 0
	}
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return st.Size()
}

// copyFile copies a file into scratch; sum, where given, sees the bytes.
func copyFile(ctx context.Context, to, from string, sum hash.Hash) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return &ScratchError{err}
	}
	defer out.Close()
	if err := pump(ctx, in, func(b []byte) error {
		if sum != nil {
			sum.Write(b)
		}
		if _, err := out.Write(b); err != nil {
			return &ScratchError{err}
		}
		return nil
	}); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return &ScratchError{err}
	}
	return nil
}

func pump(ctx context.Context, in io.Reader, each func([]byte) error) error {
	buf := make([]byte, 256<<10)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := in.Read(buf)
		if n > 0 {
			if err := each(buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// dsn writes a path as the URI that the driver and SQLite both take for one.
func dsn(path, query string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/...
	}
	return "file://" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path) + query, nil
}

// open connects and starts the read transaction. A database whose header or
// schema SQLite refuses is tried again with the leniency that its own recovery
// tool uses.
func (db *DB) open(ctx context.Context, path, query string) error {
	err := db.connect(ctx, path, query, false)
	if err != nil && Damage(err) && !notSQLite(err) {
		first := err
		if err = db.connect(ctx, path, query, true); err == nil {
			db.Damaged = first.Error()
		}
	}
	switch {
	case err == nil:
		return nil
	case notSQLite(err):
		return fmt.Errorf("%w: %w", ErrNotSQLite, err)
	}
	return err
}

func (db *DB) connect(ctx context.Context, path, query string, lenient bool) error {
	name, err := dsn(path, query)
	if err != nil {
		return err
	}
	db.disconnect()
	if db.conn, err = new(sqlite.Driver).Open(name); err != nil {
		return err
	}
	settings := []string{
		"PRAGMA busy_timeout=30000",
		"PRAGMA trusted_schema=OFF",
		"PRAGMA cell_size_check=ON",
		"PRAGMA ignore_check_constraints=ON",
		"PRAGMA temp_store=MEMORY",
		"PRAGMA query_only=ON",
	}
	if lenient {
		// Takes a file shorter than its header says and a schema of which only
		// a part can be parsed; query_only and mode=ro keep it unwritten.
		settings = append(settings, "PRAGMA writable_schema=ON")
	}
	settings = append(settings,
		"PRAGMA mmap_size=0",
		"PRAGMA cache_size=-8192",
		"BEGIN",
		"SELECT count(*) FROM sqlite_schema")
	for _, sql := range settings {
		if err := db.exec(ctx, sql); err != nil {
			return err
		}
	}
	var pages int64
	if err := db.QueryRow(ctx, "PRAGMA page_count", &pages); err != nil {
		return err
	}
	if pages == 0 {
		return ErrEmpty
	}
	return nil
}

func (db *DB) exec(ctx context.Context, sql string) error {
	rows, err := db.Query(ctx, sql)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

func (db *DB) disconnect() {
	if db.conn != nil {
		db.conn.Close()
		db.conn = nil
	}
}

// Changed reports that the files of an input are no longer what they were when
// reading began. It is to be asked after the last row; a copy does not change.
func (db *DB) Changed() bool {
	return db.paths.Evidence && !db.paths.Live && db.InPlace && db.paths.take() != db.before
}

// Plain returns the files that the open database consists of, log "" without
// one. ok is false where only SQLite should read them: its program may be
// writing, or something about them is not as SQLite leaves it.
func (db *DB) Plain() (main, log string, ok bool) {
	switch {
	case db.paths.Live, db.ChangedWhileReading, db.WALDamaged != "", db.WALWithoutDatabase, db.Damaged != "":
		return "", "", false
	case db.InPlace:
		return db.paths.Main, "", true
	case db.WAL != nil && db.WALForeign == "":
		log = db.copied("-wal")
	}
	return db.copied(""), log, true
}

// Hash returns the SHA-256 of the main file in lower-case hex: from the copy
// where there was one, else by reading the file once. It is "" for a live
// database, which SQLite alone may have open.
func (db *DB) Hash(ctx context.Context) (string, error) {
	if db.SHA256 != "" || db.paths.Live || db.ChangedWhileReading {
		return db.SHA256, nil
	}
	f, err := os.Open(db.paths.Main)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if err := pump(ctx, f, func(b []byte) error { sum.Write(b); return nil }); err != nil {
		return "", err
	}
	db.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return db.SHA256, nil
}

// Close ends the transaction and removes what Open put into scratch.
func (db *DB) Close() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.disconnect()
	if db.work == "" {
		return nil
	}
	work := db.work
	db.work = ""
	err := os.RemoveAll(work)
	if err != nil && runtime.GOOS == "windows" {
		return nil // a scanner holds the file: the next run clears scratch
	}
	return err
}
