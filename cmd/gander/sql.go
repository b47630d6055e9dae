package main

import (
	"errors"
	"io"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"gander/load/render"
	"gander/schemas/fault"
)

func (a *app) sqlCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   `sql "<query>"`,
		Short: "Run a query on the warehouse, read-only",
		Long: `Run one SQL query (DuckDB's dialect) on the warehouse and print the result.

The database is opened read-only and sealed: a query cannot write, read other
files, attach databases, load extensions or change settings. "-" reads the
query from standard input.`,
		Example: `  gander sql "SELECT tool_name, status, count(*) FROM tool_calls GROUP BY ALL ORDER BY 3 DESC"
  gander sql --format csv "FROM usage_daily" > usage.csv
  gander sql - < query.sql`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			query := args[0]
			if query == "-" {
				text, err := io.ReadAll(a.in)
				if err != nil {
					return &fault.Error{Kind: fault.Usage, Op: "read query", Err: err}
				}
				query = string(text)
			}
			format, err := render.ParseFormat(orDefault(a.config.Format, string(render.Table)))
			if err != nil {
				return err
			}
			db, err := a.openDatabase(cmd.Context())
			if err != nil {
				return err
			}
			defer db.Close()
			rows, err := db.Query(cmd.Context(), query)
			if err != nil {
				return err
			}
			defer rows.Close()
			_, err = render.Write(a.out, render.Options{Format: format, Terminal: terminal(a.out), Width: width(a.out)}, rows.Columns, rows.All())
			return ignoreClosedPipe(err)
		},
	}
	var names []string
	for _, f := range render.Formats() {
		names = append(names, string(f))
	}
	cmd.Flags().String("format", "", "form of the result: "+strings.Join(names, ", ")+" (default table)")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// ignoreClosedPipe takes a reader that has seen enough (head, less) for success.
func ignoreClosedPipe(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}
