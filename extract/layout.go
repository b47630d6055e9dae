package extract

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"gander/extract/internal/homefs"
)

// role is what Goose keeps in one of its directories.
type role uint8

const (
	dataRole role = 1 << iota
	stateRole
	configRole
)

// layoutDirs are the directories of one layout, as paths of a tree. The same
// directory may play several roles.
type layoutDirs struct {
	layout              Layout
	data, state, config string
}

// layouts gives the directories of each layout, relative to the home.
//
// Windows has no state directory of its own: Goose falls back to data. The old
// macOS layout keeps everything in one directory.
var layouts = []layoutDirs{
	{XDG, ".local/share/goose", ".local/state/goose", ".config/goose"},
	{Windows, "AppData/Roaming/Block/goose/data", "AppData/Roaming/Block/goose/data", "AppData/Roaming/Block/goose/config"},
	{MacOSLibrary, "Library/Application Support/Block/goose", "Library/Application Support/Block/goose", "Library/Application Support/Block/goose"},
	{PathRoot, "data", "state", "config"},
}

// below places the directories of a layout below a home.
func (d layoutDirs) below(home string) layoutDirs {
	return layoutDirs{d.layout, homefs.Join(home, d.data), homefs.Join(home, d.state), homefs.Join(home, d.config)}
}

type gooseDir struct {
	dir    string
	layout Layout
}

// gooseDirs are the directories that make the directory above them a home.
// What is in one of them is never a path_root.
var gooseDirs = []gooseDir{
	{".local/share/goose", XDG},
	{".local/state/goose", XDG},
	{".config/goose", XDG},
	{"AppData/Roaming/Block/goose", Windows},
	{"Library/Application Support/Block/goose", MacOSLibrary},
}

// isGooseDir reports whether a path ends in one of gooseDirs.
func isGooseDir(name string) bool {
	if path.Base(name) != "goose" {
		return false
	}
	return slices.ContainsFunc(gooseDirs, func(g gooseDir) bool { return hasTail(name, g.dir) })
}

// inGooseDir reports whether a path is one of gooseDirs or lies below one.
func inGooseDir(name string) bool {
	for i := 0; i < len(name); {
		j := strings.Index(name[i:], "goose")
		if j < 0 {
			return false
		}
		i += j + len("goose")
		if (i == len(name) || name[i] == '/') && isGooseDir(name[:i]) {
			return true
		}
	}
	return false
}

// hasTail reports whether the last components of name are those of tail.
func hasTail(name, tail string) bool {
	return name == tail ||
		len(name) > len(tail) && strings.HasSuffix(name, tail) && name[len(name)-len(tail)-1] == '/'
}

// rolesOf tells the roles that a directory plays by its path alone.
func rolesOf(dir string) role {
	var r role
	for _, l := range layouts[:len(layouts)-1] {
		for i, d := range []string{l.data, l.state, l.config} {
			if hasTail(dir, d) {
				r |= 1 << i
			}
		}
	}
	if r != 0 {
		return r
	}
	switch path.Base(dir) {
	case "data":
		r = dataRole
	case "state":
		r = stateRole
	case "config":
		r = configRole
	}
	if r != 0 && inGooseDir(dir) {
		return 0
	}
	return r
}

// Names around the sessions database.
const (
	databaseName = "sessions.db"
	walName      = databaseName + "-wal"
	journalName  = databaseName + "-journal"
)

var logDate = regexp.MustCompile(`^\d{4}-?\d{2}-?\d{2}$`)

// classify tells the store of the file name in the directory sub ("" for the
// role's directory itself) of a directory that plays the given roles. listed
// files are reported and never read. Companions of the database are no files
// of their own: see isCompanion.
func classify(r role, sub, name string) (store Store, listed, ok bool) {
	if strings.HasPrefix(name, "._") {
		return "", false, false // what macOS keeps beside a file on foreign disks
	}
	switch sub {
	case "":
		switch {
		case r&dataRole != 0 && (name == "schedule.json" || name == "schedules.json"):
			return ScheduleJSON, false, true
		case r&dataRole != 0 && name == "projects.json":
			return "", true, true
		case r&(stateRole|configRole) != 0 && name == "history.txt":
			return CLIHistory, false, true
		case r&stateRole != 0 && name == "roaming_directory.json":
			return RoamingDirectory, false, true
		case r&configRole != 0 && name == "permission.yaml":
			return PermissionYAML, false, true
		case r&configRole != 0 && name == "roaming_trust.json":
			return RoamingTrust, false, true
		}
	case "sessions":
		switch {
		case r&dataRole != 0 && name == databaseName:
			return SessionsDB, false, true
		case r&dataRole != 0 && strings.HasSuffix(name, ".db"):
			return SessionsDB, true, true
		case r&(dataRole|configRole) != 0 && strings.HasSuffix(name, ".jsonl"):
			return LegacyJSONL, false, true
		}
	case "permissions":
		if r&configRole != 0 && name == "tool_permissions.json" {
			return ToolPermissionsJSON, false, true
		}
	case "logs":
		if r&stateRole != 0 && isRequestLog(name) {
			return LLMRequestLog, false, true
		}
	default:
		date, dated := strings.CutPrefix(sub, "logs/llm/")
		if r&stateRole != 0 && dated && logDate.MatchString(date) && isDatedLog(name) {
			return LLMRequestLog, false, true
		}
	}
	return "", false, false
}

