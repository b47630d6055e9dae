package extract

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"regexp"
	"slices"
	"strings"

	"gander/extract/internal/homefs"
)

// maxIDPart bounds host and user within a home_id, in bytes, so that
// "home_id=<id>" fits into the 255 bytes of a file name. What is cut off still
// counts in the hash.
const maxIDPart = 110

// HomeID gives the hive key of a home: <host>-<user>-<h8>, where characters
// outside [A-Za-z0-9._] of host and user are '_' and h8 is the first 8 hex
// digits of SHA-256(host, NUL, home_path).
func HomeID(host, user, homePath string) string {
	sum := sha256.Sum256([]byte(host + "\x00" + homePath))
	return idPart(host) + "-" + idPart(user) + "-" + hex.EncodeToString(sum[:4])
}

func idPart(s string) string {
	var b strings.Builder
	for _, r := range s { // an invalid byte is one U+FFFD
		switch {
		case b.Len() == maxIDPart:
			return b.String()
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_':
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	if b.Len() == 0 {
		return "_"
	}
	return b.String()
}

// identity is who a home belonged to and where it stood.
type identity struct {
	host, user, path         string
	hostGuessed, userGuessed bool
}

// homePart is a part of a path that is a user's home directory: home/<user>,
// Users/<user>, root or var/root at parts[at:end].
type homePart struct {
	at, end int
	user    string
}

// homeParts finds every home part, outermost first. They do not overlap.
func homeParts(parts []string) []homePart {
	var found []homePart
	for i := 0; i < len(parts); i++ {
		switch two := i+1 < len(parts); {
		case two && (parts[i] == "home" || parts[i] == "Users"):
			found = append(found, homePart{i, i + 2, parts[i+1]})
			i++
		case two && parts[i] == "var" && parts[i+1] == "root":
			found = append(found, homePart{i, i + 2, "root"})
			i++
		case parts[i] == "root":
			found = append(found, homePart{i, i + 1, "root"})
		}
	}
	return found
}

// place is where a tree came from, as far as names are taken from it.
type place struct {
	name string   // the input's base name, without archive suffix
	abs  []string // components of the input's absolute path; nil for archives
}

// identify names the home at dir of a tree.
//
// The home part is looked for below the input and, when there is none, in the
// whole path of an input that is a directory. A home nested in another one is
// named by the innermost home part; a path_root home lies somewhere in a user's
// home and is named by the outermost.
func identify(at place, dir string, found []Layout) identity {
	below := homefs.Split(dir)
	parts, hps := below, homeParts(below)
	if len(hps) == 0 && at.abs != nil {
		whole := slices.Concat(at.abs, below)
		if hps = homeParts(whole); len(hps) > 0 {
			parts = whole
		}
	}
	isWindows := slices.Contains(found, Windows)

	if len(hps) == 0 {
		id := identity{host: at.name, user: at.name, hostGuessed: true, userGuessed: true}
		if len(below) > 0 {
			id.user = below[len(below)-1]
		}
		if id.path = "/" + strings.Join(below, "/"); isWindows {
			id.path = `C:\Users\` + id.user
		}
		return id
	}

	hp := hps[len(hps)-1]
	if slices.Equal(found, []Layout{PathRoot}) {
		hp = hps[0]
	}
	above, drive := parts[:hp.at], ""
	if parts[hp.at] == "Users" && len(above) > 0 && homefs.IsDrive(above[len(above)-1]) {
		drive = strings.ToUpper(above[len(above)-1])
		above = above[:len(above)-1]
	}
	id := identity{host: at.name, user: hp.user, hostGuessed: true}
	if len(above) > 0 {
		id.host, id.hostGuessed = above[len(above)-1], false
	}
	tail := parts[hp.end:]
	switch {
	case drive != "", isWindows && (parts[hp.at] == "Users" || len(found) == 1):
		if drive == "" {
			drive = "C"
		}
		id.path = strings.Join(slices.Concat([]string{drive + ":", "Users", hp.user}, tail), `\`)
	default:
		id.path = "/" + strings.Join(parts[hp.at:], "/")
	}
	return id
}

// isWindowsPath reports whether a path is written the Windows way.
func isWindowsPath(p string) bool {
	return homefs.HasDrive(p) || strings.HasPrefix(p, `\\`)
}

// sourcePath gives the path on the source host of what lies at rel below a home.
func sourcePath(home, rel string) string {
	switch {
	case rel == "" || rel == ".":
		return home
	case isWindowsPath(home):
		return strings.TrimSuffix(home, `\`) + `\` + strings.ReplaceAll(rel, "/", `\`)
	default:
		return strings.TrimSuffix(home, "/") + "/" + rel
	}
}

// archiveSuffixes are cut off an archive's name to name what is in it.
var archiveSuffixes = []string{".tar.gz", ".tar.zst", ".tar.zstd", ".tgz", ".tzst", ".tar", ".zip"}

// collectorName matches the names that the collector gives its archives.
var collectorName = regexp.MustCompile(`^(.+)_\d{8}T\d{6}Z_agent-artifacts$`)

// inputName gives the base name of an input without its archive suffix.
func inputName(input string) string {
	base := path.Base(strings.ReplaceAll(input, `\`, "/"))
	lower := strings.ToLower(base)
	for _, s := range archiveSuffixes {
		if strings.HasSuffix(lower, s) && len(lower) > len(s) {
			return base[:len(base)-len(s)]
		}
	}
	return base
}

// collectionHost guesses a collection's host from its name.
func collectionHost(name string) string {
	if m := collectorName.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return name
}
