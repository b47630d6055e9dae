// Package views declares the views of the warehouse, once: the database, the
// data dictionary and `gander schema` derive from these declarations.
package views

import (
	"strconv"
	"strings"
)

// Column is a column of a View.
type Column struct {
	Name string
	Type string // as DuckDB reports it
	Doc  string // one sentence
}

// View is one view over the tables of the schemas package.
type View struct {
	Name    string
	Doc     string
	Columns []Column
	SQL     string // the SELECT, without a semicolon
}

// Views lists every view in the order of the data dictionary.
func Views() []View {
	return []View{timeline(), sessionOverview(), toolStats(), usageDaily(), logOnlyCalls(), deletedTimeline(), sessionChanges()}
}

// Lookup returns the view of that name.
func Lookup(name string) (View, bool) {
	for _, v := range Views() {
		if v.Name == name {
			return v, true
		}
	}
	return View{}, false
}

// whiteSpace is Unicode's White_Space: what is cut from both ends of a text.
var whiteSpace = []rune{
	0x9, 0xA, 0xB, 0xC, 0xD, 0x20, 0x85, 0xA0, 0x1680,
	0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200A,
	0x2028, 0x2029, 0x202F, 0x205F, 0x3000,
}

// owners gives host and user of each home_id exactly once: homes also has rows
// of the same home_id for the inputs that were not read.
const owners = `(SELECT home_id, min(host) AS host, min("user") AS "user" FROM homes WHERE superseded_by IS NULL GROUP BY home_id)`

// A sum beyond BIGINT can only come from a stored value that is absurd: it is
// NULL, so that the other rows can still be read.
func sum(expr, as string) string {
	return "TRY_CAST(sum(" + expr + ") AS BIGINT) AS " + as
}

// timelineColumns are the 14 columns of timeline.
func timelineColumns() []Column {
	return []Column{
		{"timestamp_utc", "VARCHAR", "When it happened: 2026-10-03T16:55:31.123Z, digits cut, not rounded; '' when unknown."},
		{"host", "VARCHAR", "Host of the home."},
		{"user", "VARCHAR", "User of the home."},
		{"agent", "VARCHAR", "Always goose."},
		{"session_id", "VARCHAR", "Session; '' where the store knows none."},
		{"project_path", "VARCHAR", "Working directory of the session, as stored."},
		{"git_branch", "VARCHAR", "Always '': Goose stores none."},
		{"turn_type", "VARCHAR", "user, assistant, tool_use, tool_result, thinking or system."},
		{"model", "VARCHAR", "<provider>/<model>, the model alone where no provider is known, or ''."},
		{"tool_name", "VARCHAR", "Tool called; on a result, of the request it answers."},
		{"tool_use_id", "VARCHAR", "Id that pairs request and response."},
		{"text", "VARCHAR", "Text of the event, after '[error] ' for a failed call or result and '[hidden] ' for a text that the user was not shown; white space is cut from both ends."},
		{"source_file", "VARCHAR", "Path of the file on the source host."},
		{"source_line", "BIGINT", "Row, line or item in source_file."},
	}
}

// timelineSelect gives the columns of timeline for a row e with the columns of
// events and the home h.
func timelineSelect() string {
	space := make([]string, len(whiteSpace))
	for i, r := range whiteSpace {
		space[i] = "chr(" + strconv.Itoa(int(r)) + ")"
	}
	return `SELECT
  coalesce(strftime(e.occurred_at, '%Y-%m-%dT%H:%M:%S.%gZ'), '') AS timestamp_utc,
  coalesce(h.host, '') AS host,
  coalesce(h."user", '') AS "user",
  'goose' AS agent,
  coalesce(e.session_id, '') AS session_id,
  coalesce(e.project_path, '') AS project_path,
  '' AS git_branch,
  coalesce(e.turn_type, '') AS turn_type,
  CASE WHEN e.provider <> '' AND e.model <> '' THEN concat(e.provider, '/', e.model) ELSE coalesce(e.model, '') END AS model,
  coalesce(e.tool_name, '') AS tool_name,
  coalesce(e.tool_use_id, '') AS tool_use_id,
  trim(concat(
    CASE WHEN e.is_error THEN '[error] ' ELSE '' END,
    CASE WHEN e.kind = 'text' AND e.user_visible = false THEN '[hidden] ' ELSE '' END,
    e.text), ` + strings.Join(space, "||") + `) AS text,
  coalesce(e.source_file, '') AS source_file,
  e.source_line`
}

