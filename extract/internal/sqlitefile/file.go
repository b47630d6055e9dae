package sqlitefile

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"slices"

	"github.com/zeebo/xxh3"

	"gander/extract/internal/sqlitero"
)

// Errors of Open.
var (
	ErrNotSQLite = errors.New("not an SQLite database")
	// ErrForeign is a log that cannot belong to the database.
	ErrForeign = errors.New("the write-ahead log belongs to another database")
	// ErrTooLarge is a log of more frames than can be numbered.
	ErrTooLarge = errors.New("the write-ahead log has too many frames")
)

const magic = "SQLite format 3\x00"

// place says where the image of a page is: 0 for nowhere, the number of a page
// of the main file, or inLog and the number of a frame.
type place uint64

const inLog place = 1 << 40

// File is a database and its write-ahead log, open for reading.
type File struct {
	main, log *os.File // nil when there is none
	mainSize  int64
	mainPages uint32
	pageSize  int

	frames  []uint32            // page of each frame, from 1; of the committed ones
	byPage  map[uint32]span     // of order, by page
	order   []uint32            // numbers of committed frames by page, then number
	commits []commit            // from 1; 0 is the main file
	copied  map[uint32]struct{} // pages of the log that the main file has from it
	stale   []staleFrame

	spent, budget int64 // overflow pages read, and how many may be

	windows [windows]window // of the main file
	latest  int             // window used last
	oldest  int             // window to be filled next
	frame   []byte          // page of the log read last
}

// Pages of the main file are read through a few windows: SQLite lays out the
// rows of a table and their overflow pages mostly one after the other.
const (
	windows     = 16
	windowBytes = 64 << 10 // where pages follow one another; else a few
	fewPages    = 2
)

// window is a run of pages of the main file in memory.
type window struct {
	first, pages uint32
	data         []byte
}

type span struct{ from, to uint32 }

// commit is a state: frames up to last, and a database of so many pages.
type commit struct {
	last  uint32
	pages uint32
}

// staleFrame is a frame behind the valid ones, of an older generation.
type staleFrame struct {
	no, page uint32
	commit   bool
	salts    [8]byte
	// generation counts back from the log's own: 1 is the one before it.
	generation uint32
	run        uint32 // of frames that follow one another
}

// maxFrames keeps frame numbers in 32 bits.
const maxFrames = 1<<32 - 2

// Open opens a database and its log; a path may be "" for a file that is not
// there. An empty main file stands for none. A damaged log is read as far as
// it is good.
func Open(ctx context.Context, main, log string) (_ *File, err error) {
	f := &File{byPage: map[uint32]span{}, copied: map[uint32]struct{}{}}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	var counter uint32
	if main != "" {
		if counter, err = f.openMain(main); err != nil {
			return nil, err
		}
	}
	f.commits = []commit{{pages: f.mainPages}}
	if log != "" {
		if err := f.openLog(ctx, log, counter); err != nil {
			return nil, err
		}
	}
	if f.pageSize == 0 {
		return nil, ErrNotSQLite
	}
	// Every overflow page is read a few times where nothing is wrong.
	f.budget = 64*(int64(f.mainPages)+int64(len(f.frames))+int64(len(f.stale))) + 1<<16
	return f, nil
}

func (f *File) openMain(path string) (counter uint32, err error) {
	if f.main, err = os.Open(path); err != nil {
		return 0, err
	}
	st, err := f.main.Stat()
	if err != nil || st.Size() == 0 {
		return 0, err
	}
	var head [fileHeader]byte
	if n, err := f.main.ReadAt(head[:], 0); err != nil && n < len(head) {
		if errors.Is(err, io.EOF) {
			return 0, ErrNotSQLite
		}
		return 0, err
	}
	size := pageSizeOf(head[:])
	if string(head[:len(magic)]) != magic || size == 0 {
		return 0, ErrNotSQLite
	}
	f.pageSize, f.mainSize = size, st.Size()
	f.mainPages = uint32(min(st.Size()/int64(size), 1<<32-2))
	return binary.BigEndian.Uint32(head[24:]), nil
}

// pageSizeOf reads the page size of a database header, 0 when it has none.
func pageSizeOf(head []byte) int {
	size := int(binary.BigEndian.Uint16(head[16:]))
	if size == 1 {
		size = 65536
	}
	if size < 512 || size&(size-1) != 0 {
		return 0
	}
	return size
}

