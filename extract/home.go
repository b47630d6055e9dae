package extract

import "time"

// Store names a Goose store, as the column `store` has it.
type Store string

// The stores of a home.
const (
	SessionsDB          Store = "sessions_db"
	LegacyJSONL         Store = "legacy_jsonl"
	LLMRequestLog       Store = "llm_request_log"
	CLIHistory          Store = "cli_history"
	PermissionYAML      Store = "permission_yaml"
	ToolPermissionsJSON Store = "tool_permissions_json"
	RoamingTrust        Store = "roaming_trust"
	RoamingDirectory    Store = "roaming_directory"
	ScheduleJSON        Store = "schedule_json"
)

// Stores returns every store in the order in which a home is read and reported.
func Stores() []Store {
	return []Store{
		SessionsDB, LegacyJSONL, LLMRequestLog, CLIHistory, PermissionYAML,
		ToolPermissionsJSON, RoamingTrust, RoamingDirectory, ScheduleJSON,
	}
}

// Layout names the directory layout in which a home keeps its stores.
type Layout string

// The layouts, in the order in which a home that has several is read.
const (
	XDG          Layout = "xdg"
	Windows      Layout = "windows"
	MacOSLibrary Layout = "macos_library"
	PathRoot     Layout = "path_root"
)

// InputKind tells what an input was recognised as.
type InputKind string

// The kinds of input.
const (
	Collection InputKind = "collection"
	Tree       InputKind = "tree"
	Live       InputKind = "live"
)

// Status is the fate of a file of a store, as `sources.status` has it.
type Status string

// The statuses of a file. A file that discovery could find nothing wrong with
// has status Read until its reader says otherwise.
const (
	Read          Status = "read"
	Partial       Status = "partial"
	Absent        Status = "absent"
	Empty         Status = "empty"
	SkippedSize   Status = "skipped_size"
	SkippedSecret Status = "skipped_secret"
	Missing       Status = "missing"
	Unreadable    Status = "unreadable"
	Malformed     Status = "malformed"
	NotRead       Status = "not_read"
)

// Home is one home directory of one input, with every file of its stores.
type Home struct {
	ID          string    // hive key: <host>-<user>-<h8>
	Host        string    // host the home was on
	User        string    // user it belongs to
	Path        string    // home_path: /home/alice, C:\Users\carol
	Layouts     []Layout  // layouts found, in the order of the constants
	Input       string    // INPUT, or the archive inside it, as the user would name it
	Kind        InputKind // what Input is
	CollectedAt time.Time // zero when unknown
	NewestMTime time.Time // newest mtime among Files, zero without files
	Inferred    bool      // host or user is a guess from a directory's or the input's name

	Files  []File  // by store, then layout, then path
	Issues []Issue // what discovery found wrong; store '' for the home itself
}

// File is one file of a store. Where Local is set its bytes can be read there.
type File struct {
	Store  Store
	Path   string // on the source host, with its separators: column source_file
	Rel    string // below the home, always with '/': <file> in texts
	Local  string // where the bytes are now; "" when they are not to be had
	Status Status // Read, or why there is nothing to read
	Note   string // column note

	Size   int64     // bytes; -1 when unknown
	MTime  time.Time // zero when unknown
	SHA256 string    // lower-case hex; "" until someone has hashed the bytes

	// Evidence says that Local is in the input itself: nothing may ever be
	// written beside it. Otherwise it is gander's own copy in scratch.
	Evidence bool
	// Live says that a running Goose may be writing the file.
	Live bool

	WAL     *Companion // sessions.db-wal, nil when there is none
	Journal *Companion // sessions.db-journal, nil when there is none
	// WALMissing says that a write-ahead log or journal was seen beside the
	// database and cannot be had, because the collector did not collect it or
	// it cannot be opened (Note tells): the database is partial.
	WALMissing bool
	// Cut says that an archive was damaged within the file or its companion
	// (Note tells): Local holds the beginning, and the file is partial.
	Cut bool
}

// Bytes returns what the file and its companions weigh; unknown sizes count as 0.
func (f *File) Bytes() int64 {
	n := max(f.Size, 0)
	for _, c := range []*Companion{f.WAL, f.Journal} {
		if c != nil {
			n += max(c.Size, 0)
		}
	}
	return n
}

// Companion is a file that belongs to a database.
type Companion struct {
	Local  string
	Size   int64
	MTime  time.Time
	SHA256 string
}

// Issue is a finding about a home or a file that no record carries.
type Issue struct {
	Store   Store  // "" for the home itself
	Code    string // issues.code
	Message string
	Path    string // source_file; "" for the home itself
}
