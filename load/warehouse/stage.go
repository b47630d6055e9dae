package warehouse

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gander/load/parquet"
	"gander/schemas/fault"
)

// Manifest describes a committed home. It is the commit: a home without one is
// not in the warehouse.
type Manifest struct {
	HomeID        string          `json:"home_id"`
	RunID         string          `json:"run_id"`
	GanderVersion string          `json:"gander_version"`
	CommittedAt   time.Time       `json:"committed_at"`
	Files         []parquet.File  `json:"files"` // paths relative to the warehouse
	Summary       json.RawMessage `json:"summary,omitempty"`
}

const manifestFile = "manifest.json"

// Stage is a directory for the files of one home that is being written:
// <table>/<file>, as parquet.Writer lays them out. It ends with Commit or
// Abort; Abort after Commit does nothing, so that it can be deferred. A Stage is
// for one goroutine at a time.
type Stage struct {
	w    *Warehouse
	home string
	dir  string
	done bool
}

// Stage makes an empty stage. A home_id that is no plain file name is refused.
// Several stages of one home may be open; the last to commit stays.
func (w *Warehouse) Stage(homeID string) (*Stage, error) {
	if err := w.writable("stage home"); err != nil {
		return nil, err
	}
	if err := validID(homeID); err != nil {
		return nil, &fault.Error{Kind: fault.Internal, Op: "stage home", Err: err}
	}
	dir, err := os.MkdirTemp(w.Scratch(), "stage-*")
	if err == nil {
		err = os.Chmod(dir, 0o700)
	}
	if err != nil {
		return nil, OutputError("stage home", w.Scratch(), err)
	}
	return &Stage{w: w, home: homeID, dir: dir}, nil
}

// Dir returns the directory to write to.
func (s *Stage) Dir() string { return s.dir }

// Abort removes the stage.
func (s *Stage) Abort() error {
	if s.done {
		return nil
	}
	s.done = true
	return OutputError("abort home", s.dir, os.RemoveAll(s.dir))
}

// Homes returns the manifest of every committed home, by home_id.
func (w *Warehouse) Homes() ([]Manifest, error) {
	var homes []Manifest
	err := eachJSON(w.path(homesDir), func(path string, body []byte) error {
		var m Manifest
		if err := json.Unmarshal(body, &m); err != nil {
			return err
		}
		if filepath.Base(path) != m.HomeID+".json" {
			return fmt.Errorf("it is the manifest of home %q", m.HomeID)
		}
		homes = append(homes, m)
		return nil
	})
	slices.SortFunc(homes, func(a, b Manifest) int { return strings.Compare(a.HomeID, b.HomeID) })
	return homes, err
}
