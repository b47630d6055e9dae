package schemas

// Sessions has a row per stored session; counters are named for what they are.
var Sessions = &Table{
	Name: "sessions",
	Doc:  "A row per stored session. Token columns are counters of the session: never add them to usage.",
	Columns: columns([]Column{
		{"store", Text, "sessions_db or legacy_jsonl."},
		{"session_id", Text, "Id of the session; Goose may reuse the highest id of a day after a removal."},
		{"name", Text, "Name of the session."},
		{"description", Text, "Description; the title in databases that had no name."},
		{"user_set_name", Bool, "True when the user gave the name."},
		{"session_type", Text, "user, scheduled, sub_agent, hidden, terminal, gateway, acp, or what a fork stored."},
		{"working_dir", Text, "Working directory, as stored."},
		{"created_at", Time, "When the session was created."},
		{"updated_at", Time, "When the row was last touched by Goose; not by every change."},
		{"archived_at", Time, "When the session was archived; NULL when it is not."},
		{"provider", Text, "Provider, the last setting."},
		{"model", Text, "Model name, the last setting; of model_config."},
		{"model_config", JSON, "Model configuration, the last setting."},
		{"goose_mode", Text, "Permission mode, the last setting: auto, approve, smart_approve or chat."},
		{"schedule_id", Text, "Id of the scheduled job; joins to schedules.job_id."},
		{"project_id", Text, "Id of the project."},
		{"parent_session_id", Text, "Session that delegated to this one; may name a session that is gone."},
		{"recipe", JSON, "Recipe, rendered."},
		{"user_recipe_values", JSON, "Values the user gave to the recipe's parameters."},
		{"extension_data", JSON, "State of extensions, by '<name>.<version>'."},
	}, counters("last_call", "of the last provider call alone, as stored"), counters("accumulated", "summed by Goose over the session's calls, as stored"), []Column{
		{"accumulated_cost_usd", Float, "Cost summed by Goose, US dollars, as stored."},
		{"message_count", Int, "Rows of messages with this session_id and store."},
		{"first_message_at", Time, "Earliest time of its messages."},
		{"last_message_at", Time, "Latest time of its messages."},
		{"superseded", Bool, "True for a legacy session that the database has too."},
		{"extra", JSON, "Columns and keys that have no column here, and values that did not fit theirs."},
	}, origin()),
}

func counters(prefix, meaning string) []Column {
	var out []Column
	for _, c := range []string{"input", "output", "total", "cache_read", "cache_write"} {
		out = append(out, Column{prefix + "_" + c + "_tokens", Int, "Counter " + c + "_tokens " + meaning + "."})
	}
	return out
}
