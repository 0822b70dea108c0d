package commands

import (
	"slices"
	"strings"
	"testing"
)

func file(name string) File {
	return File{Command: Command{Name: name, Description: name}, Path: name + ".md", prompt: name}
}

func TestNoFileShadowsABuiltinCommandOrOneOfTheUser(t *testing.T) {
	set, skipped := NewSet([]File{file("review"), file("Clear")}, []File{file("REVIEW"), file("help"), file("fix"), file("Fix")})
	var names []string
	for _, c := range set.All()[len(builtin):] {
		names = append(names, c.Name)
	}
	if want := []string{"fix", "review"}; !slices.Equal(names, want) {
		t.Errorf("the files are %q, want %q", names, want)
	}
	want := []Skipped{
		{"Clear.md", "/Clear is the name of a built-in command"},
		{"REVIEW.md", "/REVIEW is a command of the user"},
		{"help.md", "/help is the name of a built-in command"},
		{"Fix.md", "/Fix is also the name of another file of the workspace"},
	}
	if !slices.Equal(skipped, want) {
		t.Errorf("skipped %q, want %q", skipped, want)
	}
	if f, ok := set.File("review"); !ok || f.Path != "review.md" {
		t.Errorf("review is %+v, %t", f, ok)
	}
	for _, name := range []string{"help", "REVIEW", "other"} {
		if f, ok := set.File(name); ok {
			t.Errorf("%s is the file %+v", name, f)
		}
	}
}

func TestBuiltinCommandsCanBeTyped(t *testing.T) {
	for _, c := range (Set{}).All() {
		if !isName(c.Name) || c.Description == "" || !IsBuiltin(c.Name) || Usage(c.Name) == "" {
			t.Errorf("%+v", c)
		}
	}
	if IsBuiltin("Help") || IsBuiltin("") {
		t.Error("a name in another case counts as built in")
	}
}

func TestTextListsTheCommands(t *testing.T) {
	set, _ := NewSet([]File{file("review")}, nil)
	text := set.Text()
	for _, c := range set.All() {
		if !strings.Contains(text, "- `"+c.usage()+"`: "+c.Description+"\n") {
			t.Errorf("/%s is missing from %s", c.Name, text)
		}
	}
}
