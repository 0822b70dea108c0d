package index

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"strata/filecontext"
	"strata/filecontext/outline"
)

// The limits of a batch of files that are read together.
const (
	batchFiles       = 64
	remoteBatchFiles = 256 // of a client
	batchBytes       = 8 << 20
)

// sweeper compares the folder to the index. It belongs to one goroutine.
type sweeper struct {
	index *Index
	roots *filecontext.Roots
	opt   Options

	stored   map[string]seen // of the file list in the store, until the first sweep has used it
	loaded   bool
	files    []*record // under work, sorted by path
	goMods   map[string]goMod
	status   Status         // of the sweep
	outlines map[key]string // encoded, of the files under work
	bytes    int            // of all outlines
	room     int            // maximum of these
	left     int64          // of the total size of files of a client that this sweep reads, in bytes
	unsaved  bool           // something has changed since the last stored list
	swept    bool           // a sweep has ended
	listed   time.Duration  // that the last sweep took to list the folder
	reported time.Time
	told     bool // this sweep has reported its progress
}

// job is a file to read.
type job struct {
	at   int     // in files
	file *record // by its attributes
}

// key identifies an outline: the same text has another outline in another language.
type key struct {
	language string
	hash     digest
}

func (k key) String() string { return k.language + ":" + k.hash.String() }

// sweep finds the files that were added, removed or changed since the last one, and reads them. If ctx ends, it
// leaves some of them pending.
func (s *sweeper) sweep(ctx context.Context) {
	before := s.index.now()
	s.told, s.left = false, s.opt.TotalBytes
	begun := time.Now()
	found, err := s.roots.Survey(ctx, filecontext.SurveyLimits{Files: s.opt.Files, Visits: s.opt.Visits})
	s.listed = time.Since(begun)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		s.lose(err)
	default:
		s.update(ctx, found)
	}
	if ctx.Err() == nil && (s.told || s.index.now().differs(before)) {
		s.tell()
	}
}

// update brings the index up to date with the files that were found.
func (s *sweeper) update(ctx context.Context, found *filecontext.Survey) {
	s.load(ctx)
	s.room = s.index.room(s.index)
	todo := s.compare(found)
	s.readGoMods(ctx, found)
	s.publish(len(todo) == 0)
	if !s.swept && len(todo) > 0 {
		s.tell()
	}
	todo = s.recall(ctx, todo)
	for len(todo) > 0 && ctx.Err() == nil {
		s.progress()
		s.room = s.index.room(s.index)
		n := batch(todo, s.batchFiles())
		s.read(ctx, todo[:n])
		todo = todo[n:]
	}
	if ctx.Err() != nil {
		return
	}
	s.publish(true)
	s.stored, s.swept = nil, true
	if s.unsaved {
		s.save(ctx)
	}
}

// lose notes that the folder cannot be listed. The files known before remain: the disk may be unmounted.
func (s *sweeper) lose(err error) {
	s.status.Problem = err.Error()
	s.publish(false)
}

// load reads the file list from the store, once.
func (s *sweeper) load(ctx context.Context) {
	if s.loaded || s.opt.Store == nil {
		return
	}
	s.loaded = true
	data, err := s.opt.Store.Listing(ctx, s.roots.Folder())
	if err != nil {
		s.fault(ctx, err)
		return
	}
	s.stored = decodeListing(data)
}

func (s *sweeper) save(ctx context.Context) {
	s.unsaved = false
	if s.opt.Store == nil {
		return
	}
	if err := s.opt.Store.PutListing(ctx, s.roots.Folder(), encodeListing(s.files)); err != nil {
		s.unsaved = true // the next sweep tries again
		s.fault(ctx, err)
	}
}

// fault logs a fault of the store. The index goes on without it.
func (s *sweeper) fault(ctx context.Context, err error) {
	if ctx.Err() == nil {
		s.opt.Log.Warn("workspace index: store", slog.Any("error", err))
	}
}

