package schemas

// Usage has a row per row of usage_ledger, and nothing from anywhere else.
var Usage = &Table{
	Name: "usage",
	Doc:  "A row per usage_ledger row: one provider call, or what was carried forward. Never filled from the counters of sessions.",
	Columns: columns([]Column{
		{"session_id", Text, "Session that was charged; its row may be gone."},
		{"usage_row", Int, "usage_ledger.id."},
		{"occurred_at", Time, "When the row was inserted."},
		{"provider", Text, "Provider: see provider_basis."},
		{"provider_basis", Text, "message: the only provider of the session's messages with this model; session: the session's last setting; NULL without provider."},
		{"model", Text, "Model as the provider reported it; NULL on carried-forward rows."},
		{"project_path", Text, "Working directory of the session; NULL when the session is gone."},
	}, tokens(), []Column{
		{"cost_usd", Float, "Cost, US dollars; NULL is unpriced, never free."},
		{"cost_source", Text, "provider_reported, estimated, user_configured or carried_forward, as stored."},
		{"price_source", Text, "goose-<cost_source>; goose where a cost has no source; NULL without a cost."},
		{"is_compaction", Bool, "True for a call that compacted the conversation."},
		{"is_carried_forward", Bool, "True for the difference that Goose carried into the ledger from older counters; it counts."},
		{"dedup_key", Text, "goose|<session>|<row>|<whole seconds of occurred_at>; unique in a home."},
		{"extra", JSON, "Columns that have no column here, and values that did not fit theirs."},
	}, origin()),
}
