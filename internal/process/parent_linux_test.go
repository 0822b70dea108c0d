package process

import (
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var kills = flag.Int("kills", 12, "how often TestEverythingEndsWithAKilledParent kills a process")

func init() {
	helpers["start-programs"] = startPrograms
	helpers["start-removed"] = startRemoved
	helpers["start-in-terminal"] = startInTerminal
}

// startPrograms starts the lines of the shell that are its arguments after a place's folder, until it is killed.
func startPrograms(args []string) {
	p := &place{folder: args[0], shell: filepath.Join(args[0], "shell")}
	for i := 0; ; i++ {
		process, err := Start(p.command(args[1+i%len(args[1:])]))
		if err != nil {
			panic(err)
		}
		switch {
		case i%3 == 1:
			process.Stop()
		case i > 10:
			<-process.Done()
		}
	}
}

func TestEverythingEndsWithAKilledParent(t *testing.T) {
	atOnce := strings.NewReplacer("while [ ! -e trap ]; do sleep 0.01; done", "", "while [ ! -e daemon ]; do sleep 0.01; done", "")
	var lines, patient []string // patient ones ignore SIGTERM, so their end takes the whole grace
	add := func(name, line string) {
		if strings.Contains(name, "ignores") || strings.Contains(name, "when ending") {
			patient = append(patient, line)
		} else {
			lines = append(lines, line)
		}
	}
	for name, line := range background {
		add(name, atOnce.Replace(line))
		add(name, atOnce.Replace(line)+"\n"+waits[2:])
	}
	for name, line := range detached { // daemons outlive a program that ends by itself
		add(name, atOnce.Replace(line)+"\n"+waits[2:])
	}
	var all sync.WaitGroup
	places := make(chan struct{}, 8)
	for i := range *kills {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			if i%8 == 0 {
				killParent(t, slices.Concat(lines, patient))
			} else {
				killParent(t, lines)
			}
		})
	}
	all.Wait()
}

// killParent kills a process that starts programs at a random time.
func killParent(t *testing.T, lines []string) {
	lines = slices.Clone(lines)
	rand.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	p := newPlace(t)
	parent := exec.Command(os.Args[0], append([]string{"start-programs", p.folder}, lines...)...)
	parent.Dir = p.folder
	if err := parent.Start(); err != nil {
		t.Error(err)
		return
	}
	time.Sleep(time.Duration(rand.Int64N(int64(200 * time.Millisecond))))
	parent.Process.Kill()
	parent.Wait()
	if !poll(patience, func() bool { return len(p.left()) == 0 }) {
		p.nothingLeft()
	}
}

// startRemoved starts a program after its own executable was removed.
func startRemoved(args []string) {
	if err := os.Remove(args[0]); err != nil {
		panic(err)
	}
	process, err := Start(Command{Path: "/bin/sh", Args: []string{"-c", "echo started"}, Dir: "/", Stdout: os.Stdout})
	if err != nil {
		panic(err)
	}
	<-process.Done()
}

// A server goes on when a new version has replaced its file.
func TestProgramsStartAfterTheExecutableWasRemoved(t *testing.T) {
	p := newPlace(t)
	executable := filepath.Join(p.folder, "executable")
	must(t, copyFile(os.Args[0], executable))
	out, err := exec.Command(executable, "start-removed", executable).CombinedOutput()
	if string(out) != "started\n" || err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func copyFile(from, to string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, r); err != nil {
		w.Close()
		return err
	}
	return w.Close()
}

// startInTerminal starts a program that tells whether it has the terminal of this process.
func startInTerminal([]string) {
	if file, err := os.Open("/dev/tty"); err != nil {
		panic(err)
	} else {
		file.Close()
	}
	process, err := Start(Command{Path: "/bin/sh", Args: []string{"-c", "(: </dev/tty) 2>/dev/null && echo terminal || echo none"}, Dir: "/", Stdout: os.Stderr})
	if err != nil {
		panic(err)
	}
	<-process.Done()
}

// A program that asks for a password on the terminal fails at once instead of waiting for an answer.
func TestAProgramHasNoTerminal(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer terminal.Close()
	name := unlockTerminal(t, terminal)
	other, err := os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	defer other.Close()
	cmd := exec.Command(os.Args[0], "start-in-terminal")
	cmd.Stdin = other
	var out strings.Builder
	cmd.Stderr = &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Run(); out.String() != "none\n" || err != nil {
		t.Errorf("%v: %s", err, out.String())
	}
}

// unlockTerminal returns the path of the other end of a new terminal.
func unlockTerminal(t *testing.T, terminal *os.File) string {
	must(t, unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPTN)
	must(t, err)
	return filepath.Join("/dev/pts", strconv.Itoa(number))
}
