package schemas

import (
	"regexp"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// Every table and column is named in snake_case, once, and documented in a
// sentence; columns that only files can lack end every table built from records.
func TestDeclarations(t *testing.T) {
	snake := regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	seen := map[string]bool{}
	for _, table := range append(Tables(), Runs) {
		if !snake.MatchString(table.Name) || seen[table.Name] {
			t.Errorf("table %q: no snake_case, or twice", table.Name)
		}
		seen[table.Name] = true
		if !strings.HasSuffix(table.Doc, ".") {
			t.Errorf("table %s: %q is no sentence", table.Name, table.Doc)
		}
		columns := map[string]bool{}
		for i, c := range table.Columns {
			if !snake.MatchString(c.Name) || columns[c.Name] || c.Name == "home_id" {
				t.Errorf("%s.%s: no snake_case, twice, or the hive key", table.Name, c.Name)
			}
			columns[c.Name] = true
			if !strings.HasSuffix(c.Doc, ".") {
				t.Errorf("%s.%s: %q is no sentence", table.Name, c.Name, c.Doc)
			}
			if table.Index(c.Name) != i {
				t.Errorf("%s.Index(%q) = %d, want %d", table.Name, c.Name, table.Index(c.Name), i)
			}
			wantTime := strings.HasSuffix(c.Name, "_at") || map[string]bool{"mtime": true, "file_mtime": true, "last_run": true,
				"process_start_time": true, "first_seen": true, "last_seen": true}[c.Name]
			if (c.Kind == Time) != wantTime {
				t.Errorf("%s.%s is %s", table.Name, c.Name, c.Kind.SQL())
			}
			if strings.HasSuffix(c.Name, "_tokens") && c.Kind != Int {
				t.Errorf("%s.%s is %s", table.Name, c.Name, c.Kind.SQL())
			}
			if c.Name == "extra" && c.Kind != JSON {
				t.Errorf("%s.extra is %s", table.Name, c.Kind.SQL())
			}
		}
		if Lookup(table.Name) != table && table != Runs {
			t.Errorf("Lookup(%q) finds another table", table.Name)
		}
	}
	if Lookup("runs") != nil || Lookup("raw.sessions") != nil {
		t.Error("Lookup finds a table that is not written")
	}
	if Events.Index("nothing") != -1 {
		t.Error("Index of a column that is not there")
	}
}

func TestArrow(t *testing.T) {
	s := Events.Arrow()
	if NameOf(s) != "events" || NameOf(arrow.NewSchema(nil, nil)) != "" {
		t.Errorf("NameOf = %q", NameOf(s))
	}
	f, _ := s.FieldsByName("occurred_at")
	if ts, ok := f[0].Type.(*arrow.TimestampType); !ok || ts.Unit != arrow.Microsecond || ts.TimeZone != "" {
		t.Errorf("occurred_at is %v", f[0].Type)
	}
	if doc, _ := f[0].Metadata.GetValue(MetaDoc); !f[0].Nullable || doc != Events.Columns[Events.Index("occurred_at")].Doc {
		t.Errorf("occurred_at: nullable %v, %q", f[0].Nullable, doc)
	}
}
