package extract

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"gander/extract/internal/homefs"
	"gander/schemas/fault"
)

// Options say how inputs are opened. The zero value lists and opens trees and
// directories of collections.
type Options struct {
	// Scratch is where archives are unpacked, in a directory of its own that
	// Opened.Close removes. It is made when it is first needed.
	Scratch string
	// Warehouse is where the run will write. Open refuses inputs inside it, and
	// an input that it is inside of; the same goes for Scratch.
	Warehouse string
	// Host and User override what the paths of trees and the live home say.
	Host, User string
	// Live adds this machine's own home, as the last input.
	Live bool
	// MaxScratchBytes bounds what is unpacked from all archives together, in
	// blocks of 4 KiB; 0 stands for DefaultMaxScratchBytes. A member that does
	// not fit is refused, the rest is read.
	MaxScratchBytes int64
	// Progress, where set, is told how far the reading of archives is. It is
	// called by one goroutine at a time.
	Progress func(Progress)
	// Machine replaces what Live learns from this machine, for tests.
	Machine Machine
}

// Progress tells how far the reading of one archive is.
type Progress struct {
	Input string // the archive, as Home.Input
	Read  int64  // bytes of its file read, above Size where it is read twice
	Size  int64  // bytes of its file
	Done  bool
}

// Opened is what inputs hold.
type Opened struct {
	// Homes are the homes to be read, each home_id once, in the order of the
	// inputs and of the paths in them.
	Homes []Home
	// Superseded are copies of Homes that are not to be read.
	Superseded []Superseded
	// InputIssues are findings that no home can carry.
	InputIssues []Issue

	scratch *scratch
}

// Superseded is a copy of a home that gave way to another one.
type Superseded struct {
	Home Home
	By   string // Input of the one that is read
	// LacksStores are the stores of which this copy has a file that the one
	// that is read lacks.
	LacksStores []Store
}

// Close removes what was unpacked. Files of archives are gone after it.
func (o *Opened) Close() error {
	if o == nil || o.scratch == nil {
		return nil
	}
	return o.scratch.close()
}

// Open finds the homes in the inputs and makes their files ready to be read:
// archives are read once, and what is needed of them is unpacked to scratch.
// Each input is a directory, an archive or a collection, recognised by its
// content. The caller closes what is returned.
//
// Damage, refused members and what cannot be listed are issues. Errors are
// fault.Usage for an input that cannot be opened or that overlaps with the
// warehouse, fault.Output for a scratch that cannot be written, or ctx's.
func Open(ctx context.Context, inputs []string, opt Options) (*Opened, error) {
	return open(ctx, inputs, opt, &scratch{parent: opt.Scratch, budget: newBudget(opt.MaxScratchBytes)})
}

// List finds the same homes and files as Open without writing anything and
// without hashing: files in archives have no Local.
func List(ctx context.Context, inputs []string, opt Options) (*Opened, error) {
	opt.Scratch, opt.Warehouse = "", ""
	return open(ctx, inputs, opt, nil)
}

// unit is a part of the inputs that is described on its own.
type unit func(ctx context.Context) ([]Home, []Issue, error)

