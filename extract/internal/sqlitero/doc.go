// Package sqlitero reads SQLite databases that are evidence.
//
// It guarantees that a database and its companions are never written to and
// that no -shm, -wal or -journal file appears beside them: a database without
// companions is opened immutable where it lies; one with a write-ahead log or
// a rollback journal is copied to scratch first, where SQLite may replay or
// roll back. What SQLite would silently do wrong with a log that belongs to
// another database is found out beforehand, from the log's own frames. The one
// exception is a live database, which takes part in SQLite's locking.
//
// It reads around damage: a page that is broken costs the rows on it, never
// the rows behind it, and what was lost is reported as ranges of rowids.
//
// It evaluates nothing the database brings along: no view, no trigger, no
// virtual table, no generated column, no CHECK constraint.
//
// Bounds: one connection with a page cache of 8 MiB and no memory mapping;
// sorting, which only ids ever need, happens in memory and never in a file
// outside scratch. A damaged table costs 16 bytes per leaf page.
package sqlitero
