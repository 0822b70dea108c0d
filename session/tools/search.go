package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"strata/filecontext"
	"strata/filecontext/source"
	"strata/history"
)

// The bounds of a search.
const (
	searchTime    = 10 * time.Second
	searchWorkers = 2   // files searched at a time
	searchBatch   = 64  // files whose results are put in order together
	maxMatches    = 200 // lines shown
	maxInFile     = 50  // lines shown of one file
	maxContext    = 10  // lines before and after
	maxLineShown  = 400 // bytes of a line
)

type searchInput struct {
	Pattern string `json:"pattern" need:"content"`
	Regex   bool   `json:"regex"`
	Path    string `json:"path"`
	Include string `json:"include"`
	Context int    `json:"context"`
	Ignored bool   `json:"ignored"`
}

const searchSchema = `{"type":"object","properties":{` +
	`"pattern":{"type":"string","description":"Text to find, exactly as written, or with regex a regular expression (RE2; (?i) ignores case)"},` +
	`"regex":{"type":"boolean","description":"Whether pattern is a regular expression; default false"},` +
	`"path":{"type":"string","description":"Folder or file to search; by default the whole workspace"},` +
	`"include":{"type":"string","description":"Only files whose paths match, such as *.go, src/**/*.{ts,tsx} or !*_test.go"},` +
	`"context":{"type":"integer","minimum":0,"maximum":10,"description":"Lines to show before and after each match; default 0"},` +
	`"ignored":{"type":"boolean","description":"Whether to search files that git ignores, too; default false"}},` +
	`"required":["pattern"],"additionalProperties":false}`

// searcher is the tool search.
type searcher struct {
	roots *filecontext.Roots
	texts Texts // nil: none
	timed func(ctx context.Context) (context.Context, context.CancelFunc)
	read  func(ctx context.Context, ref filecontext.Ref) (filecontext.Content, error)
}

func newSearch(roots *filecontext.Roots, texts Texts) *searcher {
	timed := func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, searchTime)
	}
	return &searcher{roots: roots, texts: texts, timed: timed, read: roots.Read}
}

func (s *searcher) tool() Tool {
	return Tool{
		Definition: Definition{
			Name: "search",
			Description: "Search the text files of the workspace line by line. Shows the matching lines with their numbers, by file: at most 200 " +
				"lines, 50 of one file, and 50 KB. A search ends after 10 seconds with what it has found. Files that git ignores, binary " +
				"files and files that look like secrets are not searched.",
			Schema: json.RawMessage(searchSchema),
		},
		Kind: KindSearch, ReadOnly: true,
		Describe: func(raw json.RawMessage) Description {
			in := decoded[searchInput](raw)
			d := Description{Title: "Search for " + titlePath(in.Pattern)}
			if in.Path != "" {
				d.Title += " in " + titlePath(in.Path)
				d.Locations = []Location{{Path: in.Path}}
			}
			return d
		},
		Run: with(s.run),
	}
}

// run searches. It ends early, with what it has found, after its time; the error is that of ctx.
func (s *searcher) run(ctx context.Context, in searchInput, limit int) (Result, error) {
	m, err := newMatcher(in.Pattern, in.Regex)
	if err != nil {
		return Failed("%v", err), nil
	}
	include, err := patternOf("include", in.Include)
	if err != nil {
		return Failed("%v", err), nil
	}
	timed, cancel := s.timed(ctx)
	defer cancel()
	texts, err := s.clientTexts(timed)
	if err != nil {
		return Result{}, err
	}
	found := report{context: min(in.Context, maxContext), left: limit - reportFrame, skipped: make(map[filecontext.Reason]int)}
	if one, ok := s.textAt(in.Path, texts); ok {
		found.total = 1
		s.search(timed, m, []searchable{one}, &found)
		return found.result(), ctx.Err()
	}
	all, err := folders(timed, s.roots, in.Path, in.Ignored)
	switch {
	case ctx.Err() != nil:
		return Result{}, ctx.Err()
	case timed.Err() != nil:
		return Failed("listing the files took more than %v; name a folder in path", searchTime), nil
	case err != nil:
		return refused(ctx, in.Path, err)
	}
	for i := range all {
		files, err := filesOf(timed, &all[i], include, texts)
		if err != nil {
			break
		}
		found.total += len(files)
		found.omissions += all[i].omissions()
		s.search(timed, m, files, &found)
	}
	found.late = timed.Err() != nil
	return found.result(), ctx.Err()
}

// searchable is a file to search.
type searchable struct {
	ref  filecontext.Ref
	text *filecontext.Content // nil: it is on disk
}

// clientTexts returns the texts that are searched instead of the files.
func (s *searcher) clientTexts(ctx context.Context) (map[string]filecontext.Content, error) {
	if s.texts == nil {
		return nil, nil
	}
	return s.texts(ctx)
}

// textAt returns the text of a client that is searched instead of the file at a path, which need not exist.
func (s *searcher) textAt(path string, texts map[string]filecontext.Content) (searchable, bool) {
	ref, err := s.roots.Locate(path)
	content, ok := texts[ref.Path]
	return searchable{ref, &content}, ok && err == nil
}

