package dist

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

// Two folders with the same files make the same archive, regardless of their place, modes, times and time zone.
func TestPack(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("releases are built on Linux, with its tar")
	}
	for _, extension := range []string{".tar.gz", ".zip"} {
		t.Run(extension, func(t *testing.T) {
			if _, err := exec.LookPath("zip"); err != nil && extension == ".zip" {
				t.Skip("zip is not installed")
			}
			first := pack(t, extension, 0o600, time.Unix(1e9, 0), "TZ=Asia/Tokyo")
			second := pack(t, extension, 0o664, time.Unix(2e9, 0), "TZ=America/Lima")
			if !bytes.Equal(first, second) {
				t.Error("two archives of the same files differ")
			}
			want := []string{"-rw-r--r-- made_1/README.md", "-rw-r--r-- made_1/a/Z", "-rw-r--r-- made_1/a/a", "-rwxr-xr-x made_1/program"}
			if got := listing(t, extension, first); !slices.Equal(got, want) {
				t.Errorf("the archive has %q, want %q", got, want)
			}
		})
	}
}

// pack packs a folder with files that have this mode and time, written in another order for another mode. The archive
// replaces an earlier one with one more file.
func pack(t *testing.T, extension string, mode fs.FileMode, at time.Time, zone string) []byte {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "made_1")
	if err := os.MkdirAll(filepath.Join(folder, "a"), 0o700|mode); err != nil {
		t.Fatal(err)
	}
	names := []string{"program", "README.md", "a/a", "a/Z"}
	if mode == 0o600 {
		slices.Reverse(names)
	}
	for _, name := range names {
		file := filepath.Join(folder, name)
		err := os.WriteFile(file, []byte(name), mode)
		if err == nil && name == "program" {
			err = os.Chmod(file, mode|0o100)
		}
		if err == nil {
			err = os.Chtimes(file, at, at)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(t.TempDir(), "made"+extension)
	earlier := filepath.Join(folder, "earlier")
	if err := os.WriteFile(earlier, nil, mode); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		cmd := exec.Command("./pack", folder, out)
		cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000", zone)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		os.Remove(earlier)
	}
	made, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// listing returns the modes and names of the files in an archive, in its order.
func listing(t *testing.T, extension string, archive []byte) []string {
	t.Helper()
	var files []string
	if extension == ".zip" {
		reader, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range reader.File {
			files = append(files, f.Mode().String()+" "+f.Name)
		}
		return files
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	for reader := tar.NewReader(unpacked); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Gid != 0 || header.Uname != "" || header.ModTime.Unix() != 1700000000 {
			t.Errorf("%s belongs to %d:%d %q and is of %s", header.Name, header.Uid, header.Gid, header.Uname, header.ModTime)
		}
		if header.Typeflag == tar.TypeReg {
			files = append(files, header.FileInfo().Mode().String()+" "+header.Name)
		}
	}
}

// The two Linux packages have the same files, apart from the folder of zsh's completions.
func TestFilesOfTheLinuxPackages(t *testing.T) {
	text, err := os.ReadFile("nfpm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var settings struct {
		RPM        struct{ BuildHost string }
		Recommends []string
		Contents   []struct {
			Src, Dst, Packager, Type string
			FileInfo                 struct{ Mode fs.FileMode } `yaml:"file_info"`
		}
	}
	if err := yaml.Unmarshal(text, &settings); err != nil {
		t.Fatal(err)
	}
	if settings.RPM.BuildHost == "" {
		t.Error("the .rpm would have the name of the machine")
	}
	if !slices.Contains(settings.Recommends, "ca-certificates") {
		t.Error("a minimal system would have no certificates for the connections to providers")
	}
	files := map[string][]string{}
	for _, c := range settings.Contents {
		if c.Type == "dir" {
			continue // a folder that the .rpm removes with its last file; dpkg removes it without being told
		}
		mode := fs.FileMode(0o644)
		if c.Dst == "/usr/bin/strata" {
			mode = 0o755
		}
		if c.FileInfo.Mode != mode || !strings.HasPrefix(c.Src, "${STAGE}/") {
			t.Errorf("%s has the mode %o and is made from %s", c.Dst, c.FileInfo.Mode, c.Src)
		}
		for _, packager := range []string{"deb", "rpm"} {
			if c.Packager == packager || c.Packager == "" {
				files[packager] = append(files[packager], c.Dst)
			}
		}
		if c.Type != "" && (c.Packager != "rpm" || strings.Contains(c.Src, "*")) {
			t.Errorf("%s has the type %s: its source must be one file, and only for the .rpm", c.Dst, c.Type)
		}
	}
	want := map[string][]string{
		"deb": {"/usr/share/doc/strata/", "/usr/share/zsh/vendor-completions/_strata"},
		"rpm": {"/usr/share/doc/strata/LICENSES.txt", "/usr/share/doc/strata/NOTICE", "/usr/share/doc/strata/README.md", "/usr/share/doc/strata/changelog.gz",
			"/usr/share/doc/strata/copyright", "/usr/share/zsh/site-functions/_strata"},
	}
	for packager, files := range files {
		all := append(want[packager], "/usr/bin/strata", "/usr/share/bash-completion/completions/strata", "/usr/share/doc/strata/docs/",
			"/usr/share/fish/vendor_completions.d/strata.fish", "/usr/share/man/man1/")
		slices.Sort(files)
		slices.Sort(all)
		if !slices.Equal(files, all) {
			t.Errorf("the .%s has\n%v, want\n%v", packager, files, all)
		}
	}
	if len(files) != len(want) {
		t.Errorf("nfpm.yaml has the packages %v", files)
	}
}
