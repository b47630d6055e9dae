package extract

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zip"
	"github.com/klauspost/compress/zstd"

	"gander/extract/internal/homefs"
)

// format is how an archive is packed.
type format uint8

const (
	noArchive format = iota
	tarFormat
	tarGzip
	tarZstd
	zipFormat
)

const tarBlock = 512

// maxZstdWindow bounds the memory that a zstd frame can ask for, in bytes;
// zstd --long asks for half of it.
const maxZstdWindow = 256 << 20

// sniff recognises an archive by its first bytes, whatever its name is. A
// compressed file is an archive when a tar header comes out of it.
func sniff(f io.ReaderAt) format {
	head := make([]byte, tarBlock)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return noArchive
	}
	head = head[:n]
	is := func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) }
	from := io.NewSectionReader(f, 0, 1<<62)
	switch {
	case is("PK\x03\x04"), is("PK\x05\x06"):
		return zipFormat
	case is(gzipMagic):
		if zr, err := gzip.NewReader(from); err == nil && startsTar(zr) {
			return tarGzip
		}
	case is("\x28\xb5\x2f\xfd"), len(head) > 4 && head[0]&0xf0 == 0x50 && string(head[1:4]) == "\x2a\x4d\x18":
		zr, err := newZstd(from)
		if err != nil {
			return noArchive
		}
		defer zr.Close()
		if startsTar(zr) {
			return tarZstd
		}
	case isTarHeader(head):
		return tarFormat
	}
	return noArchive
}

func newZstd(r io.Reader) (*zstd.Decoder, error) {
	// One block at a time: no goroutines, and archives are read side by side.
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow))
}

func startsTar(r io.Reader) bool {
	head := make([]byte, tarBlock)
	_, err := io.ReadFull(r, head)
	return err == nil && isTarHeader(head)
}

// isTarHeader reports whether a block is a tar header, by its checksum, or the
// block of zeros that an empty tar begins with.
func isTarHeader(b []byte) bool {
	if len(b) < tarBlock {
		return false
	}
	const from, to = 148, 156
	var signed, unsigned int64
	for i, c := range b[:tarBlock] {
		if i >= from && i < to {
			c = ' '
		}
		unsigned += int64(c)
		signed += int64(int8(c))
	}
	if unsigned == (to-from)*' ' {
		return isZero(b[from:to])
	}
	sum, err := strconv.ParseInt(strings.Trim(string(b[from:to]), " \x00"), 8, 64)
	return err == nil && (sum == unsigned || sum == signed)
}

func isZero(b []byte) bool {
	return len(bytes.TrimLeft(b, "\x00")) == 0
}

// archive is an archive that was listed and, unless it was only to be listed,
// unpacked as far as it matters.
type archive struct {
	input string // as the user would name it
	tree  *homefs.Mem

	manifests map[string]*manifest // by the directory of the collection
	metas     map[string]*collectionMeta

	// issues concern the archive as a whole, members single members.
	issues  []Issue
	members issueList
	damaged bool
}

// archiveReader reads one archive in one pass.
type archiveReader struct {
	archive
	ctx      context.Context
	out      *unpacked // nil when the archive is only to be listed
	progress func(read int64)

	buf       []byte
	seq       int            // number of files that were begun
	databases map[string]int // numbers of the directories of databases
}