// compare makes the list of files from what was found, and returns those to read. They keep their former state and outline
// until they are read.
func (s *sweeper) compare(found *filecontext.Survey) (todo []job) {
	old := &snapshot{files: s.files}
	files := make([]*record, len(found.Files))
	total, same := int64(0), 0
	for at := range found.Files {
		f := &found.Files[at]
		before := old.find(f.Ref.Path)
		if before != nil {
			same++
		}
		now := s.describe(f, before, &total)
		if now.state == Pending {
			todo = append(todo, job{at, now})
			if before != nil {
				now = before
			}
		}
		files[at] = now
	}
	structure := s.status.Structure
	if same != len(files) || same != len(old.files) || structure == 0 {
		structure++
		s.unsaved = true
	}
	s.status = Status{Structure: structure, Parsed: s.status.Parsed, fileLimit: s.opt.Files,
		Excess: found.Excess, Nameless: found.Nameless, Unreadable: found.Unreadable, TooDeep: found.TooDeep, Cut: found.Cut}
	s.files = files
	s.outlines = make(map[key]string)
	s.bytes = 0
	for _, f := range files {
		if f.state == Outlined {
			s.outlines[key{f.language, f.hash}] = f.outline
			s.bytes += len(f.outline)
		}
	}
	return todo
}

// describe returns the record of a file by its attributes; pending means that it must be read.
func (s *sweeper) describe(f *filecontext.Surveyed, before *record, total *int64) *record {
	r := &record{path: f.Ref.Path, language: outline.LanguageOf(f.Ref.Path), size: f.Size, stamp: f.Stamp, state: NameOnly}
	if r.language == "" {
		return kept(before, r)
	}
	secret := before != nil && before.reason == Reason(filecontext.ReasonSecret)
	if before == nil {
		secret = s.opt.Limits.Guard.LooksSecret(s.roots.Folder() + "/" + f.Ref.Path)
	}
	fits := f.Size <= s.opt.Limits.FileBytes
	if fits && !secret {
		*total += f.Size
	}
	switch {
	case secret:
		r.reason = Reason(filecontext.ReasonSecret)
	case !fits:
		r.reason = Reason(filecontext.ReasonTooLarge)
	case *total > s.opt.TotalBytes:
		r.reason = ReasonNoRoom
	case before != nil && before.lasts() && before.stamp.Current(f.Stamp):
		return before
	default:
		r.state = Pending
		return r
	}
	return kept(before, r)
}

// lasts reports whether the record of an unchanged file need not be made again.
func (r *record) lasts() bool {
	return isLasting(r.reason) || r.state == Outlined || r.state == NameOnly && r.read && r.reason != ReasonNoRoom
}

// isLasting reports a reason that holds until the file is written.
func isLasting(r Reason) bool {
	return r == Reason(filecontext.ReasonBinary) || r == Reason(filecontext.ReasonEncoding)
}

// kept returns the former record if it is equal, so that snapshots share it.
func kept(before, now *record) *record {
	if before != nil && *before == *now {
		return before
	}
	return now
}

// recall takes the outlines of files that are unchanged since an earlier process read them from the store. It returns the
// others.
func (s *sweeper) recall(ctx context.Context, todo []job) (rest []job) {
	if len(s.stored) == 0 {
		return todo
	}
	for some := range slices.Chunk(todo, 500) {
		s.progress()
		done := make([]*record, len(some))
		for n, j := range some {
			f := *j.file
			if last, ok := s.stored[f.path]; ok && last.stamp.Current(f.stamp) {
				f.hash, f.read = last.hash, true
				done[n] = &f
			}
		}
		known := s.fetch(ctx, done)
		for n, j := range some {
			if f := done[n]; f == nil || !s.settle(f, known) {
				rest = append(rest, j)
			} else {
				s.files[j.at] = f
			}
		}
	}
	return rest
}

// batch returns how many of the files to read are read together.
func batch(todo []job, most int) int {
	size := int64(0)
	for n, j := range todo {
		size += j.file.size
		if n == most || n > 0 && size > batchBytes {
			return n
		}
	}
	return len(todo)
}

