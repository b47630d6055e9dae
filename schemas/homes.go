package schemas

// Homes has a row per home directory found, superseded ones included.
var Homes = &Table{
	Name: "homes",
	Doc:  "A row per home directory that an input holds.",
	Columns: []Column{
		{"host", Text, "Host the home was on: collection.json, the path above the home, --host, or the input's name."},
		{"user", Text, "User the home belongs to: the manifest, the path, --user, or the directory's name."},
		{"home_path", Text, "Path of the home on its host, as far as the input tells."},
		{"layout", Text, "Layouts found, joined by '+': xdg, windows, macos_library, path_root."},
		{"input", Text, "The INPUT (or the archive inside it) that the home came from."},
		{"input_kind", Text, "collection, tree or live."},
		{"collected_at", Time, "When the collector finished; NULL for a tree, the time of the run for live."},
		{"inferred", Bool, "True where host or user is a guess from a directory's or the input's name."},
		{"superseded_by", Text, "The input that was read instead, where the same home came more than once; else NULL."},
	},
}
