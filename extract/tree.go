package extract

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"

	"gander/extract/internal/homefs"
)

// site is a directory of a tree that is something to gander.
type site struct {
	dir     string
	layouts []Layout // of a home
}

// survey is what a walk through a tree finds. Each list is in the order of
// paths, components compared one by one.
type survey struct {
	homes       []site
	collections []string // directories that are collections; nothing in them is listed here
	files       []string // regular files outside of every home
	unlisted    []unlistedDir
}

type unlistedDir struct {
	dir string
	err error
}

// surveyor walks a tree. Every directory is listed, since homes nest and may
// stand anywhere, but nothing is stat'ed except what may make a home.
type surveyor struct {
	tree homefs.Tree
	// isCollection judges a directory by its listing; nil finds none.
	isCollection func(dir string, entries []homefs.Entry) bool
	// wantFiles asks for survey.files.
	wantFiles bool
	// inGoose says that the tree itself lies in a directory of Goose.
	inGoose bool

	mu    sync.Mutex
	found survey
}

// walkJob is a directory that is yet to be listed.
type walkJob struct {
	dir     string
	inHome  bool
	inGoose bool
}

// walkers bounds how many directories are listed at a time: more than there
// are processors, since a cold disk or a network share answers slowly.
func walkers() int { return min(4*runtime.GOMAXPROCS(0), 32) }

// walk surveys the tree.
func (s *surveyor) walk(ctx context.Context) (survey, error) {
	var (
		mu    sync.Mutex
		wake  = sync.NewCond(&mu)
		stack = []walkJob{{dir: ".", inGoose: s.inGoose}}
		busy  int
		wg    sync.WaitGroup
	)
	for range walkers() {
		wg.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			for {
				for len(stack) == 0 && busy > 0 {
					wake.Wait()
				}
				if len(stack) == 0 || ctx.Err() != nil {
					stack = nil
					wake.Broadcast()
					return
				}
				job := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				busy++
				mu.Unlock()
				next := s.visit(job)
				mu.Lock()
				busy--
				if ctx.Err() == nil {
					stack = append(stack, next...)
				}
				if len(stack) > 0 || busy == 0 {
					wake.Broadcast()
				}
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return survey{}, err
	}
	f := &s.found
	slices.SortFunc(f.homes, func(a, b site) int { return comparePaths(a.dir, b.dir) })
	slices.SortFunc(f.collections, comparePaths)
	slices.SortFunc(f.files, comparePaths)
	slices.SortFunc(f.unlisted, func(a, b unlistedDir) int { return comparePaths(a.dir, b.dir) })
	return *f, nil
}

// comparePaths orders paths component by component, so that a directory comes
// before what is in it and nothing comes in between.
func comparePaths(a, b string) int {
	if a == "." || b == "." {
		return strings.Compare(strings.TrimPrefix(a, "."), strings.TrimPrefix(b, "."))
	}
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			continue
		}
		switch {
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		}
		return cmp.Compare(a[i], b[i])
	}
	return cmp.Compare(len(a), len(b))
}

// visit lists one directory and returns the directories in it.
func (s *surveyor) visit(job walkJob) []walkJob {
	entries, err := s.tree.ReadDir(job.dir)
	if err != nil {
		s.mu.Lock()
		s.found.unlisted = append(s.found.unlisted, unlistedDir{job.dir, err})
		s.mu.Unlock()
	}
	if s.isCollection != nil && s.isCollection(job.dir, entries) {
		s.mu.Lock()
		s.found.collections = append(s.found.collections, job.dir)
		s.mu.Unlock()
		return nil
	}
	layouts := detectLayouts(s.tree, job.dir, entries, job.inGoose)
	if len(layouts) > 0 {
		job.inHome = true
		s.mu.Lock()
		s.found.homes = append(s.found.homes, site{job.dir, layouts})
		s.mu.Unlock()
	}
	var next []walkJob
	var files []string
	for _, e := range entries {
		name := homefs.Join(job.dir, e.Name)
		switch {
		case e.Kind == homefs.Dir:
			next = append(next, walkJob{name, job.inHome, job.inGoose || e.Name == "goose" && isGooseDir(name)})
		case e.Kind == homefs.Regular && s.wantFiles && !job.inHome:
			files = append(files, name)
		}
	}
	if files != nil {
		s.mu.Lock()
		s.found.files = append(s.found.files, files...)
		s.mu.Unlock()
	}
	return next
}

// detectLayouts tells the layouts that make a directory a home, given its
// listing. inGoose says that the directory is inside one of gooseDirs.
func detectLayouts(t homefs.Tree, dir string, entries []homefs.Entry, inGoose bool) []Layout {
	var found []Layout
	for _, g := range gooseDirs {
		first, _, _ := strings.Cut(g.dir, "/")
		if e, ok := homefs.Find(entries, first); !ok || e.Kind != homefs.Dir && e.Kind != homefs.Link {
			continue
		}
		if !slices.Contains(found, g.layout) && hasDir(t, dir, g.dir) {
			found = append(found, g.layout)
		}
	}
	if !inGoose && isPathRoot(t, dir, entries) {
		found = append(found, PathRoot)
	}
	return found
}

// inHome resolves a path below a home; ok is false when it leads out of it.
func inHome(t homefs.Tree, home, rel string) (resolved string, info homefs.Info, err error) {
	// Absolute targets are not looked at: they matter once the home has a path.
	resolved, info, err = homefs.Resolve(t, homefs.Join(home, rel), func(string) (string, bool) { return "", false })
	if err == nil && !homefs.Within(home, resolved) {
		err = homefs.ErrOutside
	}
	return resolved, info, err
}

