package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"gander/load/duckdb/views"
	"gander/schemas"
	"gander/schemas/fault"
)

// relation is a table or view as `gander schema` prints it.
type relation struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"` // table or view
	Comment string   `json:"comment"`
	Columns []column `json:"columns"`
}

type column struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Comment string `json:"comment"`
}

// dictionary lists every table and view of the warehouse.
func dictionary() []relation {
	var out []relation
	table := func(t *schemas.Table, keyed bool) {
		r := relation{Name: t.Name, Kind: "table", Comment: t.Doc}
		if keyed {
			r.Columns = append(r.Columns, column{"home_id", schemas.Text.SQL(), schemas.HomeIDDoc})
		}
		for _, c := range t.Columns {
			r.Columns = append(r.Columns, column{c.Name, c.Kind.SQL(), c.Doc})
		}
		out = append(out, r)
	}
	for _, t := range schemas.Tables() {
		table(t, true)
	}
	table(schemas.Runs, false)
	for _, v := range views.Views() {
		r := relation{Name: v.Name, Kind: "view", Comment: v.Doc}
		for _, c := range v.Columns {
			r.Columns = append(r.Columns, column{c.Name, c.Type, c.Doc})
		}
		out = append(out, r)
	}
	return out
}

func (a *app) schemaCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "schema",
		Short:   "Print the data dictionary: every table, view and column",
		Example: "  gander schema\n  gander schema --format json | jq '.[].name'",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			switch orDefault(a.config.Format, "markdown") {
			case "markdown":
				return ignoreClosedPipe(writeDictionary(a.out, dictionary()))
			case "json":
				enc := json.NewEncoder(a.out)
				enc.SetEscapeHTML(false)
				enc.SetIndent("", "  ")
				return ignoreClosedPipe(enc.Encode(dictionary()))
			}
			return &fault.Error{Kind: fault.Usage, Op: "schema", Err: os.ErrInvalid, Hint: "--format is markdown or json."}
		},
	}
	cmd.Flags().String("format", "", "markdown or json (default markdown)")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"markdown", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func writeDictionary(w io.Writer, relations []relation) error {
	cell := strings.NewReplacer("|", `\|`)
	for i, r := range relations {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "## %s (%s)\n\n%s\n\n| column | type | meaning |\n| --- | --- | --- |\n", r.Name, r.Kind, r.Comment)
		for _, c := range r.Columns {
			if _, err := fmt.Fprintf(w, "| %s | %s | %s |\n", c.Name, c.Type, cell.Replace(c.Comment)); err != nil {
				return err
			}
		}
	}
	return nil
}
