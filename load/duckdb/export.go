package duckdb

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"gander/schemas/fault"
)

// ExportParquet writes a table or view of the warehouse in dir to path, as one
// Parquet file (zstd, mode 0600) that replaces what was there once it is
// complete. The rows are in the order of DB.Relation; JSON is plain text in it, as in the warehouse's own files.
func ExportParquet(ctx context.Context, dir, name, path string) error {
	if err := checkRelation(name); err != nil {
		return err
	}
	source := filepath.Join(dir, FileName)
	if err := exists(source); err != nil {
		return err
	}
	if err := exportParquet(ctx, source, name, path); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var known *fault.Error
		if errors.As(err, &known) {
			return err
		}
		return &fault.Error{Kind: fault.Output, Op: "export " + name, Path: path, Err: err}
	}
	return nil
}

func exportParquet(ctx context.Context, source, name, path string) (err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp(filepath.Dir(path), ".gander-export-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()

	// COPY needs access to files: a connection of its own, for this statement.
	db, err := openDatabase(source, offline, readOnly, ordered(name), map[string]string{
		"temp_directory": filepath.Join(scratch, "spill"),
	})
	if err != nil {
		return openFault(source, err)
	}
	defer db.close()
	s, err := db.connect()
	if err != nil {
		return err
	}
	defer s.close()
	columns, err := s.columns(ctx, name)
	if err != nil {
		return err
	}
	out := filepath.Join(scratch, "out.parquet")
	err = s.exec(ctx, "COPY (SELECT "+columns+" FROM "+quoteName(name)+") TO "+quoteText(out)+" (FORMAT parquet, COMPRESSION zstd)")
	if err != nil {
		return err
	}
	return publish(out, path)
}

// columns returns the select list of a table or view, JSON as text.
func (s *session) columns(ctx context.Context, name string) (string, error) {
	rows, err := s.query(ctx, "SELECT * FROM "+quoteName(name)+" LIMIT 0", nil, nil)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	list := make([]string, len(rows.Columns))
	for i, c := range rows.Columns {
		list[i] = quoteName(c.Name)
		if rows.types[i].json {
			list[i] = "CAST(" + list[i] + " AS VARCHAR) AS " + list[i]
		}
	}
	return strings.Join(list, ", "), nil
}
