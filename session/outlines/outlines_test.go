package outlines

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"strata/filecontext"
	"strata/filecontext/index"
	"strata/filecontext/outline"
	"strata/history"
	"strata/internal/leak"
	"strata/session/events"
	"strata/session/fit"
	"strata/session/mailbox"
	"strata/stability"
	"strata/tokens"
)

func TestMain(m *testing.M) { leak.Main(m) }

// desk is the outlines of a session whose mailbox runs, in a folder.
type desk struct {
	*Source
	t      testing.TB
	folder string
	reader *events.Cursor
	files  []filecontext.Entry // of the context
	shown  Choice              // of the newest answered request
}

// open returns the outlines of a folder with files of these texts.
func open(t testing.TB, services *Services, files map[string]string) *desk {
	t.Helper()
	d := &desk{t: t, folder: t.TempDir()}
	for name, text := range files {
		d.write(name, text)
	}
	d.again(services)
	return d
}

// again replaces the source by a new one, as after a restart.
func (d *desk) again(services *Services) {
	box := mailbox.New("session", slog.New(slog.DiscardHandler), func() {})
	box.Open()
	stream := events.New("session", "epoch", noMessages{}, func(context.Context) (events.Standing, error) { return events.Standing{}, nil })
	d.reader = stream.NewCursor(func() {})
	stream.Continue(d.reader, events.Since{Epoch: "epoch"}, func() {})
	d.Source = New(services, d.folder, box, stream)
	ended := make(chan struct{})
	box.Start(func() { close(ended) })
	d.t.Cleanup(func() {
		box.Tell(func() { box.End(mailbox.ErrClosed) }, nil)
		<-ended
	})
}

type noMessages struct{}

func (noMessages) Messages(context.Context, string, []int64) ([]history.Message, error) {
	return nil, nil
}

// goServices returns services with the real parser.
func goServices(t testing.TB) *Services {
	t.Helper()
	s := NewServices(Options{CacheDir: t.TempDir()})
	t.Cleanup(s.Close)
	return s
}

