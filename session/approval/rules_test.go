package approval

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestParseRules(t *testing.T) {
	for text, want := range map[string]Rule{
		"edit_file":                         {tool: "edit_file"},
		"gh__create-issue":                  {tool: "gh__create-issue"},
		"run_command(go test ./...)":        {tool: CommandTool, line: "go test ./..."},
		"run_command(go test *)":            {tool: CommandTool, line: "go test", begins: true},
		"run_command(ls *.go)":              {tool: CommandTool, line: "ls *.go"},
		"run_command(echo (a))":             {tool: CommandTool, line: "echo (a)"},
		"run_command(a; rm b)":              {tool: CommandTool, line: "a; rm b"},
		`run_command("go test *")`:          {tool: CommandTool, line: "go test *"},
		`run_command("echo \"a\"\nrm b")`:   {tool: CommandTool, line: "echo \"a\"\nrm b"},
		"run_command(sudo apt install x)":   {tool: CommandTool, line: "sudo apt install x"},
		"run_command(./build.sh release *)": {tool: CommandTool, line: "./build.sh release", begins: true},
	} {
		for _, parse := range []func(string) (Rule, error){ParseAllow, ParseDeny} {
			if got, err := parse(text); err != nil || got != want || got.String() != text {
				t.Errorf("%s: %+v, %v, as text %s", text, got, err, got)
			}
		}
	}
}

func TestWrongRules(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "must begin with the name of a tool",
		"edit file":               "must begin with the name of a tool",
		" edit_file":              "must begin with the name of a tool",
		"edit_file*":              "must begin with the name of a tool",
		strings.Repeat("x", 65):   "must begin with the name of a tool",
		strings.Repeat("x", 5000): "5000 bytes exceeds the limit of 4096",
		"run_command(\"" + strings.Repeat("\xff", 2000) + "\")": "6015 bytes exceeds the limit of 4096",
		"edit_file(a.go)":            "only run_command has a command",
		"run_command(go test":        "must end with )",
		"run_command(go test) x":     "must end with )",
		"run_command()":              "is empty",
		"run_command( )":             "is empty",
		"run_command( *)":            "there must be words",
		"run_command(go  test *)":    "there must be words",
		"run_command(go test; *)":    "there must be words",
		"run_command(echo $x *)":     "there must be words",
		"run_command(go\ttest x)":    "must be quoted",
		"run_command( go test)":      "must be quoted",
		"run_command(go test\nls)":   "must be quoted",
		`run_command("go" test)`:     "must be quoted as a whole",
		`run_command("")`:            "must be quoted as a whole",
		"run_command":                "it would allow all commands",
		"run_command(go *)":          "needs the program and its first argument",
		"run_command(go test ./x *)": "needs the program and its first argument",
		"run_command(FOO=1 make *)":  "without quotes and patterns",
		`run_command('go' test *)`:   "without quotes and patterns",
		"run_command(go t* *)":       "without quotes and patterns",
		"run_command(rm -rf *)":      "is an option",
		"run_command(sudo apt *)":    "sudo can run any program",
		"run_command(git push *)":    "git push can run any program",
		"run_command(go run *)":      "go run can run any program",
	} {
		rule, err := ParseAllow(text)
		if err == nil || !strings.Contains(err.Error(), want) || rule != (Rule{}) {
			t.Errorf("%s: %v, %v, want %s", text, rule, err, want)
		}
		if err != nil && len(text) < 50 && !strings.HasPrefix(err.Error(), "rule ") {
			t.Errorf("%s: the error does not name the rule: %v", text, err)
		}
	}
	if _, err := ParseRules([]string{"edit_file", "a b"}, ParseAllow); err == nil || !strings.Contains(err.Error(), `rule "a b"`) {
		t.Error(err)
	}
	if _, err := ParseRules(make([]string, MaxRules+1), ParseAllow); err == nil || !strings.Contains(err.Error(), "201 rules exceeds the limit of 200") {
		t.Error(err)
	}
	if rules, err := ParseRules([]string{"edit_file", "edit_file"}, ParseAllow); err != nil || len(rules) != 1 {
		t.Error(rules, err)
	}
}

