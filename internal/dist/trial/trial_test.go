//go:build linux

package trial

import (
	"flag"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"strata/internal/testclient"
	"strata/rpc"
)

var (
	dist = flag.String("dist", "", "folder with the files of a release for this system; empty: the tests are skipped")
	root = flag.String("root", "", "clean system, the archive that internal/dist/root makes")
)

// artefact returns the path of the file of the release that a pattern matches.
func artefact(t *testing.T, pattern string) string {
	t.Helper()
	if *dist == "" {
		t.Skip("no files of a release: make dist-roots")
	}
	found, err := filepath.Glob(filepath.Join(*dist, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s in %s: %q, %v", pattern, *dist, found, err)
	}
	path, err := filepath.Abs(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// machines are the names of this architecture in packages for Red Hat.
var machines = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

func debianPackage(t *testing.T) string {
	t.Helper()
	return artefact(t, "strata_*_"+runtime.GOARCH+".deb")
}
func redHatPackage(t *testing.T) string {
	t.Helper()
	return artefact(t, "strata-*."+machines[runtime.GOARCH]+".rpm")
}
func archive(t *testing.T) string {
	t.Helper()
	return artefact(t, "strata_*_linux_"+runtime.GOARCH+".tar.gz")
}

// needs skips a test without the programs that it needs.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%v", err)
		}
	}
}

// output returns the output of a command, which must succeed.
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out)
}

// has checks that a text contains others.
func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}

// killedWithContainer is the exit code of a program in a container that was killed.
const killedWithContainer = 137

// openEditor returns an editor that has started `strata stdio`, which ends with it, or before with its container.
func openEditor(t *testing.T, stdio *exec.Cmd) *testclient.Editor {
	t.Helper()
	in, err := stdio.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := stdio.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	stdio.Stderr = &log
	if err := stdio.Start(); err != nil {
		t.Fatal(err)
	}
	e := testclient.New(t, rpc.NewLineStream(out, in, in, rpc.Limits{FrameBytes: 64 << 20}))
	t.Cleanup(func() {
		e.Close()
		if err := stdio.Wait(); err != nil && stdio.ProcessState.ExitCode() != killedWithContainer {
			t.Errorf("strata stdio: %v", err)
		}
		if t.Failed() {
			t.Logf("strata stdio wrote:\n%s", &log)
		}
	})
	has(t, string(e.Initialize()), `"loadSession":true`)
	return e
}

// prompted checks that a prompt to the actor gets the reply, and returns the text of all updates.
func prompted(t *testing.T, e *testclient.Editor, session, prompt, reply string) string {
	t.Helper()
	r, err := e.Prompt(session, prompt)
	if err != nil || !strings.Contains(r.Said(), reply) || r.StopReason != "end_turn" {
		t.Fatalf("the reply is %q (%s), %v", r.Said(), r.StopReason, err)
	}
	var all strings.Builder
	for _, f := range r.Frames {
		all.Write(f.Raw)
	}
	return all.String()
}
