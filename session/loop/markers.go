package loop

import (
	"strings"

	"strata/history"
	"strata/internal/clip"
)

// The marks that a reply in a loop may contain.
const (
	progressOpen  = "<progress>"
	progressClose = "</progress>"
	promiseKept   = "<promise>COMPLETE</promise>"
)

// asksForMarks asks the model for the marks. It belongs to the instructions, since the system prompt can be the user's own.
const asksForMarks = "Report newly completed work in " + progressOpen + "…" + progressClose + ". After you have verified that the goal is reached, reply with " +
	promiseKept + "."

// The limits of what is taken from a reply's marks.
const (
	maxMarkers     = 20
	maxMarkerChars = 200
)

// Markers returns the progress markers of a reply, each as one line, and whether the reply says that the goal is reached.
func Markers(m *history.Message) (markers []string, complete bool) {
	text := replyText(m)
	return progressMarkers(text), strings.Contains(text, promiseKept)
}

// progressMarkers returns the texts between the marks of progress, each as one line. Of nested marks the innermost count; a
// mark that is not closed does not.
func progressMarkers(text string) []string {
	var markers []string
	for len(markers) < maxMarkers {
		end := strings.Index(text, progressClose)
		if end < 0 {
			break
		}
		if start := strings.LastIndex(text[:end], progressOpen); start >= 0 {
			if marker := clip.Line(text[start+len(progressOpen):end], maxMarkerChars); marker != "" {
				markers = append(markers, marker)
			}
		}
		text = text[end+len(progressClose):]
	}
	return markers
}

// replyText returns the text of a reply without thinking, tool calls and results.
func replyText(m *history.Message) string {
	var texts []string
	for i := range m.Blocks {
		if b := &m.Blocks[i]; b.Type == history.BlockText && b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}
