package extract

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gander/extract/internal/homefs"
)

// Names at the root of a collection.
const (
	manifestName   = "manifest.jsonl"
	collectionName = "collection.json"
	fsName         = "fs"
)

const (
	// maxManifestLine bounds a line of a manifest, in bytes. Lines of the
	// collector are below 10 KiB: two paths and some numbers.
	maxManifestLine = 1 << 20
	// maxManifestRows bounds the lines about store files that are kept, about
	// 1 KiB each. 1,000 homes with 100 files each make a tenth of it.
	maxManifestRows = 1_000_000
	// maxCollectionJSON bounds collection.json, in bytes.
	maxCollectionJSON = 16 << 20
	// maxIssues bounds the issues of one kind that an archive or a manifest can
	// raise; one more counts the rest.
	maxIssues = 100
)

// manifestRow is a line of a manifest about a store file, or about something
// that stands in the way to one.
type manifestRow struct {
	at       string // path below fs/
	user     string
	home     string
	path     string // on the source host
	size     int64  // -1 when unknown
	mtime    time.Time
	sha256   string
	status   string
	errText  string
	interest interest
}

// Statuses of the collector.
const collected = "collected"

// fate tells what a manifest line says of a file that is not in the collection.
func (r *manifestRow) fate() (Status, string) {
	switch r.status {
	case collected:
		return Missing, "collected, but not in the collection"
	case "skipped_size":
		return SkippedSize, r.errText
	case "skipped_secret":
		return SkippedSecret, r.errText
	case "error_copy", "error_read":
		if r.errText != "" {
			return Missing, r.status + ": " + r.errText
		}
	case "":
		return Missing, "without a status"
	}
	return Missing, r.status
}

// manifestHome is a home that a manifest names.
type manifestHome struct {
	at   string // path below fs/
	home string
	user string
}

// manifest is what gander keeps of a manifest.jsonl.
type manifest struct {
	rows   map[string]*manifestRow // by path below fs/
	homes  []manifestHome          // each once, in the order of the lines
	lines  int                     // good lines
	issues issueList
}

// readManifest reads a manifest to its end. Bad lines and a reading error are
// issues: what could be read counts.
func readManifest(ctx context.Context, r io.Reader) (*manifest, error) {
	m := &manifest{rows: make(map[string]*manifestRow)}
	seen := make(map[string]int)
	br := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		line, err := readLine(br)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if line = bytes.TrimSpace(line); len(line) > 0 || errors.Is(err, errLongLine) {
			bad := err
			if !errors.Is(err, errLongLine) {
				bad = m.add(line, seen)
			}
			if bad != nil {
				m.issues.add(Issue{
					Code: "bad_manifest_line", Path: manifestName,
					Message: fmt.Sprintf("%s line %d was left out: %v", manifestName, n, bad),
				})
			}
		}
		switch {
		case err == nil, errors.Is(err, errLongLine):
		case errors.Is(err, io.EOF):
			return m, nil
		default:
			m.issues.add(Issue{
				Code: "bad_manifest_line", Path: manifestName,
				Message: fmt.Sprintf("%s could not be read after line %d: %v", manifestName, n, err),
			})
			return m, nil
		}
	}
}

var errLongLine = fmt.Errorf("longer than %d bytes", maxManifestLine)

// readLine reads a line without keeping more than maxManifestLine bytes of it.
// The error is that of the reader, or errLongLine.
func readLine(br *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := br.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxManifestLine; !long {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if long && (err == nil || err == io.EOF) {
			// At the end of the file the next call reports the end.
			return nil, errLongLine
		}
		return line, err
	}
}