func timeline() View {
	return View{
		Name:    "timeline",
		Doc:     "A row per row of events, in the 14 columns that timelines of several agents share; '' instead of NULL.",
		Columns: timelineColumns(),
		SQL: timelineSelect() + `
FROM events e LEFT JOIN ` + owners + ` h ON h.home_id = e.home_id`,
	}
}

func deletedTimeline() View {
	return View{
		Name: "deleted_timeline",
		Doc:  "A row per event of a deleted row of a database, in the columns of timeline, then how sure it is and where else it still stands.",
		Columns: append(timelineColumns(),
			Column{"evidence", "VARCHAR", "wal_committed, wal_stale, free_page or free_space: see recovered_rows."},
			Column{"also_in", "VARCHAR", "request_log or history where that gave the same text too, else ''."}),
		SQL: timelineSelect() + `,
  coalesce(e.evidence, '') AS evidence,
  CASE
    WHEN l.text IS NOT NULL OR m.text IS NOT NULL THEN 'request_log'
    WHEN p.text IS NOT NULL THEN 'history'
    ELSE '' END AS also_in
FROM recovered_events e LEFT JOIN ` + owners + ` h ON h.home_id = e.home_id
LEFT JOIN (SELECT DISTINCT home_id, turn_type, tool_use_id, text FROM events WHERE store = 'llm_request_log') l
  ON l.home_id = e.home_id AND l.turn_type = e.turn_type AND l.text = e.text AND l.tool_use_id IS NOT DISTINCT FROM e.tool_use_id
LEFT JOIN (SELECT DISTINCT home_id, CASE kind WHEN 'tool_request' THEN 'tool_use' WHEN 'tool_response' THEN 'tool_result' ELSE role END AS turn_type, tool_use_id, text FROM recovered_messages) m
  ON m.home_id = e.home_id AND m.turn_type = e.turn_type AND m.text = e.text AND m.tool_use_id IS NOT DISTINCT FROM e.tool_use_id
LEFT JOIN (SELECT DISTINCT home_id, text FROM events WHERE kind = 'history_entry') p
  ON p.home_id = e.home_id AND e.turn_type = 'user' AND trim(p.text) = trim(e.text)`,
	}
}

