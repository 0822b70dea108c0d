package config

import (
	"fmt"
	"path/filepath"
	"runtime"
)

// Folders are the user's folders for Strata's files. None of them need exist.
type Folders struct {
	Config string // strata.yaml
	Data   string // the database
	State  string // the token, logs, recovery files
}

// FindFolders returns the user's folders. The error names the variable that is missing.
func FindFolders(getenv func(string) string) (Folders, error) { return folders(getenv, runtime.GOOS) }

// folders uses the XDG variables on every system, else the system's usual folders. A relative XDG variable is ignored,
// as the XDG base directory specification demands.
func folders(getenv func(string) string, goos string) (f Folders, err error) {
	find := func(xdg, base string, below ...string) string {
		if dir := getenv(xdg); filepath.IsAbs(dir) {
			return filepath.Join(dir, "strata")
		}
		dir := getenv(base)
		if !filepath.IsAbs(dir) && err == nil {
			err = fmt.Errorf("%s is not set to an absolute path: set it, or XDG_CONFIG_HOME, XDG_DATA_HOME and XDG_STATE_HOME", base)
		}
		return filepath.Join(dir, filepath.Join(below...), "strata")
	}
	config, data, state := []string{"HOME", ".config"}, []string{"HOME", ".local", "share"}, []string{"HOME", ".local", "state"}
	switch goos {
	case "windows":
		config, data, state = []string{"APPDATA"}, []string{"LOCALAPPDATA"}, []string{"LOCALAPPDATA"}
	case "darwin":
		library := []string{"HOME", "Library", "Application Support"}
		config, data, state = library, library, library
	}
	f.Config = find("XDG_CONFIG_HOME", config[0], config[1:]...)
	f.Data = find("XDG_DATA_HOME", data[0], data[1:]...)
	f.State = find("XDG_STATE_HOME", state[0], state[1:]...)
	return f, err
}