// readArchive reads the archive at local. Only an archive that cannot be opened
// at all, a full scratch and a cancelled ctx are errors: damage is an issue and
// leaves what came before it.
func readArchive(ctx context.Context, local, input string, out *unpacked, progress func(int64)) (*archive, error) {
	f, err := homefs.OpenEvidence(local)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	r := &archiveReader{
		archive: archive{
			input: input, tree: homefs.NewMem(),
			manifests: make(map[string]*manifest), metas: make(map[string]*collectionMeta),
		},
		ctx: ctx, out: out, progress: progress,
		buf: make([]byte, 256<<10), databases: make(map[string]int),
	}
	want := ""
	if out != nil { // discover lists, it does not read whole archives for a hash
		want = r.sidecar(local)
	}
	var sum hash.Hash
	raw := &rawReader{ctx: ctx, r: f, progress: progress}
	if want != "" {
		sum = sha256.New()
		raw.sum = sum
	}
	switch kind := sniff(f); kind {
	case noArchive:
		return nil, errNotArchive
	case zipFormat:
		err = r.readZip(f, fi.Size())
	default:
		err = r.readTar(raw, kind)
	}
	if err == nil && want != "" {
		// What has not been read yet, of a zip all, still counts.
		if _, err = io.CopyBuffer(io.Discard, struct{ io.Reader }{raw}, r.buf); err != nil && ctx.Err() == nil {
			r.damage(fmt.Errorf("reading on for the hash: %w", err))
			err = nil
		} else if got := hex.EncodeToString(sum.Sum(nil)); err == nil && got != want {
			r.issues = append(r.issues, Issue{
				Code: "hash_mismatch", Path: input,
				Message: fmt.Sprintf("SHA-256 of %s is %s, its .sha256 file says %s", input, got, want),
			})
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return &r.archive, nil
}

var errNotArchive = errors.New("neither a directory nor a tar, tar.gz, tar.zst or zip archive")

// damage notes that the archive could not be read on.
func (r *archiveReader) damage(err error) {
	r.damaged = true
	r.issues = append(r.issues, Issue{
		Code: "archive_damaged", Path: r.input,
		Message: fmt.Sprintf("%s is damaged, what comes after is lost: %v", r.input, err),
	})
}

func (r *archiveReader) memberIssue(code, name, format string, args ...any) {
	r.members.add(Issue{
		Code: code, Path: r.input,
		Message: fmt.Sprintf("member %q of %s: %s", clip(name), r.input, fmt.Sprintf(format, args...)),
	})
}

// clip bounds a name in a message.
func clip(name string) string {
	const most = 300
	if len(name) <= most {
		return name
	}
	return name[:most] + "..."
}

var hexHash = regexp.MustCompile(`(?i)\b[0-9a-f]{64}\b`)

// sidecar reads the hash out of the .sha256 file beside an archive, "" when
// there is none.
func (r *archiveReader) sidecar(local string) string {
	f, err := homefs.OpenEvidence(local + ".sha256")
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(f, 64<<10))
		f.Close()
	}
	found := ""
	for line := range strings.Lines(string(text)) {
		h := strings.ToLower(hexHash.FindString(line))
		if h == "" {
			continue
		}
		if strings.Contains(line, filepath.Base(local)) {
			return h
		}
		found = cmp.Or(found, h)
	}
	if found == "" {
		why := "it holds no SHA-256"
		if err != nil {
			why = err.Error()
		}
		r.issues = append(r.issues, Issue{
			Code: "hash_unchecked", Path: r.input,
			Message: fmt.Sprintf("the hash of %s was not checked, its .sha256 file cannot be used: %s", r.input, why),
		})
	}
	return found
}

// rawReader reads an archive's file: it ends when ctx does, hashes what passes
// and reports how far it is.
type rawReader struct {
	ctx      context.Context
	r        io.Reader
	sum      hash.Hash
	progress func(int64)
}

func (r *rawReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.r.Read(p)
	if r.sum != nil {
		r.sum.Write(p[:n])
	}
	if r.progress != nil {
		r.progress(int64(n))
	}
	return n, err
}

// endReader watches a tar go by to tell whether it ends as a tar does, with
// blocks of zeros, or merely stops where a header could begin.
type endReader struct {
	ctx   context.Context
	r     io.Reader
	pos   int64
	zeros int64 // how many bytes of zero were read last
	dry   bool  // the end was read
}

