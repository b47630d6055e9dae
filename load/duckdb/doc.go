// Package duckdb builds the DuckDB database of a warehouse from its Parquet
// files and answers queries on it. It is the only package that needs cgo.
//
// Build guarantees that gander.duckdb is complete or absent: it is made aside
// and renamed. It holds nothing that the Parquet files and runs/*.json do not,
// so that it can always be built again.
//
// Open guarantees that a query reads this database and nothing else, and
// writes nowhere: the file is opened read-only, external access is off, the
// configuration is locked, no extension is installed or loaded, nothing spills
// to disk, and only statements that read are let through. A query that needs
// more memory than there is fails.
//
// Results stream, and their values are what DuckDB stores: JSON as its text,
// structs in the order of their fields. For that the package speaks to
// DuckDB's C interface; the database/sql driver holds a whole result before
// the first row and decodes JSON into float64 and maps.
package duckdb
