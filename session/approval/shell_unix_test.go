//go:build unix

package approval

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	lines = flag.Int("lines", 150, "number of random command lines that a shell runs")
	seed  = flag.Uint64("seed", 0, "of the random command lines; 0 for another one each time")
)

// stub logs its arguments, each with its size, in a file of its own.
const stub = `#!/bin/sh
log=$(mktemp "$STUB_LOG/XXXXXX") || exit
printf '%s\0' "${0##*/}" "$@" >"$log"
`

// bench is a folder in which shells find stubs in place of all programs.
type bench struct {
	t            testing.TB
	folder, logs string
	shells       []string
	path         string
}

// builtins are programs of the tables that shells have themselves, and run in place of stubs.
var builtins = strings.Fields("alias cd command echo eval exec export false kill pwd set source test time true type ulimit .")

func newBench(t testing.TB, all []written) *bench {
	b := &bench{t: t, folder: t.TempDir(), logs: t.TempDir(), path: t.TempDir()}
	for _, shell := range []string{"/bin/sh", "/bin/bash", "/bin/dash", "/bin/ksh", "/bin/busybox"} {
		if _, err := os.Stat(shell); err == nil {
			b.shells = append(b.shells, shell)
		}
	}
	for _, name := range hostilePrograms {
		b.stub(filepath.Join(b.path, name))
	}
	for _, w := range all {
		program, _, _ := strings.Cut(w.begins, " ")
		switch {
		case strings.HasPrefix(program, "./"):
			b.stub(filepath.Join(b.folder, program))
		case !strings.Contains(program, "/"):
			b.stub(filepath.Join(b.path, program))
		}
	}
	b.stub(filepath.Join(b.folder, "evil"))
	for _, name := range []string{"-exec", "a.go"} { // which patterns may find
		b.must(os.WriteFile(filepath.Join(b.folder, name), nil, 0o600))
	}
	b.must(os.Mkdir(filepath.Join(b.folder, "sub"), 0o700))
	return b
}

func (b *bench) stub(path string) { b.must(os.WriteFile(path, []byte(stub), 0o700)) }

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// run returns the programs that a shell runs for a line, each with its arguments.
func (b *bench) run(shell, line string) (ran [][]string) {
	c := exec.CommandContext(b.t.Context(), shell, "-c", line)
	if filepath.Base(shell) == "busybox" {
		c.Args = []string{shell, "sh", "-c", line}
	}
	c.Dir, c.WaitDelay = b.folder, time.Minute
	c.Env = []string{"PATH=" + b.path + ":/usr/bin:/bin", "STUB_LOG=" + b.logs, "HOME=" + b.folder, "LC_ALL=C.UTF-8"}
	_ = c.Run() // a line may be wrong
	logs, err := filepath.Glob(b.logs + "/*")
	b.must(err)
	for _, log := range logs {
		text, err := os.ReadFile(log)
		b.must(err)
		b.must(os.Remove(log))
		ran = append(ran, strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00"))
	}
	return ran
}

// files returns the files of the folder.
func (b *bench) files() (names []string) {
	b.must(filepath.Walk(b.folder, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			names = append(names, fmt.Sprint(path, " ", info.Size()))
		}
		return err
	}))
	return names
}

// check runs a line that a rule for a beginning covers. It must run the program, with the first argument, and nothing else.
func (b *bench) check(line, begins string) {
	b.t.Helper()
	before := b.files()
	for _, shell := range b.shells {
		ran := b.run(shell, line)
		program, argument, _ := strings.Cut(begins, " ")
		switch {
		case slices.Contains(builtins, program):
			if len(ran) > 0 {
				b.t.Errorf("%s %q runs %q", shell, line, ran)
			}
		case len(ran) != 1 || ran[0][0] != filepath.Base(program) || len(ran[0]) < 2 || ran[0][1] != argument:
			b.t.Errorf("%s %q runs %q", shell, line, ran)
		default:
			b.checkArguments(shell, line, programName(program), ran[0][2:])
		}
	}
	if after := b.files(); !slices.Equal(before, after) {
		b.t.Errorf("%q has changed files: %q", line, after)
	}
}

