package duckdb

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"gander/load/duckdb/value"
)

// query runs one statement; allow, if not nil, may refuse it by its type.
func (s *session) query(ctx context.Context, sql string, args []any, allow func(mapping.StatementType) error) (*Rows, error) {
	stmt, err := s.prepare(ctx, sql)
	if err != nil {
		return nil, err
	}
	defer mapping.DestroyPrepare(&stmt)
	if allow != nil {
		if err := allow(mapping.PreparedStatementType(stmt)); err != nil {
			return nil, err
		}
	}
	if err := bind(stmt, args); err != nil {
		return nil, err
	}
	res, err := s.stream(ctx, stmt)
	if err != nil {
		return nil, err
	}
	rows := &Rows{ctx: ctx, s: s, sql: sql, args: args, res: res}
	if err := rows.describe(); err != nil {
		rows.Close()
		return nil, err
	}
	return rows, nil
}

// Rows is the result of a query. It is read once, by one goroutine.
type Rows struct {
	Columns []value.Column

	ctx     context.Context //nolint:containedctx // a result lives no longer than its query
	s       *session
	sql     string
	args    []any
	res     mapping.Result
	types   []*logical
	closed  bool
	release func() // what Close does last; may be nil
}

func (r *Rows) describe() error {
	for i := range mapping.ColumnCount(&r.res) {
		lt := mapping.ColumnLogicalType(&r.res, i)
		t, err := describe(lt)
		mapping.DestroyLogicalType(&lt)
		name := mapping.ColumnName(&r.res, i)
		if err != nil {
			return fmt.Errorf("column %s: %w", name, err)
		}
		r.types = append(r.types, t)
		r.Columns = append(r.Columns, value.Column{Name: name, Type: t.name})
	}
	return nil
}

// All yields the rows that were not read yet, a value per column as the value
// package has them. The slice is the same for every row; the values stay. An
// error ends it. Rows is closed when All returns.
func (r *Rows) All() iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		defer r.Close()
		row := make([]any, len(r.types))
		vectors := make([]vector, len(r.types))
		for !r.closed {
			more, err := r.chunk(vectors, row, yield)
			if err != nil {
				yield(nil, r.fail(err))
				return
			}
			if !more {
				return
			}
		}
	}
}

// chunk yields the rows of the next chunk. It returns false when there is none
// or the consumer wants no more.
func (r *Rows) chunk(vectors []vector, row []any, yield func([]any, error) bool) (bool, error) {
	chunk, ok, err := r.s.fetch(r.ctx, &r.res)
	if !ok {
		return false, err
	}
	defer mapping.DestroyDataChunk(&chunk)
	for i, t := range r.types {
		vectors[i] = t.bind(mapping.DataChunkGetVector(chunk, mapping.IdxT(i)))
	}
	for n := range int(mapping.DataChunkGetSize(chunk)) {
		for i := range vectors {
			row[i] = vectors[i].at(n)
		}
		if !yield(row, nil) {
			return false, nil
		}
	}
	return true, nil
}

// fail tells why reading failed. When one of DuckDB's threads fails, another
// may be heard first, and it only knows that it was interrupted. The cause is
// then found by running the query again without its rows.
func (r *Rows) fail(err error) error {
	if r.ctx.Err() != nil {
		return err
	}
	if strings.HasPrefix(err.Error(), "INTERRUPT Error") {
		if stmt, prepareErr := r.s.prepare(r.ctx, "EXPLAIN ANALYZE "+r.sql); prepareErr == nil {
			defer mapping.DestroyPrepare(&stmt)
			if bindErr := bind(stmt, r.args); bindErr == nil {
				res, cause := r.s.stream(r.ctx, stmt)
				if cause != nil {
					err = cause
				}
				mapping.DestroyResult(&res)
			}
		}
	}
	return queryFault(err)
}

// Close ends the query. It may be called more than once.
func (r *Rows) Close() error {
	if !r.closed {
		r.closed = true
		mapping.DestroyResult(&r.res)
		if r.release != nil {
			r.release()
		}
	}
	return nil
}
