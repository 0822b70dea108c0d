package approval

import (
	"slices"
	"strings"
	"testing"
)

// The cells have the verdict in each of Modes, from the strictest: allowed, refused or asks (?).
const decisions = `
	effect    place      no-rule  session  allow  deny  deny+allow
	nothing   inside     AAAA     AAAA     AAAA   RRRR  RRRR
	nothing   protected  AAAA     AAAA     AAAA   RRRR  RRRR
	nothing   outside    RRRR     RRRR     RRRR   RRRR  RRRR
	changes   inside     R?AA     RAAA     RAAA   RRRR  RRRR
	changes   protected  R???     R???     R???   RRRR  RRRR
	changes   outside    RRRR     RRRR     RRRR   RRRR  RRRR
	changes   unknown    R???     R???     R???   RRRR  RRRR
	command   unknown    R??A     RAAA     RAAA   RRRR  RRRR
	anything  unknown    R???     RAAA     RAAA   RRRR  RRRR
	mcp       unknown    R???     RAAA     RAAA   RRRR  RRRR
	mcp-read  unknown    R???     RAAA     RAAA   RRRR  RRRR
	trusted   unknown    RAAA     RAAA     RAAA   RRRR  RRRR
`

func TestDecisions(t *testing.T) {
	calls := map[string]Call{
		"nothing":  {Tool: "read_file", Effect: Nothing},
		"changes":  {Tool: "edit_file", Effect: ChangesFiles},
		"command":  {Tool: CommandTool, Effect: RunsCommand, Command: "go test ./..."},
		"anything": {Tool: "open_tabs"},
		"mcp":      {Tool: "gh__create", MCP: true},
		"mcp-read": {Tool: "gh__list", MCP: true, Effect: Nothing},
		"trusted":  {Tool: "gh__create", MCP: true, Trusted: true},
	}
	places := map[string][]Path{
		"inside":    {{"a/b.go", true}},
		"protected": {{"a/b.go", true}, {"a/.git/config", true}},
		"outside":   {{"a/b.go", true}, {"/etc/passwd", false}},
		"unknown":   nil,
	}
	lines := strings.Split(strings.TrimSpace(decisions), "\n")
	rulings := strings.Fields(lines[0])[2:]
	verdicts := map[Verdict]byte{Asks: '?', Allowed: 'A', Refused: 'R'}
	for _, line := range lines[1:] {
		cells := strings.Fields(line)
		call := calls[cells[0]]
		call.Paths = places[cells[1]]
		rule := Rule{tool: call.Tool, line: call.Command}
		for i, want := range cells[2:] {
			for j, mode := range Modes() {
				p := Policy{Mode: mode}
				switch rulings[i] {
				case "session":
					p.Session = Rules{rule}
				case "allow":
					p.Allow = Rules{rule}
				case "deny":
					p.Deny = Rules{rule}
				case "deny+allow":
					p.Allow, p.Session, p.Deny = Rules{rule}, Rules{rule}, Rules{rule}
				}
				d := p.Decide(&call)
				if got := verdicts[d.Verdict]; got != want[j] {
					t.Errorf("%s, %s, %s, %s: got %c, want %c", cells[0], cells[1], rulings[i], mode, got, want[j])
				}
				if (d.By != "") != (d.Verdict == Allowed) || (d.Refusal != "") != (d.Verdict == Refused) {
					t.Errorf("%s, %s, %s, %s: by %q, refusal %q", cells[0], cells[1], rulings[i], mode, d.By, d.Refusal)
				}
			}
		}
	}
}

func TestASessionWithoutChoiceAsks(t *testing.T) {
	call := Call{Tool: "edit_file", Effect: ChangesFiles, Paths: []Path{{"a.go", true}}}
	if d := new(Policy).Decide(&call); d.Verdict != Asks {
		t.Errorf("got %+v", d)
	}
}

func TestReasonsOfDecisions(t *testing.T) {
	read := Call{Tool: "read_file", Effect: Nothing}
	edit := Call{Tool: "edit_file", Effect: ChangesFiles, Paths: []Path{{"a.go", true}}}
	away := Call{Tool: "edit_file", Effect: ChangesFiles, Paths: []Path{{"../a.go", false}}}
	command := Call{Tool: CommandTool, Effect: RunsCommand, Command: "git push origin"}
	editRule, pushRule := Rule{tool: "edit_file"}, Rule{tool: CommandTool, line: "git push", begins: true}
	for want, d := range map[string]Decision{
		"reading":                             new(Policy).Decide(&read),
		"the approval edits":                  (&Policy{Mode: Edits}).Decide(&edit),
		"the approval auto":                   (&Policy{Mode: Auto}).Decide(&command),
		"rule edit_file of this session":      (&Policy{Session: Rules{editRule}}).Decide(&edit),
		"rule edit_file of the configuration": (&Policy{Session: Rules{editRule}, Allow: Rules{editRule}}).Decide(&edit),
		"edit_file was not run: ../a.go is outside the folders of the session.":                                                                    new(Policy).Decide(&away),
		"edit_file was not run: the session is read-only. Tell the user what you would have done.":                                                 (&Policy{Mode: ReadOnly}).Decide(&edit),
		"run_command was not run: the user's configuration denies it (rule run_command(git push *)). Do not try it in another way; tell the user.": (&Policy{Deny: Rules{pushRule}}).Decide(&command),
	} {
		if d.By+d.Refusal != want {
			t.Errorf("got %+v, want %s", d, want)
		}
	}
}

