// Package warehouse is the directory that gander writes, and the protocol by
// which a home enters it.
//
//	gander.json                                 marker: program and format
//	gander.duckdb                               database, rebuilt from parquet/ at any time
//	parquet/<table>/home_id=<id>/data.parquet   rows of a home
//	parquet/<table>/home_id=none/empty.parquet  the columns, for readers of a table without rows
//	homes/<id>.json                             manifest: this home is committed
//	runs/<run>.json                             record of a finished run
//	.commit/<id>/                               committed, not yet moved into place
//	.scratch-<pid>/                             removed on Close, after a kill by the next Open
//	.lock                                       held by the process that writes
//
// # Commit
//
// A home is written to a Stage in scratch. Commit makes every file and
// directory durable, writes the manifest into the stage, and renames the stage
// to .commit/<id>: that rename is the commit point. What follows only rolls it
// forward: for each table the old directory of the home is removed and the new
// one renamed into place, then the manifest is renamed to homes/<id>.json, then
// what is left of .commit/<id> is removed. Every step may be done again, so
// that Open completes whatever a crash left in .commit. After Open a home is
// wholly its old version or wholly its new one, and a crash during Open is
// mended by the next. Homes that are committed together wait for the disk
// together: each directory that they share is made durable once.
//
// While a home rolls forward, parquet/ holds a mixture of its two versions.
// Readers that cannot bear it read gander.duckdb, or hold the lock by Open.
//
// # What it refuses
//
// A directory that is not empty and has no marker of gander, a marker of a
// newer format, a second writer, and a home_id that is no plain file name. All
// but the last are errors of kind fault.Output with a hint.
//
// Directories are 0700 and files 0600 whatever the umask: the tables hold every
// secret that was ever typed.
package warehouse