func TestProgramsThatRunOthers(t *testing.T) {
	for _, begin := range []string{
		"sh x", "bash x", "zsh x", "fish x", "dash x", "python x", "python3 x", "python3.12 x", "/usr/bin/python3 x", "Python.EXE x", "perl x", "ruby x",
		"php8.2-cli x", "node x", "npx x", "env x", "sudo x", "doas x", "xargs x", "nohup x", "timeout 5", "nice x", "time x", "ssh host", "scp a",
		"rsync a", "docker run", "kubectl exec", "git -c", "git push", "git co", "git config", "git submodule", "git bisect", "./bash x", "exec ls", ". x",
		"npm exec", "go run", "uv run",
	} {
		if got, ok := beginning(begin + " more"); ok {
			t.Errorf("%s: a rule may allow %q", begin, got)
		}
	}
	for _, begin := range []string{"go test", "git status", "make check", "npm test", "cargo build", "ls src", "./run.sh all", "cat a.go", "find .", "/usr/bin/git log"} {
		if got, ok := beginning(begin + " more"); !ok || got != begin {
			t.Errorf("%s: got %q, %v", begin, got, ok)
		}
	}
}

// beyond are ways to put something behind or into a simple command.
var beyond = []string{
	"; rm x", " ; rm x", "&& rm x", " & rm x", " | sh", " || rm x", " > x", " < x", " >> x", " 2>&1", " $(rm x)", " `rm x`", " $HOME", " ${x}", "\nrm x",
	"\r\nrm x", " (rm x)", " {a,b}", " <(rm x)", "\x00rm x", "\x1b[2K", " -exec rm x", " --exec=rm", " -e\"x\"ec rm", ` -e\xec rm`, " '-exec' rm", " -delete",
	" -toolexec rm", " -e?ec rm", " --pre x",
}

func TestARuleAllowsOnlyTheSimpleCommand(t *testing.T) {
	rules := Rules{{tool: CommandTool, line: "go test", begins: true}, {tool: CommandTool, line: "go vet ./..."}}
	allows := func(line string) bool {
		return (&Policy{Session: rules}).Decide(&Call{Tool: CommandTool, Effect: RunsCommand, Command: line}).Verdict == Allowed
	}
	for _, line := range []string{"go test", "go test ./...", "go  test\t./... -run 'Test A' -v", "go test ./*", "go vet ./..."} {
		if !allows(line) {
			t.Errorf("%q is not allowed", line)
		}
	}
	for _, line := range []string{"go testing", "go", "gotest", "x go test", "go tes", "go vet", "go vet ./... x", "go vet  ./...", "/bin/go test", `"go" test`, "X=1 go test"} {
		if allows(line) {
			t.Errorf("%q is allowed", line)
		}
	}
	for _, line := range []string{"go test", "go test ./...", "go vet ./..."} {
		for _, more := range beyond {
			if allows(line + more) {
				t.Errorf("%q is allowed", line+more)
			}
		}
	}
}

func TestARuleThatMustNotAllowAllowsNothing(t *testing.T) {
	for _, text := range []string{"run_command", "run_command(sudo apt *)", "run_command(go *)"} {
		rule, err := ParseDeny(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"sudo apt install", "go test x", "ls"} {
			if (Rules{rule}).allows(line) {
				t.Errorf("%s allows %q", text, line)
			}
		}
	}
}

func (r Rules) allows(line string) bool {
	_, is := r.allowing(&Call{Tool: CommandTool, Effect: RunsCommand, Command: line})
	return is
}