// filesOf returns the files of a folder that a search includes, sorted by path: those on disk, and texts of clients.
func filesOf(
	ctx context.Context, f *folder, include *filecontext.Pattern, texts map[string]filecontext.Content,
) ([]searchable, error) {
	listed, err := f.matching(ctx, include)
	if err != nil {
		return nil, err
	}
	var all []searchable
	known := make(map[string]bool)
	for _, file := range listed {
		one := searchable{ref: file.Ref}
		if content, ok := texts[file.Ref.Path]; ok {
			one.text = &content
			known[file.Ref.Path] = true
		}
		all = append(all, one)
	}
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		name, inside := f.name(path)
		if !inside || known[path] || include != nil && !include.Match(name, strings.TrimPrefix(path, "/")) {
			continue
		}
		content := texts[path]
		all = append(all, searchable{filecontext.Ref{Path: path}, &content})
	}
	slices.SortFunc(all, func(a, b searchable) int { return strings.Compare(a.ref.Path, b.ref.Path) })
	return all, nil
}

// search searches files, several at a time, and reports them in their order until the report is full or ctx ends.
func (s *searcher) search(ctx context.Context, m *matcher, files []searchable, found *report) {
	size, inBatch := searchBatch, s.inFiles
	if s.roots.IsRemote() {
		size, inBatch = source.MaxPaths, s.inTexts
	}
	for batch := range slices.Chunk(files, size) {
		if found.full() {
			return
		}
		results := inBatch(ctx, m, batch, found.context)
		for i := range results {
			if found.full() {
				return
			}
			found.add(&results[i])
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// inFiles searches files on disk, several at a time.
func (s *searcher) inFiles(ctx context.Context, m *matcher, files []searchable, around int) []searched {
	results := make([]searched, len(files))
	group := errgroup.Group{}
	group.SetLimit(searchWorkers)
	for i := range files {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			results[i] = s.file(ctx, m, &files[i], around)
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
	return results
}

// inTexts searches files that a client has, whose texts it returns many at a time.
func (s *searcher) inTexts(ctx context.Context, m *matcher, files []searchable, around int) []searched {
	results := make([]searched, len(files))
	refs := make([]filecontext.Ref, len(files))
	for i := range files {
		refs[i] = files[i].ref
	}
	_ = s.roots.ReadEach(ctx, refs, func(at int, content filecontext.Content, err error) { // the caller looks at ctx
		results[at] = inText(ctx, m, &content, err, around)
	})
	return results
}

// searched is the result for one file.
type searched struct {
	done    bool
	skipped filecontext.Reason // why it was not searched
	matches int
	lines   []shownLine // matching ones, and those around them
	file    history.FileLines
}

// shownLine is a line of a file as a result shows it.
type shownLine struct {
	number int
	match  bool
	text   string
	whole  bool // the text is the whole line
}

// file searches one file.
func (s *searcher) file(ctx context.Context, m *matcher, one *searchable, around int) searched {
	if one.text != nil {
		return inText(ctx, m, one.text, nil, around)
	}
	content, err := s.read(ctx, one.ref)
	return inText(ctx, m, &content, err, around)
}

// inText searches the text of a file, unless reading it failed.
func inText(ctx context.Context, m *matcher, content *filecontext.Content, err error, around int) searched {
	if err != nil {
		return searched{done: ctx.Err() == nil, skipped: filecontext.ReasonOf(err)}
	}
	if content.Secret {
		return searched{done: true, skipped: filecontext.ReasonSecret}
	}
	text := content.UnixText()
	c := collector{text: text, around: around}
	if m.each(ctx, text, c.found) != nil {
		return searched{}
	}
	if c.matches == 0 {
		return searched{done: true}
	}
	c.finish()
	return searched{done: true, matches: c.matches, lines: c.lines,
		file: history.FileLines{Path: content.Path, Version: content.Version(), Of: content.Lines, Lossy: content.Lossy, Disk: content.Disk()}}
}

// collector collects the lines of a file to show.
type collector struct {
	text    string
	around  int // lines before and after each match
	matches int
	lines   []shownLine
	after   int // lines to show after the last match
	last    int // number of the last shown line
	end     int // of that line in the text
}

// found takes a matching line.
func (c *collector) found(line, start, end, at int) {
	if c.matches++; c.matches > maxInFile {
		return
	}
	c.finishBefore(line)
	first := line
	from := start
	for first > line-c.around && first > c.last+1 && from > 0 {
		from = strings.LastIndexByte(c.text[:from-1], '\n') + 1
		first--
	}
	for ; first < line; first++ {
		stop := lineEnd(c.text, from)
		c.show(first, from, stop, -1)
		from = stop + 1
	}
	c.show(line, start, end, at)
	c.after = c.around
}

// finish shows the lines after the last match.
func (c *collector) finish() { c.finishBefore(int(^uint(0) >> 1)) }

// finishBefore shows the lines after the last match that are before a line.
func (c *collector) finishBefore(line int) {
	for ; c.after > 0 && c.last+1 < line && c.end < len(c.text); c.after-- {
		c.show(c.last+1, c.end, lineEnd(c.text, c.end), -1)
	}
}

// show adds a line; at is where a match in it begins, -1 if it has none.
func (c *collector) show(number, start, end, at int) {
	text, whole := excerpt(c.text[start:end], max(at-start, 0))
	c.lines = append(c.lines, shownLine{number: number, match: at >= 0, text: text, whole: whole})
	c.last, c.end = number, end+1
}

// excerpt returns a line, of a long one the part around a match.
func excerpt(line string, at int) (text string, whole bool) {
	if len(line) <= maxLineShown {
		return line, true
	}
	from := max(0, min(at-maxLineShown/4, len(line)-maxLineShown))
	text = strings.ToValidUTF8(line[from:from+maxLineShown], "")
	if from > 0 {
		text = "…" + text
	}
	if from+maxLineShown < len(line) {
		text += "…"
	}
	return text, false
}

// reportFrame is room for what a report says beside the lines, in bytes.
const reportFrame = 1024

// report is the result of a search.
type report struct {
	context int
	left    int // bytes

	total     int // files
	searched  int // of them
	skipped   map[filecontext.Reason]int
	files     int // with matches
	matches   int // in them
	shown     int
	cut       bool // not all matches of the searched files are shown
	late      bool
	omissions string

	body  strings.Builder
	lines []history.FileLines
}

// full reports whether nothing more can be shown.
func (r *report) full() bool { return r.left <= 0 || r.shown >= maxMatches }

// add adds the result for the next file.
func (r *report) add(s *searched) {
	switch {
	case !s.done:
		return
	case s.skipped != "":
		if s.skipped != filecontext.ReasonMissing { // it was deleted meanwhile
			r.skipped[s.skipped]++
		}
		r.total--
		return
	}
	r.searched++
	if s.matches == 0 {
		return
	}
	r.files++
	r.matches += s.matches
	head := filecontext.Printable(s.file.Path) + "\n"
	if r.files > 1 {
		head = "\n" + head
	}
	if r.left -= len(head); r.full() {
		r.cut = true
		return
	}
	r.body.WriteString(head)
	r.write(s)
}

// write writes the lines of a file as far as there is room.
func (r *report) write(s *searched) {
	shown, last := 0, 0
	for _, l := range s.lines {
		text := l.render(last > 0 && l.number > last+1)
		if r.left -= len(text); r.full() {
			break
		}
		r.body.WriteString(text)
		last = l.number
		if l.match {
			shown++
			r.shown++
		}
		if l.whole {
			s.file.Lines = append(s.file.Lines, history.Lines{Start: l.number, End: l.number})
		}
	}
	if more := s.matches - shown; more > 0 {
		r.cut = true
		fmt.Fprintf(&r.body, "[%s more in this file]\n", number(more, "line"))
		r.left -= reportFrame / 16
	}
	if s.file.Lines = history.MergedLines(s.file.Lines); s.file.Lines != nil {
		r.lines = append(r.lines, s.file)
	}
}

// render returns the line as a result shows it, after a separator if gap is set.
func (l *shownLine) render(gap bool) string {
	mark, before := "-", ""
	if l.match {
		mark = ":"
	}
	if gap && !l.match {
		before = "--\n"
	}
	return fmt.Sprintf("%s%d%s %s\n", before, l.number, mark, l.text)
}

// result returns the result: figures, lines, and what is missing.
func (r *report) result() Result {
	var head strings.Builder
	if r.matches == 0 {
		fmt.Fprintf(&head, "No line matches in %s.\n", number(r.searched, "file"))
	} else {
		fmt.Fprintf(&head, "%s in %s of %s searched\n\n", number(r.matches, "matching line"), number(r.files, "file"), number(r.searched, "file"))
	}
	var end strings.Builder
	missing := r.total - r.searched
	switch {
	case r.late:
		fmt.Fprintf(&end, "[stopped after %v; %s not searched: narrow path or include]\n", searchTime, number(missing, "file"))
	case missing > 0:
		fmt.Fprintf(&end, "[a limit of the result was reached; %s not searched: narrow pattern, path or include]\n", number(missing, "file"))
	case r.cut:
		fmt.Fprint(&end, "[a limit of the result was reached: narrow pattern, path or include]\n")
	}
	for _, skipped := range []struct {
		reason filecontext.Reason
		what   string
	}{{filecontext.ReasonSecret, "look like secrets"}, {filecontext.ReasonTooLarge, "are too large"}, {filecontext.ReasonUnreadable, "cannot be read"}} {
		if n := r.skipped[skipped.reason]; n > 0 {
			fmt.Fprintf(&end, "[%s skipped that %s]\n", number(n, "file"), skipped.what)
		}
	}
	end.WriteString(r.omissions)
	out := text("%s%s%s", head.String(), r.body.String(), end.String())
	out.Content[0].Shows = r.lines
	return out
}
