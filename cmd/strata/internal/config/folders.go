package config

import (
	"fmt"
	"path/filepath"
	"runtime"
)

// Folders are the user's folders for Strata. None of them need exist.
type Folders struct {
	Config string // strata.yaml
	Data   string // the database
	State  string // the token, logs, recovery files
}

// FindFolders finds the user's folders. The error names the variable that is missing.
func FindFolders(getenv func(string) string) (Folders, error) { return folders(getenv, runtime.GOOS) }

// folders finds the user's folders: the XDG variables everywhere, else what the system is used to.
// A relative XDG variable is ignored, as the XDG base directory specification demands.
func folders(getenv func(string) string, goos string) (Folders, error) {
	find := finder{getenv: getenv}
	var f Folders
	switch goos {
	case "windows":
		f.Config = find.folder("XDG_CONFIG_HOME", "APPDATA")
		f.Data = find.folder("XDG_DATA_HOME", "LOCALAPPDATA")
		f.State = find.folder("XDG_STATE_HOME", "LOCALAPPDATA")
	case "darwin":
		f.Config = find.folder("XDG_CONFIG_HOME", "HOME", "Library", "Application Support")
		f.Data = find.folder("XDG_DATA_HOME", "HOME", "Library", "Application Support")
		f.State = find.folder("XDG_STATE_HOME", "HOME", "Library", "Application Support")
	default:
		f.Config = find.folder("XDG_CONFIG_HOME", "HOME", ".config")
		f.Data = find.folder("XDG_DATA_HOME", "HOME", ".local", "share")
		f.State = find.folder("XDG_STATE_HOME", "HOME", ".local", "state")
	}
	return f, find.err
}

// finder looks up folders and keeps the first failure.
type finder struct {
	getenv func(string) string
	err    error
}

func (f *finder) folder(xdg, base string, below ...string) string {
	if dir := f.getenv(xdg); filepath.IsAbs(dir) {
		return filepath.Join(dir, "strata")
	}
	dir := f.getenv(base)
	if !filepath.IsAbs(dir) {
		if f.err == nil {
			f.err = fmt.Errorf("%s is not set to an absolute path, so there is no folder for Strata's files: set it, or XDG_CONFIG_HOME, XDG_DATA_HOME and XDG_STATE_HOME", base)
		}
		return ""
	}
	return filepath.Join(append(append([]string{dir}, below...), "strata")...)
}
