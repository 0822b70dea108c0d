package process

import (
	"bytes"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// output runs a command and returns its standard output.
func (p *place) output(c Command) string {
	p.Helper()
	r, w, err := os.Pipe()
	must(p, err)
	defer r.Close()
	c.Stdout = w
	process, err := Start(c)
	w.Close()
	must(p, err)
	text, err := io.ReadAll(r)
	must(p, err)
	p.ended(process, Exit{})
	return string(text)
}

func TestOutputArrivesWhole(t *testing.T) {
	p := newPlace(t)
	const size = 10 << 20
	if got := p.output(p.command("head -c " + strconv.Itoa(size) + " /dev/zero")); len(got) != size {
		t.Errorf("%d bytes, want %d", len(got), size)
	}
}

func TestAReaderReachesTheEndWhenTheProgramClosesItsOutput(t *testing.T) {
	p := newPlace(t)
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	c := p.command("echo out; exec >&-; while :; do sleep 1000; done")
	c.Stdout = w
	process, err := Start(c)
	must(t, err)
	w.Close()
	if text, err := io.ReadAll(r); string(text) != "out\n" || err != nil {
		t.Errorf("read %q, %v", text, err)
	}
	process.Kill()
	p.ended(process, Exit{Signal: "SIGKILL"})
}

func TestAProgramGetsItsFilesOnly(t *testing.T) {
	p := newPlace(t)
	if got := p.output(p.command("readlink /proc/self/fd/0; readlink /proc/self/fd/2; for n in $(seq 0 300); do [ -e /proc/$$/fd/$n ] && echo $n; done; true")); got != "/dev/null\n/dev/null\n0\n1\n2\n" {
		t.Errorf("files %q", got)
	}
}

func TestAProgramGetsItsArgumentsFolderAndEnvironment(t *testing.T) {
	p := newPlace(t)
	c := Command{Path: p.shell, Args: []string{"-c", `printf '%s|' "$0" "$@" "$PWD" "$(/bin/pwd)" "$A" "$B"`, "zero", "", "two\nlines", "\xff"},
		Dir: p.folder, Env: []string{"A=first", "A=last", "B=\xfe=", "PWD=/elsewhere"}}
	want := strings.Join([]string{"zero", "", "two\nlines", "\xff", p.folder, p.folder, "last", "\xfe=", ""}, "|")
	if got := p.output(c); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	c.Args, c.Env = []string{"-c", "/usr/bin/env"}, nil
	if got := p.output(c); strings.Contains(got, "HOME=") {
		t.Errorf("an empty environment has %q", got)
	}
}

// A large environment does not fit into the pipe at once.
func TestALargeEnvironmentArrives(t *testing.T) {
	p := newPlace(t)
	c := p.command(`echo ${#A5}`)
	for i := range 10 {
		c.Env = append(c.Env, "A"+strconv.Itoa(i)+"="+strings.Repeat("x", 100_000))
	}
	if got := p.output(c); got != "100000\n" {
		t.Errorf("got %q", got)
	}
}

func TestAProgramDoesNotIgnoreSignals(t *testing.T) {
	ignored := []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE, syscall.SIGUSR1}
	signal.Ignore(ignored...)
	defer signal.Reset(ignored...)
	p := newPlace(t)
	got := p.output(p.command("exec grep SigIgn /proc/self/status"))
	mask, err := strconv.ParseUint(strings.TrimSpace(strings.TrimPrefix(got, "SigIgn:")), 16, 64)
	must(t, err)
	for _, s := range ignored {
		if mask&(1<<(s.(syscall.Signal)-1)) != 0 {
			t.Errorf("%v is ignored", s)
		}
	}
}

