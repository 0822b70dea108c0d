package main

import (
	"testing"

	release "strata/internal/version"
)

func TestChooseVersion(t *testing.T) {
	const revision = "0123456789abcdef0123456789abcdef01234567"
	tests := []struct{ name, linked, module, revision, want string }{
		{"by the linker", "v1.2.3", "v1.0.0", revision, "1.2.3"},
		{"of the module", "", "v1.0.0", revision, "1.0.0"},
		{"made up for a commit", "", "v0.0.0-20260105093000-0123456789ab+dirty", revision, release.Release + "-dev+0123456789ab"},
		{"of a working tree", "", "(devel)", revision, release.Release + "-dev+0123456789ab"},
		{"without a commit", "", "(devel)", "", release.Release + "-dev"},
		{"of nothing", "", "", "short", release.Release + "-dev"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := chooseVersion(tt.linked, tt.module, tt.revision); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSourceOfABuild(t *testing.T) {
	const revision = "0123456789abcdef0123456789abcdef01234567"
	tests := []struct{ revision, day, want string }{
		{revision, "2026-01-05", "commit 0123456789ab of 2026-01-05"},
		{revision, "", "commit 0123456789ab"},
		{"", "2026-01-05", ""},
		{"short", "", ""},
	}
	for _, tt := range tests {
		if got := sourceOf(tt.revision, tt.day); got != tt.want {
			t.Errorf("of %q and %q: got %q, want %q", tt.revision, tt.day, got, tt.want)
		}
	}
}
