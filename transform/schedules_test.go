package transform

import (
	"strings"
	"testing"
)

const scheduleRel = ".local/share/goose/schedule.json"

func readSchedules(t testing.TB, text string, records int64) settingsOut {
	t.Helper()
	return readDocument(t, settingsInfo("schedule_json", scheduleRel), func(i FileInfo) TextStore { return NewSchedules(i) }, text, records)
}

func TestSchedules(t *testing.T) {
	out := readSchedules(t, `[
  {"id": "weekly", "source": "/r/weekly.yaml", "cron": "0 9 * * 1", "last_run": null, "currently_running": false, "paused": false,
   "current_session_id": null, "process_start_time": null, "parameters": [], "recipe_base_dir": "/r"},
  {"id": "nightly", "source": "/r/n.yaml", "cron": "0 2 * * *", "last_run": "2026-11-30T19:52:17.171875482Z", "currently_running": true, "paused": true,
   "current_session_id": "20261130_1", "process_start_time": "2026-11-30T20:52:17+01:00", "parameters": [ ["team", "a\u0041"] ], "recipe_base_dir": "/r"},
  {}
]`, 3)
	check(t, "events", out.rows("events", "kind", "occurred_at", "text", "source_line"), strings.Join([]string{
		"scheduled_task ¦ " + fileChanged + " ¦ scheduled task: weekly 0 9 * * 1 paused=false running=false source=/r/weekly.yaml last_run=- current_session=- recipe_base_dir=/r (from " + scheduleRel + ", file mtime) ¦ 1",
		"scheduled_task ¦ " + fileChanged + " ¦ scheduled task: nightly 0 2 * * * paused=true running=true source=/r/n.yaml last_run=2026-11-30T19:52:17.171875482Z current_session=20261130_1 recipe_base_dir=/r" +
			` parameters=[["team","aA"]] (from ` + scheduleRel + ", file mtime) ¦ 2",
		"scheduled_task ¦ " + fileChanged + " ¦ scheduled task: - - paused=false running=false source=- last_run=- current_session=- recipe_base_dir=- (from " + scheduleRel + ", file mtime) ¦ 3",
	}, "\n"))
	columns := []string{"job_id", "source", "cron", "last_run", "currently_running", "paused", "current_session_id", "process_start_time", "parameters", "recipe_base_dir", "file_mtime", "extra", "source_line"}
	check(t, "rows", out.rows("schedules", columns...), strings.Join([]string{
		"weekly ¦ /r/weekly.yaml ¦ 0 9 * * 1 ¦ ∅ ¦ false ¦ false ¦ ∅ ¦ ∅ ¦ [] ¦ /r ¦ " + fileChanged + " ¦ ∅ ¦ 1",
		`nightly ¦ /r/n.yaml ¦ 0 2 * * * ¦ 2026-11-30 19:52:17.171875 ¦ true ¦ true ¦ 20261130_1 ¦ 2026-11-30 19:52:17 ¦ [["team","aA"]] ¦ /r ¦ ` + fileChanged + " ¦ ∅ ¦ 2",
		"∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ ∅ ¦ " + fileChanged + " ¦ ∅ ¦ 3",
	}, "\n"))
	if out.Issues != 0 {
		t.Errorf("issues: %v", out.tables["issues"])
	}
}

