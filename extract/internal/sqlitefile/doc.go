// Package sqlitefile reads the pages of SQLite databases and write-ahead logs
// without SQLite, to find what SQLite no longer shows: the rows of every
// committed state that a log still holds, and the remains of rows in older
// frames, in free pages and in the free space of pages.
//
// It only reads, by offset, the two files it is given. No number in them is
// trusted: page numbers, offsets and sizes are checked before they are used,
// a page is visited once per walk, and a chain of overflow pages ends after
// the pages that its record can have. A record comes out whole or not at all.
//
// A database has the states 0 to Commits: 0 is the main file by itself, n is
// what the n-th committed transaction of the log left. The current state is
// the last. Where a checkpoint has already copied a page from the log to the
// main file, the page is unknown in the states before the log first has it.
//
// Bounds. A File holds 24 bytes per frame and about 60 per distinct page of
// the log; Recover about 20 bytes per b-tree page of the tables it is asked for,
// about 50 per live row that the log inserted or changed, 150 per version
// found, 56 per row that one transaction moves or changes, and 16 per live row of
// tables without INTEGER PRIMARY KEY. Beside that there are windows of 1 MiB
// on the main file, a few pages and one record, of MaxRecord bytes at most.
package sqlitefile
