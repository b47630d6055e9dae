package extract

import (
	"context"

	"gander/extract/internal/sqlitero"
	"gander/schemas/values"
)

// SchemaVersion reads the version of a sessions database where it lies. walled
// reports that the answer stands in a write-ahead log or journal, which cannot
// be read without a copy; ok is false where there is no version to be had.
func SchemaVersion(ctx context.Context, f *File) (version values.Int, walled bool) {
	if f.WAL != nil && f.WAL.Size > 0 || f.Journal != nil && f.Journal.Size > 0 {
		return values.Int{}, true
	}
	if f.Store != SessionsDB || f.Status != Read || f.Local == "" {
		return values.Int{}, false
	}
	db, err := sqlitero.Open(ctx, sqlitero.Paths{Main: f.Local, Evidence: true}, "")
	if err != nil {
		return values.Int{}, false
	}
	defer db.Close()
	tables, err := db.Tables(ctx)
	if err != nil {
		return values.Int{}, false
	}
	for i := range tables {
		if t := &tables[i]; t.Kind == sqlitero.KindTable && sqlitero.SameName(t.Name, "schema_version") {
			version.OK = db.QueryRow(ctx, "SELECT max(version) FROM "+sqlitero.Quote(t.Name), &version.V) == nil && version.V > 0
		}
	}
	return version, false
}