// isRequestLog reports whether a name is llm_request.*.jsonl.
func isRequestLog(name string) bool {
	const prefix, suffix = "llm_request.", ".jsonl"
	return len(name) >= len(prefix)+len(suffix) && strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix)
}

// isDatedLog tells the logs in a date's directory from what was left beside
// them while they were written.
func isDatedLog(name string) bool {
	switch path.Ext(name) {
	case ".jsonl", ".json", ".log":
		return !strings.HasPrefix(name, ".") && !isCredential(name)
	}
	return false
}

func isCompanion(r role, sub, name string) bool {
	return r&dataRole != 0 && sub == "sessions" && (name == walName || name == journalName)
}

// subDirs are the directories below a role's directory that hold store files,
// with the roles that look there. The directories below logs/llm are dates.
var subDirs = []struct {
	sub   string
	roles role
}{
	{"", dataRole | stateRole | configRole},
	{"sessions", dataRole | configRole},
	{"permissions", configRole},
	{"logs", stateRole},
	{"logs/llm", stateRole},
}

// storesBelow gives the stores that a directory may hold, its own directories
// included: what is not known while it cannot be listed.
func storesBelow(r role, sub string) []Store {
	var stores []Store
	add := func(of role, at string, s Store) {
		if r&of != 0 && (sub == "" || sub == at) && !slices.Contains(stores, s) {
			stores = append(stores, s)
		}
	}
	add(dataRole, "sessions", SessionsDB)
	add(dataRole|configRole, "sessions", LegacyJSONL)
	add(stateRole, "logs", LLMRequestLog)
	add(stateRole, "logs/llm", LLMRequestLog)
	add(stateRole|configRole, "", CLIHistory)
	add(configRole, "", PermissionYAML)
	add(configRole, "permissions", ToolPermissionsJSON)
	add(configRole, "", RoamingTrust)
	add(stateRole, "", RoamingDirectory)
	add(dataRole, "", ScheduleJSON)
	return stores
}

// interest is what the path of an archive's member or of a manifest's line says
// about it before anything else is known.
type interest uint8

const (
	noInterest interest = iota
	// waypoint is a directory, or a link in its place, on the way to a store.
	waypoint
	// named is a store file that is listed, never read.
	named
	// wanted is a store file or a companion of the database.
	wanted
)

// interestIn judges a path by its last components. That no home may be there in
// the end costs at most an unpacked file: the names that it takes are rare.
func interestIn(name string) interest {
	dir, base := path.Split(name)
	dir = strings.TrimSuffix(dir, "/")
	sub := ""
	for range 4 { // "", sessions, logs/llm/<date>
		if r := rolesOf(dir); r != 0 {
			if _, listed, ok := classify(r, sub, base); ok {
				if listed {
					return named
				}
				return wanted
			}
			if isCompanion(r, sub, base) {
				return wanted
			}
		}
		if dir == "" {
			break
		}
		sub = strings.TrimSuffix(path.Base(dir)+"/"+sub, "/")
		if dir = path.Dir(dir); dir == "." {
			dir = ""
		}
	}
	if isWaypoint(name) {
		return waypoint
	}
	return noInterest
}

// waypointTails are the tails of the directories on the way from a home to a
// store file.
var waypointTails = func() []string {
	var tails []string
	for _, l := range layouts {
		for i, d := range []string{l.data, l.state, l.config} {
			for p := d; p != "."; p = path.Dir(p) {
				tails = append(tails, p)
			}
			for _, s := range subDirs {
				if s.sub != "" && s.roles&(1<<i) != 0 {
					tails = append(tails, d+"/"+s.sub)
				}
			}
		}
	}
	slices.Sort(tails)
	return slices.Compact(tails)
}()

var waypointNames = func() map[string]bool {
	names := make(map[string]bool)
	for _, t := range waypointTails {
		names[path.Base(t)] = true
	}
	return names
}()

func isWaypoint(name string) bool {
	base := path.Base(name)
	if logDate.MatchString(base) && hasTail(path.Dir(name), "logs/llm") {
		return true
	}
	return waypointNames[base] &&
		slices.ContainsFunc(waypointTails, func(t string) bool { return hasTail(name, t) })
}

// credentialNames are files that are never opened, whatever leads to them.
var credentialNames = map[string]bool{
	"secrets.yaml": true, "secrets.yml": true, "config.yaml": true, "config.yml": true,
	"tokens.json": true, "token.json": true, "info.json": true, "device_id": true,
	"roaming_node_key": true, "credentials": true, "credentials.json": true, ".netrc": true,
	"id_rsa": true, "id_ecdsa": true, "id_ed25519": true,
}

// credentialDirs are directories in which nothing is opened.
var credentialDirs = map[string]bool{
	"tls": true, "oauth": true, ".ssh": true, ".gnupg": true, ".aws": true,
	"githubcopilot": true, "chatgpt_codex": true, "gemini_oauth": true, "kimicode": true,
	"muse_code": true, "xai_oauth": true,
}

// isCredential reports whether a path below a home is one that must never be
// opened. Store files have fixed places, so it matters for links alone.
func isCredential(rel string) bool {
	parts := strings.Split(strings.ToLower(rel), "/")
	base := parts[len(parts)-1]
	switch path.Ext(base) {
	case ".key", ".pem", ".p12", ".pfx", ".crt":
		return true
	}
	return credentialNames[base] ||
		slices.ContainsFunc(parts[:len(parts)-1], func(p string) bool { return credentialDirs[p] })
}
