package config

import (
	"strings"
	"testing"
)

func TestFoldersOfEachSystem(t *testing.T) {
	for _, test := range []struct {
		name, goos string
		env        map[string]string
		want       Folders
	}{
		{"linux", "linux", map[string]string{"HOME": "/h"},
			Folders{"/h/.config/strata", "/h/.local/share/strata", "/h/.local/state/strata"}},
		{"all of XDG and no home", "linux", map[string]string{"XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d", "XDG_STATE_HOME": "/s"},
			Folders{"/c/strata", "/d/strata", "/s/strata"}},
		{"relative XDG is ignored", "linux", map[string]string{"HOME": "/h", "XDG_DATA_HOME": "d"},
			Folders{"/h/.config/strata", "/h/.local/share/strata", "/h/.local/state/strata"}},
		{"macOS", "darwin", map[string]string{"HOME": "/h"},
			Folders{"/h/Library/Application Support/strata", "/h/Library/Application Support/strata", "/h/Library/Application Support/strata"}},
		{"windows", "windows", map[string]string{"APPDATA": "/a", "LOCALAPPDATA": "/l"},
			Folders{"/a/strata", "/l/strata", "/l/strata"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := folders(func(name string) string { return test.env[name] }, test.goos)
			if err != nil || got != test.want {
				t.Errorf("got %+v, %v\nwant %+v", got, err, test.want)
			}
		})
	}
}

func TestNoHomeIsAClearError(t *testing.T) {
	_, err := Load(Sources{Getenv: func(string) string { return "" }})
	if err == nil || !strings.Contains(err.Error(), "not set to an absolute path") || !strings.Contains(err.Error(), "XDG_STATE_HOME") {
		t.Errorf("got %v", err)
	}
}

// The error names the first variable that is missing: with it set the next attempt goes further.
func TestTheFirstMissingVariableIsNamed(t *testing.T) {
	for first, env := range map[string]map[string]string{"APPDATA": nil, "LOCALAPPDATA": {"APPDATA": "/a"}} {
		_, err := folders(func(name string) string { return env[name] }, "windows")
		if err == nil || !strings.HasPrefix(err.Error(), first+" is not set") {
			t.Errorf("with %v: %v", env, err)
		}
	}
}