// hasDir reports whether a home has a directory of Goose. A link in its place
// counts unless it leads nowhere: where it leads is judged when it is read.
func hasDir(t homefs.Tree, home, rel string) bool {
	_, info, err := inHome(t, home, rel)
	if errors.Is(err, homefs.ErrOutside) || errors.Is(err, homefs.ErrLoop) {
		above, name := rel[:strings.LastIndexByte(rel, '/')], rel[strings.LastIndexByte(rel, '/')+1:]
		parent, _, perr := inHome(t, home, above)
		if perr != nil {
			return false
		}
		own, lerr := t.Lstat(homefs.Join(parent, name))
		return lerr == nil && own.Kind == homefs.Link
	}
	return err == nil && (info.Kind == homefs.Dir || info.Ref != nil)
}

// isPathRoot reports whether a directory holds what only a GOOSE_PATH_ROOT
// directory holds.
func isPathRoot(t homefs.Tree, dir string, entries []homefs.Entry) bool {
	has := func(role string, names ...string) bool {
		if !holdsDir(entries, role) {
			return false
		}
		for _, name := range names {
			if _, _, err := inHome(t, dir, role+"/"+name); err == nil {
				return true
			}
		}
		return false
	}
	lists := func(role, sub string, match func(string) bool) bool {
		if !holdsDir(entries, role) {
			return false
		}
		resolved, info, err := inHome(t, dir, role+"/"+sub)
		if err != nil || info.Kind != homefs.Dir {
			return false
		}
		names, _ := t.ReadDir(resolved)
		return slices.ContainsFunc(names, func(e homefs.Entry) bool { return match(e.Name) })
	}
	return has("data", "sessions/"+databaseName, "schedule.json") ||
		has("state", "history.txt") ||
		has("config", "permission.yaml", "roaming_trust.json") ||
		lists("data", "sessions", func(n string) bool { return strings.HasSuffix(n, ".jsonl") }) ||
		lists("state", "logs", isRequestLog)
}

func holdsDir(entries []homefs.Entry, name string) bool {
	e, ok := homefs.Find(entries, name)
	return ok && (e.Kind == homefs.Dir || e.Kind == homefs.Link)
}

// treeSource is a tree with homes in it, as one input or as a part of one.
type treeSource struct {
	tree     homefs.Tree
	at       place
	input    string // Home.Input
	root     string // where the tree is on this machine, "" for an archive
	evidence bool
	// host and user are those that the user of gander gave, "" for none.
	host, user string
}

// homes describes the homes that a survey found.
func (src *treeSource) homes(ctx context.Context, s survey) ([]Home, []Issue, error) {
	homes := make([]Home, len(s.homes))
	lists := make([]*lister, len(s.homes))
	err := parallel(ctx, len(s.homes), func(i int) error {
		st := s.homes[i]
		id := identify(src.at, st.dir, st.layouts)
		if src.host != "" {
			id.host, id.hostGuessed = src.host, false
		}
		if src.user != "" {
			id.user, id.userGuessed = src.user, false
		}
		homes[i] = Home{
			ID: HomeID(id.host, id.user, id.path), Host: id.host, User: id.user, Path: id.path,
			Layouts: st.layouts, Input: src.input, Kind: Tree, Inferred: id.hostGuessed || id.userGuessed,
		}
		lists[i] = newLister(src.tree, st.dir, id.path, st.layouts, src.root)
		lists[i].list()
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	innermost(lists)
	var loose []Issue
	for _, u := range s.unlisted {
		at := innermostSite(s.homes, u.dir)
		if at < 0 {
			loose = append(loose, unreadableDirectory(homefs.Join(src.input, u.dir), u.err))
		} else if path := lists[at].path(u.dir); !hasIssueAt(lists[at].issues, path) {
			homes[at].Issues = append(homes[at].Issues, unreadableDirectory(path, u.err))
		}
	}
	for i := range homes {
		homes[i].take(lists[i], src.evidence)
	}
	return homes, loose, nil
}

// innermostSite gives the index of the innermost site that a path lies in, -1
// for none. Sites are in the order of paths, so that inner ones come later.
func innermostSite(sites []site, name string) int {
	for i, st := range slices.Backward(sites) {
		if homefs.Within(st.dir, name) {
			return i
		}
	}
	return -1
}

func hasIssueAt(issues []Issue, path string) bool {
	return slices.ContainsFunc(issues, func(is Issue) bool { return is.Path == path })
}

// innermost leaves a file that links bring into several homes to the innermost
// of those that hold it in their own directories, else to the first.
func innermost(lists []*lister) {
	type owner struct {
		list   int
		direct bool
	}
	owners := make(map[string]owner)
	for i, l := range lists {
		for _, f := range l.files {
			if f.resolved == "" {
				continue
			}
			direct := f.resolved == f.name
			if o, ok := owners[f.resolved]; !ok || direct && (!o.direct || len(l.dir) > len(lists[o.list].dir)) {
				owners[f.resolved] = owner{i, direct}
			}
		}
	}
	for i, l := range lists {
		l.files = slices.DeleteFunc(l.files, func(f found) bool {
			return f.resolved != "" && owners[f.resolved].list != i
		})
	}
}

// take fills in a home's files from their listing.
func (h *Home) take(l *lister, evidence bool) {
	h.Issues = append(h.Issues, l.issues...)
	for _, f := range l.files {
		f.Evidence = evidence
		h.Files = append(h.Files, f.File)
		if f.MTime.After(h.NewestMTime) {
			h.NewestMTime = f.MTime
		}
		for _, c := range []*Companion{f.WAL, f.Journal} {
			if c != nil && c.MTime.After(h.NewestMTime) {
				h.NewestMTime = c.MTime
			}
		}
	}
}
