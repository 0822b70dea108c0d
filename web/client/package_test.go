package client_test

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"strata/internal/binary"
	"strata/internal/hudtest"
	"strata/internal/npm"
	"strata/internal/version"
)

//go:embed testdata/package
var packageUsers embed.FS

// testPackage installs the package that `npm pack` makes of the built library in an empty project, and uses it there as an
// ES module and as a CommonJS module in two versions of Node, and in pages with and without a bundler.
func testPackage(t *testing.T, dir string) {
	tools := packageTools(t)
	project := installedPackage(t, dir)
	run(t, project, nil, filepath.Join(tools, ".bin", "tsc"), "--project", "tsconfig.json")
	run(t, project, nil, filepath.Join(tools, ".bin", "vite"), "build", "--base", "./", "--logLevel", "warn")
	checkBundle(t, filepath.Join(project, "dist"))

	site := httptest.NewServer(http.FileServer(http.Dir(project)))
	defer site.Close()
	home := binary.NewHome(t, fmt.Sprintf("listen: 127.0.0.1:0\nmodel: offline/actor\norigins: [%q]\n", site.URL))
	server := binary.Start(t, home, binary.Options{})
	for name, node := range map[string]string{"installed": "node", "newer": newerNode(t, tools)} {
		for _, program := range []string{"program.mjs", "program.cjs"} {
			t.Run(program+" in the "+name+" node", func(t *testing.T) { runProgram(t, home, server, node, filepath.Join(project, program)) })
		}
	}
	for _, page := range []string{"plain.html", "dist/index.html"} {
		t.Run(page, func(t *testing.T) {
			at := url.Values{"url": {server.Info.URL}, "token": {server.Info.Token}, "cwd": {home.Project}}
			p := hudtest.OpenAddress(t, site.URL+"/"+page+"#"+at.Encode())
			p.Wait(`document.body.dataset.reply`)
			if reply := hudtest.Eval[string](p, `document.body.dataset.reply`); reply != "Hello." {
				t.Errorf("the page received %q", reply)
			}
		})
	}
}

// packageTools returns the folder of the packages in testdata/package/package.json.
func packageTools(t *testing.T) string {
	t.Helper()
	files, err := fs.Sub(packageUsers, "testdata/package")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := npm.Packages{Name: "client-users", Files: files, Command: "ci"}.Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "node_modules")
}

// newerNode returns a version of Node with a WebSocket of its own: that of the npm package if there is one for this system,
// otherwise the installed one.
func newerNode(t *testing.T, tools string) string {
	t.Helper()
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	name := filepath.Join(tools, "node-"+runtime.GOOS+"-"+arch, "bin", "node")
	if _, err := os.Stat(name); err != nil {
		t.Logf("no newer version of Node for this system: %v", err)
		return "node"
	}
	return name
}

// installedPackage returns a project with only the package, built in dir, and the files in testdata/package.
func installedPackage(t *testing.T, dir string) string {
	t.Helper()
	project := t.TempDir()
	run(t, dir, nil, "npm", "run", "--silent", "build")
	run(t, dir, nil, "npm", "pack", "--ignore-scripts", "--pack-destination", project)
	for _, name := range []string{"program.mts", "program.cts", "tsconfig.json", "page.js", "plain.html", "index.html"} {
		content, err := packageUsers.ReadFile("testdata/package/" + name)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(project, name), content)
	}
	write(t, filepath.Join(project, "package.json"), []byte(`{"name": "empty", "private": true}`))
	run(t, project, nil, "npm", "install", "--offline", "--no-audit", "--no-fund", "./strata-client-"+version.Release+".tgz")
	for _, missing := range []string{"test", "dist/test"} {
		if _, err := os.Stat(filepath.Join(project, "node_modules", "@strata", "client", missing)); err == nil {
			t.Errorf("the package contains %s", missing)
		}
	}
	return project
}

func write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// checkBundle checks that the bundle for browsers has no part that needs Node, and none that the page does not use.
func checkBundle(t *testing.T, dist string) {
	t.Helper()
	scripts, err := filepath.Glob(filepath.Join(dist, "assets", "*.js"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts in %s: %v", dist, err)
	}
	for _, name := range scripts {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, unwanted := range []string{"node:", "createHash", "_strata/context/assemble", "_strata/history/edits"} {
			if strings.Contains(string(content), unwanted) {
				t.Errorf("%s contains %q", filepath.Base(name), unwanted)
			}
		}
	}
}

// runProgram runs one of the programs in testdata/package and checks its findings.
func runProgram(t *testing.T, home *binary.Home, server *binary.Server, node, program string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), node, program)
	cmd.Dir, cmd.Env = home.Project, home.Environment()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	type findings struct {
		Text, Missing, Version string
		Messages, PID          int
		Watched                bool
	}
	var got findings
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := findings{Text: "Hello.", Missing: "session", Version: version.Release, Messages: 2, PID: server.Info.PID, Watched: true}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
