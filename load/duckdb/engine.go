package duckdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	bindings "github.com/duckdb/duckdb-go-bindings"
	"github.com/duckdb/duckdb-go/v2/mapping"
)

// offline are the settings of every database that is opened: what is not
// linked into the program is not there.
var offline = map[string]string{
	"autoinstall_known_extensions": "false",
	"autoload_known_extensions":    "false",
}

// database is an open DuckDB database.
type database struct {
	db mapping.Database
}

// openDatabase opens path, or a database in memory when path is "".
func openDatabase(path string, settings ...map[string]string) (*database, error) {
	var config mapping.Config
	if mapping.CreateConfig(&config) == mapping.StateError {
		return nil, errors.New("DuckDB gives no configuration")
	}
	defer mapping.DestroyConfig(&config)
	for _, group := range settings {
		for name, v := range group {
			if mapping.SetConfig(config, name, v) == mapping.StateError {
				return nil, fmt.Errorf("DuckDB has no setting %s=%s", name, v)
			}
		}
	}
	d := &database{}
	var message string
	if mapping.OpenExt(path, &d.db, config, &message) == mapping.StateError {
		mapping.Close(&d.db)
		return nil, errors.New(message)
	}
	return d, nil
}

func (d *database) close() { mapping.Close(&d.db) }

// session is a connection; it runs one statement at a time.
type session struct {
	conn mapping.Connection
}

func (d *database) connect() (*session, error) {
	s := &session{}
	if mapping.Connect(d.db, &s.conn) == mapping.StateError {
		return nil, errors.New("DuckDB gives no connection")
	}
	return s, nil
}

func (s *session) close() { mapping.Disconnect(&s.conn) }

// interruptible runs fn, which is in DuckDB, and stops it when ctx ends.
func (s *session) interruptible(ctx context.Context, fn func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done, stopped := make(chan struct{}), make(chan struct{})
	release := context.AfterFunc(ctx, func() {
		defer close(stopped)
		for {
			// DuckDB forgets an interrupt that comes before the work it is
			// meant for: so again, until fn is back.
			mapping.Interrupt(s.conn)
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	err := fn()
	close(done)
	if !release() {
		<-stopped
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// exec runs one statement that gives no rows.
func (s *session) exec(ctx context.Context, sql string) error {
	return s.interruptible(ctx, func() error {
		var res mapping.Result
		defer mapping.DestroyResult(&res)
		if mapping.Query(s.conn, sql, &res) == mapping.StateError {
			return errors.New(mapping.ResultError(&res))
		}
		return nil
	})
}

// run runs statements that give no rows, up to the first that fails.
func (s *session) run(ctx context.Context, statements ...string) error {
	for _, sql := range statements {
		if err := s.exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// errStatements says what is wrong with a query that is not one statement.
var errStatements = errors.New("a query is exactly one SQL statement")

// prepare parses and binds a query. The caller destroys the statement.
func (s *session) prepare(ctx context.Context, sql string) (mapping.PreparedStatement, error) {
	var stmt mapping.PreparedStatement
	err := s.interruptible(ctx, func() error {
		var extracted mapping.ExtractedStatements
		n := mapping.ExtractStatements(s.conn, sql, &extracted)
		defer mapping.DestroyExtracted(&extracted)
		if n != 1 {
			if message := mapping.ExtractStatementsError(extracted); message != "" {
				return errors.New(message)
			}
			return errStatements
		}
		if mapping.PrepareExtractedStatement(s.conn, extracted, 0, &stmt) == mapping.StateError {
			err := errors.New(mapping.PrepareError(stmt))
			mapping.DestroyPrepare(&stmt)
			return err
		}
		return nil
	})
	return stmt, err
}

// bind sets the parameters of a statement, by position.
func bind(stmt mapping.PreparedStatement, args []any) error {
	if n := int(mapping.NParams(stmt)); n != len(args) {
		return fmt.Errorf("the query has %d parameters, %d values are given", n, len(args))
	}
	for i, arg := range args {
		at := mapping.IdxT(i + 1)
		var state mapping.State
		switch v := arg.(type) {
		case nil:
			state = mapping.BindNull(stmt, at)
		case bool:
			state = mapping.BindBoolean(stmt, at, v)
		case int:
			state = mapping.BindInt64(stmt, at, int64(v))
		case int64:
			state = mapping.BindInt64(stmt, at, v)
		case float64:
			state = mapping.BindDouble(stmt, at, v)
		case string:
			state = mapping.BindVarcharLength(stmt, at, v, mapping.IdxT(len(v)))
		case time.Time:
			state = mapping.BindTimestamp(stmt, at, mapping.NewTimestamp(v.UnixMicro()))
		default:
			return fmt.Errorf("parameter %d: no SQL type stands for %T", i+1, arg)
		}
		if state == mapping.StateError {
			return fmt.Errorf("parameter %d: %s", i+1, mapping.PrepareError(stmt))
		}
	}
	return nil
}

// stream starts a prepared statement. The rows are made as they are fetched.
func (s *session) stream(ctx context.Context, stmt mapping.PreparedStatement) (mapping.Result, error) {
	var res mapping.Result
	err := s.interruptible(ctx, func() error {
		var pending mapping.PendingResult
		// The C interface marks streaming as deprecated and has nothing in its
		// place yet.
		state := bindings.PendingPreparedStreaming(stmt, &pending)
		defer mapping.DestroyPending(&pending)
		if state == mapping.StateError {
			return errors.New(mapping.PendingError(pending))
		}
		if mapping.ExecutePending(pending, &res) == mapping.StateError {
			err := errors.New(mapping.ResultError(&res))
			mapping.DestroyResult(&res)
			return err
		}
		return nil
	})
	return res, err
}

// fetch returns the next rows of a result, false at its end. The caller
// destroys the chunk.
func (s *session) fetch(ctx context.Context, res *mapping.Result) (mapping.DataChunk, bool, error) {
	var chunk mapping.DataChunk
	err := s.interruptible(ctx, func() error {
		chunk = mapping.FetchChunk(*res)
		if chunk.Ptr == nil {
			if message := mapping.ResultError(res); message != "" {
				return errors.New(message)
			}
		}
		return nil
	})
	return chunk, err == nil && chunk.Ptr != nil, err
}
