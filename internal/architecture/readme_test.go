package architecture

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// firstScreen is the number of lines of the README in which a newcomer must find how to run and test Strata.
const firstScreen = 15

func TestTheReadmeBeginsWithRunAndTest(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range readmeFaults(string(readme), string(makefile)) {
		t.Error(fault)
	}
}

// readmeFaults names the commands that are not in a code block of the first screen, or not a target of the Makefile.
func readmeFaults(readme, makefile string) (faults []string) {
	shown := strings.Split(readme, "\n")
	shown = shown[:min(firstScreen, len(shown))]
	for _, target := range []string{"run", "test"} {
		inBlock := false
		found := slices.ContainsFunc(shown, func(line string) bool {
			if strings.HasPrefix(line, "```") {
				inBlock = !inBlock
			}
			return inBlock && strings.HasPrefix(line+" ", "make "+target+" ")
		})
		switch {
		case !found:
			faults = append(faults, "the first lines of README.md have no code block with make "+target)
		case !strings.Contains(makefile, "\n"+target+":"):
			faults = append(faults, "the Makefile has no target "+target)
		}
	}
	return faults
}

func TestReadmeFaults(t *testing.T) {
	const makefile = "help:\nrun: build\ntest:\n"
	block := "```\nmake run      # starts\nmake test\n```\n"
	for _, tt := range []struct {
		name, readme, makefile string
		faults                 int
	}{
		{"both", "# Strata\n\n" + block, makefile, 0},
		{"too late", strings.Repeat("\n", firstScreen-2) + block, makefile, 1},
		{"only in the text", "make run\nmake test\n", makefile, 2},
		{"longer names", "```\nmake runs\nmake test-all\n```\n", makefile, 2},
		{"no target", block, "help:\nrun:\n", 1},
	} {
		if got := readmeFaults(tt.readme, tt.makefile); len(got) != tt.faults {
			t.Errorf("%s: %q, want %d faults", tt.name, got, tt.faults)
		}
	}
}
