package hudtest

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"strata/internal/npm"
)

//go:embed testdata/axe/*.json
var axePackages embed.FS

// AxeScript returns the source of axe-core.
func AxeScript(t testing.TB) string {
	t.Helper()
	files, err := fs.Sub(axePackages, "testdata/axe")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := npm.Packages{Name: "axe", Files: files, Command: "ci"}.Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

// Violations is the script of a promise: the violations that axe-core finds, each as its rule and the elements. A format verb
// stands for further options, such as the rules: only the contrast depends on the theme.
const Violations = `axe.run(document, { resultTypes: ["violations"], %s }).then((found) =>
	found.violations.flatMap((v) => v.nodes.slice(0, 3).map((n) => v.id + ": " + n.target.join(" ") + " " + n.html.slice(0, 160) + " " + (n.any[0]?.message ?? n.all[0]?.message ?? n.none[0]?.message ?? ""))))`