func (m *manifest) add(line []byte, seen map[string]int) error {
	var v struct {
		User        string          `json:"user"`
		Home        string          `json:"home"`
		Path        string          `json:"path"`
		ArchivePath string          `json:"archive_path"`
		Size        json.RawMessage `json:"size"`
		MTime       json.RawMessage `json:"mtime"`
		SHA256      string          `json:"sha256"`
		Status      string          `json:"status"`
		Error       string          `json:"error"`
	}
	if line[0] != '{' {
		return errors.New("not a JSON object")
	}
	if err := json.Unmarshal(line, &v); err != nil {
		return err
	}
	if v.Path == "" && v.ArchivePath == "" {
		return errors.New("it names no path")
	}
	m.lines++
	if home := fsPath(v.Home); home != "" {
		i, ok := seen[home]
		if !ok {
			i = len(m.homes)
			seen[home] = i
			m.homes = append(m.homes, manifestHome{home, trimHome(v.Home), v.User})
		}
		if m.homes[i].user == "" {
			m.homes[i].user = v.User
		}
	}
	at := fsPath(v.Path)
	if v.ArchivePath != "" {
		p, err := homefs.Clean(strings.ReplaceAll(v.ArchivePath, `\`, "/"))
		if err != nil {
			return fmt.Errorf("archive_path: %w", err)
		}
		rest, ok := strings.CutPrefix(p, fsName+"/")
		if !ok {
			return nil // not of the collected files
		}
		at = rest
	}
	kind := interestIn(at)
	if source := fsPath(v.Path); kind == noInterest && interestIn(source) != noInterest {
		// The file lies where no store is looked for: it is missing where it
		// should be, and that is said.
		at, kind = source, interestIn(source)
	}
	if at == "" || kind == noInterest || kind == waypoint && v.Status == collected {
		return nil
	}
	if old := m.rows[at]; old != nil && (old.status == collected || v.Status != collected) {
		return nil
	}
	if len(m.rows) >= maxManifestRows {
		return fmt.Errorf("more than %d lines about files of Goose", maxManifestRows)
	}
	m.rows[at] = &manifestRow{
		at: at, user: v.User, home: v.Home, path: v.Path,
		size: jsonSize(v.Size), mtime: jsonTime(v.MTime),
		sha256: strings.ToLower(strings.TrimSpace(v.SHA256)), status: v.Status, errText: v.Error,
		interest: kind,
	}
	return nil
}

// fsPath gives the path below fs/ at which the collector keeps a path of the
// source host: /home/alice is home/alice, C:\Users\carol is C/Users/carol.
func fsPath(source string) string {
	if source == "" {
		return ""
	}
	if isWindowsPath(source) {
		source = strings.ReplaceAll(source, `\`, "/")
	}
	p, err := homefs.Clean(source)
	if err != nil {
		return ""
	}
	return p
}

// trimHome drops a separator at the end of a home's path.
func trimHome(home string) string {
	if t := strings.TrimRight(home, `/\`); t != "" && !strings.HasSuffix(t, ":") {
		return t
	}
	return home
}

func jsonSize(raw json.RawMessage) int64 {
	if n, err := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 64); err == nil && n >= 0 {
		return n
	}
	return -1
}

// jsonTime reads a Unix time in seconds, with or without a fraction, or a text
// as of RFC 3339. Anything else, 0 and below is no time.
func jsonTime(raw json.RawMessage) time.Time {
	text := strings.Trim(string(raw), `"`)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return unixTime(n, 0)
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		whole, frac := math.Modf(f)
		if math.IsNaN(f) || whole > 1e11 {
			return time.Time{}
		}
		// Microseconds are all that a float64 of today's seconds carries.
		return unixTime(int64(whole), int64(math.Round(frac*1e6))*1000)
	}
	return textTime(text)
}

func unixTime(sec, nsec int64) time.Time {
	if sec > 10_000_000_000 { // milliseconds
		sec, nsec = sec/1000, sec%1000*1_000_000
	}
	if sec <= 0 || sec > 10_000_000_000 {
		return time.Time{}
	}
	return time.Unix(sec, nsec).UTC() // Open drops what is out of range, with an issue
}

// textTime reads a time as RFC 3339 writes it, with a space for the T and
// without a zone (UTC) as well; zero when it is none.
func textTime(s string) time.Time {
	s = strings.Replace(strings.TrimSpace(s), " ", "T", 1)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04:05.999999999Z0700"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// collectionMeta is what gander keeps of a collection.json.
type collectionMeta struct {
	hostname string
	finished time.Time
	valid    bool // it is a JSON object that names a host
	issues   []Issue
}

func readCollectionMeta(r io.Reader) *collectionMeta {
	m := &collectionMeta{}
	bad := func(format string, args ...any) {
		m.issues = append(m.issues, Issue{
			Code: "bad_collection_json", Path: collectionName,
			Message: collectionName + ": " + fmt.Sprintf(format, args...),
		})
	}
	data, err := io.ReadAll(io.LimitReader(r, maxCollectionJSON+1))
	if err != nil {
		bad("%v", err)
		return m
	}
	if len(data) > maxCollectionJSON {
		bad("larger than %d bytes", maxCollectionJSON)
		return m
	}
	var v struct {
		Hostname json.RawMessage `json:"hostname"`
		Finished json.RawMessage `json:"finished"`
	}
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &v); err != nil {
		bad("%v", err)
		return m
	}
	if json.Unmarshal(v.Hostname, &m.hostname) != nil || m.hostname == "" {
		bad("it names no hostname")
	}
	m.valid = m.hostname != ""
	if m.finished = jsonTime(v.Finished); m.finished.IsZero() {
		bad("it tells no time at which the collector finished")
	}
	return m
}

// looksLikeCollection judges a directory by its listing: manifest.jsonl, fs/
// and collection.json make a collection. Where one of the three is missing, as
// when an archive was cut, verify looks at what the others say.
func looksLikeCollection(entries []homefs.Entry, verify func(hasManifest, hasMeta bool) bool) bool {
	is := func(name string, kind homefs.Kind) bool {
		e, ok := homefs.Find(entries, name)
		return ok && e.Kind == kind
	}
	files := is(fsName, homefs.Dir)
	hasManifest, hasMeta := is(manifestName, homefs.Regular), is(collectionName, homefs.Regular)
	switch {
	case files && hasManifest && hasMeta:
		return true
	case files && (hasManifest || hasMeta), hasManifest && hasMeta:
		return verify(hasManifest, hasMeta)
	}
	return false
}

// collectionSource is a collection as one input or as a part of one.
type collectionSource struct {
	tree     homefs.Tree     // of what lies below fs/
	manifest *manifest       // nil when there is none
	meta     *collectionMeta // nil when there is none
	input    string          // Home.Input
	name     string          // the input's base name, without archive suffix
	root     string          // where fs/ is on this machine, "" for an archive
	evidence bool
	// check asks for the files' hashes to be compared with the manifest.
	check bool
}

// homes describes the homes of a collection: those that its manifest names,
// path_root directories, and whatever else holds stores of Goose.
func (src *collectionSource) homes(ctx context.Context) ([]Home, []Issue, error) {
	m := src.manifest
	if m == nil {
		m = &manifest{}
	}
	tree := homefs.Overlay{Over: src.tree, Under: m.notCollected(src.tree)}
	s, err := (&surveyor{tree: tree}).walk(ctx)
	if err != nil {
		return nil, nil, err
	}
	walked := slices.Clone(s.homes)
	for _, h := range m.homes {
		if _, ok := slices.BinarySearchFunc(walked, h.at, func(st site, at string) int { return comparePaths(st.dir, at) }); !ok {
			s.homes = append(s.homes, site{dir: h.at})
		}
	}
	slices.SortFunc(s.homes, func(a, b site) int { return comparePaths(a.dir, b.dir) })

	host, hostGuessed := collectionHost(src.name), true
	var finished time.Time
	var shared []Issue
	if src.meta != nil {
		finished, shared = src.meta.finished, src.meta.issues
		if src.meta.valid {
			host, hostGuessed = src.meta.hostname, false
		}
	} else {
		shared = append(shared, Issue{
			Code: "bad_collection_json", Path: collectionName,
			Message: "the collection has no " + collectionName + ": host and time are not known",
		})
	}
	if src.manifest == nil {
		shared = append(shared, Issue{
			Code: "manifest_missing", Path: manifestName,
			Message: "the collection has no " + manifestName + ": nothing tells what it should hold",
		})
	}
	shared = append(shared, m.issues.list()...)

	homes := make([]Home, len(s.homes))
	lists := make([]*lister, len(s.homes))
	err = parallel(ctx, len(s.homes), func(i int) error {
		st := s.homes[i]
		user, path, guessed := src.owner(m, st)
		homes[i] = Home{
			ID: HomeID(host, user, path), Host: host, User: user, Path: path,
			Layouts: st.layouts, Input: src.input, Kind: Collection,
			CollectedAt: finished, Inferred: hostGuessed || guessed,
		}
		l := newLister(tree, st.dir, path, st.layouts, src.root)
		l.path = func(name string) string {
			if r := m.rows[name]; r != nil && r.path != "" {
				return r.path
			}
			return sourcePath(path, homefs.Below(st.dir, name))
		}
		l.list()
		lists[i] = l
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	innermost(lists)
	err = parallel(ctx, len(lists), func(i int) error { return src.compare(ctx, m, s.homes[i], lists[i]) })
	if err != nil {
		return nil, nil, err
	}
	var loose []Issue
	for _, u := range s.unlisted {
		at := innermostSite(s.homes, u.dir)
		if at < 0 {
			loose = append(loose, unreadableDirectory(homefs.Join(src.input, fsName, u.dir), u.err))
		} else if path := lists[at].path(u.dir); !hasIssueAt(lists[at].issues, path) {
			homes[at].Issues = append(homes[at].Issues, unreadableDirectory(path, u.err))
		}
	}
	for i := range homes {
		homes[i].take(lists[i], src.evidence)
	}
	if len(homes) == 0 {
		return nil, append(loose, shared...), nil
	}
	// What concerns the collection as a whole is said once.
	homes[0].Issues = slices.Concat(shared, homes[0].Issues)
	return homes, loose, nil
}

// notCollected is the tree of what the manifest knows and the collection lacks.
func (m *manifest) notCollected(t homefs.Tree) *homefs.Mem {
	mem := homefs.NewMem()
	for _, at := range slices.Sorted(maps.Keys(m.rows)) {
		r := m.rows[at]
		if _, err := t.Lstat(at); err == nil {
			continue
		}
		info := homefs.Info{Kind: homefs.Regular, Size: r.size, MTime: r.mtime, Ref: r}
		// A line about what stands in another line's way adds nothing.
		_ = mem.Put(at, info, "")
	}
	return mem
}

// owner tells whose home a directory below fs/ is, and its path on the host.
func (src *collectionSource) owner(m *manifest, st site) (user, path string, guessed bool) {
	path = "/" + st.dir
	if st.dir == "." {
		path = "/"
	}
	if drive, rest, _ := strings.Cut(st.dir, "/"); homefs.IsDrive(drive) && m.hasWindowsPaths(rest) {
		path = drive + `:\` + strings.ReplaceAll(rest, "/", `\`)
	}
	for _, h := range m.homes {
		if h.at == st.dir {
			user, path = h.user, h.home
		}
	}
	if user == "" {
		var at string // the least path, for a steady choice
		for name, r := range m.rows {
			if homefs.Within(st.dir, name) && r.user != "" && (at == "" || name < at) {
				at, user = name, r.user
			}
		}
	}
	if user == "" {
		id := identify(place{name: src.name}, st.dir, st.layouts)
		user, guessed = id.user, id.userGuessed
	}
	return user, path, guessed
}

// hasWindowsPaths reports whether the collection is of a Windows machine, as
// far as its homes and lines tell; without any, rest decides, the path below
// the drive.
func (m *manifest) hasWindowsPaths(rest string) bool {
	for _, h := range m.homes {
		return isWindowsPath(h.home)
	}
	for _, r := range m.rows {
		return isWindowsPath(r.path)
	}
	return strings.HasPrefix(rest, "Users/")
}

// compare holds the files of a home against the manifest.
func (src *collectionSource) compare(ctx context.Context, m *manifest, st site, l *lister) error {
	for i := range l.files {
		f := &l.files[i]
		issue := func(code, path, format string, args ...any) {
			l.issues = append(l.issues, Issue{Store: f.Store, Code: code, Path: path, Message: fmt.Sprintf(format, args...)})
		}
		if r, ok := f.ref.(*manifestRow); ok {
			if r.status == collected {
				issue("member_missing", f.Path, "%s was collected and is not in the collection", f.Path)
			}
			f.resolved = "" // there are no bytes
		}
		if f.resolved != "" {
			c := Companion{f.Local, f.Size, f.MTime, f.SHA256}
			r, err := src.compareOne(ctx, m, f.resolved, f.Path, &c, f.Status != NotRead, issue)
			if err != nil {
				return err
			}
			f.MTime, f.SHA256 = c.MTime, c.SHA256
			if r != nil && r.status != collected {
				f.addNote("the manifest says " + cmpStatus(r))
			}
			if r != nil && foreignHome(st, r) {
				issue("home_mismatch", f.Path, "the manifest gives %s to the home %s, it lies in another", f.Path, r.home)
			}
		}
		for _, c := range []struct {
			file *Companion
			at   string
		}{{f.WAL, f.wal}, {f.Journal, f.journal}} {
			if c.file == nil || c.at == "" {
				continue
			}
			if _, err := src.compareOne(ctx, m, c.at, l.path(c.at), c.file, true, issue); err != nil {
				return err
			}
		}
	}
	return nil
}

func cmpStatus(r *manifestRow) string {
	if r.status == "" {
		return "nothing of its status"
	}
	return r.status
}

// foreignHome reports whether a manifest line gives a file of a user's home to
// a home that it does not lie in. A path_root directory belongs to whomever the
// manifest says.
func foreignHome(st site, r *manifestRow) bool {
	if slices.Equal(st.layouts, []Layout{PathRoot}) {
		return false
	}
	at := fsPath(r.home)
	return at != "" && !homefs.Within(at, st.dir)
}

// compareOne holds one file against its line, which it returns.
func (src *collectionSource) compareOne(ctx context.Context, m *manifest, at, path string, c *Companion, hash bool,
	issue func(code, path, format string, args ...any),
) (*manifestRow, error) {
	r := m.rows[at]
	if r == nil {
		if src.manifest != nil {
			issue("not_in_manifest", path, "the manifest does not name %s", path)
		}
		return nil, nil
	}
	if !r.mtime.IsZero() {
		c.MTime = r.mtime
	}
	if !src.check || !hash || c.Local == "" {
		return r, nil
	}
	if r.sha256 == "" {
		if r.size >= 0 && r.size != c.Size {
			issue("size_mismatch", path, "%s has %d bytes, the manifest says %d", path, c.Size, r.size)
		}
		return r, nil
	}
	if c.SHA256 == "" {
		sum, err := hashFile(ctx, c.Local)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			issue("hash_mismatch", path, "the hash of %s could not be computed: %v", path, err)
			return r, nil
		}
		c.SHA256 = sum
	}
	if c.SHA256 != r.sha256 {
		issue("hash_mismatch", path, "SHA-256 of %s is %s, the manifest says %s", path, c.SHA256, r.sha256)
	}
	return r, nil
}
