package schemas

// RecoveredRows has a row per version of a row that a sessions database no
// longer holds and its files still do.
var RecoveredRows = &Table{
	Name: "recovered_rows",
	Doc:  "Row versions of a sessions database that only its write-ahead log or unused parts of its pages still hold, each distinct version once. Never part of events, messages or usage.",
	Columns: []Column{
		{"source_file", Text, "Path of the database on the source host; in a tree the home path and the path below it. Windows homes use backslashes."},
		{"source_table", Text, "Table of the row: sessions, messages or usage_ledger."},
		{"row_id", Int, "rowid of the row: messages.id, usage_ledger.id, sessions rowid; NULL where it was overwritten."},
		{"session_id", Text, "Session of the row; of sessions rows their id."},
		{"change", Text, "deleted: the table has no row of this row_id any more (sessions: of this id and created_at); updated: it has, with other values."},
		{"evidence", Text, "wal_committed: live in a committed transaction before the last; wal_stale: in a frame of an older generation of the log; free_page, free_space: carved from the main file."},
		{"first_commit", Int, "First transaction of the log, from 1, in which the version was live; 0 when it was in the main file before; of wal_committed only."},
		{"last_commit", Int, "Last transaction of the log in which the version was live; 0 when the first one removed it; of wal_committed only."},
		{"created_at", Time, "sessions.created_at, messages.created_timestamp, usage_ledger.created_timestamp."},
		{"row_values", JSON, "Object of the row's columns by name, in the order of the schema of that time: numbers as stored, texts and BLOBs as strings, NULL as null."},
		{"page", Int, "Number of the page that holds the version, from 1."},
		{"page_offset", Int, "Where the version's cell starts in that page, in bytes; of a cell whose start was overwritten, where what is left of it starts."},
	},
}
