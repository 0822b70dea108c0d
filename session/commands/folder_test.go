package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"strata/filecontext"
)

// write writes a file of a folder, and the folders before it.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// link makes a symbolic link.
func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		t.Skip(err)
	}
}

// read reads the folder .strata/commands of a workspace.
func read(t *testing.T, root string, guard *filecontext.Guard) (names []string, skipped map[string]string) {
	t.Helper()
	files, left, err := Folder{Root: root, Below: ".strata/commands", Guard: guard}.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		names = append(names, f.Name)
	}
	skipped = make(map[string]string)
	for _, s := range left {
		skipped[filepath.Base(s.Path)] = s.Reason
	}
	return names, skipped
}

func TestFolderReadsItsMarkdownFiles(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"fix.md", "a-review.md", "notes.txt", "below/deep.md"} {
		write(t, filepath.Join(root, ".strata/commands", name), "Do "+name)
	}
	names, skipped := read(t, root, nil)
	if want := []string{"a-review", "fix"}; !slices.Equal(names, want) || len(skipped) > 0 {
		t.Errorf("got %q, skipped %q", names, skipped)
	}
	files, _, _ := Folder{Root: root, Below: ".strata/commands"}.Read(t.Context())
	if f := files[1]; f.Path != ".strata/commands/fix.md" || f.Description != "Do fix.md" {
		t.Errorf("got %+v", f)
	}
}

func TestFolderThatIsMissingHasNoCommands(t *testing.T) {
	root := t.TempDir()
	for _, at := range []string{root, filepath.Join(root, "missing")} {
		if names, skipped := read(t, at, nil); len(names) > 0 || len(skipped) > 0 {
			t.Errorf("%s: got %q, skipped %q", at, names, skipped)
		}
	}
}

func TestFolderSkipsHostileFiles(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	at := func(name string) string { return filepath.Join(root, ".strata/commands", name) }
	write(t, filepath.Join(outside, "stolen.md"), "What another user wrote")
	write(t, at("good.md"), "Do this")
	write(t, at("large.md"), strings.Repeat("x", MaxFileBytes+1))
	write(t, at("binary.md"), "\x00\x01\x02\xff\xfe")
	write(t, at("empty.md"), "")
	write(t, at("bad name.md"), "Do this")
	write(t, at("own.md"), "A file of the server")
	write(t, at("secret.md"), "key")
	link(t, filepath.Join(outside, "stolen.md"), at("stolen.md"))
	link(t, "nothing.md", at("dangling.md"))
	link(t, "round.md", at("round.md"))
	link(t, "..", at("folder.md"))
	guard, err := filecontext.NewGuard(filecontext.GuardOptions{Own: []string{at("own.md")}, Secrets: []string{"secret.md"}})
	if err != nil {
		t.Fatal(err)
	}
	names, skipped := read(t, root, guard)
	if want := []string{"good"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	for file, reason := range map[string]string{
		"stolen.md": "is outside the session's folders", "large.md": "exceeds the size limit", "binary.md": "is binary",
		"empty.md": errNoPrompt.Error(), "bad name.md": errBadName.Error(), "own.md": "belongs to Strata", "secret.md": "looks like a secret",
		"dangling.md": "does not exist", "round.md": "", "folder.md": "is a folder",
	} {
		if got, ok := skipped[file]; !ok || !strings.HasPrefix(got, reason) {
			t.Errorf("%s was skipped (%t): %q, want %q", file, ok, got, reason)
		}
	}
}

func TestFolderIsNotReadThroughALinkOutOfTheWorkspace(t *testing.T) {
	outside := t.TempDir()
	write(t, filepath.Join(outside, "commands/stolen.md"), "What another user wrote")
	for name, path := range map[string]string{"the folder": ".strata/commands", "the folder above": ".strata"} {
		root := t.TempDir()
		to := outside
		if path != ".strata" {
			to = filepath.Join(outside, "commands")
		}
		link(t, to, filepath.Join(root, path))
		if names, _ := read(t, root, nil); len(names) > 0 {
			t.Errorf("%s: got %q", name, names)
		}
	}
}

func TestFolderThatIsAFileHasNoCommands(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, ".strata/commands"), "no folder")
	if names, skipped := read(t, root, nil); len(names) > 0 || skipped["commands"] != errNoFolder.Error() {
		t.Errorf("got %q, skipped %q", names, skipped)
	}
}

func TestFolderIsBounded(t *testing.T) {
	t.Run("files", func(t *testing.T) {
		root := t.TempDir()
		for i := range MaxFiles + 5 {
			write(t, filepath.Join(root, ".strata/commands", fmt.Sprintf("c%03d.md", i)), "Go")
		}
		names, skipped := read(t, root, nil)
		if len(names) != MaxFiles || len(skipped) != 1 || skipped["c100.md"] != errTooMany.Error() {
			t.Errorf("got %d commands, skipped %q", len(names), skipped)
		}
	})
	t.Run("bytes", func(t *testing.T) {
		root := t.TempDir()
		for i := range MaxFolderBytes/MaxFileBytes + 1 {
			write(t, filepath.Join(root, ".strata/commands", fmt.Sprintf("c%03d.md", i)), strings.Repeat("x", MaxFileBytes))
		}
		names, skipped := read(t, root, nil)
		if len(names) != MaxFolderBytes/MaxFileBytes || skipped["c016.md"] != errTooMany.Error() {
			t.Errorf("got %d commands, skipped %q", len(names), skipped)
		}
	})
	t.Run("skipped files", func(t *testing.T) {
		root := t.TempDir()
		for i := range maxEntries {
			write(t, filepath.Join(root, ".strata/commands", fmt.Sprintf("bad %03d.md", i)), "Go")
		}
		if names, skipped := read(t, root, nil); len(names) > 0 || len(skipped) != MaxFiles+1 {
			t.Errorf("got %q, skipped %d", names, len(skipped))
		}
	})
}

func TestReadEndsWithItsContext(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, ".strata/commands/fix.md"), "Go")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if files, _, err := (Folder{Root: root, Below: ".strata/commands"}).Read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, error %v", files, err)
	}
}
