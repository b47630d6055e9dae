// Package extract finds the homes in an input and streams their Goose stores
// as Arrow record batches.
//
// It guarantees that an input is never written to: no file in it is created,
// changed or touched, and no SQLite library is let near a database in a way
// that would create a -shm or -wal file beside it. It refuses links that lead
// out of a home and never opens files that hold credentials.
//
// What it yields is typed and otherwise as stored: it knows where a value
// stands, not what it means. Meaning is transform's.
package extract
