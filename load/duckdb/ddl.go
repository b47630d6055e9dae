package duckdb

import (
	"strings"

	"gander/load/duckdb/views"
	"gander/schemas"
)

// homeID is the hive key: the first column of every table but runs.
const homeID = "home_id"

func quoteName(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

func quoteText(s string) string { return `'` + strings.ReplaceAll(s, `'`, `''`) + `'` }

// createTable returns the statements that make t with its comments. With keyed
// it has home_id as its first column.
func createTable(t *schemas.Table, keyed bool) []string {
	columns := t.Columns
	if keyed {
		columns = append([]schemas.Column{{Name: homeID, Kind: schemas.Text, Doc: schemas.HomeIDDoc}}, columns...)
	}
	defs := make([]string, len(columns))
	docs := make([][2]string, len(columns))
	for i, c := range columns {
		defs[i] = quoteName(c.Name) + " " + c.Kind.SQL()
		docs[i] = [2]string{c.Name, c.Doc}
	}
	create := "CREATE TABLE " + quoteName(t.Name) + " (" + strings.Join(defs, ", ") + ")"
	return append([]string{create}, comments("TABLE", t.Name, t.Doc, docs)...)
}

func createView(v views.View) []string {
	docs := make([][2]string, len(v.Columns))
	for i, c := range v.Columns {
		docs[i] = [2]string{c.Name, c.Doc}
	}
	create := "CREATE VIEW " + quoteName(v.Name) + " AS " + v.SQL
	return append([]string{create}, comments("VIEW", v.Name, v.Doc, docs)...)
}

func comments(what, name, doc string, columns [][2]string) []string {
	out := []string{"COMMENT ON " + what + " " + quoteName(name) + " IS " + quoteText(doc)}
	for _, c := range columns {
		out = append(out, "COMMENT ON COLUMN "+quoteName(name)+"."+quoteName(c[0])+" IS "+quoteText(c[1]))
	}
	return out
}
