package mcp

import (
	"bufio"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/history"
	"strata/internal/npm"
	"strata/session/servers"
)

//go:embed testdata/npm/*.json
var npmPackages embed.FS

// npmServer returns the script of a server from npm, with the path of node.
func npmServer(t testing.TB, name string) (node, script string) {
	t.Helper()
	files, err := fs.Sub(npmPackages, "testdata/npm")
	must(t, err)
	dir, err := npm.Packages{Name: "mcp", Files: files, Command: "ci"}.Install(t.Context())
	must(t, err)
	node, err = exec.LookPath("node")
	must(t, err)
	return node, filepath.Join(dir, "node_modules", "@modelcontextprotocol", name, "dist", "index.js")
}

// examples builds example servers of the SDK, and returns the folder with their programs.
func examples(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	args := []string{"build", "-o", dir + string(filepath.Separator)}
	for _, name := range names {
		args = append(args, "github.com/modelcontextprotocol/go-sdk/examples/server/"+name)
	}
	if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return dir
}

func program(dir, name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(dir, name)
}

// serve runs a server over HTTP until the test ends. It returns when the server has written that it listens.
func serve(t testing.TB, listening string, cmd *exec.Cmd) {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	read := make(chan struct{})
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-read
		_ = cmd.Wait()
	})
	heard := make(chan string, 1)
	go func() {
		defer close(read)
		var text strings.Builder
		for scan := bufio.NewScanner(stderr); scan.Scan(); {
			text.WriteString(scan.Text() + "\n")
			if strings.Contains(scan.Text(), listening) {
				heard <- ""
				break
			}
		}
		select {
		case heard <- text.String():
		default:
		}
		_, _ = io.Copy(io.Discard, stderr)
	}()
	if text := <-heard; text != "" {
		t.Fatalf("the server does not listen:\n%s", text)
	}
}

// freePort returns a port of this machine that nothing uses.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func TestExampleServersOfTheSDK(t *testing.T) {
	dir := examples(t, "hello", "memory", "sequentialthinking", "everything")
	h := hostOf(t, nil)
	at := servers.Place{Folder: realFolder(t)}
	start := func(name string) *used {
		t.Helper()
		u := take(t, h, servers.Definition{Name: name, Command: program(dir, name)}, at)
		u.ready()
		return u
	}
	text, err := start("hello").call("greet", members{"name": "Ada"})
	must(t, err)
	equal(t, "hello", text, "Hi Ada")

	memory := start("memory")
	_, err = memory.call("create_entities", members{"entities": []members{{"name": "Ada", "entityType": "person", "observations": []string{"writes programs"}}}})
	must(t, err)
	text, err = memory.call("read_graph", members{})
	must(t, err)
	hasAll(t, text, "Ada", "writes programs")

	text, err = start("sequentialthinking").call("start_thinking", members{"problem": "1 + 1"})
	must(t, err)
	hasAll(t, text, "1 + 1")

	everythingOfTheSDK(t, start("everything"), at)

	port := freePort(t)
	address := fmt.Sprint("127.0.0.1:", port)
	serve(t, "listening", exec.CommandContext(t.Context(), program(dir, "everything"), "-http", address))
	web := take(t, h, servers.Definition{Name: "web", URL: "http://" + address}, at)
	web.untilReady() // it says that it listens before it does
	everythingOfTheSDK(t, web, at)
}

func everythingOfTheSDK(t *testing.T, u *used, at servers.Place) {
	t.Helper()
	text, err := u.call("greet", members{"name": "Ada"})
	must(t, err)
	hasAll(t, text, "Ada")
	text, err = u.call("roots", members{})
	must(t, err)
	hasAll(t, text, filepath.Base(at.Folder))
	for _, asking := range []string{"sample", "elicit (form)"} {
		r, err := u.run(t.Context(), asking, members{}, func(string) {})
		if err == nil && !r.IsError {
			t.Errorf("%s has the result %v", asking, r)
		}
	}
}

