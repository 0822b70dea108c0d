package fit

import (
	"encoding/json"

	"strata/internal/headings"
	"strata/internal/lazy"
)

// fileCall is what a tool call tells of a file. Tools have no common names for this; these are the ones that the
// tools of editors and agents use.
type fileCall struct {
	path string
	text string // argument that is the file's whole new text; empty: the result is its whole text
}

var (
	pathArguments  = []string{"path", "file_path", "filePath", "filename", "file", "uri", "target_file", "relative_path"}
	textArguments  = []string{"content", "contents", "file_text", "fileText", "new_content"}
	quietArguments = []string{"command", "encoding", "explanation", "description", "reason"} // they limit no read

	writing = lazy.Regexp(`(^|[_\-.])(?i:write|overwrite|create|save)($|[_\-.A-Z])`)
	editing = lazy.Regexp(`(^|[_\-.])(?i:write|overwrite|create|save|edit|replace|insert|patch)($|[_\-.A-Z])`)
)

// fileCallOf returns what a call of the tool name tells; ok is false for one that neither reads nor writes a whole file.
func fileCallOf(name, args string) (c fileCall, ok bool) {
	var values map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &values) != nil {
		return c, false
	}
	var key string
	if key, c.path = firstText(values, pathArguments); c.path == "" {
		return c, false
	}
	verb := name
	if _, command := firstText(values, []string{"command"}); command != "" {
		verb = command
	}
	if argument, _ := firstText(values, textArguments); argument != "" {
		c.text = argument
		return c, writing().MatchString(verb)
	}
	delete(values, key)
	for _, quiet := range quietArguments {
		delete(values, quiet)
	}
	return c, len(values) == 0 && headings.Reads(verb)
}

// firstText returns the first of the keys whose value is a text, and the text.
func firstText(values map[string]json.RawMessage, keys []string) (key, text string) {
	for _, key := range keys {
		if json.Unmarshal(values[key], &text) == nil && text != "" {
			return key, text
		}
	}
	return "", ""
}

// withArgument returns a call's arguments with one of them replaced.
func withArgument(args, key, text string) string {
	var values map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &values) != nil {
		return args
	}
	value, err := json.Marshal(text)
	if err != nil {
		return args
	}
	values[key] = value
	changed, err := json.Marshal(values)
	if err != nil {
		return args
	}
	return string(changed)
}
