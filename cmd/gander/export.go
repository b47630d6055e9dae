package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"gander/load/duckdb"
	"gander/load/render"
	"gander/schemas/fault"
)

func (a *app) exportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export <table or view>",
		Short: "Write a table or view of the warehouse as JSON lines, CSV or Parquet",
		Example: `  gander export timeline --format jsonl > timeline.jsonl
  gander export usage --format csv -o usage.csv
  gander export events --format parquet -o events.parquet`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: duckdb.Relations(),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, format := cmd.Context(), orDefault(a.config.Format, "jsonl")
			switch {
			case format != "jsonl" && format != "csv" && format != "parquet":
				return &fault.Error{Kind: fault.Usage, Op: "export " + args[0], Err: os.ErrInvalid, Hint: "--format is jsonl, csv or parquet."}
			case format == "parquet" && a.config.Output == "":
				return &fault.Error{Kind: fault.Usage, Op: "export " + args[0], Err: os.ErrInvalid, Hint: "Parquet is written to a file: name it with -o."}
			}
			db, err := a.openDatabase(ctx)
			if err != nil {
				return err
			}
			defer db.Close()
			if err := a.checkOutput(ctx, db); err != nil {
				return err
			}
			if format == "parquet" {
				return duckdb.ExportParquet(ctx, a.config.Warehouse, args[0], a.config.Output)
			}
			return a.exportRows(ctx, db, args[0], render.Format(format))
		},
	}
	cmd.Flags().String("format", "", "jsonl, csv or parquet (default jsonl)")
	cmd.Flags().StringP("output", "o", "", "write to this `file` (0600) instead of standard output")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"jsonl", "csv", "parquet"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// checkOutput refuses a file in the warehouse or in something that it was made
// from: evidence is never written to.
func (a *app) checkOutput(ctx context.Context, db *duckdb.DB) error {
	if a.config.Output == "" {
		return nil
	}
	output, err := filepath.Abs(a.config.Output)
	if err == nil {
		output, err = filepath.EvalSymlinks(filepath.Dir(output))
	}
	if err != nil {
		return &fault.Error{Kind: fault.Output, Op: "export", Path: a.config.Output, Err: err}
	}
	protected := []string{a.config.Warehouse}
	rows, err := db.Query(ctx, "SELECT DISTINCT unnest(CAST(inputs AS VARCHAR[])) FROM runs UNION SELECT DISTINCT input FROM homes")
	if err != nil {
		return err
	}
	defer rows.Close()
	for row, err := range rows.All() {
		if err != nil {
			return err
		}
		if input, ok := row[0].(string); ok {
			protected = append(protected, input)
		}
	}
	for _, dir := range protected {
		resolved, err := filepath.Abs(dir)
		if err == nil {
			resolved, err = filepath.EvalSymlinks(resolved)
		}
		if err != nil {
			continue // it is not here
		}
		if rel, err := filepath.Rel(resolved, output); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return &fault.Error{Kind: fault.Usage, Op: "export", Path: a.config.Output, Err: fmt.Errorf("it lies in %s", dir),
				Hint: "Write the export outside of the warehouse and of its inputs."}
		}
	}
	return nil
}

// exportRows streams a relation; a file appears when it is complete.
func (a *app) exportRows(ctx context.Context, db *duckdb.DB, name string, format render.Format) error {
	rows, err := db.Relation(ctx, name)
	if err != nil {
		return err
	}
	defer rows.Close()
	write := func(w io.Writer, opt render.Options) error {
		_, err := render.Write(w, opt, rows.Columns, rows.All())
		return err
	}
	if a.config.Output == "" {
		return ignoreClosedPipe(write(a.out, render.Options{Format: format, Terminal: terminal(a.out)}))
	}
	err = replaceFile(a.config.Output, func(w io.Writer) error { return write(w, render.Options{Format: format}) })
	var known *fault.Error
	if err != nil && !errors.As(err, &known) && ctx.Err() == nil {
		return &fault.Error{Kind: fault.Output, Op: "export " + name, Path: a.config.Output, Err: err}
	}
	return err
}

// replaceFile makes path hold what write writes, with mode 0600, once that is
// complete: a reader sees the old file or the new one.
func replaceFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