func sessionChanges() View {
	return View{
		Name: "session_changes",
		Doc:  "A row per setting of a session that changed while the write-ahead log was written: Goose itself keeps the last value alone.",
		Columns: []Column{
			{"host", "VARCHAR", "Host of the home."},
			{"user", "VARCHAR", "User of the home."},
			{"home_id", "VARCHAR", "Home; joins to all tables."},
			{"session_id", "VARCHAR", "Session; its created_at tells the lives of a reused id apart."},
			{"created_at", "TIMESTAMP", "When the session was created."},
			{"setting", "VARCHAR", "name, goose_mode, working_dir, provider, model, archived_at, project_id or schedule_id."},
			{"old_value", "VARCHAR", "Value before; NULL for none."},
			{"new_value", "VARCHAR", "Value after; NULL for none."},
			{"first_commit", "BIGINT", "Transaction of the log that brought the new value; NULL when that is the current one and no older row tells."},
			{"current", "BOOLEAN", "True when the new value is the one that the database has now."},
		},
		SQL: `WITH versions AS (
  SELECT home_id, source_file, session_id, created_at, first_commit, last_commit, false AS current,
    row_values ->> '$.name' AS name, row_values ->> '$.goose_mode' AS goose_mode, row_values ->> '$.working_dir' AS working_dir,
    row_values ->> '$.provider_name' AS provider,
    CASE WHEN json_valid(row_values ->> '$.model_config_json') THEN CAST(row_values ->> '$.model_config_json' AS JSON) ->> '$.model_name' END AS model,
    row_values ->> '$.archived_at' AS archived_at, row_values ->> '$.project_id' AS project_id, row_values ->> '$.schedule_id' AS schedule_id
  FROM recovered_rows WHERE source_table = 'sessions' AND evidence = 'wal_committed'
  UNION ALL
  SELECT home_id, source_file, session_id, created_at, NULL, NULL, true, name, goose_mode, working_dir, provider, model,
    strftime(archived_at, '%Y-%m-%d %H:%M:%S'), project_id, schedule_id
  FROM sessions WHERE store = 'sessions_db'
), settings AS (
  SELECT home_id, source_file, session_id, created_at, first_commit, last_commit, current, s.setting, s.value FROM versions,
    LATERAL (VALUES ('name', name), ('goose_mode', goose_mode), ('working_dir', working_dir), ('provider', provider), ('model', model),
      ('archived_at', archived_at), ('project_id', project_id), ('schedule_id', schedule_id)) s(setting, value)
), ordered AS (
  SELECT *, lag(value) OVER w AS old_value, lag(last_commit) OVER w AS until, row_number() OVER w AS version
  FROM settings WINDOW w AS (PARTITION BY home_id, source_file, session_id, created_at, setting ORDER BY current, first_commit, last_commit)
)
SELECT h.host, h."user", o.home_id, o.session_id, o.created_at, o.setting, o.old_value, o.value AS new_value,
  coalesce(o.first_commit, o.until + 1) AS first_commit, o.current
FROM ordered o LEFT JOIN ` + owners + ` h ON h.home_id = o.home_id
WHERE o.version > 1 AND o.value IS DISTINCT FROM o.old_value`,
	}
}

