package hudtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"strata/internal/binary"
)

// tour is a walk through docs/tour.md, block by block.
type tour struct {
	t      *testing.T
	server *binary.Server
	tools  string // a folder with strata
	blocks []string
	prose  string // the whole text
}

var (
	fences    = regexp.MustCompile("(?ms)^```(sh|text)\n(.*?)^```\n")
	sessionID = regexp.MustCompile(`sess_[0-9A-Z]{26}`)
)

// newTour begins the tour in the project of a server.
func newTour(t *testing.T, w *World) *tour {
	t.Helper()
	text, err := os.ReadFile("../../docs/tour.md")
	if err != nil {
		t.Fatal(err)
	}
	r := &tour{t: t, server: w.Server, tools: t.TempDir(), prose: string(text)}
	for _, block := range fences.FindAllStringSubmatch(r.prose, -1) {
		r.blocks = append(r.blocks, block[1]+"\n"+block[2])
	}
	if err := os.Symlink(w.Home.Command(t.Context()).Path, filepath.Join(r.tools, "strata")); err != nil {
		t.Fatal(err)
	}
	return r
}

// run runs the next commands of the tour, and compares what they print with the text after them.
func (r *tour) run() string {
	r.t.Helper()
	command, isCommand := strings.CutPrefix(r.next(), "sh\n")
	if !isCommand {
		r.t.Fatal("the next block has no commands")
	}
	cmd := exec.CommandContext(r.t.Context(), "sh", "-ec", command)
	cmd.Dir = r.server.Home.Project
	for _, variable := range r.server.Home.Environment() {
		if path, ok := strings.CutPrefix(variable, "PATH="); ok {
			variable = "PATH=" + r.tools + string(os.PathListSeparator) + path
		}
		cmd.Env = append(cmd.Env, variable)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("%s: %v\n%s", command, err, out)
	}
	if len(r.blocks) == 0 || !strings.HasPrefix(r.blocks[0], "text\n") {
		return string(out)
	}
	if got, want := "text\n"+sessionID.ReplaceAllString(string(out), "sess_EXAMPLE"), r.next(); got != want {
		r.t.Errorf("docs/tour.md: %s prints\n%s\nwant\n%s", command, got, want)
	}
	return string(out)
}

func (r *tour) next() string {
	r.t.Helper()
	if len(r.blocks) == 0 {
		r.t.Fatal("docs/tour.md has no further block")
	}
	block := r.blocks[0]
	r.blocks = r.blocks[1:]
	return block
}

// named returns words of the page that the tour names, too.
func (r *tour) named(words string) string {
	r.t.Helper()
	if !strings.Contains(r.prose, "**"+words+"**") {
		r.t.Errorf("docs/tour.md does not name %q", words)
	}
	return words
}

// TestTheTourIsTrue does what docs/tour.md says, in the terminal and on the page.
func TestTheTourIsTrue(t *testing.T) {
	w := NewWorld(t)
	r := newTour(t, w)
	r.run() // makes the files
	r.run() // the turn
	r.run() // the test passes
	p := newPage(t)
	p.Run(chromedp.Navigate(strings.TrimSpace(r.run())))
	p.Click(".sidebar .line a")
	p.WaitText(".changes-line", r.named("2 files changed"))
	p.Click(".changes-line")
	p.act(r.named("Take back") + ": test.sh")
	p.WaitText("[data-file='test.sh'] .review-state", r.named("Taken back"))
	p.WaitText("[data-file='test.sh'] button", r.named("Put forward"))
	p.act("Take back: greet.sh")
	p.WaitText("[data-file='greet.sh'] .review-state", "Taken back")
	p.Click("dialog button[aria-label='Close']")
	r.run()
	p.choose("select[data-option=approval]", "ask")
	p.Wait(`document.querySelector("select[data-option=approval]").selectedOptions[0].innerText === ` + quote(r.named("Ask")))
	prompt, err := os.ReadFile(filepath.Join(w.Home.Project, "prompt.txt"))
	if err != nil {
		t.Fatal(err)
	}
	p.input("#prompt", string(prompt))
	p.Click("button[aria-label='Send prompt']")
	p.WaitText(".question .diff", "name=${1:-world}")
	p.clickAnswer(r.named("Allow once"))
	p.WaitText(".question .diff", "echo passed")
	p.WaitText(".question-answers", r.named("Always allow"))
	p.clickAnswer(r.named("Reject"))
	p.Wait(`document.querySelectorAll(".changes-line").length === 2`)
	p.WaitText(".changes-line", "1 file changed")
	r.run()
	p.WaitText("[role=tab]", r.named("Rules"))
	if len(r.blocks) > 0 {
		t.Errorf("docs/tour.md goes on: %q", r.blocks)
	}
}
