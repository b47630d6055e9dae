// Package schemas declares every table gander writes, once.
//
// A Table lists its columns with type and meaning. The Arrow schema that
// travels with each record batch, the Parquet column documentation, the DuckDB
// DDL and comments, the data dictionary and the output of `gander schema` all
// derive from these declarations and from nothing else.
//
// Tables that only travel between extract and transform (Raw) are declared the
// same way but are never written.
package schemas
