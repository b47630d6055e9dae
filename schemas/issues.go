package schemas

// Issues has a row per thing that could not be read as it should.
var Issues = &Table{
	Name: "issues",
	Doc:  "A row per record, file or home that could not be read as it should; each costs only itself.",
	Columns: columns([]Column{
		{"store", Text, "Store concerned; NULL for the home itself."},
		{"code", Text, "Kind of issue: bad_json, bad_type, bad_depth, bad_empty, bad_line, bad_item, bad_file, bad_time, bad_number, invalid_utf8, session_missing, unreadable_rows, wal_foreign, wal_damaged, wal_without_database, changed_while_reading, hash_mismatch, not_in_manifest, home_superseded, ..."},
		{"message", Text, "What is wrong, in a sentence."},
		{"raw", Text, "First 4,096 bytes of the value concerned."},
		{"raw_bytes", Int, "Size of the value in bytes."},
		{"raw_sha256", Text, "SHA-256 of the value, lower-case hex."},
	}, origin()),
}

// Runs has a row per run; it is kept in DuckDB and beside the Parquet files,
// not in them.
var Runs = &Table{
	Name: "runs",
	Doc:  "A row per finished run of gander into this warehouse (DuckDB only).",
	Columns: []Column{
		{"run_id", Text, "Id of the run."},
		{"started_at", Time, "When the run started."},
		{"finished_at", Time, "When the last home was committed."},
		{"gander_version", Text, "Version of gander."},
		{"inputs", JSON, "Array of the INPUT arguments."},
		{"exit_code", Int, "Exit code of the run."},
		{"homes", Int, "Homes read."},
		{"homes_superseded", Int, "Homes that another input had newer."},
		{"homes_failed", Int, "Homes that could not be committed."},
		{"records", Int, "Records read."},
		{"events", Int, "Events written."},
		{"issues", Int, "Issues written."},
		{"input_bytes", Int, "Bytes of the store files read."},
	},
}
