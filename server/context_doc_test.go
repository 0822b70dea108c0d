package server

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/session/assembly"
	"strata/session/workspace"
	"strata/stability"
	"strata/tokens"
)

// docs/context.md follows one session. A server whose provider caches by Anthropic's rules generates its tables and the
// report in README.md. -update writes them.
const (
	contextDoc = "../docs/context.md"
	readmeDoc  = "../README.md"
)

// act is one step of the tour: an event, and then a prompt.
type act struct {
	what   string
	do     func(w *tour)
	pause  time.Duration // before it
	prompt string
}

var acts = []act{
	{"`parser.go` and `token.go` are added", func(w *tour) { w.add("parser.go"); w.add("token.go") }, 0, "How does the parser find the end of a list?"},
	{"-", nil, time.Minute, "And the end of a map?"},
	{"-", nil, time.Minute, "What happens at the end of the input?"},
	{"-", nil, time.Minute, "Is there a limit to nesting?"},
	{"a line of `parser.go` is edited", func(w *tour) { w.ts.write("parser.go", parserText("return p.list(depth + 1)")) }, time.Minute, "I limited the nesting. Is it right?"},
	{"-", nil, time.Minute, "What is still missing?"},
	{"`token.go` is removed", func(w *tour) { w.remove("token.go") }, time.Minute, "Which errors should it tell apart?"},
	{"`token.go` is added again", func(w *tour) { w.add("token.go") }, time.Minute, "Write the first test."},
	{"`parser.go` is removed", func(w *tour) { w.remove("parser.go") }, time.Minute, "Which tokens need a test?"},
	{"-", nil, time.Minute, "Write that one."},
	{"a pause of 20 minutes", nil, 20 * time.Minute, "Where was I?"},
	{"-", nil, time.Minute, "Then the next one."},
}

// readmeActs is the number of steps before the report in README.md.
const readmeActs = 5

func TestContextDocument(t *testing.T) {
	t.Parallel()
	text := readDoc(t, contextDoc)
	old := text
	for _, layout := range []string{stability.LayoutLog, stability.LayoutRipple} {
		text = withSection(t, text, layout, takeTour(t, layout, acts).table())
	}
	writeDoc(t, contextDoc, old, text)
}

func TestReadmeShowsAReport(t *testing.T) {
	t.Parallel()
	text := readDoc(t, readmeDoc)
	w := takeTour(t, stability.LayoutLog, acts[:readmeActs])
	writeDoc(t, readmeDoc, text, withSection(t, text, "report", "```\n"+w.report()+"```\n"))
}

// withSection returns doc with the text of one generated section replaced.
func withSection(t *testing.T, doc, name, section string) string {
	t.Helper()
	begin, end := "<!-- begin "+name+": go test ./server -update -->\n", "<!-- end "+name+" -->\n"
	before, rest, found := strings.Cut(doc, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("a document has no section %s", name)
	}
	return before + begin + section + end + after
}

// tour is the session of the document.
type tour struct {
	ts      *testServer
	editor  *testclient.Editor
	session string
	clock   time.Time
	rows    []tourRow
}

// tourRow is the result of a step: the cache figures of its request, and the session after its reply.
type tourRow struct {
	number                int
	what, cut             string
	read, wrote, uncached int // tokens of the request, as the provider reported them
	after                 assembly.Breakdown
}

func takeTour(t *testing.T, layout string, acts []act) *tour {
	w := &tour{clock: time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)}
	now := func() time.Time { return w.clock }
	cache := upstream.NewCache(upstream.CacheOptions{Now: now, Count: tokens.For(tokens.Default).Count})
	w.ts = &testServer{t: t, upstream: upstream.Start(upstream.Options{}), dir: t.TempDir(), work: t.TempDir()}
	t.Cleanup(w.ts.upstream.Close)
	w.ts.start(func(opt *Options) {
		exampleModels(w.ts, opt, 1024)
		setClock(opt, now)
		opt.Sessions.Rules.SystemPrompt = ""
		opt.Sessions.Rules.Stability = stability.Options{Layout: layout, Target: stability.DefaultTarget}
	})
	w.ts.upstream.Choose(func(req *upstream.Request) upstream.Script {
		script := upstream.Script{Steps: upstream.Texts(replyText(req.N)), Usage: cache.Serve(req).Usage}
		script.Usage.Output = tokens.For(tokens.Default).Count(replyText(req.N))
		return script
	})
	w.ts.write("AGENTS.md", rulesText())
	w.ts.write("parser.go", parserText("return p.list(depth)"))
	w.ts.write("token.go", "package parser\n\nconst (\n"+strings.Repeat("\tkindOfValue = \"value\" // what a rule wants\n", 30)+")\n")
	w.editor = w.ts.editor()
	w.session = w.editor.NewSession(w.ts.work)
	for i, a := range acts {
		w.step(i+1, a)
	}
	return w
}

