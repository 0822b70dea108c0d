package commands

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"strata/internal/clip"
)

// The bounds of a command that is a file.
const (
	MaxExpansion = 1 << 20 // bytes of the prompt
	maxShown     = 200     // characters of a description or a hint
)

// Arguments is replaced by the arguments of the command.
const Arguments = "$ARGUMENTS"

// File is a command that is a Markdown file. It stands for a prompt.
type File struct {
	Command
	Path   string // as it is shown
	prompt string
}

// Expand returns the prompt of the command: the text of the file with the arguments in place of each $ARGUMENTS. If the file
// does not contain $ARGUMENTS, the arguments follow as a paragraph. The error is for a prompt of more than MaxExpansion bytes.
func (f File) Expand(arguments string) (string, error) {
	places := strings.Count(f.prompt, Arguments)
	if size := len(f.prompt) + max(places, 1)*len(arguments); size > MaxExpansion {
		return "", fmt.Errorf("/%s with these arguments: %d bytes exceeds the limit of %d", f.Name, size, MaxExpansion)
	}
	if places > 0 {
		return strings.ReplaceAll(f.prompt, Arguments, arguments), nil
	}
	return strings.TrimSpace(f.prompt + "\n\n" + arguments), nil
}

// The faults of a command file. They are predicates of its path.
var (
	errNoPrompt  = errors.New("has no prompt")
	errUnclosed  = errors.New("has front matter that does not end with ---")
	errLongFront = errors.New("has front matter of more than 100 lines")
)

// maxFront is the maximum number of lines of a front matter.
const maxFront = 100

// ParseFile returns the command of a file. The front matter is optional: lines `description: TEXT` and `argument-hint: TEXT`
// between two lines `---`; other keys are ignored. The default description is the first line of the prompt.
func ParseFile(name, path, text string) (File, error) {
	f := File{Command: Command{Name: name}, Path: path}
	body, err := f.parseFront(strings.ReplaceAll(text, "\r\n", "\n"))
	if err != nil {
		return File{}, err
	}
	if f.prompt = strings.TrimSpace(body); f.prompt == "" {
		return File{}, errNoPrompt
	}
	if f.Description == "" {
		first, _, _ := strings.Cut(f.prompt, "\n")
		f.Description = shown(strings.TrimLeft(first, "# "))
	}
	if f.Description == "" {
		f.Description = "The prompt of a file"
	}
	if f.Hint == "" && strings.Contains(f.prompt, Arguments) {
		f.Hint = "ARGUMENTS"
	}
	return f, nil
}

// parseFront sets the fields of the front matter and returns the text after it.
func (f *File) parseFront(text string) (body string, err error) {
	rest, found := strings.CutPrefix(text, "---\n")
	if !found {
		return text, nil
	}
	for range maxFront {
		line, after, more := strings.Cut(rest, "\n")
		rest = after
		if strings.TrimRight(line, " \t") == "---" {
			return rest, nil
		}
		if !more {
			return "", errUnclosed
		}
		key, value, _ := strings.Cut(line, ":")
		switch strings.TrimRight(key, " \t") {
		case "description":
			f.Description = shown(unquoted(value))
		case "argument-hint":
			f.Hint = shown(unquoted(value))
		}
	}
	return "", errLongFront
}

// unquoted returns a value without the quotes around it.
func unquoted(value string) string {
	value = strings.TrimSpace(value)
	if n := len(value); n >= 2 && value[0] == value[n-1] && (value[0] == '"' || value[0] == '\'') {
		return value[1 : n-1]
	}
	return value
}

// shown returns a text of a file as one line without characters that cannot be printed.
func shown(text string) string {
	printable := strings.Map(func(r rune) rune {
		if r == '\t' || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	return clip.Line(printable, maxShown)
}
