package session

import (
	"strings"

	"strata/history"
	"strata/internal/clip"
)

// Progress tells what an answer says is done now that was not before.
type Progress struct {
	MessageID string   `json:"messageId"`
	Markers   []string `json:"markers"`
}

// Completed tells that an answer says the goal is reached.
type Completed struct {
	MessageID  string `json:"messageId"`
	Iterations int    `json:"iterations"` // so far, this one included
}

// The marks that an answer in a loop may hold.
const (
	progressOpen  = "<progress>"
	progressClose = "</progress>"
	promiseKept   = "<promise>COMPLETE</promise>"
)

// The bounds of what is taken of an answer's marks.
const (
	maxMarkers     = 20
	maxMarkerChars = 200
)

// progressMarkers returns what stands in an answer between the marks of progress, each as one line. Of marks inside of
// each other the innermost counts; one that is not closed does not.
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

// tellProgress tells what an answer of a loop says of the progress of the work.
func (s *Session) tellProgress(m *history.Message) {
	if s.profile.Loop.Zero() || m == nil || m.Role != history.RoleAssistant || m.Status != history.StatusComplete {
		return
	}
	text := answerText(m)
	if markers := progressMarkers(text); len(markers) > 0 {
		s.emit(Event{Kind: EventProgress, Turn: m.Turn, Data: Progress{MessageID: m.ID, Markers: markers}})
	}
	if strings.Contains(text, promiseKept) {
		s.emit(Event{Kind: EventCompleted, Turn: m.Turn, Data: Completed{MessageID: m.ID, Iterations: s.context.log.Exchanges()}})
	}
}

// answerText returns what an answer says: its text without thinking, tool calls and results.
func answerText(m *history.Message) string {
	var texts []string
	for i := range m.Blocks {
		if b := &m.Blocks[i]; b.Type == history.BlockText && b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}
