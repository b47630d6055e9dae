package schemas

// Raw tables travel from extract to transform and are never written. A value
// of the wrong type is already NULL there, with its text in extra and a row in
// RawIssues.

// RawSessions is a row of the sessions table, or a session_id that messages
// name and the table lacks.
var RawSessions = &Table{
	Name: "raw.sessions",
	Doc:  "A stored session as extract reads it.",
	Columns: []Column{
		{"ordinal", Int, "Number of the session in the stream, from 0; raw.messages refers to it."},
		{"missing", Bool, "True when messages name the session and no row has it; then only session_id is set."},
		{"row_id", Int, "rowid."},
		{"session_id", Text, "id."},
		{"name", Text, "name."},
		{"description", Text, "description."},
		{"user_set_name", Bool, "user_set_name."},
		{"session_type", Text, "session_type."},
		{"working_dir", Text, "working_dir."},
		{"created_at", Time, "created_at."},
		{"created_at_text", Text, "created_at as stored."},
		{"updated_at", Time, "updated_at."},
		{"archived_at", Time, "archived_at."},
		{"archived_at_text", Text, "archived_at as stored."},
		{"provider_name", Text, "provider_name."},
		{"model_config_json", Text, "model_config_json."},
		{"goose_mode", Text, "goose_mode."},
		{"schedule_id", Text, "schedule_id."},
		{"project_id", Text, "project_id."},
		{"parent_session_id", Text, "parent_session_id."},
		{"recipe_json", Text, "recipe_json."},
		{"user_recipe_values_json", Text, "user_recipe_values_json."},
		{"extension_data", Text, "extension_data."},
		{"input_tokens", Int, "input_tokens: the last call's."},
		{"output_tokens", Int, "output_tokens: the last call's."},
		{"total_tokens", Int, "total_tokens: the last call's."},
		{"cache_read_tokens", Int, "cache_read_tokens: the last call's."},
		{"cache_write_tokens", Int, "cache_write_tokens: the last call's."},
		{"accumulated_input_tokens", Int, "accumulated_input_tokens."},
		{"accumulated_output_tokens", Int, "accumulated_output_tokens."},
		{"accumulated_total_tokens", Int, "accumulated_total_tokens."},
		{"accumulated_cache_read_tokens", Int, "accumulated_cache_read_tokens."},
		{"accumulated_cache_write_tokens", Int, "accumulated_cache_write_tokens."},
		{"accumulated_cost", Float, "accumulated_cost."},
		{"extra", JSON, "Object of the columns above that did not fit and of the columns without a place."},
	},
}

// RawMessages is a row of messages or thread_messages.
var RawMessages = &Table{
	Name: "raw.messages",
	Doc:  "A stored message as extract reads it.",
	Columns: []Column{
		{"session", Int, "raw.sessions.ordinal of its session."},
		{"source_table", Text, "messages or thread_messages."},
		{"row_id", Int, "id (rowid)."},
		{"message_id", Text, "message_id."},
		{"role", Text, "role."},
		{"content_json", Text, "content_json."},
		{"created_at", Time, "created_timestamp."},
		{"created_ms", Int, "created_timestamp where it is a whole number of milliseconds, else NULL."},
		{"stored_at", Time, "timestamp."},
		{"metadata_json", Text, "metadata_json."},
		{"copied_from_session_id", Text, "Earliest earlier session with the same message_id and created_timestamp."},
		{"extra", JSON, "Object of the columns above that did not fit and of the columns without a place."},
	},
}

// RawUsage is a row of usage_ledger.
var RawUsage = &Table{
	Name: "raw.usage",
	Doc:  "A usage_ledger row as extract reads it.",
	Columns: []Column{
		{"row_id", Int, "id (rowid)."},
		{"session_id", Text, "session_id."},
		{"created_at", Time, "created_timestamp."},
		{"model", Text, "model."},
		{"input_tokens", Int, "input_tokens."},
		{"output_tokens", Int, "output_tokens."},
		{"total_tokens", Int, "total_tokens."},
		{"cache_read_tokens", Int, "cache_read_tokens."},
		{"cache_write_tokens", Int, "cache_write_tokens."},
		{"cost", Float, "cost."},
		{"cost_source", Text, "cost_source."},
		{"is_compaction", Bool, "is_compaction."},
		{"extra", JSON, "Object of the columns above that did not fit and of the columns without a place."},
	},
}

// RawIssues is what extract found wrong.
var RawIssues = &Table{
	Name: "raw.issues",
	Doc:  "An issue that extract found; code bad_file also becomes an event.",
	Columns: []Column{
		{"code", Text, "Code of the issue."},
		{"message", Text, "What is wrong."},
		{"value", Text, "The value concerned, in full; NULL when there is none."},
		{"source_table", Text, "Table concerned."},
		{"source_line", Int, "Row or line concerned."},
	},
}

// RawLines is a line, an entry or the whole of a text file.
var RawLines = &Table{
	Name: "raw.lines",
	Doc:  "A piece of a text file as extract reads it: a line of a JSON lines file, an entry of the history, or a whole JSON or YAML document.",
	Columns: []Column{
		{"line", Int, "Physical line from 1; of an entry its own; 1 for a document."},
		{"text", Text, "The piece, as UTF-8."},
		{"cut", Bool, "True for a last line without a line break."},
	},
}
