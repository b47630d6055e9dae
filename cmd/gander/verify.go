package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gander/load/duckdb"
	"gander/load/duckdb/value"
	"gander/load/verify"
	"gander/load/warehouse"
	"gander/schemas"
)

func (a *app) verifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check that the warehouse holds what was written",
		Long: `Re-read every Parquet file with a second, independent library and compare counts,
hashes and values with the manifests of the homes and with the database.

Exit code 1 when anything differs.`,
		Example: "  gander verify -w warehouse\n  gander verify --json | jq .faults",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.verify(cmd.Context()) },
	}
	cmd.Flags().Bool("json", false, "print the result as JSON")
	return cmd
}

func (a *app) verify(ctx context.Context) error {
	house, err := warehouse.OpenReadOnly(a.config.Warehouse)
	if err != nil {
		return err
	}
	defer house.Close()
	var reader verify.Database
	if _, err := os.Stat(house.Database()); !errors.Is(err, fs.ErrNotExist) {
		db, err := duckdb.Open(ctx, house.Dir())
		if err != nil {
			return err
		}
		defer db.Close()
		reader = &tableReader{db}
	}
	result, err := verify.Warehouse(ctx, house, reader)
	if err != nil {
		return err
	}
	if reader == nil {
		result.Faults = append(result.Faults, "there is no database: gander run builds it")
	}
	if len(result.Faults) > 0 {
		a.exit = exitIncomplete
	}
	if a.config.JSON {
		enc := json.NewEncoder(a.out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return ignoreClosedPipe(enc.Encode(result))
	}
	for _, f := range result.Faults {
		fmt.Fprintln(a.out, f)
	}
	_, err = fmt.Fprintf(a.out, "%s, %s, %s, %s (%s): %s\n", plural(result.Homes, "home"), plural(result.Files, "file"), plural(result.Rows, "row"),
		size(result.Bytes), result.Checked, plural(int64(len(result.Faults)), "fault"))
	return ignoreClosedPipe(err)
}

// tableReader reads tables for verify.
type tableReader struct{ db *duckdb.DB }

// Runs implements verify.Database.
func (t *tableReader) Runs(ctx context.Context) (map[string]bool, error) {
	return loadedRuns(ctx, t.db)
}

// Rows implements verify.Database.
func (t *tableReader) Rows(ctx context.Context, table *schemas.Table, homeID string, add func([]any) error) error {
	names := make([]string, len(table.Columns))
	for i, c := range table.Columns {
		names[i] = `"` + c.Name + `"`
	}
	rows, err := t.db.Query(ctx, "SELECT "+strings.Join(names, ", ")+` FROM "`+table.Name+`" WHERE home_id = ?`, homeID)
	if err != nil {
		return err
	}
	defer rows.Close()
	out := make([]any, len(table.Columns))
	for row, err := range rows.All() {
		if err != nil {
			return err
		}
		for i, v := range row {
			switch v := v.(type) {
			case value.JSON:
				out[i] = string(v)
			case time.Time:
				out[i] = v.UnixMicro()
			case []any:
				list := make([]int64, len(v))
				for k := range v {
					list[k], _ = v[k].(int64)
				}
				out[i] = list
			default:
				out[i] = v
			}
		}
		if err := add(out); err != nil {
			return err
		}
	}
	return nil
}