// checkArguments checks that no argument that a shell made of a line is a harmful option.
func (b *bench) checkArguments(shell, line, program string, arguments []string) {
	b.t.Helper()
	for _, argument := range arguments {
		name := strings.TrimLeft(argument, "-")
		if name == argument {
			continue
		}
		name, _, _ = strings.Cut(name, "=")
		if slices.Contains([]string{"exec", "delete", "output", "toolexec"}, name) {
			b.t.Errorf("%s %q gives %s the option %q", shell, line, program, argument)
		}
	}
}

// Each line that a rule covers is one simple command to the shells of the machine.
func TestCoveredLinesRunOneProgram(t *testing.T) {
	all := readCommands(t)
	b := newBench(t, all)
	for _, w := range all {
		if w.begins == "none" {
			continue
		}
		for _, line := range append(w.covers, w.line) {
			b.check(line, w.begins)
		}
	}
}

// The bench sees what lines do that no rule covers.
func TestTheBenchSeesWhatRuns(t *testing.T) {
	b := newBench(t, nil)
	for _, line := range []string{"git a; rm b", "git $(rm x)", "git\nrm x", "git [-]exec", "git '-'exec"} {
		if ran := b.run("/bin/sh", line); len(ran) != 2 && !slices.Contains(ran[0], "-exec") {
			t.Errorf("%q runs %q", line, ran)
		}
	}
}

var hostilePrograms = strings.Fields("git go make npm find rm evil sh sudo x")

// hostile are pieces of command lines.
var hostile = []string{
	"git", "status", "go", "test", "make", "check", "npm", "find", ".", "rm", "evil", "./evil", "sub", "a.go", "-exec", "-delete", "--output=evil", "--out",
	" ", "  ", "\t", "\n", "\r", "\\", "\\\n", "'", `"`, "''", `""`, "`", "$", "$(rm x)", "`rm x`", "${x}", "$x", "$'\\x3b'", "$IFS", "(", ")", "{", "}", "{a,b}",
	";", ";;", "&", "&&", "|", "||", "|&", ">", ">>", ">evil", "2>evil", "<", "<<EOF", "<<<", "<(rm x)", ">(rm x)", "#", " #", "!", "! ", "*", "?", "[-]exec",
	"?exec", "~", "~+", "=", "X=1", "-", "--", "-e", "x", "ec", "\x00", "\x1b", "\u00a0", "\u2028", "\u200b", "é", "\xff", "if", "then", "time", "exec", "eval",
	"function", "^", "%X%", "@", ",", ":", "+", "()", "[[", "]]", "alias", "command",
}

// randomLine returns a line that mostly has a beginning that a rule may have.
func randomLine(r *rand.Rand) string {
	var line strings.Builder
	if r.IntN(4) > 0 {
		line.WriteString([]string{"git status", "go test", "make check", "npm test", "find .", "git diff"}[r.IntN(6)])
	}
	for range r.IntN(7) {
		if r.IntN(2) == 0 {
			line.WriteByte(' ')
		}
		line.WriteString(hostile[r.IntN(len(hostile))])
	}
	return line.String()
}

// Whatever a rule covers of lines that are made of hostile pieces is one simple command.
func TestRandomLinesThatRulesCoverRunOneProgram(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	r := rand.New(rand.NewPCG(*seed, 1))
	b := newBench(t, nil)
	for covered := 0; covered < *lines && !t.Failed(); {
		line := randomLine(r)
		begins, ok := beginning(line)
		if !ok {
			continue
		}
		covered++
		b.stubOf(begins)
		b.check(line, begins)
	}
	if t.Failed() {
		t.Log("-seed", *seed)
	}
}

// stubOf makes a stub of a program that a line made up.
func (b *bench) stubOf(begins string) {
	program, _, _ := strings.Cut(begins, " ")
	if !strings.Contains(program, "/") && !slices.Contains(builtins, program) {
		b.stub(filepath.Join(b.path, program))
	}
}
