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

// WorkspaceFile is the file in a workspace's folder that changes how its sessions are kept.
const WorkspaceFile = ".strata.yaml"

// workspaceKeys are all that a workspace may set: it comes with somebody else's code, so it names no provider,
// no address and no file.
var workspaceKeys = []string{"profile", "system_prompt", "profiles", "stability"}

// ForWorkspace gives the configuration of the sessions in a folder: what its file says counts more than the
// user's file and less than the environment and flags. Without such a file it is c itself.
func (c *Config) ForWorkspace(folder string) (*Config, error) {
	d, err := openWorkspace(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, nil
	case err != nil:
		return nil, err
	case d.root == nil:
		return c, nil
	}
	read := loader{Config: Default()}
	read.readMapping(d, d.root, only(read.keys(), workspaceKeys), "")
	if err := read.problems.err(); err != nil {
		return nil, err
	}
	return c.under(read.Config), nil
}

// openWorkspace reads the folder's file, which must be a regular one in that folder: neither a link that leads
// out nor a pipe that never ends.
func openWorkspace(folder string) (document, error) {
	path := filepath.Join(folder, WorkspaceFile)
	root, err := os.OpenRoot(folder)
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

func only(keys []key, names []string) []key {
	return slices.DeleteFunc(keys, func(k key) bool { return !slices.Contains(names, k.name) })
}

// under gives a copy of c with the workspace's values, but for those that the environment or a flag set.
func (c *Config) under(workspace *Config) *Config {
	merged := *c
	merged.Profiles = maps.Clone(c.Profiles)
	merged.origins = maps.Clone(c.origins)
	words := slices.DeleteFunc(slices.Clone(workspaceKeys), func(name string) bool { return name == "profiles" })
	ours := settings(only(merged.keys(), words), "")
	for i, their := range settings(only(workspace.keys(), words), "") {
		if workspace.IsDefault(their.dotted) || c.Origin(their.dotted).commands() {
			continue
		}
		if err := ours[i].value.setText(their.value.String()); err == nil {
			merged.origins[their.dotted] = workspace.Origin(their.dotted)
		}
	}
	for name, overrides := range workspace.Profiles {
		merged.Profiles[name] = mergeOverrides(c.Profiles[name], overrides)
	}
	return &merged
}

func mergeOverrides(ours, theirs []Override) []Override {
	merged := slices.Clone(ours)
	for _, o := range theirs {
		i := slices.IndexFunc(merged, func(our Override) bool { return slices.Equal(our.Path, o.Path) })
		if i < 0 || !merged[i].Origin.commands() {
			merged = override(merged, o)
		}
	}
	return merged
}

// commands reports whether the value was given for this run, by a variable or a flag.
func (o Origin) commands() bool { return o.Source != "" && o.Line == 0 }