func TestScheduleMembers(t *testing.T) {
	const head, tail = "scheduled task: ", " (from " + scheduleRel + ", file mtime)"
	for _, c := range []struct {
		name, job string
		text      string // of the event, between head and tail
		columns   string // of the row, apart by spaces
		want      string
		issues    string // their codes
	}{
		{"empty texts are absent in the event, stored in the row", `{"id":"","cron":"","source":"","last_run":null,"current_session_id":"","recipe_base_dir":""}`,
			"- - paused=false running=false source=- last_run=- current_session=- recipe_base_dir=-", "job_id cron extra", " ¦  ¦ ∅", ""},
		{"values that are no text are their JSON", `{"id":5,"cron":[1, 2],"source":false}`,
			"5 [1,2] paused=false running=false source=false last_run=- current_session=- recipe_base_dir=-", "job_id cron source extra", "5 ¦ [1,2] ¦ false ¦ ∅", ""},
		{"flags that are none", `{"paused":1,"currently_running":"true"}`,
			"- - paused=false running=false source=- last_run=- current_session=- recipe_base_dir=-", "paused currently_running extra", `∅ ¦ ∅ ¦ {"currently_running":"true","paused":1}`, "bad_value\nbad_value"},
		{"flags that are null", `{"paused":null}`,
			"- - paused=false running=false source=- last_run=- current_session=- recipe_base_dir=-", "paused extra", "∅ ¦ ∅", ""},
		{"first time of the range", `{"last_run":"2000-01-01T00:00:00Z"}`,
			"- - paused=false running=false source=- last_run=2000-01-01T00:00:00Z current_session=- recipe_base_dir=-", "last_run extra", "2000-01-01 00:00:00 ¦ ∅", ""},
		{"a time before it", `{"last_run":"1999-12-31T23:59:59.999999Z"}`,
			"- - paused=false running=false source=- last_run=1999-12-31T23:59:59.999999Z current_session=- recipe_base_dir=-", "last_run extra", `∅ ¦ {"last_run":"1999-12-31T23:59:59.999999Z"}`, "bad_time"},
		{"last time of the range", `{"process_start_time":4102444799}`,
			"- - paused=false running=false source=- last_run=- current_session=- recipe_base_dir=-", "process_start_time extra", "2099-12-31 23:59:59 ¦ ∅", ""},
		{"a time after it", `{"process_start_time":4102444800}`,
			"- - paused=false running=false source=- last_run=- current_session=- recipe_base_dir=-", "process_start_time extra", `∅ ¦ {"process_start_time":4102444800}`, "bad_time"},
		{"parameters: none", `{"parameters":null}`, "- - paused=false running=false source=- last_run=- current_session=- recipe_base_dir=-", "parameters", "∅", ""},
		{"parameters: no text", `{"parameters":""}`, "- - paused=false running=false source=- last_run=- current_session=- recipe_base_dir=-", "parameters", "∅", ""},
		{"parameters: an empty object", `{"parameters":{ }}`, "- - paused=false running=false source=- last_run=- current_session=- recipe_base_dir=-", "parameters", "{}", ""},
		{"parameters: an object", `{"parameters":{"a":1.50}}`, `- - paused=false running=false source=- last_run=- current_session=- recipe_base_dir=- parameters={"a":1.50}`, "parameters", `{"a":1.50}`, ""},
		{"other keys", `{"z":{"b": 1},"id":"x","a":null}`, "x - paused=false running=false source=- last_run=- current_session=- recipe_base_dir=-", "extra", `{"z":{"b":1},"a":null}`, ""},
		{"a key twice", `{"id":"x","id":"y"}`, "y - paused=false running=false source=- last_run=- current_session=- recipe_base_dir=-", "job_id extra", "y ¦ ∅", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := readSchedules(t, "["+c.job+"]", 1)
			check(t, "text", out.rows("events", "text"), head+c.text+tail)
			check(t, "row", out.rows("schedules", strings.Fields(c.columns)...), c.want)
			check(t, "issues", out.rows("issues", "code"), c.issues)
		})
	}
}

func TestScheduleItemNoObject(t *testing.T) {
	out := readSchedules(t, `[{"id":"a"}, [ 1 ,"x"], null, {"id":"b"}]`, 4)
	check(t, "events", out.rows("events", "kind", "source_line"), "scheduled_task ¦ 1\nparser_issue ¦ 2\nparser_issue ¦ 3\nscheduled_task ¦ 4")
	check(t, "texts", strings.Join(pick(out.tables["events"], "parser_issue", "text"), "\n"),
		`parser: unparseable record 2 (not a JSON object): [1,"x"]`+"\nparser: unparseable record 3 (not a JSON object): null")
	check(t, "issues", out.rows("issues", "code", "message", "raw", "source_line"),
		`bad_item ¦ parser: unparseable record 2 (not a JSON object) ¦ [1,"x"] ¦ 2`+"\nbad_item ¦ parser: unparseable record 3 (not a JSON object) ¦ null ¦ 3")
	if out.Bad != 2 || out.WithRows != 2 || out.malformed {
		t.Errorf("%+v malformed=%v", out.Tally, out.malformed)
	}
	check(t, "rows", out.rows("schedules", "job_id", "source_line"), "a ¦ 1\nb ¦ 4")
}

// An event is known by its text: a job keeps its id when others come and go.
func TestScheduleIdentity(t *testing.T) {
	id := func(text string, i int) any { return readSchedules(t, text, -1).tables["events"][i]["event_id"] }
	if id(`[{"id":"b"}]`, 0) != id(`[{"id":"a"},{"id":"b"}]`, 1) {
		t.Error("the id changes with the item's number")
	}
	if id(`[{"id":"b"}]`, 0) == id(`[{"id":"a"}]`, 0) {
		t.Error("two jobs have one id")
	}
}

func FuzzSchedules(f *testing.F) {
	for _, s := range []string{"", "[]", "{}", `[{"id":"a","parameters":[["k","v"]]},1]`, `[{"last_run":1e99,"paused":2,"\ud800":3}]`, `{"permissions":{"a:b":[{"allowed":true}]},"version":1}`,
		`{"allowed":["k",1],"allowed":{},"revoked_keys":null}`, `{"peers":[{"first_seen_ms":-1}],"entries":3}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "\uFFFD")
		for _, s := range jsonStores {
			out := readDocument(t, settingsInfo(s.store, "f.json"), s.open, text, -1)
			if out.malformed && (out.Records() != 0 || out.Events != 1) {
				t.Errorf("%s: malformed, and %+v", s.store, out.Tally)
			}
			if n := int64(len(out.tables["schedules"]) + len(out.tables["permissions"]) + len(out.tables["roaming_peers"])); n != out.WithRows+out.WithoutRows {
				t.Errorf("%s: %d rows of %+v", s.store, n, out.Tally)
			}
		}
	})
}
