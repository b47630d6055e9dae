package schemas

// Sources has a row per file of a store, and one per store without a file.
var Sources = &Table{
	Name: "sources",
	Doc:  "A row per file of a store, and one with status 'absent' per store that the home has no file of.",
	Columns: []Column{
		{"store", Text, "Store the file belongs to: sessions_db, legacy_jsonl, llm_request_log, cli_history, permission_yaml, tool_permissions_json, roaming_trust, roaming_directory, schedule_json; NULL for a file that is listed and of no store."},
		{"path", Text, "Path of the file on the source host; NULL for an absent store."},
		{"status", Text, "read, partial, absent, empty, skipped_size, skipped_secret, missing, unreadable, malformed or not_read."},
		{"size_bytes", Int, "Size of the file in bytes."},
		{"wal_bytes", Int, "Size of the write-ahead log beside a database; NULL when there is none."},
		{"journal_bytes", Int, "Size of the rollback journal beside a database; NULL when there is none."},
		{"mtime", Time, "When the file was last changed."},
		{"sha256", Text, "SHA-256 of the file's bytes, lower-case hex (the database's main file alone)."},
		{"schema_version", Int, "Highest version in the database's schema_version table."},
		{"integrity", Text, "What PRAGMA quick_check answered ('ok' when sound); NULL when the file is not SQLite."},
		{"records", Int, "Records read: rows of sessions, messages, thread_messages and usage_ledger, lines, entries, items."},
		{"events", Int, "Rows of events that came from the file."},
		{"duplicates", Int, "Rows left out of events because another store holds them; see dedup_links."},
		{"issues", Int, "Rows of issues about the file."},
		{"note", Text, "What the status leaves open: the collector's word, the error, the reason for partial."},
	},
}

// DBTables describes every table of every database that was read.
var DBTables = &Table{
	Name: "db_tables",
	Doc:  "A row per table of each sessions database, known to gander or not.",
	Columns: []Column{
		{"source_file", Text, "Path of the database on the source host."},
		{"table_name", Text, "Name of the table."},
		{"rows", Int, "Number of rows; NULL when they could not be counted."},
		{"min_row_id", Int, "Lowest rowid; NULL for an empty table or one without rowid."},
		{"max_row_id", Int, "Highest rowid; NULL for an empty table or one without rowid."},
		{"autoincrement_high", Int, "Highest rowid ever given out (sqlite_sequence); above max_row_id rows were deleted at the end."},
		{"columns", JSON, "Array of the columns in stored order: name, type, notnull, default, pk."},
	},
}