func (s *sweeper) batchFiles() int {
	if s.roots.IsRemote() {
		return remoteBatchFiles
	}
	return batchFiles
}

// read reads files and parses those without a known outline.
func (s *sweeper) read(ctx context.Context, todo []job) {
	done := make([]*record, len(todo))
	texts := make([]string, len(todo))
	if s.roots.IsRemote() {
		s.readRemote(ctx, todo, done, texts)
	} else {
		s.parallel(ctx, len(todo), func(n int) { done[n], texts[n] = s.readOne(ctx, todo[n].file) })
	}
	if ctx.Err() != nil {
		return
	}
	known := s.fetch(ctx, done)
	fresh := s.parse(ctx, done, texts, known)
	if ctx.Err() != nil {
		return
	}
	for n, j := range todo {
		f := done[n]
		if f.reason == Reason(filecontext.ReasonAway) {
			continue // it stays as it was known, and is read by a later sweep
		}
		if f.state == Pending {
			s.settle(f, known)
		}
		now := kept(s.files[j.at], done[n])
		s.unsaved = s.unsaved || now != s.files[j.at]
		s.files[j.at] = now
	}
	s.put(ctx, fresh)
}

// readOne returns the record of a file that was read, and its text.
func (s *sweeper) readOne(ctx context.Context, f *record) (*record, string) {
	ref, err := s.roots.Locate(f.path)
	var content filecontext.Content
	if err == nil {
		content, err = s.roots.Read(ctx, ref)
	}
	return f.after(&content, err)
}

// after returns the record of a file after it was read, and its text.
func (r *record) after(content *filecontext.Content, err error) (*record, string) {
	now := &record{path: r.path, language: r.language, size: r.size, stamp: r.stamp, state: NameOnly}
	if err != nil {
		now.reason = Reason(filecontext.ReasonOf(err))
		return now, ""
	}
	now.size, now.stamp, now.state = content.Size, content.Stamp(), Pending
	now.hash, now.read = parseDigest(content.Hash)
	return now, content.Text
}

// readRemote reads files of a client together. A client can tell smaller sizes than its files have: beyond the total size of a
// sweep, no text is kept.
func (s *sweeper) readRemote(ctx context.Context, todo []job, done []*record, texts []string) {
	refs := make([]filecontext.Ref, 0, len(todo))
	var at []int // in todo
	for n, j := range todo {
		if ref, err := s.roots.Locate(j.file.path); err == nil {
			refs, at = append(refs, ref), append(at, n)
		} else {
			done[n], texts[n] = j.file.after(nil, err)
		}
	}
	_ = s.roots.ReadEach(ctx, refs, func(i int, content filecontext.Content, err error) { // the caller looks at ctx
		n := at[i]
		s.left -= content.Size
		if s.left < 0 {
			content.Text = ""
			done[n] = &record{path: content.Path, language: todo[n].file.language, size: content.Size, stamp: content.Stamp(), state: NameOnly, reason: ReasonNoRoom}
			return
		}
		done[n], texts[n] = todo[n].file.after(&content, err)
	})
}

// result is the stored form of an outline: the encoded outline, or the reason for which there is none.
type result struct {
	outline string
	reason  Reason
}

// fetch returns the known outlines of records that were read: those of other files, and those in the store.
func (s *sweeper) fetch(ctx context.Context, files []*record) map[key]result {
	known := make(map[key]result)
	var keys []string
	wanted := make(map[string]key)
	for _, f := range files {
		if f == nil || !f.read {
			continue
		}
		k := key{f.language, f.hash}
		if encoded, ok := s.outlines[k]; ok {
			known[k] = result{outline: encoded}
		} else if text := k.String(); wanted[text] != k {
			wanted[text] = k
			keys = append(keys, text)
		}
	}
	if s.opt.Store == nil || len(keys) == 0 {
		return known
	}
	stored, err := s.opt.Store.Outlines(ctx, keys)
	if err != nil {
		s.fault(ctx, err)
		return known
	}
	for text, data := range stored {
		k, asked := wanted[text]
		if reason, encoded, err := unseal(s.opt.version, data); asked && err == nil {
			known[k] = result{encoded, reason}
		}
	}
	return known
}