func sessionOverview() View {
	return View{
		Name: "session_overview",
		Doc:  "A row per row of sessions, with what belongs to it. What a fork copied counts in the session it came from alone, a message that another store holds too only there; tokens and cost are of the ledger, never of the counters of sessions. Usage of sessions whose row is gone is in usage and usage_daily only.",
		Columns: []Column{
			{"home_id", "VARCHAR", "Home the session belongs to."},
			{"host", "VARCHAR", "Host of the home."},
			{"user", "VARCHAR", "User of the home."},
			{"store", "VARCHAR", "sessions_db or legacy_jsonl."},
			{"session_id", "VARCHAR", "Id of the session."},
			{"name", "VARCHAR", "Name of the session."},
			{"session_type", "VARCHAR", "Type of the session, as stored."},
			{"working_dir", "VARCHAR", "Working directory, as stored."},
			{"created_at", "TIMESTAMP", "When the session was created."},
			{"first_message_at", "TIMESTAMP", "Earliest time of its messages, copies included."},
			{"last_message_at", "TIMESTAMP", "Latest time of its messages, copies included."},
			{"provider", "VARCHAR", "Provider, the last setting."},
			{"model", "VARCHAR", "Model, the last setting."},
			{"parent_session_id", "VARCHAR", "Session that delegated to this one."},
			{"superseded", "BOOLEAN", "True for a legacy session that the database has too."},
			{"messages", "BIGINT", "Messages, neither copied nor held by another store."},
			{"prompts", "BIGINT", "Those of them that the user typed."},
			{"tool_calls", "BIGINT", "Tool calls requested, not copied."},
			{"failed_calls", "BIGINT", "Those of them with status error, tool_error or invalid_call."},
			{"calls", "BIGINT", "Provider calls in the ledger, without what was carried forward."},
			{"input_tokens", "BIGINT", "Input tokens without cache, of the ledger, carried forward included; NULL when none is known."},
			{"output_tokens", "BIGINT", "Output tokens, of the ledger."},
			{"cache_read_tokens", "BIGINT", "Cache read tokens, of the ledger."},
			{"cache_write_tokens", "BIGINT", "Cache write tokens, of the ledger."},
			{"total_tokens", "BIGINT", "Total tokens, of the ledger."},
			{"cost_usd", "DOUBLE", "Cost of the priced ledger rows, US dollars; NULL when none is priced."},
			{"unpriced", "BIGINT", "Ledger rows without a cost: cost_usd lacks them."},
		},
		SQL: `SELECT
  s.home_id, h.host, h."user", s.store, s.session_id, s.name, s.session_type, s.working_dir,
  s.created_at, s.first_message_at, s.last_message_at, s.provider, s.model, s.parent_session_id, s.superseded,
  coalesce(m.messages, 0) AS messages,
  coalesce(m.prompts, 0) AS prompts,
  coalesce(t.tool_calls, 0) AS tool_calls,
  coalesce(t.failed_calls, 0) AS failed_calls,
  coalesce(u.calls, 0) AS calls,
  u.input_tokens, u.output_tokens, u.cache_read_tokens, u.cache_write_tokens, u.total_tokens,
  u.cost_usd,
  coalesce(u.unpriced, 0) AS unpriced
FROM sessions s
LEFT JOIN ` + owners + ` h ON h.home_id = s.home_id
LEFT JOIN (
  SELECT home_id, source_file, session_id, count(*) AS messages, count(*) FILTER (kind = 'prompt') AS prompts
  FROM messages WHERE copied_from_session_id IS NULL AND superseded IS DISTINCT FROM true
  GROUP BY ALL) m ON m.home_id = s.home_id AND m.source_file = s.source_file AND m.session_id = s.session_id
LEFT JOIN (
  SELECT home_id, source_file, session_id, count(*) AS tool_calls,
    count(*) FILTER (status IN ('error', 'tool_error', 'invalid_call')) AS failed_calls
  FROM tool_calls WHERE copied_from_session_id IS NULL AND request_event_id IS NOT NULL
  GROUP BY ALL) t ON t.home_id = s.home_id AND t.source_file = s.source_file AND t.session_id = s.session_id
LEFT JOIN (
  SELECT home_id, source_file, session_id, ` + ledger() + `
  FROM usage GROUP BY ALL) u ON u.home_id = s.home_id AND u.source_file = s.source_file AND u.session_id = s.session_id`,
	}
}

func toolStats() View {
	return View{
		Name: "tool_stats",
		Doc:  "Tool calls by tool, extension, provider and model; responses without a call and calls that a fork copied are left out.",
		Columns: []Column{
			{"tool_name", "VARCHAR", "Name of the tool as the model saw it."},
			{"extension", "VARCHAR", "Extension of the tool."},
			{"provider", "VARCHAR", "Provider of the request."},
			{"model", "VARCHAR", "Model of the request."},
			{"calls", "BIGINT", "Calls requested."},
			{"succeeded", "BIGINT", "Calls with status success."},
			{"failed", "BIGINT", "Calls with status error, tool_error or invalid_call."},
			{"declined", "BIGINT", "Calls that the user declined."},
			{"unanswered", "BIGINT", "Calls without a response."},
			{"result_bytes", "BIGINT", "Bytes of the results' texts."},
			{"first_requested_at", "TIMESTAMP", "Time of the first call."},
			{"last_requested_at", "TIMESTAMP", "Time of the last call."},
		},
		SQL: `SELECT
  tool_name, extension, provider, model,
  count(*) AS calls,
  count(*) FILTER (status = 'success') AS succeeded,
  count(*) FILTER (status IN ('error', 'tool_error', 'invalid_call')) AS failed,
  count(*) FILTER (status = 'declined') AS declined,
  count(*) FILTER (status = 'no_response') AS unanswered,
  ` + sum("result_bytes", "result_bytes") + `,
  min(requested_at) AS first_requested_at,
  max(requested_at) AS last_requested_at
FROM tool_calls
WHERE copied_from_session_id IS NULL AND request_event_id IS NOT NULL
GROUP BY tool_name, extension, provider, model`,
	}
}

