package dist

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"strata/internal/version"
)

var (
	releaseFolder = flag.String("release", "", "check the release in this folder; `make dist` gives it")
	targetList    = flag.String("targets", "", "the systems of the release; empty means all")
)

// allTargets are the systems for which a release has an archive.
var allTargets = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// An entry is a file of an archive or package.
type entry struct {
	mode    fs.FileMode
	content []byte
}

// TestRelease checks the files that `make dist` has built.
func TestRelease(t *testing.T) {
	r := openRelease(t)
	t.Run("files", r.checkFiles)
	t.Run("checksums", r.checkSums)
	for _, target := range r.targets {
		t.Run(target, func(t *testing.T) { r.checkArchive(t, target) })
	}
	t.Run("extension", func(t *testing.T) { checkManifest(t, unzip(t, r.path("strata.vsix")), "extension/package.json") })
	t.Run("client library", func(t *testing.T) {
		checkManifest(t, untar(t, r.read(t, "strata-client-"+version.Release+".tgz")), "package/package.json")
	})
	t.Run("bill", r.checkBill)
}

// A release is a folder with the files of `make dist`.
type release struct {
	folder, version string
	targets         []string
}

func openRelease(t *testing.T) release {
	t.Helper()
	if *releaseFolder == "" {
		t.Skip("`make dist` gives the release")
	}
	r := release{folder: *releaseFolder, version: version.Release, targets: strings.Fields(*targetList)}
	if len(r.targets) == 0 {
		r.targets = allTargets
	}
	if _, err := os.Stat(r.path(r.bill())); errors.Is(err, fs.ErrNotExist) {
		r.version += "-dev"
	}
	return r
}

func (r release) path(name string) string { return filepath.Join(r.folder, name) }

func (r release) read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(r.path(name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// bill returns the name of the bill of materials.
func (r release) bill() string { return "strata_" + r.version + ".cdx.json" }

// archive returns the name of the archive for a system, without its extension.
func (r release) archive(target string) string {
	return "strata_" + r.version + "_" + strings.ReplaceAll(target, "/", "_")
}

// files returns the names of all files but the checksums.
func (r release) files() []string {
	names := []string{"strata.vsix", "strata-client-" + version.Release + ".tgz", r.bill()}
	pre := strings.ReplaceAll(r.version, "-", "~")
	for _, target := range r.targets {
		system, processor, _ := strings.Cut(target, "/")
		switch system {
		case "windows":
			names = append(names, r.archive(target)+".zip")
		case "linux":
			rpm := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[processor]
			names = append(names, r.archive(target)+".tar.gz", "strata_"+pre+"_"+processor+".deb", "strata-"+pre+"-1."+rpm+".rpm")
		default:
			names = append(names, r.archive(target)+".tar.gz")
		}
	}
	slices.Sort(names)
	return names
}

func (r release) checkFiles(t *testing.T) {
	entries, err := os.ReadDir(r.folder)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if e.Name() != "SHA256SUMS" {
			got = append(got, e.Name())
		}
	}
	if want := r.files(); !slices.Equal(got, want) {
		t.Errorf("the release has\n%v, want\n%v", got, want)
	}
}

func (r release) checkSums(t *testing.T) {
	var want strings.Builder
	for _, name := range r.files() {
		fmt.Fprintf(&want, "%x  %s\n", sha256.Sum256(r.read(t, name)), name)
	}
	got := strings.Split(string(r.read(t, "SHA256SUMS")), "\n")
	slices.Sort(got)
	sorted := strings.Split(want.String(), "\n")
	slices.Sort(sorted)
	if !slices.Equal(got, sorted) {
		t.Errorf("SHA256SUMS has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(sorted, "\n"))
	}
}

// checkArchive checks the archive for a system, the packages for it, and the program in them.
func (r release) checkArchive(t *testing.T, target string) {
	system, processor, _ := strings.Cut(target, "/")
	name := r.archive(target)
	var files map[string]entry
	if system == "windows" {
		files = unzip(t, r.path(name+".zip"))
	} else {
		files = untar(t, r.read(t, name+".tar.gz"))
	}
	checkNames(t, files, name, system)
	program := files[path.Join(name, programOf(system))].content
	checkProgram(t, program, target)
	for file, e := range files {
		checkPaths(t, file, e.content)
	}
	if system == "linux" {
		r.checkDebian(t, processor, program)
	}
	if target == runtime.GOOS+"/"+runtime.GOARCH {
		r.checkVersion(t, program)
	}
}

func programOf(system string) string {
	if system == "windows" {
		return "strata.exe"
	}
	return "strata"
}

var (
	// page matches the name of a man page.
	page = regexp.MustCompile(`^man/strata(-[a-z]+)*\.1$`)

	// link matches a link of the README to one of the documents.
	link = regexp.MustCompile(`\]\((docs/[a-z]+\.md)[)#]`)
)

// checkNames checks which files an archive has below its folder, and their modes.
func checkNames(t *testing.T, files map[string]entry, folder, system string) {
	t.Helper()
	program := programOf(system)
	want := []string{"CHANGELOG.md", "LICENSE", "LICENSES.txt", "NOTICE", "README.md", program,
		"completions/_strata", "completions/strata.bash", "completions/strata.fish", "completions/strata.ps1"}
	var got []string
	pages := 0
	for name, e := range files {
		name, ok := strings.CutPrefix(name, folder+"/")
		mode := fs.FileMode(0o644)
		if name == program {
			mode = 0o755
		}
		if !ok || e.mode != mode || len(e.content) == 0 {
			t.Errorf("%s has the mode %o and %d bytes", name, e.mode, len(e.content))
		}
		switch {
		case page.MatchString(name):
			pages++
		case !strings.HasPrefix(name, "docs/"):
			got = append(got, name)
		}
	}
	checkLinks(t, files, folder)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s contains\n%v, want\n%v", folder, got, want)
	}
	if (pages >= 30) != (system != "windows") { // windows has no manual
		t.Errorf("%s contains %d man pages", folder, pages)
	}
}

// checkLinks checks that a folder has the documents to which its README links.
func checkLinks(t *testing.T, files map[string]entry, folder string) {
	t.Helper()
	links := link.FindAllSubmatch(files[folder+"/README.md"].content, -1)
	for _, l := range links {
		if _, ok := files[folder+"/"+string(l[1])]; !ok {
			t.Errorf("%s links to %s, which is missing", folder, l[1])
		}
	}
	if len(links) == 0 {
		t.Errorf("the README in %s has no links", folder)
	}
}

// checkProgram checks how a program was built.
func checkProgram(t *testing.T, program []byte, target string) {
	t.Helper()
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if got := settings["GOOS"] + "/" + settings["GOARCH"]; got != target || info.Path != "strata/cmd/strata" || settings["CGO_ENABLED"] != "0" || settings["-trimpath"] != "true" {
		t.Errorf("the program for %s is %s of %s, with the settings %v", target, info.Path, got, settings)
	}
	if info.GoVersion != runtime.Version() {
		t.Errorf("the program was built by %s, these tests by %s", info.GoVersion, runtime.Version())
	}
}

// checkVersion runs the program: its version is that of the release, with the commit and its day.
func (r release) checkVersion(t *testing.T, program []byte) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "strata")
	if err := os.WriteFile(file, program, 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(file, "version").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`^strata ` + regexp.QuoteMeta(r.version) + `(\+[0-9a-f]{12})? \(commit [0-9a-f]{12} of \d{4}-\d\d-\d\d, go1\.\S+, \w+/\w+\)\n$`)
	if !want.Match(out) || strings.HasSuffix(r.version, "-dev") != bytes.Contains(out, []byte("-dev+")) {
		t.Errorf("`strata version` prints %q", out)
	}
}

