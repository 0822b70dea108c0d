package approval

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// entry is a command line or a rule of a file of testdata, with lines for each of the other marks.
type entry struct {
	text  string
	lines map[string][]string
}

// readEntries returns the entries of a file of testdata.
func readEntries(t testing.TB, name string) (all []entry) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for row := range strings.SplitSeq(string(text), "\n") {
		if row == "" || strings.HasPrefix(row, "#") {
			continue
		}
		mark, line, _ := strings.Cut(row, " ")
		if unquoted, err := strconv.Unquote(line); err == nil && line[0] == '"' {
			line = unquoted
		}
		if mark == "?" {
			all = append(all, entry{line, map[string][]string{}})
			continue
		}
		last := all[len(all)-1]
		last.lines[mark] = append(last.lines[mark], line)
	}
	return all
}

// written is a command line of testdata, with the rule that is offered for all lines that begin like it.
type written struct {
	line, begins    string
	covers, differs []string // lines that the rule covers, and does not cover
}

// readCommands returns the command lines of testdata.
func readCommands(t testing.TB) (all []written) {
	t.Helper()
	for _, e := range readEntries(t, "commands.txt") {
		if len(e.lines["="]) != 1 {
			t.Fatalf("%q: offered is %q", e.text, e.lines["="])
		}
		all = append(all, written{e.text, e.lines["="][0], e.lines["+"], e.lines["-"]})
	}
	return all
}

// decided returns the decision on a command line in a session that has these rules.
func decided(line string, rules ...Rule) Decision {
	return (&Policy{Session: rules}).Decide(&Call{Tool: CommandTool, Effect: RunsCommand, Command: line})
}

func TestRulesThatAreOfferedForCommandLines(t *testing.T) {
	for _, w := range readCommands(t) {
		offered := decided(w.line).Always
		if len(offered) == 0 || offered[0] != (Rule{tool: CommandTool, line: w.line}) {
			t.Errorf("%q: offered are %v", w.line, offered)
			continue
		}
		begins := "none"
		if len(offered) > 1 {
			begins = offered[1].line
		}
		if begins != w.begins || len(offered) > 2 {
			t.Errorf("%q: offered is the beginning %q, want %q", w.line, begins, w.begins)
		}
	}
}

func TestWhatOfferedRulesCover(t *testing.T) {
	for _, w := range readCommands(t) {
		exact := Rule{tool: CommandTool, line: w.line}
		for _, line := range append(w.covers, w.differs...) {
			if line != w.line && decided(line, exact).Verdict == Allowed {
				t.Errorf("the rule of the line %q covers %q", w.line, line)
			}
		}
		if w.begins == "none" {
			continue
		}
		rule := Rule{tool: CommandTool, line: w.begins, begins: true}
		for _, line := range append(w.covers, w.line) {
			if decided(line, rule).Verdict != Allowed {
				t.Errorf("%v does not cover %q", rule, line)
			}
		}
		for _, line := range w.differs {
			if decided(line, rule).Verdict == Allowed {
				t.Errorf("%v covers %q", rule, line)
			}
		}
	}
}

// No rule of one line of testdata covers a line of another beginning.
func TestOfferedRulesCoverTheirBeginningOnly(t *testing.T) {
	all := readCommands(t)
	for _, w := range all {
		rule := Rule{tool: CommandTool, line: w.begins, begins: true}
		for _, other := range all {
			if is := decided(other.line, rule).Verdict == Allowed; is != (w.begins != "none" && other.begins == w.begins) {
				t.Errorf("%v covers %q: %v", rule, other.line, is)
			}
		}
	}
}

func TestLinesThatRulesDeny(t *testing.T) {
	for _, e := range readEntries(t, "denied.txt") {
		rule, err := ParseDeny(e.text)
		if err != nil {
			t.Fatal(err)
		}
		policy := Policy{Mode: Auto, Deny: Rules{rule}}
		for mark, want := range map[string]Verdict{"-": Refused, "+": Allowed} {
			for _, line := range e.lines[mark] {
				if d := policy.Decide(&Call{Tool: CommandTool, Effect: RunsCommand, Command: line}); d.Verdict != want {
					t.Errorf("%v, %q: %+v", rule, line, d)
				}
			}
		}
	}
}
