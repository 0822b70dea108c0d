package dist

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	variable = regexp.MustCompile(`\bSTRATA_[A-Z_]+\b`)
	key      = regexp.MustCompile("(?m)^\\| `([a-z_.]+|STRATA_TOKEN)` \\|")
)

// Each variable of the image, and of its documentation, sets a key.
func TestVariablesOfTheContainerAreSettings(t *testing.T) {
	document := read(t, "../../docs/configuration.md")
	known := []string{"STRATA_CONFIG"}
	for _, found := range key.FindAllStringSubmatch(document, -1) {
		name := strings.TrimPrefix(strings.ToUpper(strings.ReplaceAll(found[1], ".", "_")), "STRATA_")
		known = append(known, "STRATA_"+name)
	}
	_, section, _ := strings.Cut(document, "\n## Container\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for name, text := range map[string]string{"Containerfile": read(t, "Containerfile"), "docs": section} {
		used := variable.FindAllString(text, -1)
		if len(used) == 0 {
			t.Errorf("%s sets nothing", name)
		}
		for _, v := range used {
			if !slices.Contains(known, v) {
				t.Errorf("%s: %s sets no key", name, v)
			}
		}
	}
}

// Most licenses require their text in each copy of a program.
func TestTheImageHasTheLicenses(t *testing.T) {
	if file := read(t, "Containerfile"); !strings.Contains(file, "COPY LICENSE LICENSES.txt NOTICE /\n") {
		t.Error("the image lacks LICENSE, LICENSES.txt or NOTICE")
	}
}

// The user of the image owns its data, and has a name.
func TestTheUserOfTheContainer(t *testing.T) {
	file, script := read(t, "Containerfile"), read(t, "image")
	user := regexp.MustCompile(`(?m)^USER (\d+):(\d+)$`).FindStringSubmatch(file)
	if user == nil || user[1] == "0" || user[2] == "0" {
		t.Fatalf("user %q", user)
	}
	if !strings.Contains(file, "COPY --chown="+user[1]+":"+user[2]+" data /data\n") || !strings.Contains(script, "strata:x:"+user[1]+":"+user[2]+":Strata:/data:/strata'") {
		t.Errorf("another user than %q owns /data, or is in passwd", user[1:])
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
