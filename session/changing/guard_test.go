package changing

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"strata/session/tools"
)

// known is a file whose lines are all different, and which of them the model was shown since someone else changed it.
type known struct {
	b     *bench
	r     *rand.Rand
	lines []string
	shown map[string]bool
	next  int
}

func (k *known) line() string {
	k.next++
	return fmt.Sprintf("line %d\n", k.next)
}

func (k *known) show(from, to int) {
	for _, line := range k.lines[max(from, 0):min(to, len(k.lines))] {
		k.shown[line] = true
	}
}

// read shows some lines.
func (k *known) read() {
	start := k.r.IntN(len(k.lines))
	end := min(start+1+k.r.IntN(6), len(k.lines))
	k.b.read("a.txt", start+1, end)
	k.show(start, end)
}

// disturb changes the file behind the model's back.
func (k *known) disturb() {
	k.lines = slices.Insert(k.lines, k.r.IntN(len(k.lines)), k.line())
	k.shown = make(map[string]bool)
	write(k.b.t, filepath.Join(k.b.folder, "a.txt"), strings.Join(k.lines, ""))
}

// edit replaces some lines, if the model was shown all of them. It reports whether it was allowed to.
func (k *known) edit() bool {
	k.b.t.Helper()
	start := k.r.IntN(len(k.lines))
	end := min(start+1+k.r.IntN(3), len(k.lines))
	old, text := slices.Clone(k.lines[start:end]), []string{}
	for range k.r.IntN(4) {
		text = append(text, k.line())
	}
	allowed := !slices.ContainsFunc(old, func(line string) bool { return !k.shown[line] })
	p := k.b.prepare("edit_file", edit("a.txt", strings.Join(old, ""), strings.Join(text, "")))
	if allowed != (p.Refusal == nil) {
		k.b.t.Fatalf("lines %d to %d, shown: %v; %+v", start+1, end, allowed, p.Refusal)
	}
	if !allowed {
		hasAll(k.b.t, shownText(*p.Refusal), fmt.Sprintf("start_line %d,", start+1))
		return false
	}
	_, err := p.Make(k.b.t.Context())
	must(k.b.t, err)
	k.lines = slices.Replace(k.lines, start, end, text...)
	k.show(start-diffContext, start+len(text)+diffContext)
	return true
}

// A model changes exactly the lines that it was shown, by whatever reads and changes of its own, since someone else changed
// the file.
func TestTheGuardOfManyReadsAndChanges(t *testing.T) {
	b := newBench(t, nil)
	k := &known{b: b, r: rand.New(rand.NewPCG(1, 2))}
	for range 30 {
		k.lines = append(k.lines, k.line())
	}
	k.disturb()
	allowed, refused := 0, 0
	for range 500 {
		switch n := k.r.IntN(20); {
		case n < 5:
			k.read()
		case n == 5 || len(k.lines) < 10:
			k.disturb()
		case k.edit():
			allowed++
		default:
			refused++
		}
		b.want("a.txt", strings.Join(k.lines, ""))
	}
	if allowed < 50 || refused < 50 {
		t.Errorf("%d changes were allowed, %d refused", allowed, refused)
	}
}

func TestTheToolsAreBuiltIn(t *testing.T) {
	for _, tool := range Tools(nil, nil) {
		if !tools.IsBuiltIn(tool.Name) || tools.KindOf(tool.Name) != tool.Kind || tool.ReadOnly || tool.Run != nil {
			t.Errorf("%+v", tool)
		}
	}
}
