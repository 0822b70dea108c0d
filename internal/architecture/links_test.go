package architecture

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLinksOfTheDocumentsLeadSomewhere(t *testing.T) {
	for _, name := range files(t) {
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		content, ok := readTree(name)
		if !ok {
			t.Fatalf("%s cannot be read", name)
		}
		for _, fault := range linkFaults(name, content, readTree) {
			t.Error(fault)
		}
	}
}

// readTree reads a file of the tree. For a folder it only reports that it exists.
func readTree(name string) ([]byte, bool) {
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	return content, err == nil || errors.Is(err, syscall.EISDIR)
}

func TestLinkFaults(t *testing.T) {
	tree := map[string]string{
		"README.md":             "# Strata\n\n## A tour\n",
		"docs/images/dark.webp": "",
		"docs/protocol.md":      "## `_strata/x`, and so on\n\n```\n## no heading\n```\n",
	}
	read := func(name string) ([]byte, bool) {
		content, ok := tree[name]
		return []byte(content), ok
	}
	text := strings.Join([]string{
		"## Here",
		"[a file](protocol.md), [one above](../README.md#a-tour), [a heading](protocol.md#_stratax-and-so-on), [here](#here)",
		"[elsewhere](https://example.org/x#y)",
		"`[no](link.md)`",
		"```\n[no](link.md)\n```",
		"[gone](gone.md) [gone](../protocol.md) [gone](protocol.md#no-heading) [gone](#there)",
		`<source srcset="images/dark.webp"><img src="images/light.webp"><img src="docs/images/dark.webp" alt="gone">`,
	}, "\n\n")
	want := []string{
		"docs/context.md links to gone.md, which does not exist",
		"docs/context.md links to ../protocol.md, which does not exist",
		"docs/context.md links to protocol.md#no-heading, which does not exist",
		"docs/context.md links to #there, which does not exist",
		"docs/context.md links to images/light.webp, which does not exist",
		"docs/context.md links to docs/images/dark.webp, which does not exist",
	}
	if diff := cmp.Diff(want, linkFaults("docs/context.md", []byte(text), read)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}
