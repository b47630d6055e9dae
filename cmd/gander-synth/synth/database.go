package synth

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver
)

// schema is that of a fresh database of version 16, without the tables that a
// provider's catalogue of models is cached in.
const schema = `
CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
INSERT INTO schema_version VALUES (16, '2026-01-05 07:00:00');
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '', user_set_name BOOLEAN DEFAULT FALSE,
  session_type TEXT NOT NULL DEFAULT 'user', working_dir TEXT NOT NULL, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
  updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, extension_data TEXT DEFAULT '{}', total_tokens INTEGER, input_tokens INTEGER,
  output_tokens INTEGER, cache_read_tokens INTEGER, cache_write_tokens INTEGER, accumulated_total_tokens INTEGER,
  accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER, accumulated_cache_read_tokens INTEGER,
  accumulated_cache_write_tokens INTEGER, accumulated_cost REAL, schedule_id TEXT, recipe_json TEXT, user_recipe_values_json TEXT,
  provider_name TEXT, model_config_json TEXT, goose_mode TEXT NOT NULL DEFAULT 'auto', archived_at TIMESTAMP, project_id TEXT,
  parent_session_id TEXT);
CREATE TABLE messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL,
  content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL, timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP, tokens INTEGER,
  metadata_json TEXT);
CREATE TABLE usage_ledger (
  id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  created_timestamp INTEGER NOT NULL, model TEXT, input_tokens INTEGER, output_tokens INTEGER, total_tokens INTEGER,
  cache_read_tokens INTEGER, cache_write_tokens INTEGER, cost REAL, cost_source TEXT, is_compaction INTEGER DEFAULT 0);
CREATE INDEX idx_messages_session ON messages(session_id);
CREATE INDEX idx_messages_timestamp ON messages(timestamp);
CREATE INDEX idx_messages_message_id ON messages(message_id);
CREATE INDEX idx_messages_session_created ON messages(session_id, created_timestamp, id);
CREATE INDEX idx_sessions_updated ON sessions(updated_at DESC);
CREATE INDEX idx_sessions_type ON sessions(session_type);
CREATE INDEX idx_sessions_parent ON sessions(parent_session_id);
CREATE INDEX idx_usage_ledger_session ON usage_ledger(session_id);
`

const (
	pageSize = 4096
	// walBytes is what Goose lets stand in a write-ahead log: SQLite moves it
	// to the database at 1,000 pages.
	walBytes = 1000 * pageSize
	// transaction is about how many bytes are committed at once.
	transaction = 32 << 20
)

// database writes a sessions.db.
type database struct {
	ctx    context.Context
	path   string
	db     *sql.DB
	conn   *sql.Conn
	wal    bool // a log is to be left
	logged bool // what comes now goes to the log

	message, session, usage *sql.Stmt
	pending                 int // bytes not committed
}

// create makes the database. With wal and few bytes to come, all of them go to
// the log: the file is then 4,096 bytes, as Goose leaves it.
func create(ctx context.Context, path string, wal bool, bytes int64) (*database, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	d := &database{ctx: ctx, path: path, wal: wal}
	var err error
	if d.db, err = sql.Open("sqlite", "file:"+escapePath.Replace(filepath.ToSlash(path))); err != nil {
		return nil, err
	}
	if d.conn, err = d.db.Conn(ctx); err != nil {
		return nil, errors.Join(err, d.db.Close())
	}
	if err := d.begin(bytes); err != nil {
		return nil, errors.Join(err, d.discard())
	}
	return d, nil
}

// begin makes the tables and opens the first transaction.
func (d *database) begin(bytes int64) error {
	// No crash is survived: what counts is a fleet that is written whole.
	if err := d.exec("PRAGMA page_size=4096; PRAGMA locking_mode=EXCLUSIVE; PRAGMA synchronous=OFF; PRAGMA cache_size=-65536; PRAGMA journal_mode=OFF"); err != nil {
		return err
	}
	if d.wal && bytes <= walBytes {
		if err := d.startLog(); err != nil {
			return err
		}
	}
	if err := d.exec(schema + "BEGIN"); err != nil {
		return err
	}
	return d.prepare()
}

var escapePath = strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23")

func (d *database) exec(query string) error {
	_, err := d.conn.ExecContext(d.ctx, query)
	return err
}