// openLog indexes the log: frames by page, commits, and which pages a
// checkpoint has copied to the main file.
func (f *File) openLog(ctx context.Context, path string, counter uint32) error {
	var err error
	if f.log, err = os.Open(path); err != nil {
		return err
	}
	var sums []uint64
	f.frames = []uint32{0}
	w, err := sqlitero.WalkWAL(ctx, path, func(fr *sqlitero.Frame) error {
		if fr.No > maxFrames {
			return ErrTooLarge
		}
		if !fr.Valid {
			f.addStale(fr)
			return nil
		}
		f.frames = append(f.frames, fr.Page)
		sums = append(sums, xxh3.Hash(fr.Data))
		if fr.Commit != 0 {
			f.commits = append(f.commits, commit{last: uint32(fr.No), pages: fr.Commit})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if w.PageSize == 0 { // no header: no frame is known to be good
		f.log.Close()
		f.log, f.stale = nil, nil
		return nil
	}
	if f.pageSize != 0 && (f.pageSize != w.PageSize || w.Page1 != nil && binary.BigEndian.Uint32(w.Page1[24:]) < counter) {
		return ErrForeign
	}
	f.pageSize = w.PageSize
	f.frames = f.frames[:f.commits[len(f.commits)-1].last+1]
	f.order = make([]uint32, len(f.frames)-1)
	for i := range f.order {
		f.order[i] = uint32(i + 1)
	}
	slices.SortFunc(f.order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(f.frames[a], f.frames[b]), cmp.Compare(a, b))
	})
	for from := 0; from < len(f.order); {
		page, to := f.frames[f.order[from]], from
		for to < len(f.order) && f.frames[f.order[to]] == page {
			to++
		}
		f.byPage[page] = span{uint32(from), uint32(to)}
		from = to
	}
	f.dateStale(w.Salts)
	return f.findCopied(ctx, sums)
}

// findCopied finds the pages that checkpoints copied from the log. The main
// file then has such a page as one of its frames has it. To tell that from a
// page that was only written again as it was, the last commit is sought up to
// which a checkpoint can have gone: it copies every page whose last frame is
// not behind its end, but those that the database was cut by meanwhile. Where
// page 1, which is copied first, tells of a later one, that was under way.
//
// A page that is taken for a copied one without need costs nothing but the
// transactions before its first frame, in which it is unknown.
func (f *File) findCopied(ctx context.Context, sums []uint64) error {
	main := make(map[uint32]uint64, len(f.byPage))
	buf := make([]byte, f.pageSize)
	for page := range f.byPage {
		if err := ctx.Err(); err != nil {
			return err
		}
		if page <= f.mainPages && f.read(buf, place(page)) {
			main[page] = xxh3.Hash(buf)
		}
	}
	like := func(no uint32) bool {
		sum, ok := main[f.frames[no]]
		return ok && sum == sums[no-1]
	}
	// A checkpoint leaves out the pages behind the end that the database had
	// then, after this commit or a later one.
	limit := make([]uint32, len(f.commits))
	least := uint32(math.MaxUint32)
	for i := len(f.commits) - 1; i > 0; i-- {
		least = min(least, f.commits[i].pages)
		limit[i] = least
	}
	end := len(f.commits) // the first commit that no checkpoint can have reached
	for page := range f.byPage {
		frames := f.framesOf(page)
		if final := frames[len(frames)-1]; !like(final) {
			counts, _ := slices.BinarySearch(limit[1:], page)
			end = min(end, max(f.commitOf(inLog|place(final)), counts+1))
		}
	}
	last := f.commits[end-1].last
	if slices.ContainsFunc(f.framesOf(1), func(no uint32) bool { return no > last && like(no) }) {
		last = maxFrames
	}
	for page := range f.byPage {
		if slices.ContainsFunc(f.framesOf(page), func(no uint32) bool { return no <= last && like(no) }) {
			f.copied[page] = struct{}{}
		}
	}
	return nil
}

// framesOf lists the committed frames of a page, ascending.
func (f *File) framesOf(page uint32) []uint32 {
	s := f.byPage[page]
	return f.order[s.from:s.to]
}

func (f *File) addStale(fr *sqlitero.Frame) {
	s := staleFrame{no: uint32(fr.No), page: fr.Page, commit: fr.Commit != 0, salts: fr.Salts}
	if n := len(f.stale); n > 0 {
		if s.run = f.stale[n-1].run; !fr.Follows {
			s.run++
		}
	}
	f.stale = append(f.stale, s)
}

// dateStale tells generations apart: each restart of a log counts its first
// salt up.
func (f *File) dateStale(salts [8]byte) {
	now := binary.BigEndian.Uint32(salts[:])
	for i := range f.stale {
		f.stale[i].generation = now - binary.BigEndian.Uint32(f.stale[i].salts[:])
	}
}

// Close closes the files.
func (f *File) Close() error {
	var err error
	for _, file := range []*os.File{f.main, f.log} {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
	}
	return err
}

// Commits returns the number of the last state, which is the current one.
func (f *File) Commits() int { return len(f.commits) - 1 }

// Frames returns how many committed frames the log has.
func (f *File) Frames() int64 { return int64(max(len(f.frames), 1) - 1) }

// StaleFrames returns how many frames of older generations are behind them.
func (f *File) StaleFrames() int64 { return int64(len(f.stale)) }

// PageSize returns the size of a page in bytes.
func (f *File) PageSize() int { return f.pageSize }

// Exhausted reports that chains of overflow pages asked for more reads than
// the files could reasonably need, as only a crafted file does: some records
// were left out.
func (f *File) Exhausted() bool { return f.spent >= f.budget }

// locate returns where page no of a state is.
func (f *File) locate(no uint32, state int) place {
	c := f.commits[state]
	if no == 0 || no > c.pages {
		return 0
	}
	if frames := f.framesOf(no); len(frames) > 0 {
		i, found := slices.BinarySearch(frames, c.last)
		if found {
			i++
		}
		if i > 0 {
			return inLog | place(frames[i-1])
		}
		if _, ok := f.copied[no]; ok {
			return 0
		}
	}
	if no > f.mainPages {
		return 0
	}
	return place(no)
}

// commitOf returns the transaction that wrote the image at p, 0 for one of the
// main file.
func (f *File) commitOf(p place) int {
	if p < inLog {
		return 0
	}
	i, _ := slices.BinarySearchFunc(f.commits, uint32(p&^inLog), func(c commit, no uint32) int { return cmp.Compare(c.last, no) })
	return i
}

// read fills buf, which has the size of a page, with the image at p.
func (f *File) read(buf []byte, p place) bool { return f.readPart(buf, p, 0) }

// readPart fills buf with the bytes from an offset of the image at p.
func (f *File) readPart(buf []byte, p place, offset int) bool {
	page := f.page(p)
	return page != nil && copy(buf, page[offset:]) == len(buf)
}

// page returns the image at p, nil when it is not there. It is valid until the
// next call.
func (f *File) page(p place) []byte {
	switch {
	case p == 0:
		return nil
	case p >= inLog:
		if f.log == nil {
			return nil
		}
		if f.frame == nil {
			f.frame = make([]byte, f.pageSize)
		}
		if n, _ := f.log.ReadAt(f.frame, sqlitero.FrameOffset(int64(p&^inLog), f.pageSize)); n < f.pageSize {
			return nil
		}
		return f.frame
	case f.main == nil || p > place(f.mainPages):
		return nil
	}
	no := uint32(p)
	w := &f.windows[f.latest]
	if no-w.first >= w.pages { // unsigned: also where no is before first
		if w = f.look(no); w == nil {
			return nil
		}
	}
	at := int(no-w.first) * f.pageSize
	return w.data[at : at+f.pageSize : at+f.pageSize]
}

// look finds the window with a page, or reads one.
func (f *File) look(no uint32) *window {
	few := uint32(fewPages)
	for i := range f.windows {
		w := &f.windows[i]
		switch {
		case no-w.first < w.pages:
			f.latest = i
			return w
		case no == w.first+w.pages:
			few = max(fewPages, uint32(windowBytes/f.pageSize))
		}
	}
	w := &f.windows[f.oldest]
	w.first, w.pages = no, 0
	size := int(min(few, f.mainPages-no+1)) * f.pageSize
	if cap(w.data) < size {
		w.data = make([]byte, size)
	}
	n, _ := f.main.ReadAt(w.data[:size], (int64(no)-1)*int64(f.pageSize))
	if n < f.pageSize {
		return nil
	}
	w.pages = uint32(n / f.pageSize)
	f.latest = f.oldest
	f.oldest = (f.oldest + 1) % windows
	return w
}

// pages gives the pages of one state, as one view of the database.
type pages interface {
	locate(no uint32) place
}

// stateView is the view of a state.
type stateView struct {
	f     *File
	state int
}

func (v stateView) locate(no uint32) place { return v.f.locate(no, v.state) }

// keptPayload is the largest buffer, in bytes, that outlives its record.
const keptPayload = 1 << 20

// payload reads the first want bytes of a cell's record into buf and returns
// them, at least; what is in the page is returned where it is. ok is false when
// a page of the chain is not there or met twice, or the chain is shorter than
// that. visit, when given, sees each page of the chain and may refuse it; then
// the chain must not be longer either. A large buf is not kept for small records.
func (f *File) payload(buf []byte, c *cell, want, usable int, v pages, visit func(no uint32) bool) (record, _ []byte, ok bool) {
	if want <= keptPayload && cap(buf) > keptPayload {
		buf = nil
	}
	if want <= len(c.local) {
		return c.local, buf, true
	}
	rest := want - len(c.local)
	chunk := usable - 4
	// A chain has a page per chunk, and no database has more pages than fit
	// its files; so this also bounds what buf grows to.
	most := int64(f.mainPages) + int64(len(f.frames)) + int64(len(f.stale))
	if int64((rest+chunk-1)/chunk) > most {
		return nil, buf, false
	}
	buf = append(slices.Grow(buf[:0], want), c.local...)
	next := c.overflow
	// Brent's algorithm: a page that is met again is met at the marked one.
	mark, lap, power := uint32(0), 0, 1
	for rest > 0 {
		if next == 0 || next == mark || f.spent >= f.budget || visit != nil && !visit(next) {
			return nil, buf, false
		}
		if lap == power {
			mark, lap, power = next, 0, power*2
		}
		lap++
		f.spent++
		p := v.locate(next)
		n := min(rest, chunk)
		page := f.page(p)
		if page == nil {
			return nil, buf, false
		}
		next = binary.BigEndian.Uint32(page)
		buf = append(buf, page[4:4+n]...)
		rest -= n
	}
	return buf, buf, visit == nil || next == 0
}
