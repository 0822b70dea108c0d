package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/cli"
	release "strata/internal/version"
)

// version, commit and date are set by the linker: -ldflags "-X main.version=v1.2.3 -X main.date=2026-01-05". The date is
// that of the commit.
var version, commit, date string

func newVersion(p *cli.Process) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cli.UsageArgs(cobra.NoArgs),
		RunE:  func(*cobra.Command, []string) error { return writeVersion(p) },
	}
}

func writeVersion(p *cli.Process) error {
	_, err := io.WriteString(p.Stdout, versionLine())
	return err
}

func versionLine() string {
	build := []string{runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	if source := sourceOf(currentCommit(), currentDate()); source != "" {
		build = slices.Insert(build, 0, source)
	}
	return fmt.Sprintf("strata %s (%s)\n", currentVersion(), strings.Join(build, ", "))
}

// sourceOf describes the commit of a build; empty if it is unknown.
func sourceOf(revision, day string) string {
	switch {
	case len(revision) < commitDigits:
		return ""
	case day == "":
		return "commit " + revision[:commitDigits]
	}
	return "commit " + revision[:commitDigits] + " of " + day
}

// currentVersion returns the linker's version, else the module's, else that of the next release with the commit.
func currentVersion() string {
	module := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		module = info.Main.Version
	}
	return chooseVersion(version, module, currentCommit())
}

// currentCommit returns the linker's commit, else that of the build; empty if both are unknown.
func currentCommit() string { return cmp.Or(commit, buildSetting("vcs.revision")) }

// currentDate returns the day of the commit as 2026-01-05; empty if it is unknown.
func currentDate() string {
	day, _, _ := strings.Cut(buildSetting("vcs.time"), "T")
	return cmp.Or(date, day)
}

func buildSetting(key string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// commitDigits is the length of a commit in a version.
const commitDigits = 12

// chooseVersion returns the version of a build, without the "v" of its tag. A module version that Go generated names no
// release.
func chooseVersion(linked, module, revision string) string {
	switch {
	case linked != "":
		return strings.TrimPrefix(linked, "v")
	case module != "" && module != "(devel)" && !strings.HasPrefix(module, "v0.0.0-"):
		return strings.TrimPrefix(module, "v")
	case len(revision) >= commitDigits:
		return release.Release + "-dev+" + revision[:commitDigits]
	}
	return release.Release + "-dev"
}
