package dist

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// debian are programs of Debian that only say what they would do. dpkg knows a package that is installed, and one that was
// removed without its settings.
var debian = map[string]string{
	"dpkg-query": `case $* in *not-installed-any-more) printf config-files ;; *installed) printf installed ;; *) exit 1 ;; esac`,
	"apt-get":    `echo "apt-get $*"`,
	"id":         `echo 0`,
}

// .ci/install-tools installs what is missing, a removed package included, and nothing else.
func TestInstallTools(t *testing.T) {
	folder := t.TempDir()
	for name, script := range debian {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ tools, installs string }{
		{"sh is-installed", ""},
		{"sh is-not-installed-any-more is-unknown", " is-not-installed-any-more is-unknown\n"},
	} {
		cmd := exec.Command("../../.ci/install-tools", strings.Fields(test.tools)...)
		cmd.Env = append(os.Environ(), "PATH="+folder+":/usr/bin:/bin")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasSuffix(string(out), test.installs) || (len(out) == 0) != (test.installs == "") {
			t.Errorf("%s: %v, %q", test.tools, err, out)
		}
	}
}
