package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// licenseName matches the files of a module or package that contain its license or notices of its authors.
var licenseName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|copyright)([.-].*)?$`)

const ruler = "================================================================================"

// licenseTexts returns the texts of all modules, of the HUD's packages and of ICU. NOTICE has those of the other parts.
func (r *release) licenseTexts() (string, error) {
	folders, err := r.moduleFolders()
	if err != nil {
		return "", err
	}
	var out strings.Builder
	out.WriteString("Strata contains these modules and packages, with their licenses. NOTICE has those of the data and of the parsers.\n")
	for _, p := range r.sorted() {
		text, err := p.licenseText(folders)
		if err != nil {
			return "", fmt.Errorf("%s: %w", p.name, err)
		}
		if text != "" {
			fmt.Fprintf(&out, "\n%s\n%s %s (%s)\n\n%s\n", ruler, p.name, p.version, p.license, text)
		}
	}
	return out.String(), nil
}

// licenseText returns the license of a part from the folders of the modules, from its npm package or from its own file;
// empty if it has none of them.
func (p part) licenseText(folders map[string]string) (string, error) {
	switch {
	case p.module:
		return readTexts(folders[p.name])
	case p.npm:
		text, err := readTexts(filepath.Join("web", "hud", "node_modules", filepath.FromSlash(p.name)))
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: `make vsix` installs it", err)
		}
		return text, err
	case p.text != "":
		text, err := os.ReadFile(p.text)
		return strings.TrimSpace(string(text)), err
	}
	return "", nil
}

// readTexts returns the license files of a folder.
func readTexts(folder string) (string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	var texts []string
	for _, e := range entries {
		if e.IsDir() || !licenseName.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return "", err
		}
		texts = append(texts, strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
	}
	if len(texts) == 0 {
		return "", fmt.Errorf("no license file in %s", folder)
	}
	return strings.Join(texts, "\n\n"), nil
}

// moduleFolders returns the folders of the modules, and of Go for its standard library.
func (r *release) moduleFolders() (map[string]string, error) {
	args := []string{"list", "-m", "-json"}
	for _, p := range r.sorted() {
		if p.module && p.name != standard {
			args = append(args, p.name)
		}
	}
	listed, err := goCommand(args...)
	if err != nil {
		return nil, err
	}
	root, err := goCommand("env", "GOROOT")
	if err != nil {
		return nil, err
	}
	folders := map[string]string{standard: strings.TrimSpace(string(root))}
	for decoder := json.NewDecoder(bytes.NewReader(listed)); ; {
		var m struct{ Path, Dir string }
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			return folders, nil
		} else if err != nil {
			return nil, err
		}
		folders[m.Path] = m.Dir
	}
}

func goCommand(args ...string) ([]byte, error) {
	var complaints bytes.Buffer
	cmd := exec.Command("go", args...)
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, complaints.Bytes())
	}
	return out, nil
}