// checkPaths: no file contains a path of the machine that built it.
func checkPaths(t *testing.T, name string, content []byte) {
	t.Helper()
	for _, folder := range machineFolders(t) {
		if bytes.Contains(content, []byte(folder)) {
			t.Errorf("%s contains the path %s", name, folder)
		}
	}
}

// machineFolders returns the folders of the sources, of Go, of its caches and of the user.
func machineFolders(t *testing.T) []string {
	t.Helper()
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "env", "GOROOT", "GOMODCACHE", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	folders := append(strings.Split(strings.TrimSpace(string(out)), "\n"), top)
	if home, err := os.UserHomeDir(); err == nil {
		folders = append(folders, home)
	}
	return telling(folders)
}

// telling returns the folders, with a slash at their ends, whose path can only be of this machine: not /src or /strata,
// which are part of other paths, too.
func telling(folders []string) []string {
	var all []string
	for _, folder := range folders {
		if folder = filepath.Clean(folder) + "/"; strings.Count(folder, "/") > 2 {
			all = append(all, folder)
		}
	}
	return all
}

func TestATellingFolder(t *testing.T) {
	got := telling([]string{"/src", "/", "", "/root", "/home/ada", "/tmp/strata/"})
	if want := []string{"/home/ada/", "/tmp/strata/"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// checkManifest checks the version of an npm or VS Code package, and its files.
func checkManifest(t *testing.T, files map[string]entry, name string) {
	t.Helper()
	var manifest struct{ Version string }
	if err := json.Unmarshal(files[name].content, &manifest); err != nil || manifest.Version != version.Release {
		t.Errorf("%s has the version %q, internal/version %q (%v)", name, manifest.Version, version.Release, err)
	}
	for file, e := range files {
		checkPaths(t, file, e.content)
		if e.mode&^0o020 != 0o644 { // vsce gives the files that it writes itself to their group, too
			t.Errorf("%s has the mode %o", file, e.mode)
		}
	}
}

// checkDebian checks the files of a .deb.
func (r release) checkDebian(t *testing.T, processor string, program []byte) {
	t.Helper()
	members := unar(t, r.read(t, "strata_"+strings.ReplaceAll(r.version, "-", "~")+"_"+processor+".deb"))
	control := string(untar(t, members["control.tar.gz"])["./control"].content)
	for _, line := range []string{"Package: strata\n", "Version: " + strings.ReplaceAll(r.version, "-", "~") + "\n", "Architecture: " + processor + "\n", "Recommends: ca-certificates\n"} {
		if !strings.Contains(control, line) {
			t.Errorf("the package has no %q:\n%s", line, control)
		}
	}
	var got []string
	pages := 0
	files := untar(t, members["data.tar.gz"])
	checkLinks(t, files, "./usr/share/doc/strata")
	for name, e := range files {
		checkPaths(t, name, e.content)
		switch {
		case strings.HasPrefix(name, "./usr/share/man/man1/strata") && strings.HasSuffix(name, ".1.gz"):
			pages++
			continue
		case name == "./usr/bin/strata" && (e.mode != 0o755 || !bytes.Equal(e.content, program)):
			t.Errorf("%s has the mode %o, or is not the program of the archive", name, e.mode)
		case strings.HasPrefix(name, "./usr/share/doc/strata/docs/") && e.mode == 0o644:
			continue
		case name != "./usr/bin/strata" && e.mode != 0o644:
			t.Errorf("%s has the mode %o", name, e.mode)
		}
		got = append(got, name)
	}
	slices.Sort(got)
	want := []string{"./usr/bin/strata", "./usr/share/bash-completion/completions/strata", "./usr/share/doc/strata/LICENSES.txt",
		"./usr/share/doc/strata/NOTICE", "./usr/share/doc/strata/README.md", "./usr/share/doc/strata/changelog.gz", "./usr/share/doc/strata/copyright",
		"./usr/share/fish/vendor_completions.d/strata.fish", "./usr/share/zsh/vendor-completions/_strata"}
	if !slices.Equal(got, want) || pages < 30 {
		t.Errorf("the package has %d man pages and\n%v, want\n%v", pages, got, want)
	}
}

// checkBill: the bill of materials has the checksum of the program of each archive. Tests of internal/dist/sbom check
// everything else.
func (r release) checkBill(t *testing.T) {
	var bill struct {
		Metadata   struct{ Component struct{ Version string } }
		Components []struct {
			Ref    string `json:"bom-ref"`
			Hashes []struct{ Alg, Content string }
		}
	}
	text := r.read(t, r.bill())
	checkPaths(t, "the bill of materials", text)
	if err := json.Unmarshal(text, &bill); err != nil || bill.Metadata.Component.Version != r.version {
		t.Fatalf("the bill is of version %q, %v", bill.Metadata.Component.Version, err)
	}
	sums := map[string]string{}
	for _, c := range bill.Components {
		if len(c.Hashes) == 1 {
			sums[c.Ref] = c.Hashes[0].Content
		}
	}
	if got, want := sums["strata.vsix"], fmt.Sprintf("%x", sha256.Sum256(r.read(t, "strata.vsix"))); got != want {
		t.Errorf("the extension has the checksum %q by the bill, and %s", got, want)
	}
	for _, target := range r.targets {
		if strings.HasPrefix(target, "windows/") {
			continue
		}
		program := untar(t, r.read(t, r.archive(target)+".tar.gz"))[r.archive(target)+"/strata"].content
		if got, want := sums["strata-"+strings.ReplaceAll(target, "/", "-")], fmt.Sprintf("%x", sha256.Sum256(program)); got != want {
			t.Errorf("the program for %s has the checksum %q by the bill, and %s", target, got, want)
		}
	}
}

// untar returns the files of an archive. Its entries are sorted, of the user and group 0, and of one time, except those of
// npm, which has its own order.
func untar(t *testing.T, archive []byte) map[string]entry {
	t.Helper()
	unpacked, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]entry{}
	for reader := tar.NewReader(unpacked); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Gid != 0 {
			t.Errorf("%s belongs to %d:%d", header.Name, header.Uid, header.Gid)
		}
		switch header.Typeflag {
		case tar.TypeReg:
			files[header.Name] = entry{header.FileInfo().Mode(), content}
		case tar.TypeDir:
		default:
			t.Errorf("%s has the type %q", header.Name, header.Typeflag)
		}
	}
}

// unzip returns the files of an archive.
func unzip(t *testing.T, name string) map[string]entry {
	t.Helper()
	archive, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	files := map[string]entry{}
	for _, f := range archive.File {
		content, err := fs.ReadFile(archive, f.Name)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = entry{f.Mode(), content}
	}
	return files
}

// unar returns the members of a .deb.
func unar(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	const magic, header = "!<arch>\n", 60
	rest, ok := bytes.CutPrefix(archive, []byte(magic))
	if !ok {
		t.Fatal("the file is no .deb")
	}
	members := map[string][]byte{}
	for len(rest) > header {
		var size int
		if _, err := fmt.Sscanf(string(rest[48:58]), "%d", &size); err != nil || size < 0 || header+size > len(rest) {
			t.Fatalf("a member has the size %q", rest[48:58])
		}
		name := strings.TrimRight(strings.TrimSpace(string(rest[:16])), "/")
		members[name] = rest[header : header+size]
		rest = rest[min(header+size+size%2, len(rest)):]
	}
	return members
}
