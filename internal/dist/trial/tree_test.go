//go:build linux

package trial

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// ofTheSystem are the files that the system itself writes while packages are installed and users work: the state of package
// managers, caches and logs. Their contents may change. Below the names that end with a slash, files may be new, too.
var ofTheSystem = []string{
	"/etc/.pwd.lock", "/root/.rpmdb", "/var/cache/ldconfig", "/var/cache/man", "/var/lib/dpkg", "/var/lib/rpm", "/var/lib/systemd/",
	"/var/log/", "/run/", "/tmp/", "/var/tmp/",
}

// tree describes the files of a system: path to owner, mode and content.
type tree map[string]string

// files returns the present files of the machine.
func (m *machine) files() tree {
	m.Helper()
	files := make(tree)
	err := filepath.WalkDir(m.folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, m.folder)
		if entry.IsDir() && slices.Contains(ofTheSystem, name+"/") {
			return fs.SkipDir
		}
		files[name], err = describe(path, entry, slices.ContainsFunc(ofTheSystem, func(top string) bool { return name == top || strings.HasPrefix(name, top+"/") }))
		return err
	})
	if err != nil {
		m.Fatal(err)
	}
	return files
}

func describe(path string, entry fs.DirEntry, ofTheSystem bool) (string, error) {
	info, err := entry.Info()
	if err != nil {
		return "", err
	}
	stat := info.Sys().(*syscall.Stat_t)
	text := fmt.Sprintf("%v %d:%d", info.Mode(), stat.Uid, stat.Gid)
	switch {
	case ofTheSystem:
		return text, nil
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		return text + " -> " + target, err
	case info.Mode().IsRegular():
		hash, err := hashOf(path)
		return text + " " + hash, err
	}
	return text, nil
}

func hashOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return fmt.Sprintf("%x", h.Sum(nil)[:8]), err
}

// changes returns a line for each difference between two trees.
func changes(before, after tree) []string {
	var lines []string
	for _, path := range slices.Sorted(maps.Keys(before)) {
		switch now, exists := after[path]; {
		case !exists:
			lines = append(lines, "removed "+path)
		case now != before[path]:
			lines = append(lines, "changed "+path+": "+before[path]+", now "+now)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(after)) {
		if _, existed := before[path]; !existed {
			lines = append(lines, "added "+path)
		}
	}
	return lines
}
