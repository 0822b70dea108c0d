package documents

import (
	"fmt"
	"strings"
)

// The limits of the failures of a document.
const (
	MaxFailures     = 200
	maxFailureBytes = 64 << 10 // of each of its texts
)

// Failure is a test that failed.
type Failure struct {
	Name     string `json:"name"`
	Error    string `json:"error"`
	Expected string `json:"expected"`
	Received string `json:"received"`
	Stack    string `json:"stack"`
}

// checkFailures returns an error for failures that exceed a limit.
func checkFailures(failures []Failure) error {
	if len(failures) > MaxFailures {
		return fmt.Errorf("failures: %d exceeds the limit of %d", len(failures), MaxFailures)
	}
	for i := range failures {
		f := &failures[i]
		if strings.TrimSpace(f.Name) == "" {
			return fmt.Errorf("failures[%d]: name is missing", i)
		}
		for _, text := range []string{f.Name, f.Error, f.Expected, f.Received, f.Stack} {
			if len(text) > maxFailureBytes {
				return fmt.Errorf("failures[%d]: a text of %d bytes exceeds the limit of %d", i, len(text), maxFailureBytes)
			}
		}
	}
	return nil
}

// failuresText returns failures as the text of a document.
func failuresText(failures []Failure) string {
	parts := make([]string, len(failures))
	for i := range failures {
		f := &failures[i]
		parts[i] = "## " + strings.Join(strings.Fields(f.Name), " ") + "\n\n" +
			labelled("Error", f.Error) + labelled("Expected", f.Expected) + labelled("Received", f.Received) + labelled("Stack", f.Stack)
	}
	return strings.Join(parts, "\n")
}

// labelled returns a text after its label, or below it if it has several lines; nothing for a blank one.
func labelled(label, text string) string {
	text = strings.Trim(text, "\r\n")
	switch {
	case strings.TrimSpace(text) == "":
		return ""
	case strings.Contains(text, "\n"):
		return label + ":\n" + text + "\n"
	}
	return label + ": " + text + "\n"
}