func (e *endReader) Read(p []byte) (int, error) {
	if err := e.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := e.r.Read(p)
	e.pos += int64(n)
	if tail := int64(n - len(bytes.TrimRight(p[:n], "\x00"))); tail == int64(n) {
		e.zeros += tail
	} else {
		e.zeros = tail
	}
	e.dry = n == 0 && err == io.EOF
	return n, err
}

// marked reports whether a tar that was read to its end had the mark of it: it
// ends before the stream does, or with a lone block of zeros.
func (e *endReader) marked() bool {
	return !e.dry || e.pos%tarBlock == 0 && e.zeros >= tarBlock
}

// gzipReader reads gzip streams that follow one another as one. Where something
// else follows, it ends: a reader that goes on by itself cannot be told from
// one that was cut.
type gzipReader struct {
	zr *gzip.Reader
	br *bufio.Reader
}

func (g *gzipReader) Read(p []byte) (int, error) {
	n, err := g.zr.Read(p)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	if next, _ := g.br.Peek(2); string(next) != gzipMagic {
		return n, io.EOF
	}
	if err := g.zr.Reset(g.br); err != nil {
		return n, err
	}
	g.zr.Multistream(false)
	return n, nil
}

const gzipMagic = "\x1f\x8b"

// maxTrailer bounds what is read after the end of a tar to see its compression
// end well, in bytes: tar pads to 10 KiB unless it is told otherwise.
const maxTrailer = 1 << 20