func usageDaily() View {
	return View{
		Name: "usage_daily",
		Doc:  "The usage ledger by UTC day, host, user, provider and model; every ledger row counts once, sessions that are gone included.",
		Columns: []Column{
			{"day", "DATE", "UTC day; NULL where the time is unknown."},
			{"host", "VARCHAR", "Host of the home."},
			{"user", "VARCHAR", "User of the home."},
			{"provider", "VARCHAR", "Provider, see usage.provider_basis."},
			{"model", "VARCHAR", "Model; NULL on what was carried forward."},
			{"calls", "BIGINT", "Provider calls, without what was carried forward."},
			{"input_tokens", "BIGINT", "Input tokens without cache; NULL when none is known."},
			{"output_tokens", "BIGINT", "Output tokens."},
			{"cache_read_tokens", "BIGINT", "Cache read tokens."},
			{"cache_write_tokens", "BIGINT", "Cache write tokens."},
			{"total_tokens", "BIGINT", "Total tokens."},
			{"cost_usd", "DOUBLE", "Cost of the priced rows, US dollars; NULL when none is priced."},
			{"unpriced", "BIGINT", "Rows without a cost: cost_usd lacks them."},
		},
		SQL: `SELECT
  CAST(u.occurred_at AS DATE) AS day, h.host, h."user", u.provider, u.model,
  ` + ledger() + `
FROM usage u LEFT JOIN ` + owners + ` h ON h.home_id = u.home_id
GROUP BY CAST(u.occurred_at AS DATE), h.host, h."user", u.provider, u.model`,
	}
}

// ledger is what a view adds up of usage. fsum makes the cost independent of
// the order of the rows, as near as doubles allow.
func ledger() string {
	return strings.Join([]string{
		"count(*) FILTER (is_carried_forward IS DISTINCT FROM true) AS calls",
		sum("input_tokens", "input_tokens"),
		sum("output_tokens", "output_tokens"),
		sum("cache_read_tokens", "cache_read_tokens"),
		sum("cache_write_tokens", "cache_write_tokens"),
		sum("total_tokens", "total_tokens"),
		"fsum(cost_usd) AS cost_usd",
		"count(*) FILTER (cost_usd IS NULL) AS unpriced",
	}, ",\n  ")
}

func logOnlyCalls() View {
	return View{
		Name: "log_only_calls",
		Doc:  "Provider calls that only the request logs know: no ledger row has their tokens. Titles, calls of deleted sessions, calls that failed or were cut short.",
		Columns: []Column{
			{"host", "VARCHAR", "Host of the home."},
			{"user", "VARCHAR", "User of the home."},
			{"home_id", "VARCHAR", "Home; joins to all tables."},
			{"log_id", "VARCHAR", "Log; joins to llm_requests and recovered_messages."},
			{"log_name", "VARCHAR", "Name of the file."},
			{"started_at", "TIMESTAMP", "Time of the call."},
			{"model", "VARCHAR", "Model of the call."},
			{"matched_session_id", "VARCHAR", "Session that holds its response or prompt, if one does."},
			{"stored_input_tokens", "BIGINT", "Input tokens as stored: with cache."},
			{"output_tokens", "BIGINT", "Output tokens."},
			{"total_tokens", "BIGINT", "Total tokens."},
			{"error", "VARCHAR", "Error of the call."},
			{"complete", "BOOLEAN", "True when the log is whole."},
			{"recovered_messages", "BIGINT", "Items of its conversation that no store has any more."},
		},
		SQL: `SELECT
  h.host, h."user", r.home_id, r.log_id, r.log_name, r.started_at, r.model, r.matched_session_id,
  r.stored_input_tokens, r.output_tokens, r.total_tokens, r.error, r.complete,
  (SELECT count(*) FROM recovered_messages m WHERE m.home_id = r.home_id AND m.log_id = r.log_id) AS recovered_messages
FROM llm_requests r LEFT JOIN ` + owners + ` h ON h.home_id = r.home_id
WHERE r.matched_usage_row IS NULL`,
	}
}
