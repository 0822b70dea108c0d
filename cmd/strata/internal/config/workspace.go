package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// WorkspaceFile is the file in a workspace's folder that configures its sessions.
const WorkspaceFile = ".strata.yaml"

// workspaceKeys are all that a workspace may set: the file comes with other people's code, so it names no provider,
// no address and no file.
var workspaceKeys = []string{"profile", "system_prompt", "profiles", "stability"}

// ForWorkspace returns the configuration of the sessions in a folder: the folder's file counts more than the user's
// file and less than variables and flags. Without such a file it returns c itself. open opens the folder.
func (c *Config) ForWorkspace(folder string, open func(folder string) (*os.Root, error)) (*Config, error) {
	d, err := openWorkspace(folder, open)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, nil
	case err != nil:
		return nil, err
	case len(d.root.Values) == 0:
		return c, nil
	}
	merged := *c
	merged.Profiles, merged.origins = slices.Clone(c.Profiles), maps.Clone(c.origins)
	l := loader{Config: &merged}
	l.readMapping(d, d.root, l.all(), workspaceKeys...)
	if err := l.problems.err(); err != nil {
		return nil, err
	}
	return &merged, nil
}

// openWorkspace reads the folder's file, which must be a regular file in that folder: neither a link to a file
// elsewhere nor a pipe without an end.
func openWorkspace(folder string, open func(string) (*os.Root, error)) (document, error) {
	path := filepath.Join(folder, WorkspaceFile)
	root, err := open(folder)
	if err != nil {
		return document{}, err
	}
	defer root.Close()
	f, err := root.OpenFile(WorkspaceFile, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return document{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return document{}, err
	}
	if !info.Mode().IsRegular() {
		return document{}, fmt.Errorf("%s is not a regular file", path)
	}
	return readDocument(path, f)
}