func (d *desk) write(name, text string) {
	d.t.Helper()
	path := filepath.Join(d.folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// request returns a request with room for everything.
func (d *desk) request() Request {
	r := Request{Files: d.files, Prefixes: d.shown.Prefixes, Share: 10_000, Room: 100_000, Counter: tokens.For("")}
	for _, it := range d.shown.Items {
		r.Shown = append(r.Shown, Shown{Key: it.Key, Kind: it.Kind, Hash: it.Hash, Tokens: it.Tokens})
	}
	return r
}

// choose makes a choice, which the next one takes for shown.
func (d *desk) choose(r Request) Choice {
	d.t.Helper()
	if d.Open(); d.services != nil && d.isOpen(d.t.Context()) {
		if _, err := d.handle.Wait(d.t.Context()); err != nil {
			d.t.Fatal(err)
		}
	}
	choice, err := d.Choose(d.t.Context(), r)
	if err != nil {
		d.t.Fatal(err)
	}
	d.shown = choice
	return choice
}

// paths returns the paths of the outlines.
func paths(c Choice) []string {
	var all []string
	for _, it := range c.Items {
		if path, is := strings.CutPrefix(it.Key, fit.OutlinePrefix); is {
			all = append(all, path)
		}
	}
	return all
}

func size(c Choice) int {
	n := 0
	for _, it := range c.Items {
		if it.Key != fit.OutlineHeading {
			n += it.Tokens
		}
	}
	return n
}

// entry returns a file of the context.
func entry(path, text string, state filecontext.State) filecontext.Entry {
	return filecontext.Entry{Content: filecontext.Content{Path: path, Text: text, Hash: fit.Hash(text), Size: int64(len(text))}, State: state}
}

// goFile returns a Go file with so many functions.
func goFile(name string, functions int) string {
	text := "package p\n"
	for i := range functions {
		text += fmt.Sprintf("\nfunc %s%d(one, two int) (three string) { return \"\" }\n", name, i)
	}
	return text
}

// All files of a small workspace are outlined in the first request, but for those that are shown whole. The same
// workspace gives the same bytes, also after a restart.
func TestASmallWorkspaceIsOutlined(t *testing.T) {
	services := goServices(t)
	d := open(t, services, map[string]string{"a.go": goFile("A", 3), "b/b.go": goFile("B", 2), "README.md": "# Title\n"})
	d.files = []filecontext.Entry{entry("b/b.go", goFile("B", 2), filecontext.Full)}
	first := d.choose(d.request())
	if want := []string{"README.md", "a.go"}; !slices.Equal(paths(first), want) {
		t.Errorf("outlines of %q, want %q", paths(first), want)
	}
	if first.Items[0].Key != fit.OutlineHeading || !first.Items[0].Pinned || !strings.HasPrefix(first.Items[0].Text, "# Outlines") {
		t.Errorf("the first item is %+v", first.Items[0])
	}
	if want := "a.go\n 1 package p\n 3 func A0(one, two int) (three string)\n"; !strings.HasPrefix(first.Items[2].Text, want) {
		t.Errorf("%q, want %q", first.Items[2].Text, want)
	}
	if first.Tree != "" {
		t.Errorf("all files are named, but there is a tree: %q", first.Tree)
	}
	if s := first.Index; s == nil || !s.Complete || s.Files != 3 || s.Outlined != 3 {
		t.Errorf("index %+v", s)
	}
	for range 2 {
		d.again(services)
		if again := d.choose(d.request()); texts(again) != texts(first) {
			t.Errorf("after a restart:\n%s\nbefore:\n%s", texts(again), texts(first))
		}
	}
}

func texts(c Choice) string {
	var b strings.Builder
	for _, it := range c.Items {
		b.WriteString(it.Key + "\n" + it.Text)
	}
	return b.String() + c.Tree
}

// A file that changes, comes or goes is so in the very next request.
func TestAChangedFileIsOutlinedAnew(t *testing.T) {
	d := open(t, goServices(t), map[string]string{"a.go": goFile("A", 3), "b.go": goFile("B", 2)})
	before := d.choose(d.request())
	d.write("a.go", goFile("Other", 1))
	d.write("c.go", goFile("C", 1))
	if err := os.Remove(filepath.Join(d.folder, "b.go")); err != nil {
		t.Fatal(err)
	}
	after := d.choose(d.request())
	if want := []string{"a.go", "c.go"}; !slices.Equal(paths(after), want) || !strings.Contains(texts(after), "func Other0") || strings.Contains(texts(after), "func A0") {
		t.Errorf("%s\nbefore:\n%s", texts(after), texts(before))
	}
	// The one that was changed last is evicted last.
	var recent []string
	for _, it := range after.Items {
		if it.Priority == fit.PriorityRecentOutline {
			recent = append(recent, it.Key)
		}
	}
	if len(recent) != 1 {
		t.Errorf("changed last: %q", recent)
	}
}

// The outlines keep their share. The nearest to the files of the context come first, what is shown stays, and the tree
// names the rest.
func TestOutlinesKeepTheirShare(t *testing.T) {
	files := map[string]string{"near/near.go": goFile("Near", 5)}
	for i := range 40 {
		files[fmt.Sprintf("far/f%02d.go", i)] = goFile(fmt.Sprintf("F%d_", i), 5)
	}
	d := open(t, goServices(t), files)
	d.files = []filecontext.Entry{entry("near/main.go", "package p\n", filecontext.Full)}
	r := d.request()
	r.Share = 800
	first := d.choose(r)
	if n := size(first); n > 800 || n < 600 || !slices.Contains(paths(first), "near/near.go") {
		t.Errorf("%d tokens: %q", n, paths(first))
	}
	if n := tokens.For("").Count(first.Tree); n > 100 || !strings.Contains(first.Tree, "far/ (40 files)") {
		t.Errorf("tree of %d tokens: %q", n, first.Tree)
	}
	d.write("far/a.go", goFile("New", 5))
	r = d.request()
	r.Share = 800
	if second := d.choose(r); !slices.Equal(paths(second), paths(first)) {
		t.Errorf("a new file changes %q to %q", paths(first), paths(second))
	}
	r.Tree = 2000
	if tree := d.choose(r).Tree; !strings.Contains(tree, "  f07.go\n") {
		t.Errorf("a tree with room: %q", tree)
	}
}

// Outlines that were not shown before wait for room; those that were stay, and those of the context come anyway.
func TestOutlinesWaitForRoom(t *testing.T) {
	d := open(t, goServices(t), map[string]string{"a.go": goFile("A", 5), "b.go": goFile("B", 5), "c.go": goFile("C", 5)})
	all := d.choose(d.request())
	d.shown = Choice{}
	r := d.request()
	r.Room = size(all) - 1
	some := d.choose(r)
	if len(paths(some)) != 2 {
		t.Fatalf("outlines of %q in %d of %d tokens", paths(some), r.Room, size(all))
	}
	r = d.request()
	r.Room = -1000
	if got := d.choose(r); !slices.Equal(paths(got), paths(some)) {
		t.Errorf("without room %q are shown of %q", paths(got), paths(some))
	}
	d.shown, d.files = Choice{}, []filecontext.Entry{entry("b.go", goFile("B", 5), filecontext.SummaryOnly)}
	r = d.request()
	r.Room = -1000
	if got := paths(d.choose(r)); !slices.Equal(got, []string{"b.go"}) {
		t.Errorf("without room, outlines of %q", got)
	}
	d.shown = Choice{}
	r.Room = 100_000
	if got := paths(d.choose(r)); len(got) != 3 {
		t.Errorf("with room again, outlines of %q", got)
	}
}

// A file of the context that is not shown whole has the outline of its present text: that of the client, or of a file
// that git ignores. No outlines of others are made where a profile wants none.
func TestFilesOfTheContextHaveTheOutlineOfTheirText(t *testing.T) {
	d := open(t, goServices(t), map[string]string{".gitignore": "ignored.go\n", "ignored.go": goFile("I", 1), "a.go": goFile("A", 1), "b.go": goFile("B", 1)})
	d.files = []filecontext.Entry{
		entry("a.go", goFile("Unsaved", 1), filecontext.SummaryOnly),
		entry("ignored.go", goFile("I", 1), filecontext.Partial),
		entry("notes.txt", "some text", filecontext.SummaryOnly),
		{Content: filecontext.Content{Path: "gone.go"}, State: filecontext.SummaryOnly, Problem: filecontext.ReasonUnreadable},
	}
	r := d.request()
	r.Share = 0
	got := d.choose(r)
	if want := []string{"a.go", "ignored.go"}; !slices.Equal(paths(got), want) || !strings.Contains(texts(got), "func Unsaved0") || !strings.Contains(texts(got), "func I0") {
		t.Errorf("%s", texts(got))
	}
	r.Files = nil
	if got := d.choose(r); len(got.Items) > 0 || got.Tree != "" {
		t.Errorf("%+v", got)
	}
}

// slowParser parses nothing until it may.
type slowParser struct{ may chan struct{} }

func (p slowParser) Parse(ctx context.Context, name, text string) (*outline.Outline, error) {
	select {
	case <-p.may:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return &outline.Outline{Language: outline.LanguageOf(name), Symbols: []outline.Symbol{{Kind: "func", Name: "f", Signature: text, Line: 1}}}, nil
}

func (slowParser) Close() {}

// A request does not wait for the first index; the next one after it has everything. Subscribers are told how far it is.
func TestARequestDoesNotWaitForTheFirstIndex(t *testing.T) {
	p := slowParser{make(chan struct{})}
	services := &Services{index.NewRegistry(index.Options{Parser: p}), p}
	t.Cleanup(services.Close)
	d := open(t, services, map[string]string{"a.go": "func a()", "b.go": "func b()"})
	d.Open()
	for range 3 {
		choice, err := d.Choose(t.Context(), d.request())
		if err != nil || len(choice.Items) > 0 || choice.Tree != "" {
			t.Fatalf("%+v, %v", choice, err)
		}
		if s := choice.Index; s != nil && s.Complete {
			t.Fatalf("index %+v", s)
		}
	}
	close(p.may)
	if got := paths(d.choose(d.request())); len(got) != 2 {
		t.Errorf("outlines of %q", got)
	}
	for {
		e, ok, err := d.reader.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			time.Sleep(time.Millisecond)
			continue
		}
		if s, is := e.Data.(IndexStatus); e.Kind != events.Index || !is || s.Files > 2 {
			t.Fatalf("event %+v", e)
		} else if s.Complete {
			if s.Outlined != 2 || s.Pending != 0 {
				t.Errorf("at the end %+v", s)
			}
			return
		}
	}
}

// After a restart, requests show what they showed before, byte for byte, until the index is there: but for files that are
// shown whole now, and with those of the context whose outlines were requested.
func TestOutlinesStayUntilTheIndexIsThere(t *testing.T) {
	p := slowParser{make(chan struct{})}
	services := &Services{index.NewRegistry(index.Options{Parser: p}), p}
	t.Cleanup(services.Close)
	d := open(t, services, map[string]string{"a.go": "func a()", "b.go": "func b()"})
	shown := []Shown{{"doc:structure", stability.Document, "h0", 9}, {"outline-heading", stability.Outline, "h1", 20}, {"outline:a.go", stability.Outline, "h2", 5}, {"outline:b.go", stability.Outline, "h3", 5}}
	r := d.request()
	r.Shown, r.Prefixes, r.Room = shown, []string{"some/prefix/"}, -1000
	r.Files = []filecontext.Entry{entry("a.go", "func a()", filecontext.Full)}
	got, err := d.Choose(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, it := range got.Items {
		keys = append(keys, it.Key+" "+it.Hash)
	}
	if want := []string{"doc:structure h0", "outline-heading h1", "outline:b.go h3"}; !slices.Equal(keys, want) || !slices.Equal(got.Prefixes, r.Prefixes) || !got.Items[1].Pinned {
		t.Errorf("%q, prefixes %q, want %q", keys, got.Prefixes, want)
	}
	r.Share = 0
	if got, err = d.Choose(t.Context(), r); err != nil || len(got.Items) > 0 {
		t.Errorf("without a share %+v, %v", got.Items, err)
	}
	close(p.may)
	r.Share, r.Room = 1000, 1000
	if got := d.choose(r); !slices.Equal(paths(got), []string{"b.go"}) || got.Items[1].Hash == "h3" {
		t.Errorf("with the index %+v", got.Items)
	}
}

// brokenParser parses nothing, and counts how often it is asked.
type brokenParser struct{ asked atomic.Int64 }

func (p *brokenParser) Parse(context.Context, string, string) (*outline.Outline, error) {
	p.asked.Add(1)
	return nil, outline.ErrTime
}

func (*brokenParser) Close() {}

// A text that has no outline, or takes too long, is parsed once, not at each request.
func TestATextWithoutAnOutlineIsParsedOnce(t *testing.T) {
	p := new(brokenParser)
	services := &Services{index.NewRegistry(index.Options{Parser: p}), p}
	t.Cleanup(services.Close)
	d := open(t, services, nil)
	d.files = []filecontext.Entry{entry("slow.go", "package p\n", filecontext.SummaryOnly)}
	for n := range 5 {
		r := d.request()
		r.Room += n
		r.Tree = n // another choice each time
		if c := d.choose(r); len(c.Items) > 0 {
			t.Errorf("%+v", c.Items)
		}
	}
	if n := p.asked.Load(); n != 1 {
		t.Errorf("parsed %d times", n)
	}
}

// A search finds symbols. It says why there is nothing to search.
func TestSearches(t *testing.T) {
	services := goServices(t)
	d := open(t, services, map[string]string{"a.go": goFile("Alpha", 2), "b.go": goFile("Beta", 1)})
	d.choose(d.request())
	found, err := d.Search(t.Context(), "alpha1", 5)
	if err != nil || len(found.Symbols) == 0 || found.Symbols[0] != (Hit{"a.go", "Alpha1", "func", 5, found.Symbols[0].Score}) || !found.Index.Complete {
		t.Errorf("%+v, %v", found, err)
	}
	if hash := d.Hash("a.go"); hash != fit.Hash(goFile("Alpha", 2)) || d.Hash("c.go") != "" {
		t.Errorf("hash %s", hash)
	}

	off := open(t, nil, map[string]string{"a.go": goFile("A", 1)})
	if _, err := off.Search(t.Context(), "A", 5); err == nil || !strings.Contains(err.Error(), "turned off") {
		t.Error(err)
	}
	off.files = []filecontext.Entry{entry("a.go", goFile("A", 1), filecontext.SummaryOnly)}
	if c := off.choose(off.request()); len(c.Items) > 0 || c.Index != nil {
		t.Errorf("%+v", c)
	}

	home := t.TempDir()
	skipping := NewServices(Options{CacheDir: t.TempDir(), Skip: []string{home, "/nowhere"}})
	t.Cleanup(skipping.Close)
	h := &desk{t: t, folder: home}
	h.write("a.go", goFile("A", 1))
	h.again(skipping)
	if _, err := h.Search(t.Context(), "A", 5); err == nil || !strings.Contains(err.Error(), "home folder") {
		t.Error(err)
	}
	if c := h.choose(h.request()); len(c.Items) > 0 || c.Index == nil || !strings.Contains(c.Index.Problem, "home folder") {
		t.Errorf("%+v", c)
	}
}