func open(ctx context.Context, inputs []string, opt Options, sc *scratch) (_ *Opened, err error) {
	if len(inputs) == 0 && !opt.Live {
		return nil, &fault.Error{
			Kind: fault.Usage, Op: "open inputs", Err: errors.New("no input was given"),
			Hint: "Name a collection, an archive or a directory, or use --live.",
		}
	}
	if err := checkOverlap(inputs, opt); err != nil {
		return nil, err
	}
	o := &opener{opt: opt, scratch: sc}
	opened := &Opened{scratch: sc}
	defer func() {
		if err != nil {
			err = errors.Join(err, opened.Close())
		}
	}()
	for _, in := range inputs {
		if err := o.plan(ctx, in); err != nil {
			return nil, err
		}
	}
	if opt.Live {
		o.units = append(o.units, func(context.Context) ([]Home, []Issue, error) {
			return []Home{liveHome(opt)}, nil, nil
		})
	}
	homes := make([][]Home, len(o.units))
	issues := make([][]Issue, len(o.units))
	err = parallel(ctx, len(o.units), func(i int) (err error) {
		homes[i], issues[i], err = o.units[i](ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	opened.InputIssues = slices.Concat(append([][]Issue{o.issues}, issues...)...)
	found := slices.Concat(homes...)
	for i := range found {
		found[i].clean()
	}
	opened.Homes, opened.Superseded = supersede(found)
	return opened, nil
}

// parallel calls f for 0 to n-1, as many at a time as there are processors,
// and returns the first error, or that of ctx when it ended early.
func parallel(ctx context.Context, n int, f func(i int) error) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		if gctx.Err() != nil {
			break
		}
		g.Go(func() error {
			if err := gctx.Err(); err != nil {
				return err
			}
			return f(i)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// opener plans how the inputs are described.
type opener struct {
	opt     Options
	scratch *scratch // nil to list only
	units   []unit
	issues  []Issue

	archives int
	progress sync.Mutex
}

// usage is the error about an input that cannot be opened.
func usage(input string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return &fault.Error{
		Kind: fault.Usage, Op: "open input", Path: input, Err: err,
		Hint: "An input is a collection, a directory, or a tar, tar.gz, tar.zst or zip archive that can be read.",
	}
}

// plan recognises one input and adds the units of what is in it.
func (o *opener) plan(ctx context.Context, input string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	abs, err := filepath.Abs(input)
	if err != nil {
		return usage(input, err)
	}
	fi, err := os.Stat(abs)
	if err != nil {
		return usage(input, err)
	}
	if fi.IsDir() {
		return o.planDir(ctx, input, abs)
	}
	if !fi.Mode().IsRegular() {
		return usage(input, homefs.ErrNotRegular)
	}
	local, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return usage(input, err)
	}
	if _, err := sniffFile(local); err != nil {
		return usage(input, err)
	}
	o.planArchive(local, input, abs, fi.Size(), true)
	return nil
}

func sniffFile(local string) (format, error) {
	f, err := homefs.OpenEvidence(local)
	if err != nil {
		return noArchive, err
	}
	defer f.Close()
	kind := sniff(f)
	if kind == noArchive {
		return noArchive, errNotArchive
	}
	return kind, nil
}

// planArchive adds the unit of an archive. One that was given as an input must
// be possible to open; of one that was come across only by its content, and
// that holds no home, nothing is said at all.
func (o *opener) planArchive(local, input, abs string, size int64, given bool) {
	n := o.archives
	o.archives++
	name := inputName(filepath.ToSlash(abs))
	o.units = append(o.units, func(ctx context.Context) ([]Home, []Issue, error) {
		var out *unpacked
		if o.scratch != nil {
			var err error
			if out, err = o.scratch.archive(n); err != nil {
				return nil, nil, err
			}
		}
		report, done := o.reporter(input, size)
		a, err := readArchive(ctx, local, input, out, report)
		done()
		var fe *fault.Error
		switch {
		case err == nil:
		case ctx.Err() != nil || errors.As(err, &fe):
			return nil, nil, err
		case given:
			return nil, nil, usage(input, err)
		case hasArchiveSuffix(local):
			return nil, []Issue{{
				Code: "archive_damaged", Path: input,
				Message: fmt.Sprintf("%s cannot be opened: %v", input, err),
			}}, nil
		default:
			return nil, nil, nil
		}
		homes, loose, err := a.homes(ctx, name, o.opt.Host, o.opt.User, o.scratch != nil)
		if len(homes) == 0 && !given && !hasArchiveSuffix(local) {
			loose = nil
		}
		return homes, loose, err
	})
}

func hasArchiveSuffix(name string) bool {
	return inputName(filepath.ToSlash(name)) != path.Base(filepath.ToSlash(name))
}

// reporter gives the functions by which the reading of an archive is reported.
func (o *opener) reporter(input string, size int64) (report func(int64), done func()) {
	if o.opt.Progress == nil {
		return nil, func() {}
	}
	p := Progress{Input: input, Size: size}
	send := func() {
		o.progress.Lock()
		defer o.progress.Unlock()
		o.opt.Progress(p)
	}
	return func(n int64) { p.Read += n; send() }, func() { p.Done = true; send() }
}

// planDir adds the units of a directory: the tree, and the collections and
// archives in it.
func (o *opener) planDir(ctx context.Context, input, abs string) error {
	disk := homefs.NewDisk(abs)
	if _, err := disk.ReadDir("."); err != nil {
		return usage(input, err)
	}
	slashed := strings.TrimPrefix(filepath.ToSlash(abs), filepath.ToSlash(filepath.VolumeName(abs)))
	parts := slices.DeleteFunc(strings.Split(slashed, "/"), func(s string) bool { return s == "" })
	if v := filepath.VolumeName(abs); homefs.HasDrive(v) {
		parts = append([]string{v[:1]}, parts...)
	}
	at := place{name: "unknown", abs: parts}
	if len(parts) > 0 {
		at.name = parts[len(parts)-1]
	}
	walker := &surveyor{
		tree: disk, wantFiles: true, inGoose: inGooseDir(slashed),
		isCollection: func(dir string, entries []homefs.Entry) bool {
			return looksLikeCollection(entries, func(hasManifest, hasMeta bool) bool {
				m, meta, err := loadCollection(ctx, disk, dir)
				return err == nil && (!hasManifest || m.lines > 0) && (!hasMeta || meta.valid)
			})
		},
	}
	s, err := walker.walk(ctx)
	if err != nil {
		return err
	}
	o.units = append(o.units, func(ctx context.Context) ([]Home, []Issue, error) {
		src := treeSource{
			tree: disk, at: at, input: input, root: filepath.ToSlash(abs), evidence: true,
			host: o.opt.Host, user: o.opt.User,
		}
		return src.homes(ctx, s)
	})
	for _, dir := range s.collections {
		o.units = append(o.units, func(ctx context.Context) ([]Home, []Issue, error) {
			return o.collectionDir(ctx, disk, dir, input, at)
		})
	}

	s.files = slices.DeleteFunc(s.files, func(name string) bool {
		return plainFiles[strings.ToLower(path.Ext(name))] || isCredential(name) && !hasArchiveSuffix(name)
	})
	kinds := make([]format, len(s.files))
	errs := make([]error, len(s.files))
	err = parallel(ctx, len(s.files), func(i int) error {
		kinds[i], errs[i] = sniffFile(disk.Path(s.files[i]))
		return nil
	})
	if err != nil {
		return err
	}
	for i, name := range s.files {
		inner := filepath.Join(input, filepath.FromSlash(name))
		switch {
		case errs[i] == nil:
			size := int64(-1)
			if info, err := disk.Lstat(name); err == nil {
				size = info.Size
			}
			o.planArchive(disk.Path(name), inner, disk.Path(name), size, false)
		case hasArchiveSuffix(name):
			why := errs[i]
			var pe *fs.PathError
			if errors.As(why, &pe) {
				why = pe.Err
			}
			o.issues = append(o.issues, Issue{
				Code: "archive_damaged", Path: inner,
				Message: fmt.Sprintf("%s cannot be opened: %v", inner, why),
			})
		}
	}
	return nil
}

// plainFiles are extensions of files that large trees are full of and that
// nobody gives to an archive. Everything else outside of homes is opened to see
// whether it is one, which is most of what a walk costs.
var plainFiles = func() map[string]bool {
	set := make(map[string]bool)
	for ext := range strings.FieldsSeq(`
		.c .cc .cpp .cs .css .go .h .hpp .htm .html .java .js .json .jsonl .jsx .less .lua .map .md .mjs .cjs
		.php .pl .pm .po .proto .py .pyi .rb .rs .scss .sh .sql .svg .swift .toml .ts .tsx .vue .xml .yaml .yml
		.a .class .o .pyc .pyo .so .wasm
		.gif .ico .jpeg .jpg .png .ttf .webp .woff .woff2
		.sha256`) {
		set[ext] = true
	}
	return set
}()

// collectionDir describes a collection that is a directory.
func (o *opener) collectionDir(ctx context.Context, disk *homefs.Disk, dir, input string, at place) ([]Home, []Issue, error) {
	m, meta, err := loadCollection(ctx, disk, dir)
	if err != nil {
		return nil, nil, err
	}
	src := collectionSource{
		tree: homefs.NewSub(disk, homefs.Join(dir, fsName)), manifest: m, meta: meta,
		input: filepath.Join(input, filepath.FromSlash(dir)), name: at.name,
		root: filepath.ToSlash(disk.Path(homefs.Join(dir, fsName))), evidence: true, check: o.scratch != nil,
	}
	if dir == "." {
		src.input = input
	} else {
		src.name = path.Base(dir)
	}
	return src.homes(ctx)
}

// loadCollection reads what a collection says about itself, nil for what it
// does not say.
func loadCollection(ctx context.Context, disk *homefs.Disk, dir string) (*manifest, *collectionMeta, error) {
	var m *manifest
	var meta *collectionMeta
	if f, err := homefs.OpenEvidence(disk.Path(homefs.Join(dir, manifestName))); err == nil {
		defer f.Close()
		if m, err = readManifest(ctx, f); err != nil {
			return nil, nil, err
		}
	}
	if f, err := homefs.OpenEvidence(disk.Path(homefs.Join(dir, collectionName))); err == nil {
		defer f.Close()
		meta = readCollectionMeta(f)
	}
	return m, meta, nil
}

// supersede leaves one home of each home_id: the one collected last, where a
// tree counts as old as its newest file, and of equals the later one.
func supersede(all []Home) (homes []Home, losers []Superseded) {
	winner := make(map[string]int)
	for i, h := range all {
		if w, ok := winner[h.ID]; !ok || !h.asOf().Before(all[w].asOf()) {
			winner[h.ID] = i
		}
	}
	for i, h := range all {
		w := winner[h.ID]
		if w == i {
			continue
		}
		win := &all[w]
		s := Superseded{Home: h, By: win.Input, LacksStores: win.lacks(h)}
		message := fmt.Sprintf("the copy of this home in %s was not read, that in %s is newer or was named later", h.Input, win.Input)
		if len(s.LacksStores) > 0 {
			names := make([]string, len(s.LacksStores))
			for i, st := range s.LacksStores {
				names[i] = string(st)
			}
			message += "; it has files that this one lacks, of " + strings.Join(names, ", ")
		}
		win.Issues = append(win.Issues, Issue{Code: "home_superseded", Message: message})
		losers = append(losers, s)
	}
	for i, h := range all {
		if winner[h.ID] == i {
			homes = append(homes, h)
		}
	}
	return homes, losers
}

// asOf is the time that a home shows.
func (h *Home) asOf() time.Time {
	if h.CollectedAt.IsZero() {
		return h.NewestMTime
	}
	return h.CollectedAt
}

// lacks gives the stores of which other has a file with bytes and h has none
// of that path.
func (h *Home) lacks(other Home) []Store {
	has := make(map[string]bool)
	for _, f := range h.Files {
		if f.Status == Read || f.Status == Empty {
			has[f.Rel] = true
		}
	}
	var stores []Store
	for _, f := range other.Files {
		if f.Status == Read && !has[f.Rel] && !slices.Contains(stores, f.Store) {
			stores = append(stores, f.Store)
		}
	}
	return stores
}

// checkOverlap refuses a warehouse or scratch inside an input and an input
// inside one of them. For the live home the directories of Goose count.
func checkOverlap(inputs []string, opt Options) error {
	if opt.Live {
		_, dirs := opt.Machine.filled().liveDirs()
		inputs = slices.Clone(inputs)
		for _, d := range dirs {
			inputs = append(inputs, d.data, d.state, d.config)
		}
	}
	for _, out := range []struct{ what, dir string }{{"warehouse", opt.Warehouse}, {"scratch", opt.Scratch}} {
		if out.dir == "" {
			continue
		}
		for _, in := range inputs {
			overlap, err := overlaps(in, out.dir)
			if err != nil {
				return usage(in, err)
			}
			if overlap {
				return &fault.Error{
					Kind: fault.Usage, Op: "open input", Path: in,
					Err:  fmt.Errorf("the %s %s and the input are inside one another", out.what, out.dir),
					Hint: "Inputs are evidence and never written to: choose a warehouse elsewhere with --warehouse.",
				}
			}
		}
	}
	return nil
}

// overlaps reports whether one of two paths is the other or lies inside it,
// links resolved. Neither needs to exist.
func overlaps(a, b string) (bool, error) {
	ra, err := realPath(a)
	if err != nil {
		return false, err
	}
	rb, err := realPath(b)
	if err != nil {
		return false, err
	}
	return isInside(ra, rb) || isInside(rb, ra), nil
}

// realPath gives the absolute path without links, of which the end need not
// exist yet.
func realPath(p string) (string, error) {
	p, err := filepath.Abs(p)
	if err != nil {
		return "", err
	}
	for range 255 { // links that lead nowhere yet, one into the next
		rest := ""
		dir := p
		for {
			resolved, err := filepath.EvalSymlinks(dir)
			if err == nil {
				return filepath.Join(resolved, rest), nil
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
			if target, lerr := os.Readlink(dir); lerr == nil {
				if !filepath.IsAbs(target) {
					target = filepath.Join(filepath.Dir(dir), target)
				}
				p = filepath.Join(target, rest)
				break
			}
			parent := filepath.Dir(dir)
			if parent == dir {
				return p, nil
			}
			dir, rest = parent, filepath.Join(filepath.Base(dir), rest)
		}
	}
	return "", homefs.ErrLoop
}

// isInside reports whether a real path is dir or lies below it, also where
// they are written differently: by case, or through a mount.
func isInside(p, dir string) bool {
	want, err := os.Stat(dir)
	for {
		if p == dir {
			return true
		}
		if err == nil {
			if fi, perr := os.Stat(p); perr == nil && os.SameFile(fi, want) {
				return true
			}
		}
		parent := filepath.Dir(p)
		if parent == p {
			return false
		}
		p = parent
	}
}
