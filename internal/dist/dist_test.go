package dist

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"strata/internal/version"
)

var heading = regexp.MustCompile(`(?m)^## \[(\S+)\]`)

// The newest heading of the changelog is of changes to come, or of the release that internal/version names.
func TestTheChangelogHasTheVersion(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	all := heading.FindAllStringSubmatch(string(text), -1)
	if len(all) == 0 || all[0][1] != "Unreleased" && all[0][1] != version.Release {
		t.Errorf("the headings are %v, the version is %s", all, version.Release)
	}
	for _, h := range all[min(1, len(all)):] {
		if h[1] == "Unreleased" {
			t.Error("two headings are of unreleased changes")
		}
	}
}

// Notes are a section of the changelog without its heading; an unknown version has none.
func TestReleaseNotes(t *testing.T) {
	notes, err := exec.Command("./notes").Output()
	if err != nil || !strings.Contains(string(notes), "### Added") || strings.Contains(string(notes), "\n## ") {
		t.Errorf("%v, %.200q", err, notes)
	}
	if out, err := exec.Command("./notes", "99.0.0").Output(); err == nil {
		t.Errorf("99.0.0 has the notes %.200q", out)
	}
}

// A release with a tag other than the version is not built.
func TestATagMustBeTheVersion(t *testing.T) {
	cmd := exec.Command("./build", t.TempDir())
	cmd.Env = append(os.Environ(), "VERSION=v99.0.0", "COMMIT=0", "SOURCE_DATE_EPOCH=0")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the tag v99.0.0 is not v"+version.Release) {
		t.Errorf("%v, %s", err, out)
	}
}

// Without a release, the error names the command that makes one.
func TestImageWithoutARelease(t *testing.T) {
	out, err := exec.Command("./image", "missing.tar.gz", "strata").CombinedOutput()
	if err == nil || string(out) != "missing.tar.gz does not exist: run make dist\n" {
		t.Errorf("error %v, %q", err, out)
	}
}