// prepare prepares the statements that discard closes.
func (d *database) prepare() (err error) {
	if d.message, err = d.conn.PrepareContext(d.ctx, `INSERT INTO messages (id, message_id, session_id, role, content_json,
created_timestamp, timestamp, metadata_json) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`); err != nil {
		return err
	}
	if d.session, err = d.conn.PrepareContext(d.ctx, `INSERT INTO sessions (rowid, id, name, user_set_name, session_type, working_dir, created_at,
updated_at, extension_data, total_tokens, input_tokens, output_tokens, cache_read_tokens, accumulated_total_tokens, accumulated_input_tokens,
accumulated_output_tokens, accumulated_cache_read_tokens, accumulated_cost, provider_name, model_config_json, goose_mode, parent_session_id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`); err != nil {
		return err
	}
	d.usage, err = d.conn.PrepareContext(d.ctx, `INSERT INTO usage_ledger (session_id, created_timestamp, model, input_tokens, output_tokens,
total_tokens, cache_read_tokens, cost, cost_source, is_compaction) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
	return err
}

// startLog makes what comes go to the log.
func (d *database) startLog() error {
	d.logged = true
	var mode string
	if err := d.conn.QueryRowContext(d.ctx, "PRAGMA journal_mode=WAL").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("%s: journal mode is %s", d.path, mode)
	}
	return d.exec("PRAGMA wal_autocheckpoint=0")
}

// size returns the bytes of the database, with what is not committed.
func (d *database) size() (int64, error) {
	var pages int64
	err := d.conn.QueryRowContext(d.ctx, "PRAGMA page_count").Scan(&pages)
	return pages * pageSize, err
}

// checkpoint commits when much was written, and begins the log when little is
// left to come of the target.
func (d *database) checkpoint(size, target int64) error {
	begin := d.wal && !d.logged && size > target-walBytes/2
	if !begin && d.pending < transaction {
		return nil
	}
	d.pending = 0
	if err := d.exec("COMMIT"); err != nil {
		return err
	}
	if begin {
		if err := d.startLog(); err != nil {
			return err
		}
	}
	return d.exec("BEGIN")
}

// close commits. salts are the seed of a log's checksums.
func (d *database) close(salts [8]byte) (err error) {
	defer func() { err = errors.Join(err, d.discard()) }()
	if err := d.exec("COMMIT"); err != nil {
		return err
	}
	if !d.logged {
		return nil
	}
	// Closing moves the log to the database: what lies on disk now is kept.
	keep := func(suffix string, transfer func(io.Writer, io.Reader) error) error {
		in, err := os.Open(d.path + suffix)
		if err != nil {
			return err
		}
		defer in.Close()
		out, err := os.OpenFile(d.path+suffix+".kept", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		return errors.Join(transfer(out, in), out.Close())
	}
	if err := keep("", func(w io.Writer, r io.Reader) error { _, err := io.Copy(w, r); return err }); err != nil {
		return err
	}
	if err := keep("-wal", func(w io.Writer, r io.Reader) error { return resalt(w, r, salts) }); err != nil {
		return err
	}
	if err := d.discard(); err != nil {
		return err
	}
	return errors.Join(os.Rename(d.path+".kept", d.path), os.Rename(d.path+"-wal.kept", d.path+"-wal"))
}

// discard closes the database as it is; again does nothing.
func (d *database) discard() error {
	if d.conn == nil {
		return nil
	}
	var err error
	for _, s := range []*sql.Stmt{d.message, d.session, d.usage} {
		if s != nil { // one that stays open keeps the file locked
			err = errors.Join(err, s.Close())
		}
	}
	err = errors.Join(err, d.conn.Close(), d.db.Close())
	d.conn = nil
	return err
}

// resalt copies a write-ahead log with other salts, which SQLite draws at
// random, and with the checksums that follow from them.
func resalt(w io.Writer, r io.Reader, salts [8]byte) error {
	var header [32]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return err
	}
	// The last bit of the magic number tells the order of bytes in checksums.
	var order binary.ByteOrder = binary.LittleEndian
	if header[3]&1 != 0 {
		order = binary.BigEndian
	}
	var s0, s1 uint32
	sum := func(b []byte) {
		for ; len(b) >= 8; b = b[8:] {
			s0 += order.Uint32(b) + s1
			s1 += order.Uint32(b[4:]) + s0
		}
	}
	copy(header[16:], salts[:])
	sum(header[:24])
	binary.BigEndian.PutUint32(header[24:], s0)
	binary.BigEndian.PutUint32(header[28:], s1)
	if _, err := w.Write(header[:]); err != nil {
		return err
	}
	var frame [24 + pageSize]byte
	for {
		if _, err := io.ReadFull(r, frame[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		copy(frame[8:], salts[:])
		sum(frame[:8])
		sum(frame[24:])
		binary.BigEndian.PutUint32(frame[16:], s0)
		binary.BigEndian.PutUint32(frame[20:], s1)
		if _, err := w.Write(frame[:]); err != nil {
			return err
		}
	}
}
