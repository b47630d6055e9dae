// Package pipeline takes homes from an input to committed files: it pulls
// record batches through extract and transform into Parquet, a home at a time,
// and commits each home by itself.
//
// A home is read, transformed, written and committed alone; what goes wrong in
// one costs only that one. Within a home everything streams. Before a home is
// committed its sums must hold: what its sources say they yielded is what was
// accounted for, and what was accounted for is what was written.
package pipeline
