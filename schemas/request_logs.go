package schemas

// LLMRequests has a row per request log: one provider call each.
var LLMRequests = &Table{
	Name: "llm_requests",
	Doc:  "A row per request log: one provider call with its whole request and response. Goose keeps the last ten.",
	Columns: columns([]Column{
		{"log_id", Text, "First 32 hex digits of the SHA-256 of the log's bytes: names rotate, this does not."},
		{"log_name", Text, "Name of the file; llm_request.0.jsonl finished last."},
		{"started_at", Time, "Time of the first response message, else the file's mtime."},
		{"model", Text, "model_config.model_name, else input.model."},
		{"model_config", JSON, "Model configuration of the call."},
		{"messages", Int, "Messages of the request's body; NULL when it tells none."},
		{"tools", Int, "Tools that the request offers; NULL when it tells none."},
		{"response_messages", Int, "Messages of the response, chunks assembled."},
		{"chunks", Int, "Lines that hold a part of the response."},
	}, tokens(), []Column{
		{"error", Text, "Error of the call; several are joined by line breaks."},
		{"body_bytes", Int, "Size of the first line, the request, bytes."},
		{"complete", Bool, "True with a readable first line, no cut line, and a usage or error line at the end."},
		{"matched_session_id", Text, "The one session that holds the response or the last prompt; NULL when none or several do."},
		{"matched_usage_row", Int, "usage.usage_row of the same tokens within 600 seconds, one to one; NULL for calls that only the logs know."},
		{"extra", JSON, "Keys of the first line, the request and the usage that have no column here, large lists left out."},
	}, origin()),
}

// RecoveredMessages is what only the request logs still hold.
var RecoveredMessages = &Table{
	Name: "recovered_messages",
	Doc:  "A row per item of a logged conversation that the home's stores no longer have. Never part of events.",
	Columns: columns([]Column{
		{"log_id", Text, "Newest log that holds the item; joins to llm_requests."},
		{"position", Int, "Index of the item in the request's body, from 0."},
		{"role", Text, "Role of the item as the body has it."},
		{"kind", Text, "text, turn_context, tool_request or tool_response."},
		{"tool_name", Text, "Tool called; on a response, of the request with its id."},
		{"tool_use_id", Text, "Id of the call; NULL on texts."},
		{"text", Text, "Text; arguments as JSON for a tool_request."},
	}, origin()),
}

// DedupLinks has a row per row that another store made superfluous in events.
var DedupLinks = &Table{
	Name: "dedup_links",
	Doc:  "A row per row that was left out of events because events holds it already.",
	Columns: columns([]Column{
		{"store", Text, "Store the row came from."},
		{"kind", Text, "Its kind, as in events."},
		{"text_sha256", Text, "SHA-256 of its text, lower-case hex; NULL without a text."},
		{"rule", Text, "legacy, request_log, history, thread or session_in_database."},
		{"kept_event_id", Text, "events.event_id of the row that stays."},
		{"seconds_apart", Float, "Time of the row left out minus that of the row that stays, seconds; NULL when either is unknown."},
	}, origin()),
}