// A rule for commands belongs to the tool of Strata, whatever a client calls its own.
func TestACommandRuleAllowsOnlyCommands(t *testing.T) {
	rule := Rule{tool: CommandTool, line: "go test", begins: true}
	if (Rules{rule}).allows("go test x") == false || rule.allows(&Call{Tool: CommandTool, Command: "go test x"}) {
		t.Error("the rule allows a call that runs no command")
	}
}

func TestADenyingRuleDeniesMoreThanItSays(t *testing.T) {
	deny := func(text, line string) bool {
		rule, err := ParseDeny(text)
		if err != nil {
			t.Fatal(err)
		}
		return (&Policy{Mode: Auto, Deny: Rules{rule}}).Decide(&Call{Tool: CommandTool, Effect: RunsCommand, Command: line}).Verdict == Refused
	}
	for _, test := range [][2]string{
		{"run_command", "ls"}, {"run_command(git push *)", "git push"}, {"run_command(git push *)", "git push origin"},
		{"run_command(git push *)", "cd x && git push"}, {"run_command(git push *)", `"git"  pu\sh`}, {"run_command(git push *)", "/usr/bin/git push"},
		{"run_command(git push *)", "x=$(git push)"}, {"run_command(git push *)", "true\ngit push"}, {"run_command(git push *)", "GIT.exe push"},
		{"run_command(sudo *)", "sudo ls"}, {"run_command(sudo *)", "echo a | sudo tee b"}, {"run_command(rm -rf *)", "rm -rf /"},
		{"run_command(make clean)", "make clean"}, {"run_command(make clean)", "make clean; ls"}, {"run_command(a | b)", "a | b"},
	} {
		if !deny(test[0], test[1]) {
			t.Errorf("%s does not deny %q", test[0], test[1])
		}
	}
	for _, test := range [][2]string{
		{"run_command(git push *)", "git pull"}, {"run_command(git push *)", "git stash push"}, {"run_command(git push *)", "digit push"},
		{"run_command(sudo *)", "pseudo x"}, {"run_command(git push *)", "push git"}, {"edit_file", "ls"}, {`run_command(";")`, "ls; x"},
	} {
		if deny(test[0], test[1]) {
			t.Errorf("%s denies %q", test[0], test[1])
		}
	}
}

// What is read as a rule is written as the same rule, and a rule that allows covers no line beyond a simple command.
func FuzzParseRules(f *testing.F) {
	for _, text := range []string{"edit_file", "run_command(go test ./...)", "run_command(go test *)", `run_command("a\n*")`, "run_command( *)", `run_command("go test *")`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		denying, err := ParseDeny(text)
		if err != nil {
			return
		}
		if again, err := ParseDeny(denying.String()); err != nil || again != denying {
			t.Fatalf("%+v is written as %s, read as %+v, %v", denying, denying, again, err)
		}
		allowing, err := ParseAllow(text)
		if err != nil || allowing.line == "" {
			return
		}
		if allowing != denying || len(text) > MaxRule {
			t.Fatalf("%+v allows, %+v denies", allowing, denying)
		}
		if !(Rules{allowing}).allows(allowing.line) {
			t.Fatalf("%+v does not allow its own line", allowing)
		}
		for _, more := range beyond {
			if (Rules{allowing}).allows(allowing.line + more) {
				t.Fatalf("%+v allows %q", allowing, allowing.line+more)
			}
		}
	})
}

