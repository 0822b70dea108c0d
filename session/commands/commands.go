// Package commands defines the slash commands that a user can type as a prompt: the built-in commands, and the Markdown files
// of the user and of a workspace. It finds the command of a prompt, reads the files, and lists the commands.
//
// It must never run a command, and never write a file.
package commands

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Command is a command as clients list it.
type Command struct {
	Name        string // without the slash
	Description string // one line
	Hint        string // its arguments, such as "PATH…"; empty for a command without arguments
}

// The names of the built-in commands.
const (
	Compact    = "compact"
	Undo       = "undo"
	Clear      = "clear"
	Context    = "context"
	Files      = "files"
	Add        = "add"
	Drop       = "drop"
	Checkpoint = "checkpoint"
	Restore    = "restore"
	Rename     = "rename"
	Model      = "model"
	Retry      = "retry"
	Help       = "help"
)

// builtin are the built-in commands in the order of the list.
var builtin = []Command{
	{Compact, "Shorten the history", "[strategy]"},
	{Undo, "Preview undoing the last turn; now: undo it; edit: undo the last history edit", "[now | edit]"},
	{Clear, "Empty the working history; the transcript stays", ""},
	{Context, "Show what the next request contains", ""},
	{Files, "List the files of the context", ""},
	{Add, "Add files to the context", "PATH…"},
	{Drop, "Remove files from the context", "PATH…"},
	{Checkpoint, "Create a checkpoint of the current state", "NAME"},
	{Restore, "Restore a checkpoint, or list the checkpoints", "[NAME]"},
	{Rename, "Change the title of the session", "TITLE"},
	{Model, "Show the models, or select one", "[NAME]"},
	{Retry, "Send the last prompt again", ""},
	{Help, "List the commands", ""},
}

// Usage returns a built-in command with its arguments, such as "/add PATH…".
func Usage(name string) string {
	i := slices.IndexFunc(builtin, func(c Command) bool { return c.Name == name })
	return builtin[i].usage()
}

func (c Command) usage() string { return strings.TrimRight("/"+c.Name+" "+c.Hint, " ") }

// IsBuiltin reports whether a command is built in. Case is significant.
func IsBuiltin(name string) bool {
	return slices.ContainsFunc(builtin, func(c Command) bool { return c.Name == name })
}

// Set is all commands of a session. The zero value has the built-in ones only. It is immutable.
type Set struct {
	files []File // by name
}

// NewSet returns the built-in commands and those of files. It skips, and returns, a user's file with the name of a built-in
// command, and a workspace's file with the name of a built-in command or of a user's file. Case is ignored.
func NewSet(user, workspace []File) (Set, []Skipped) {
	taken := make(map[string]string)
	for _, c := range builtin {
		taken[strings.ToLower(c.Name)] = "is the name of a built-in command"
	}
	var set Set
	var skipped []Skipped
	add := func(files []File, reason string) {
		for _, f := range files {
			name := strings.ToLower(f.Name)
			if why := taken[name]; why != "" {
				skipped = append(skipped, Skipped{f.Path, "/" + f.Name + " " + why})
				continue
			}
			taken[name] = reason
			set.files = append(set.files, f)
		}
	}
	add(user, "is a command of the user")
	add(workspace, "is also the name of another file of the workspace")
	slices.SortFunc(set.files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return set, skipped
}

// All returns the commands, the built-in ones first.
func (s Set) All() []Command {
	all := slices.Clone(builtin)
	for _, f := range s.files {
		all = append(all, f.Command)
	}
	return all
}

// File returns the command of a file by its name.
func (s Set) File(name string) (File, bool) {
	i := slices.IndexFunc(s.files, func(f File) bool { return f.Name == name })
	if i < 0 {
		return File{}, false
	}
	return s.files[i], true
}

// Text returns the list of the commands for a user.
func (s Set) Text() string {
	var text strings.Builder
	text.WriteString("Commands:\n\n")
	for _, c := range s.All() {
		fmt.Fprintf(&text, "- `%s`: %s\n", c.usage(), c.Description)
	}
	text.WriteString("\nA prompt that begins with an unknown command is sent to the model.\n")
	return text.String()
}