func TestServerEverythingOfNpm(t *testing.T) {
	node, script := npmServer(t, "server-everything")
	h := hostOf(t, nil)
	at := servers.Place{Folder: realFolder(t)}
	everythingOfNpm(t, take(t, h, servers.Definition{Name: "everything", Command: node, Args: []string{script}}, at))

	port := freePort(t)
	cmd := exec.CommandContext(t.Context(), node, script, "streamableHttp")
	cmd.Env = append(os.Environ(), fmt.Sprint("PORT=", port))
	serve(t, "listening on port", cmd)
	everythingOfNpm(t, take(t, h, servers.Definition{Name: "web", URL: fmt.Sprintf("http://127.0.0.1:%d/mcp", port)}, at))
}

func everythingOfNpm(t *testing.T, u *used) {
	t.Helper()
	tools := names(u.ready().Tools)
	for _, name := range []string{"echo", "get-sum", "get-tiny-image", "get-structured-content", "trigger-long-running-operation"} {
		if !slices.Contains(tools, name) {
			t.Fatalf("%s is missing in %v", name, tools)
		}
	}
	text, err := u.call("echo", members{"message": "hello"})
	must(t, err)
	hasAll(t, text, "hello")
	text, err = u.call("get-sum", members{"a": 2, "b": 40})
	must(t, err)
	hasAll(t, text, "42")

	r, err := u.run(t.Context(), "get-tiny-image", members{}, func(string) {})
	must(t, err)
	images := slices.DeleteFunc(r.Content, func(b history.Block) bool { return b.Type != history.BlockImage })
	if len(images) != 1 || images[0].MIME != "image/png" || images[0].Width == 0 || len(images[0].Data) == 0 {
		t.Errorf("the images are %v", images)
	}

	text, err = u.call("get-structured-content", members{"location": "New York"})
	must(t, err)
	hasAll(t, text, "temperature")
	text, err = u.call("get-resource-links", members{"count": 2})
	must(t, err)
	hasAll(t, text, "://")
	text, err = u.call("get-resource-reference", members{"resourceType": "Text", "resourceId": 1})
	must(t, err)
	hasAll(t, text, "://")

	reports := 0
	_, err = u.run(t.Context(), "trigger-long-running-operation", members{"duration": 0.2, "steps": 4}, func(string) { reports++ })
	must(t, err)
	if reports == 0 {
		t.Error("no progress was reported")
	}
	r, err = u.run(t.Context(), "get-sum", members{"a": "no number"}, func(string) {})
	if err == nil && !r.IsError {
		t.Error("a wrong input has a result")
	}
}

func TestServerFilesystemOfNpm(t *testing.T) {
	node, script := npmServer(t, "server-filesystem")
	folder, more := realFolder(t), realFolder(t)
	must(t, os.WriteFile(filepath.Join(folder, "a.txt"), []byte("content of a"), 0o600))
	u := take(t, hostOf(t, nil), servers.Definition{Name: "files", Command: node, Args: []string{script, more}}, servers.Place{Folder: folder, Roots: []string{more}})
	u.ready()
	for giveUp := time.Now().Add(patience); ; { // the server asks for the roots after it is ready
		text, err := u.call("list_allowed_directories", members{})
		must(t, err)
		if strings.Contains(text, folder) && strings.Contains(text, more) {
			break
		}
		if time.Now().After(giveUp) {
			t.Fatalf("the server did not ask for the roots: %s", text)
		}
	}
	text, err := u.call("read_text_file", members{"path": filepath.Join(folder, "a.txt")})
	must(t, err)
	equal(t, "file", text, "content of a")
	_, err = u.call("write_file", members{"path": filepath.Join(more, "b.txt"), "content": "written"})
	must(t, err)
	written, err := os.ReadFile(filepath.Join(more, "b.txt"))
	must(t, err)
	equal(t, "written file", string(written), "written")
	r, err := u.run(t.Context(), "read_text_file", members{"path": "/etc/passwd"}, func(string) {})
	must(t, err)
	equal(t, "a file elsewhere is refused", r.IsError, true)
}