// parse adds the outlines of the texts that are not known, and returns the new ones to store.
func (s *sweeper) parse(ctx context.Context, files []*record, texts []string, known map[key]result) map[string][]byte {
	var first []int // of each new text
	asked := make(map[key]bool)
	for n, f := range files {
		k := key{f.language, f.hash}
		if _, ok := known[k]; f.state == Pending && !ok && !asked[k] {
			asked[k] = true
			first = append(first, n)
		}
	}
	var mu sync.Mutex
	fresh := make(map[string][]byte)
	s.parallel(ctx, len(first), func(n int) {
		f := files[first[n]]
		r, lasts := s.parseOne(ctx, f.path, texts[first[n]])
		mu.Lock()
		defer mu.Unlock()
		k := key{f.language, f.hash}
		known[k] = r
		if lasts {
			fresh[k.String()] = seal(s.opt.version, r.reason, r.outline)
		}
	})
	s.status.Parsed += len(first)
	return fresh
}

// parseOne parses a text. lasts is false if another attempt may have another result.
func (s *sweeper) parseOne(ctx context.Context, path, text string) (r result, lasts bool) {
	o, err := s.opt.Parser.Parse(ctx, path, text)
	switch {
	case err == nil:
		return result{outline: encode(o)}, true
	case errors.Is(err, outline.ErrUnsupported):
		return result{reason: ReasonUnsupported}, false
	case errors.Is(err, outline.ErrClosed), ctx.Err() != nil:
		return result{reason: ReasonFailed}, false
	case errors.Is(err, outline.ErrTime):
		return result{reason: ReasonSlow}, false
	}
	return result{reason: ReasonFailed}, true
}

// settle gives a file that was read its known outline. It returns false if there is none.
func (s *sweeper) settle(f *record, known map[key]result) bool {
	k := key{f.language, f.hash}
	r, ok := known[k]
	if !ok {
		return false
	}
	_, shared := s.outlines[k]
	switch {
	case r.reason != "":
		f.state, f.reason = NameOnly, r.reason
	case !shared && s.bytes+len(r.outline) > s.room:
		f.state, f.reason = NameOnly, ReasonNoRoom
	default:
		if shared {
			r.outline = s.outlines[k]
		} else {
			s.outlines[k] = r.outline
			s.bytes += len(r.outline)
		}
		f.state, f.outline = Outlined, r.outline
	}
	return true
}

func (s *sweeper) put(ctx context.Context, fresh map[string][]byte) {
	if s.opt.Store == nil || len(fresh) == 0 {
		return
	}
	if err := s.opt.Store.PutOutlines(ctx, fresh); err != nil {
		s.fault(ctx, err)
	}
}

// parallel calls do for 0 to n-1, some at a time, until ctx ends.
func (s *sweeper) parallel(ctx context.Context, n int, do func(int)) {
	var group errgroup.Group
	group.SetLimit(s.opt.Parallel)
	for at := range n {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error { do(at); return nil })
	}
	_ = group.Wait() // do returns no error
}

// progress publishes and reports the files so far if they have changed, not too often.
func (s *sweeper) progress() {
	if time.Since(s.reported) < s.opt.Throttle {
		return
	}
	before := s.index.now()
	if s.publish(false); s.index.now().differs(before) {
		s.tell()
	}
}

// tell reports the published state, however short the time since the last report.
func (s *sweeper) tell() {
	s.told, s.reported = true, time.Now()
	s.index.report(s.index.Status())
}

// publish replaces the snapshot by the files under work, unless nothing has changed.
func (s *sweeper) publish(complete bool) {
	next := &snapshot{files: slices.Clone(s.files), goMods: s.goModTexts(), status: s.status}
	next.count()
	next.status.Complete = complete && next.status.Pending == 0
	s.index.snapshot.Store(next.after(s.index.now()))
}
