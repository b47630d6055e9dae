package main

import (
	"context"

	"gander/load/duckdb"
	"gander/load/warehouse"
)

// openDatabase opens the database and says when homes are newer than it is.
func (a *app) openDatabase(ctx context.Context) (*duckdb.DB, error) {
	db, err := duckdb.Open(ctx, a.config.Warehouse)
	if err != nil {
		return nil, err
	}
	// Whatever else is wrong with the warehouse, the database can be asked.
	if house, err := warehouse.OpenReadOnly(a.config.Warehouse); err == nil {
		if runs, err := loadedRuns(ctx, db); err == nil {
			if n := newerHomes(house, runs); n > 0 {
				a.log.Warn("the database is older than the Parquet files: a run did not end; run gander run again", "newer_homes", n)
			}
		}
	}
	return db, nil
}

// loadedRuns are the runs that the database holds, by run_id.
func loadedRuns(ctx context.Context, db *duckdb.DB) (map[string]bool, error) {
	rows, err := db.Query(ctx, "SELECT run_id FROM runs")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	runs := map[string]bool{}
	for row, err := range rows.All() {
		if err != nil {
			return nil, err
		}
		if id, ok := row[0].(string); ok {
			runs[id] = true
		}
	}
	return runs, nil
}

// newerHomes counts the homes that a run committed which the database lacks.
func newerHomes(house *warehouse.Warehouse, loaded map[string]bool) int64 {
	n := int64(0)
	homes, err := house.Homes()
	if err != nil {
		return 0
	}
	for _, m := range homes {
		if !loaded[m.RunID] {
			n++
		}
	}
	return n
}
