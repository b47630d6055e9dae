package schemas

// Permissions has a row per standing permission.
var Permissions = &Table{
	Name: "permissions",
	Doc:  "A row per standing permission: tools of permission.yaml, records of tool_permissions.json, peers of roaming_trust.json.",
	Columns: columns([]Column{
		{"store", Text, "permission_yaml, tool_permissions_json or roaming_trust."},
		{"category", Text, "permission_yaml: user or smart_approve, as stored; else roaming_trust or tool_permissions."},
		{"level", Text, "permission_yaml: always_allow, ask_before or never_allow; roaming_trust: allowed or revoked_keys; tool_permissions_json: allowed=true or allowed=false."},
		{"subject", Text, "Tool, or public key of a peer."},
		{"changed_at", Time, "Time of the record; the file's mtime where records have none."},
		{"extra", JSON, "Keys that have no column here."},
	}, origin()),
}

// Schedules has a row per scheduled job.
var Schedules = &Table{
	Name: "schedules",
	Doc:  "A row per scheduled job. A job's sessions name it in sessions.schedule_id and ran without any confirmation.",
	Columns: columns([]Column{
		{"job_id", Text, "Id of the job."},
		{"source", Text, "Recipe file that the job runs."},
		{"cron", Text, "Cron expression, as stored."},
		{"last_run", Time, "When the job last ran."},
		{"currently_running", Bool, "True while a run is under way."},
		{"paused", Bool, "True when the job is paused."},
		{"current_session_id", Text, "Session of the run under way."},
		{"process_start_time", Time, "When the process of the run under way started."},
		{"parameters", JSON, "Parameters of the recipe: a list of [name, value]."},
		{"recipe_base_dir", Text, "Directory that the recipe's paths are relative to."},
		{"file_mtime", Time, "When the file was last changed."},
		{"extra", JSON, "Keys that have no column here, and values that did not fit theirs."},
	}, origin()),
}

// RoamingPeers has a row per peer that goose roam has met.
var RoamingPeers = &Table{
	Name: "roaming_peers",
	Doc:  "A row per peer of roaming_directory.json.",
	Columns: columns([]Column{
		{"endpoint_id", Text, "Public key of the peer's endpoint."},
		{"label", Text, "Label of the peer."},
		{"direction", Text, "inbound or outbound."},
		{"agent_id", Text, "Agent that the peer runs."},
		{"first_seen", Time, "When the peer was first seen."},
		{"last_seen", Time, "When the peer was last seen."},
		{"connected", Bool, "True while the peer was connected."},
	}, origin()),
}