func TestStartTellsWhyAProgramCannotRun(t *testing.T) {
	p := newPlace(t)
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(p.folder, name)
		must(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	plain := file("plain", "text", 0o600)
	noLine := file("no-line", "\x00\x01\x02", 0o700)
	noInterpreter := file("no-interpreter", "#!/nowhere/interpreter\n", 0o700)
	for _, c := range []struct {
		Command
		want string
	}{
		{Command{Path: "/nowhere/program"}, "program /nowhere/program: does not exist"},
		{Command{Path: "no-such-program"}, `program "no-such-program" not found in PATH`},
		{Command{Path: plain}, "program " + plain + ": permission denied"},
		{Command{Path: p.folder}, "program " + p.folder + ": is a folder"},
		{Command{Path: plain + "/below"}, "program " + plain + "/below: not a directory"},
		{Command{Path: noLine}, "program " + noLine + ": not a program for this system, or a script without #! line"},
		{Command{Path: noInterpreter}, "program " + noInterpreter + ": its interpreter does not exist"},
		{Command{Path: "./relative"}, `program "./relative": use an absolute path, or a name to look up in PATH`},
		{Command{}, "program is missing"},
		{Command{Path: "/bin/sh", Dir: "relative"}, `folder "relative": use an absolute path`},
		{Command{Path: "/bin/sh", Dir: "/nowhere"}, "folder /nowhere: does not exist"},
		{Command{Path: "/bin/sh", Dir: plain}, "folder " + plain + ": not a folder"},
		{Command{Path: "/bin/sh", Args: []string{strings.Repeat("x", 1<<20)}}, "program /bin/sh: arguments and environment exceed the limit of the system"},
		{Command{Path: "/bin/sh", Env: []string{strings.Repeat("x", maxSpec)}}, "arguments and environment exceed the limit of the system"},
		{Command{Path: "/bin/sh", Args: []string{"a\x00b"}}, "program, folder, arguments and environment must not contain NUL bytes"},
	} {
		if c.Dir == "" {
			c.Dir = p.folder
		}
		process, err := Start(c.Command)
		if err == nil || err.Error() != c.want || process != nil {
			t.Errorf("%.60q: %v, %v, want %s", c.Path, process, err, c.want)
		}
	}
	p.nothingLeft()
}

func TestAProgramIsLookedUpInThePathOfItsEnvironment(t *testing.T) {
	p := newPlace(t)
	for _, folder := range []string{"first", "second", "second/tool-folder"} {
		must(t, os.Mkdir(filepath.Join(p.folder, folder), 0o700))
	}
	first, second := filepath.Join(p.folder, "first"), filepath.Join(p.folder, "second")
	must(t, os.WriteFile(filepath.Join(first, "tool"), []byte("not executable"), 0o600))
	must(t, os.WriteFile(filepath.Join(second, "tool"), []byte("#!/bin/sh\necho tool of second\n"), 0o700))
	t.Setenv("PATH", first)
	run := func(path string) Command {
		return Command{Path: "tool", Dir: p.folder, Env: []string{"PATH=/wrong", "PATH=" + path}}
	}
	if got := p.output(run(first + ":" + second + ":/bin")); got != "tool of second\n" {
		t.Errorf("got %q", got)
	}
	for path, want := range map[string]string{
		first:               `program "tool" not found in PATH`,
		"":                  `program "tool" not found in PATH`,
		"second:" + second:  `program "tool": PATH finds it in "second", which is not an absolute path`,
		"nowhere:./second/": `program "tool": PATH finds it in "./second/", which is not an absolute path`,
	} {
		if _, err := Start(run(path)); err == nil || err.Error() != want {
			t.Errorf("PATH %s: %v, want %s", path, err, want)
		}
	}
}

func TestNoFileOrZombieIsLeft(t *testing.T) {
	p := newPlace(t)
	run := func() {
		p.ended(p.start("sleep 1000 & exit 0"), Exit{})
		if _, err := Start(Command{Path: "/nowhere", Dir: "/"}); err == nil {
			t.Error("started")
		}
	}
	run()
	before := openFiles(t)
	for range 20 {
		run()
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d files are open, before %d", after, before)
	}
	for _, pid := range processIDs() {
		if s, ok := readStat(pid); ok && s.parent == os.Getpid() {
			t.Errorf("a child is left: %s", describe(pid))
		}
	}
}

func openFiles(t *testing.T) int {
	files, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(files)
}

// state returns the letter for the state of a process.
func state(pid int) byte {
	content, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if fields := bytes.Fields(content[bytes.LastIndexByte(content, ')')+1:]); len(fields) > 0 {
		return fields[0][0]
	}
	return 0
}