func TestProtectedPaths(t *testing.T) {
	for _, path := range []string{
		".git/config", ".git", "sub/.git/hooks/pre-commit", ".GIT/config", `sub\.git\config`, ".git./config", ".git /config", ".git . /x",
		".git::$INDEX_ALLOCATION/config", ".g\u200cit/config", "GIT~1/config", "git~12/config",
		".strata.yaml", ".strata", ".strata/commands/x.md", "a/.Strata-other", ".ſtrata.yaml", "STRATA~1",
		".vscode/tasks.json", "a/.IDEA/x", ".envrc", "a/b/.ENVRC", "VSCODE~1/tasks.json",
		".github/workflows/ci.yml", "a/.GitHub/Workflows", "GITHUB~1/WORKFL~1/ci.yml", ".github//workflows/ci.yml",
		"AGENTS.md", "docs/agents.MD", "CLAUDE.md", "a/claude.md ", "AGENTS.md:stream",
	} {
		if !Protected(path) {
			t.Errorf("%q is not protected", path)
		}
	}
	for _, path := range []string{
		"", "a.go", ".gitignore", ".github/ISSUE_TEMPLATE.md", "workflows/x", ".github/x/workflows", "git/config", "strata.yaml", ".strat",
		"MY_AGENTS.md", "AGENTS.md.txt", ".envrc.sample", "idea/x", "x.git/config", "git~/x", "git~x", "gits~1", "digit~1",
	} {
		if Protected(path) {
			t.Errorf("%q is protected", path)
		}
	}
}

func TestOptions(t *testing.T) {
	edit := Call{Tool: "edit_file", Effect: ChangesFiles, Paths: []Path{{"a.go", true}}}
	protected := Call{Tool: "edit_file", Effect: ChangesFiles, Paths: []Path{{"AGENTS.md", true}}}
	command := func(line string) *Call { return &Call{Tool: CommandTool, Effect: RunsCommand, Command: line} }
	full := make(Rules, MaxRules)
	for name, test := range map[string]struct {
		call *Call
		with Rules
		want string
	}{
		"a tool":               {&edit, nil, "allow_once allow_always(edit_file) reject_once"},
		"a protected path":     {&protected, nil, "allow_once reject_once"},
		"a simple command":     {command("go test ./..."), nil, "allow_once allow_always(run_command(go test ./...)) allow_always_beginning(run_command(go test *)) reject_once"},
		"a pipe":               {command("go test | head"), nil, "allow_once allow_always(run_command(go test | head)) reject_once"},
		"a program alone":      {command("make"), nil, "allow_once allow_always(run_command(make)) reject_once"},
		"a very long command":  {command("go test " + strings.Repeat("x", MaxRule)), nil, "allow_once allow_always_beginning(run_command(go test *)) reject_once"},
		"a full list of rules": {&edit, full, "allow_once reject_once"},
	} {
		d := (&Policy{Session: test.with}).Decide(test.call)
		var got []string
		for _, o := range d.Options() {
			one := o.ID
			if o.Rule != (Rule{}) {
				one += "(" + o.Rule.String() + ")"
			}
			got = append(got, one)
			if chosen, err := d.Option(o.ID); err != nil || chosen != o || o.Name == "" || o.Allows != strings.HasPrefix(o.Kind, "allow_") {
				t.Errorf("%s: option %+v, chosen %+v, %v", name, o, chosen, err)
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: got %s", name, strings.Join(got, " "))
		}
	}
	if _, err := new(Decision).Option("allow_always"); err == nil {
		t.Error("an option that was not offered can be chosen")
	}
}

// An answer "always" allows the same call from then on.
func TestARuleOfAnAnswerAllowsItsCall(t *testing.T) {
	for _, line := range []string{"go test ./...", "a | b", "ls *", "go test *", "echo \"a\"\nrm x", `"quoted" x`, " x ", "echo \xff", "echo ä)"} {
		call := Call{Tool: CommandTool, Effect: RunsCommand, Command: line}
		for _, o := range (&Decision{Always: new(Policy).offered(&call)}).Options() {
			if o.Rule == (Rule{}) {
				continue
			}
			p := Policy{Session: Rules(nil).With(o.Rule)}
			if d := p.Decide(&call); d.Verdict != Allowed {
				t.Errorf("%q with %v: %+v", line, o.Rule, d)
			}
			if parsed, err := ParseAllow(o.Rule.String()); err != nil || parsed != o.Rule {
				t.Errorf("%v is read as %v, %v", o.Rule, parsed, err)
			}
		}
	}
}

func TestTheListOfRulesIsBounded(t *testing.T) {
	var rules Rules
	for i := range MaxRules + 10 {
		rules = rules.With(Rule{tool: CommandTool, line: strings.Repeat("x", i+1)})
	}
	if len(rules) != MaxRules {
		t.Errorf("%d rules", len(rules))
	}
	if again := rules[:5].With(rules[2]); len(again) != 5 {
		t.Errorf("a rule is in the list twice: %v", again)
	}
	if less := rules.Without(rules[2]); len(less) != MaxRules-1 || slices.Contains(less, rules[2]) {
		t.Error("the rule was not removed")
	}
}