func (w *tour) step(number int, a act) {
	w.clock = w.clock.Add(a.pause)
	if a.do != nil {
		a.do(w)
	}
	before := w.breakdown()
	if _, err := w.editor.Prompt(w.session, a.prompt); err != nil {
		w.ts.t.Fatal(err)
	}
	after := w.breakdown()
	usage := after.Totals.Usage
	row := tourRow{
		number: number, what: a.what, cut: before.Cut, after: after, read: usage.CacheRead, wrote: usage.CacheWrite, uncached: usage.Input,
	}
	for _, r := range w.rows {
		row.read, row.wrote, row.uncached = row.read-r.read, row.wrote-r.wrote, row.uncached-r.uncached
	}
	w.rows = append(w.rows, row)
}

func (w *tour) breakdown() assembly.Breakdown {
	return call[assembly.Breakdown](w.ts, w.editor, "_strata/context/breakdown", w.session, nil)
}

func (w *tour) add(path string) {
	call[workspace.FileInfo](w.ts, w.editor, "_strata/files/add", w.session, map[string]any{"path": path})
}

func (w *tour) remove(path string) {
	call[map[string]bool](w.ts, w.editor, "_strata/files/remove", w.session, map[string]any{"path": path})
}

// table returns the rows as a Markdown table.
func (w *tour) table() string {
	var b strings.Builder
	b.WriteString("| | what happens | read | written | uncached | `parser.go` | `token.go` | L0 | L1 | L2 | L3 | active | unused | rebuilt because |\n")
	b.WriteString("|--:|---|--:|--:|--:|---|---|--:|--:|--:|--:|--:|--:|---|\n")
	for _, r := range w.rows {
		fmt.Fprintf(&b, "| %d | %s | %d | %d | %d | %s | %s |", r.number, r.what, r.read, r.wrote, r.uncached, r.place("parser.go"), r.place("token.go"))
		for _, tier := range r.after.Tiers {
			fmt.Fprintf(&b, " %d |", tier.Tokens)
		}
		fmt.Fprintf(&b, " %d | %s |\n", r.after.Dead, r.cut)
	}
	return b.String()
}

// place returns the tier, N and tokens of a file after a reply.
func (r *tourRow) place(path string) string {
	for _, tier := range r.after.Tiers {
		for _, item := range tier.Items {
			switch {
			case item.Key != "file:"+path:
			case item.Leaves:
				return fmt.Sprintf("unused, %d", item.Tokens)
			default:
				return fmt.Sprintf("%s, N %d, %d", tier.Tier, item.N, item.Tokens)
			}
		}
	}
	return ""
}

var messageID = regexp.MustCompile(`msg_[0-9A-HJKMNP-TV-Z]{26}`)

// report returns the session's report with reproducible ids.
func (w *tour) report() string {
	text := call[assembly.Report](w.ts, w.editor, "_strata/context/report", w.session, nil).Text
	names := make(map[string]string)
	return messageID.ReplaceAllStringFunc(text, func(id string) string {
		if names[id] == "" {
			names[id] = fmt.Sprintf("msg_01KE6D%020d", len(names)+1)
		}
		return names[id]
	})
}

func replyText(n int) string {
	return strings.Repeat(fmt.Sprintf("Answer %d tells what the question asked for, and names the functions that matter. ", n), 4+n%3)
}

func rulesText() string {
	var b strings.Builder
	b.WriteString("Rules of this project.\n\n")
	for i := range 60 {
		fmt.Fprintf(&b, "%d. A function does one thing, has a name that says which, and fails with an error that names its subject.\n", i+1)
	}
	return b.String()
}

// parserText returns a larger file that contains the given call once.
func parserText(call string) string {
	var b strings.Builder
	b.WriteString("package parser\n\n")
	for i := range 40 {
		fmt.Fprintf(&b, "// rule%d reads one value of kind %d and returns it with the position behind it.\nfunc (p *parser) rule%d(depth int) (node, error) {\n", i, i, i)
		fmt.Fprintf(&b, "\tif p.next() != kind%d {\n\t\treturn nil, p.wrong(%d)\n\t}\n", i, i)
		if i == 20 {
			fmt.Fprintf(&b, "\t%s\n}\n\n", call)
			continue
		}
		fmt.Fprintf(&b, "\treturn p.value(%d, depth)\n}\n\n", i)
	}
	return b.String()
}