// The rule that is offered for a command covers only lines with one program and with its first argument.
func FuzzCommands(f *testing.F) {
	for _, more := range beyond {
		f.Add("go test ./..." + more)
	}
	f.Add("git status -s")
	f.Fuzz(func(t *testing.T, line string) {
		begin, ok := beginning(line)
		if !ok {
			return
		}
		isBlank := func(r rune) bool { return r == ' ' || r == '\t' }
		program, rest, _ := strings.Cut(begin, " ")
		after, is := strings.CutPrefix(strings.TrimLeftFunc(line, isBlank), program)
		argument, isBehind := strings.CutPrefix(strings.TrimLeftFunc(after, isBlank), rest)
		if !is || !isBehind || argument != "" && !isBlank(rune(argument[0])) || strings.ContainsAny(line, ";&|<>$(){}`\n\r\x00") {
			t.Fatalf("%q is said to begin with %q", line, begin)
		}
		for _, more := range beyond {
			if _, ok := beginning(line + more); ok && !strings.ContainsAny(more, "-") {
				t.Fatalf("%q may be allowed", line+more)
			}
		}
		if slices.Contains([]string{"sh", "bash", "python", "sudo", "env", "xargs", "ssh"}, program) {
			t.Fatalf("%q may be allowed", begin)
		}
	})
}

// The stored rules of a session are read as they were written. What cannot be read, or is beyond the bounds, is dropped.
func TestStoredRulesAreRestored(t *testing.T) {
	var rules Rules
	for _, text := range []string{"edit_file", "run_command(go test *)", `run_command("go test *")`} {
		rules = rules.With(mustAllow(t, text))
	}
	got, dropped := RestoreRules(append(rules.Texts(), "run_command", "run_command(sudo *)", "", "edit_file"))
	if !slices.Equal(got, rules) || len(dropped) != 3 {
		t.Errorf("restored %v, dropped %v", got, dropped)
	}
	long := func(i int) string { return fmt.Sprintf("run_command(%d %s)", i, strings.Repeat("x", 1000)) }
	var many, large []string
	for i := range MaxRules + 10 {
		many, large = append(many, fmt.Sprint("tool", i)), append(large, long(i))
	}
	if got, dropped := RestoreRules(many); len(got) != MaxRules || len(dropped) != 10 {
		t.Errorf("%d rules, %d dropped", len(got), len(dropped))
	}
	got, _ = RestoreRules(large)
	if size := len(strings.Join(got.Texts(), "")); size > MaxBytes || size < MaxBytes-2000 {
		t.Errorf("the rules have %d bytes", size)
	}
	if next := mustAllow(t, long(500)); got.HasRoomFor(next) || len(got.With(next)) != len(got) || !got.HasRoomFor(got[0]) {
		t.Error("a full list has room")
	}
	d := (&Policy{Session: got}).Decide(&Call{Tool: CommandTool, Effect: RunsCommand, Command: "go test " + strings.Repeat("x", 1000)})
	for _, o := range d.Options() {
		if o.ID == "allow_always" {
			t.Error("a rule is offered for which there is no room")
		}
	}
}

func mustAllow(t testing.TB, text string) Rule {
	t.Helper()
	rule, err := ParseAllow(text)
	if err != nil {
		t.Fatal(err)
	}
	return rule
}

// FuzzRestoreRules checks that hostile stored rules allow nothing that a rule must not allow.
func FuzzRestoreRules(f *testing.F) {
	for _, text := range []string{"edit_file", "run_command", "run_command(* *)", "run_command(go *)", "run_command(sh -c *)", "edit_file\x00", `run_command("")`} {
		f.Add(text, "go test ./...")
	}
	f.Fuzz(func(t *testing.T, text, line string) {
		rules, dropped := RestoreRules([]string{text, text})
		if len(rules) > 1 || len(rules) == 0 && len(dropped) != 2 {
			t.Fatalf("%v, dropped %v", rules, dropped)
		}
		again, _ := RestoreRules(rules.Texts())
		if !slices.Equal(again, rules) {
			t.Fatalf("%v are restored as %v", rules, again)
		}
		d := (&Policy{Session: rules}).Decide(&Call{Tool: CommandTool, Effect: RunsCommand, Command: line})
		if d.Verdict == Allowed && rules[0].Command() != line && !strings.HasPrefix(strings.Join(words(line), " ")+" ", rules[0].line+" ") {
			t.Fatalf("%v allows %q", rules, line)
		}
	})
}