func (r *archiveReader) readTar(raw io.Reader, kind format) error {
	buffered := bufio.NewReaderSize(raw, 256<<10)
	var stream io.Reader = buffered
	switch kind {
	case tarGzip:
		zr, err := gzip.NewReader(buffered)
		if err != nil {
			return err
		}
		zr.Multistream(false)
		stream = &gzipReader{zr, buffered}
	case tarZstd:
		zr, err := newZstd(buffered)
		if err != nil {
			return err
		}
		defer zr.Close()
		stream = zr
	}
	end := &endReader{ctx: r.ctx, r: stream}
	tr := tar.NewReader(end)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			r.damage(err)
			return nil
		}
		name := h.Name
		if !strings.Contains(name, "/") { // some packers write Windows paths
			name = strings.ReplaceAll(name, `\`, "/")
		}
		m := member{raw: h.Name, name: name, size: h.Size, mtime: h.ModTime, target: h.Linkname, open: func() (io.Reader, error) { return tr, nil }}
		switch h.Typeflag {
		case tar.TypeReg, tar.TypeGNUSparse, tar.TypeCont, '\x00':
			m.kind = homefs.Regular
		case tar.TypeDir:
			m.kind = homefs.Dir
		case tar.TypeSymlink:
			m.kind = homefs.Link
		case tar.TypeLink:
			m.kind, m.hard = homefs.Link, true
		case tar.TypeXGlobalHeader:
			continue
		default:
			m.kind = homefs.Irregular
		}
		err = r.member(m)
		var cut *cutError
		if errors.As(err, &cut) {
			r.damage(fmt.Errorf("within member %q: %w", clip(h.Name), cut.err))
			return nil
		}
		if err != nil {
			return err
		}
	}
	if !end.marked() {
		r.damage(errors.New("it ends without the mark of a tar's end"))
		return nil
	}
	if kind != tarFormat {
		_, err := io.CopyN(io.Discard, end, maxTrailer)
		if err != nil && !errors.Is(err, io.EOF) {
			r.damage(err)
		}
	}
	return nil
}

func (r *archiveReader) readZip(f io.ReaderAt, size int64) error {
	zr, err := zip.NewReader(&rawReaderAt{r.ctx, f, r.progress}, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return err
	}
	for _, file := range zr.File {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		m := member{
			raw: file.Name, name: strings.ReplaceAll(file.Name, `\`, "/"),
			size: int64(min(file.UncompressedSize64, 1<<62)), mtime: file.Modified,
			kind: homefs.Regular, open: func() (io.Reader, error) { return file.Open() },
		}
		switch mode := file.Mode(); {
		case strings.HasSuffix(m.name, "/"):
			m.kind = homefs.Dir
		case mode&fs.ModeSymlink != 0:
			m.kind = homefs.Link
		case mode.IsDir():
			m.kind = homefs.Dir
		case !mode.IsRegular():
			m.kind = homefs.Irregular
		}
		if file.Flags&1 != 0 {
			m.open = func() (io.Reader, error) { return nil, errors.New("encrypted") }
		}
		err := r.member(m)
		var cut *cutError
		if errors.As(err, &cut) {
			r.damaged = true
			r.memberIssue("archive_damaged", file.Name, "it is damaged: %v", cut.err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// rawReaderAt ends when ctx does and reports how much was read.
type rawReaderAt struct {
	ctx      context.Context
	r        io.ReaderAt
	progress func(int64)
}

func (r *rawReaderAt) ReadAt(p []byte, off int64) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.r.ReadAt(p, off)
	if r.progress != nil {
		r.progress(int64(n))
	}
	return n, err
}

// member is an entry of an archive.
type member struct {
	raw    string // name as stored
	name   string // name with slashes
	kind   homefs.Kind
	hard   bool // of a Link: a hard link, to a member before it
	size   int64
	mtime  time.Time
	target string // of a Link; of a zip it is the content
	open   func() (io.Reader, error)
}

// cutError says that a member could not be read to its end.
type cutError struct{ err error }

func (e *cutError) Error() string { return e.err.Error() }
func (e *cutError) Unwrap() error { return e.err }

// macOSX is where zips made on macOS keep attributes, in a mirror of the tree.
const macOSX = "__MACOSX"

// member looks at one entry, and reads it when it matters. The error is a
// *cutError, one of scratch, or that of ctx.
func (r *archiveReader) member(m member) error {
	name, err := homefs.Clean(m.name)
	if err != nil {
		r.memberIssue("refused_member", m.raw, "%v", err)
		return nil
	}
	if name == macOSX || strings.HasPrefix(name, macOSX+"/") {
		return nil
	}
	r.putGooseDirs(name, m.kind)
	base := path.Base(name)
	if (base == manifestName || base == collectionName) && m.kind == homefs.Regular && !inGooseDir(name) {
		return r.readAbout(name, m)
	}
	kind := interestIn(name)
	switch {
	case kind == noInterest:
		return nil
	case m.kind == homefs.Link && m.hard:
		return r.hardLink(name, m)
	case m.kind == homefs.Link:
		if m.target == "" {
			if m.target, err = readTarget(m); err != nil {
				r.memberIssue("refused_member", m.raw, "its link target cannot be read: %v", err)
				return nil
			}
		}
		r.put(name, m, homefs.Info{Kind: homefs.Link, MTime: m.mtime}, m.target)
		return nil
	case kind == waypoint:
		if m.kind == homefs.Dir {
			r.put(name, m, homefs.Info{Kind: homefs.Dir}, "")
		}
		return nil
	case m.kind != homefs.Regular:
		r.put(name, m, homefs.Info{Kind: m.kind, MTime: m.mtime}, "")
		return nil
	}

	info := homefs.Info{Kind: homefs.Regular, Size: m.size, MTime: m.mtime.UTC()}
	if m.mtime.Unix() <= 0 {
		info.MTime = time.Time{}
	}
	if kind == named || r.out == nil {
		r.put(name, m, info, "")
		return nil
	}
	old, oldErr := r.tree.Lstat(name)
	if oldErr == nil && old.Kind == homefs.Dir {
		r.put(name, m, info, "") // refused; it must cost no scratch
		return nil
	}
	err = r.unpack(name, m, &info)
	var cut *cutError
	if err != nil && !errors.As(err, &cut) {
		return err
	}
	if info.Problem != "" {
		r.memberIssue("refused_member", m.raw, "%s", info.Problem)
		if oldErr == nil && old.Local != "" {
			return nil // the one before it stays
		}
	}
	r.put(name, m, info, "")
	return err
}

// putGooseDirs notes every directory of Goose that a member stands for or lies
// in: they make homes even when nothing in them is of interest.
func (r *archiveReader) putGooseDirs(name string, kind homefs.Kind) {
	for i := 0; i < len(name); {
		j := strings.Index(name[i:], "goose")
		if j < 0 {
			return
		}
		i += j + len("goose")
		if (i < len(name) && name[i] == '/' || i == len(name) && kind == homefs.Dir) && isGooseDir(name[:i]) {
			// A file in its place was refused or is of no interest.
			_ = r.tree.Put(name[:i], homefs.Info{Kind: homefs.Dir}, "")
		}
	}
}

// put adds an entry to the listing. A later one of a name replaces the one
// before it, as it does when a tar is unpacked.
func (r *archiveReader) put(name string, m member, info homefs.Info, target string) {
	old, err := r.tree.Lstat(name)
	if err == nil && old.Kind != homefs.Dir && info.Kind != homefs.Dir {
		r.memberIssue("duplicate_member", m.raw, "it is there more than once, the last one is read")
	}
	if err := r.tree.Put(name, info, target); err != nil {
		r.memberIssue("refused_member", m.raw, "%v", err)
	}
}

// hardLink makes a member of what another one before it holds.
func (r *archiveReader) hardLink(name string, m member) error {
	target, err := homefs.Clean(m.target)
	if err != nil {
		r.memberIssue("refused_member", m.raw, "its link target: %v", err)
		return nil
	}
	info, err := r.tree.Lstat(target)
	if err != nil || info.Kind != homefs.Regular {
		info = homefs.Info{Kind: homefs.Regular, Size: -1, Problem: "a hard link to a member that was not unpacked"}
		r.memberIssue("refused_member", m.raw, "%s", info.Problem)
	}
	r.put(name, m, info, "")
	return nil
}

// maxTarget bounds a link's target, in bytes.
const maxTarget = 4096

func readTarget(m member) (string, error) {
	rd, err := m.open()
	if err != nil {
		return "", err
	}
	if c, ok := rd.(io.Closer); ok {
		defer c.Close()
	}
	target, err := io.ReadAll(io.LimitReader(rd, maxTarget+1))
	if err == nil && len(target) > maxTarget {
		err = errors.New("too long")
	}
	return string(target), err
}

// readAbout reads a manifest or a collection.json. They are kept in memory, as
// far as they matter, and never written.
func (r *archiveReader) readAbout(name string, m member) error {
	rd, err := m.open()
	if err != nil {
		r.memberIssue("refused_member", m.raw, "%v", err)
		return nil
	}
	if c, ok := rd.(io.Closer); ok {
		defer c.Close()
	}
	dir := path.Dir(name)
	keep := &errReader{r: rd}
	if path.Base(name) == manifestName {
		about, err := readManifest(r.ctx, keep)
		if err != nil {
			return err
		}
		r.manifests[dir] = about
	} else {
		r.metas[dir] = readCollectionMeta(keep)
	}
	r.put(name, m, homefs.Info{Kind: homefs.Regular, Size: m.size, MTime: m.mtime}, "")
	if keep.err != nil {
		return &cutError{keep.err}
	}
	return r.ctx.Err()
}

// errReader keeps the error that ended the reading, other than io.EOF.
type errReader struct {
	r   io.Reader
	err error
}

func (e *errReader) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		e.err = err
	}
	return n, err
}

// unpack copies a member to scratch and describes the copy. A member that
// cannot be had has info.Problem set; one that ends early is kept as far as it
// goes, with a *cutError.
func (r *archiveReader) unpack(name string, m member, info *homefs.Info) error {
	if m.size > r.out.budget.max {
		info.Problem = r.out.budget.String()
		return nil
	}
	rd, err := m.open()
	if err != nil {
		if r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		info.Problem = err.Error()
		return nil
	}
	if c, ok := rd.(io.Closer); ok {
		defer c.Close()
	}
	r.seq++
	local := strconv.Itoa(r.seq)
	w, err := r.out.create(local)
	if err != nil {
		return err
	}
	sum := sha256.New()
	var size, charged int64
	var cut error
	for cut == nil {
		if err = r.ctx.Err(); err != nil {
			break
		}
		var n int
		n, cut = rd.Read(r.buf)
		if n == 0 {
			continue
		}
		if need := roundUp(size+int64(n)) - charged; need > 0 {
			if !r.out.budget.take(need) {
				info.Problem = r.out.budget.String()
				break
			}
			charged += need
		}
		if _, err = w.Write(r.buf[:n]); err != nil {
			err = r.out.fault(err)
			break
		}
		sum.Write(r.buf[:n])
		size += int64(n)
	}
	if cerr := w.Close(); err == nil && cerr != nil {
		err = r.out.fault(cerr)
	}
	if err != nil || info.Problem != "" {
		r.out.budget.give(charged)
		r.out.remove(local)
		return err
	}
	if r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	if suffix, ok := strings.CutPrefix(path.Base(name), databaseName); ok && (suffix == "" || isCompanion(dataRole, "sessions", path.Base(name))) {
		// SQLite finds the log of a copy by its name.
		n, ok := r.databases[path.Dir(name)]
		if !ok {
			n = len(r.databases) + 1
			r.databases[path.Dir(name)] = n
		}
		named := strconv.Itoa(n) + ".db" + suffix
		if err := r.out.rename(local, named); err != nil {
			return err
		}
		local = named
	}
	info.Local, info.SHA256 = r.out.path(local), hex.EncodeToString(sum.Sum(nil))
	if cut == io.EOF {
		info.Size = size
		return nil
	}
	info.Cut = -1
	if m.size > size {
		info.Cut = m.size - size
	}
	info.Size = size
	return &cutError{cut}
}

// survey finds the homes and the collections in an archive.
func (a *archive) survey(ctx context.Context) (survey, error) {
	s := &surveyor{tree: a.tree, isCollection: func(dir string, entries []homefs.Entry) bool {
		if looksLikeCollection(entries, func(hasManifest, hasMeta bool) bool {
			return (!hasManifest || a.manifests[dir].lines > 0) && (!hasMeta || a.metas[dir].valid)
		}) {
			return true
		}
		// A collection's tar ends with what tells that it is one. Where that is
		// cut off, only fs is left.
		return dir == "." && a.damaged && len(entries) == 1 && entries[0].Name == fsName && entries[0].Kind == homefs.Dir
	}}
	return s.walk(ctx)
}

// homes describes what is in an archive.
func (a *archive) homes(ctx context.Context, name, host, user string, check bool) ([]Home, []Issue, error) {
	s, err := a.survey(ctx)
	if err != nil {
		return nil, nil, err
	}
	src := treeSource{tree: a.tree, at: place{name: name}, input: a.input, host: host, user: user}
	homes, loose, err := src.homes(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	for _, dir := range s.collections {
		c := collectionSource{
			tree:     homefs.NewSub(a.tree, homefs.Join(dir, fsName)),
			manifest: a.manifests[dir], meta: a.metas[dir],
			input: a.input, name: name, check: check,
		}
		if dir != "." {
			c.input, c.name = filepath.Join(a.input, filepath.FromSlash(dir)), path.Base(dir)
		}
		found, more, err := c.homes(ctx)
		if err != nil {
			return nil, nil, err
		}
		homes, loose = append(homes, found...), append(loose, more...)
	}
	if len(homes) == 0 {
		return nil, slices.Concat(loose, a.issues, a.members.list()), nil
	}
	for i := range homes {
		homes[i].Issues = append(homes[i].Issues, a.issues...)
	}
	homes[0].Issues = append(homes[0].Issues, a.members.list()...)
	return homes, loose, nil
}
