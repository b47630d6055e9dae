package schemas

// Messages has a row per stored message; its blocks are rows of Events.
var Messages = &Table{
	Name: "messages",
	Doc:  "A row per stored message. Sum tokens and cost only where copied_from_session_id is NULL: forks copy messages with their usage.",
	Columns: columns([]Column{
		{"store", Text, "sessions_db or legacy_jsonl."},
		{"session_id", Text, "Session the message belongs to; its row may be gone."},
		{"message_row", Int, "messages.id; NULL for thread_messages and files."},
		{"message_id", Text, "Id of the message as stored; not unique."},
		{"seq", Int, "Order in the session from 1: by row id, never by time."},
		{"role", Text, "user or assistant, or what was stored."},
		{"created_at", Time, "created_timestamp of the message."},
		{"stored_at", Time, "When the row was inserted or last rewritten (messages.timestamp)."},
		{"time_suspect", Bool, "True where created_at repeats an earlier millisecond stamp of the session: stored_at is then the time."},
		{"user_visible", Bool, "metadata.userVisible; NULL where it is not stored (Goose then shows the message)."},
		{"agent_visible", Bool, "metadata.agentVisible; NULL where it is not stored."},
		{"kind", Text, "turn_context, tool_results, compaction_summary, prompt, assistant or other."},
		{"is_slash_command", Bool, "True for a prompt that begins with '/'."},
		{"provider", Text, "metadata.inference.provider."},
		{"requested_model", Text, "metadata.inference.requestedModel."},
		{"resolved_model", Text, "metadata.inference.resolvedModel."},
	}, tokens(), []Column{
		{"cost_usd", Float, "Cost of the call, US dollars; NULL is unpriced, never free."},
		{"cost_source", Text, "Where the cost came from: provider_reported, estimated, user_configured."},
		{"elapsed_ms", Int, "Length of the provider call, milliseconds; may include the time a user took to approve."},
		{"time_to_first_token_ms", Int, "Time to the first token of the call, milliseconds."},
		{"block_count", Int, "Content blocks; NULL when the content could not be read."},
		{"superseded", Bool, "True when all its blocks are in dedup_links."},
		{"copied_from_session_id", Text, "Earliest other session, before this one, that holds the same message_id and created_timestamp; else NULL."},
		{"extra", JSON, "Columns and metadata keys that have no column here, and values that did not fit theirs."},
	}, origin()),
}
