package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestReal compares what gander makes of homes that a real Goose wrote with
// the rows that an independent reading of the rules gives for them. They are
// not part of the repository: GANDER_REAL names the directory with
// expected.json, fleet-tree.tar.gz and collections/, GANDER_COMPARE the script.
func TestReal(t *testing.T) {
	dir := os.Getenv("GANDER_REAL")
	if dir == "" {
		dir = "../../../shared/real"
	}
	compare := os.Getenv("GANDER_COMPARE")
	if compare == "" {
		compare = filepath.Join(dir, "../reference/compare.py")
	}
	for _, need := range []string{dir, compare} {
		if _, err := os.Stat(need); err != nil {
			t.Skipf("NOT COMPARED with homes of the real Goose: %v (set GANDER_REAL and GANDER_COMPARE)", err)
		}
	}
	tree := t.TempDir()
	if out, err := exec.Command("tar", "-xzf", filepath.Join(dir, "fleet-tree.tar.gz"), "-C", tree).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, input := range map[string]string{
		"tree": tree, "tree in an archive": filepath.Join(dir, "fleet-tree.tar.gz"), "collections": filepath.Join(dir, "collections"),
	} {
		t.Run(name, func(t *testing.T) {
			w := filepath.Join(t.TempDir(), "w")
			gander(t, "run", input, "-o", w)
			files := []string{}
			for _, relation := range []string{"timeline", "usage"} {
				file := filepath.Join(t.TempDir(), relation+".jsonl")
				gander(t, "export", relation, "-w", w, "--format", "jsonl", "-o", file)
				files = append(files, file)
			}
			out, err := exec.Command("python3", compare, filepath.Join(dir, "expected.json"), files[0], files[1]).CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
			for what, c := range map[string]struct{ query, want string }{
				"what only request logs hold": {`SELECT "user", r.kind, count(*) AS n FROM recovered_messages r JOIN homes USING (home_id) GROUP BY ALL ORDER BY ALL`,
					"user,kind,n\nalice,text,1\nbob,tool_response,1\ngone,tool_response,1\ngone,turn_context,1\n"},
				"what was deleted": {`SELECT "user", source_table, count(*) AS n FROM recovered_rows JOIN homes USING (home_id) WHERE change = 'deleted' AND source_table <> 'sessions' GROUP BY ALL ORDER BY ALL`,
					"user,source_table,n\nalice,messages,3\nalice,usage_ledger,1\nbob,messages,5\ngone,messages,5\ngone,usage_ledger,2\n"},
				"whose sessions were": {`SELECT DISTINCT "user", session_id FROM recovered_rows JOIN homes USING (home_id) WHERE change = 'deleted' AND source_table = 'sessions' ORDER BY ALL`,
					"user,session_id\nalice,20261130_8\ngone,20261130_1\n"},
				"the permission mode before": {`SELECT "user", old_value, new_value FROM session_changes WHERE setting = 'goose_mode'`, "user,old_value,new_value\nbob,approve,smart_approve\n"},
				// What was deleted and what request logs and history gave of it agree.
				"texts that only the log has": {`SELECT DISTINCT "user", turn_type FROM deleted_timeline WHERE also_in = '' AND turn_type <> 'system' AND text NOT LIKE '[hidden]%'`, "user,turn_type\n"},
			} {
				if got := gander(t, "sql", "-w", w, "--format", "csv", c.query); got != c.want {
					t.Errorf("%s:\n%s\nwant\n%s", what, got, c.want)
				}
			}
		})
	}
}

// gander runs a command in this process and returns its standard output.
func gander(t *testing.T, args ...string) string {
	t.Helper()
	var out, messages bytes.Buffer
	if code := execute(context.Background(), args, streams{bytes.NewReader(nil), &out, &messages}); code != exitOK {
		t.Fatalf("gander %q exits %d\n%s", args, code, messages.String())
	}
	return out.String()
}
