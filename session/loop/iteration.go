package loop

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"strata/history"
	"strata/internal/clip"
	"strata/session/content"
	"strata/session/profile"
)

// iteration is one exchange of a loop as the view shows it, with as much of its texts as the profile keeps.
type iteration struct {
	number         int
	prompt, output string
	markers, files []string
	tool           string
	score          float64
	seconds        float64
	failed         bool // a tool's result is an error
}

// iterationOf makes an iteration of the messages of an exchange, as the view shows them.
func iterationOf(number int, messages []history.Message, l *profile.Loop) iteration {
	it := iteration{number: number}
	var prompts, outputs []string
	for i := range messages {
		m := &messages[i]
		switch m.Role {
		case history.RoleUser:
			prompts = append(prompts, m.PlainText())
			it.readMeta(m)
		case history.RoleAssistant:
			outputs = append(outputs, replyText(m))
			it.read(m)
		default:
			it.failed = it.failed || content.Failed(m)
		}
	}
	it.prompt = clip.Middle(paragraphs(prompts), l.PromptChars)
	it.output = clip.Middle(paragraphs(outputs), l.OutputChars)
	return it
}

// paragraphs returns the texts that are not blank, with an empty line between them.
func paragraphs(texts []string) string {
	var out []string
	for _, text := range texts {
		if text = strings.TrimSpace(text); text != "" {
			out = append(out, text)
		}
	}
	return strings.Join(out, "\n\n")
}

// read adds the progress that a reply, and the data attached to it, tell.
func (it *iteration) read(m *history.Message) {
	it.markers = append(it.markers, progressMarkers(replyText(m))...)
	it.readMeta(m)
}

// readMeta adds the progress that the data attached to a message tells. Data that was stored before there were rules for it
// may tell nothing.
func (it *iteration) readMeta(m *history.Message) {
	meta, err := history.ParseMeta(m.Meta)
	if err != nil {
		return
	}
	for _, marker := range meta.ProgressMarkers {
		it.markers = append(it.markers, clip.Line(marker, maxMarkerChars))
	}
	for _, path := range meta.FileChanges {
		it.files = append(it.files, clip.Line(path, maxMarkerChars))
	}
	it.markers, it.files = distinct(it.markers), distinct(it.files)
	it.seconds += meta.DurationSeconds
	if meta.ProgressScore > 0 {
		it.score = meta.ProgressScore
	}
	if meta.Tool != "" {
		it.tool = clip.Line(meta.Tool, maxMarkerChars)
	}
}

// Timed returns the meta of a turn's reply in a loop: how long the turn took, unless the meta of its prompt tells that. It is
// nil in other profiles.
func Timed(l *profile.Loop, prompt json.RawMessage, took time.Duration) json.RawMessage {
	told, err := history.ParseMeta(prompt)
	if l.Zero() || err != nil || told.DurationSeconds > 0 || took < time.Millisecond {
		return nil
	}
	return fmt.Appendf(nil, `{"durationSeconds":%g}`, took.Truncate(time.Millisecond).Seconds())
}

// distinct returns the texts without repetitions.
func distinct(texts []string) []string {
	seen := make(map[string]bool, len(texts))
	return slices.DeleteFunc(texts, func(text string) bool {
		again := seen[text]
		seen[text] = true
		return again
	})
}

// noAnswer replaces an empty output.
const noAnswer = "(no answer)"

// recent returns the iteration as one of the newest, in at most chars characters.
func (it *iteration) recent(chars int) string {
	heading := fmt.Sprintf("## Iteration %d\n\n", it.number)
	facts := clip.Chars(it.facts(), chars/3)
	if facts != "" {
		facts = "\n\n" + facts
	}
	left := chars - utf8.RuneCountInString(heading) - utf8.RuneCountInString(facts) - len("Prompt: \n\nOutput: ")
	prompt := clip.Middle(it.prompt, max(left/3, left-utf8.RuneCountInString(it.output)))
	output := clip.Middle(it.output, max(left-utf8.RuneCountInString(prompt), 0))
	if it.output == "" {
		output = noAnswer
	}
	return clip.Chars(heading+"Prompt: "+prompt+"\n\nOutput: "+output+facts, chars)
}

// facts returns what is known of the iteration other than its texts, as lines.
func (it *iteration) facts() string {
	var lines []string
	if len(it.markers) > 0 {
		lines = append(lines, "Progress: "+strings.Join(it.markers, "; "))
	}
	if len(it.files) > 0 {
		lines = append(lines, "Files changed: "+strings.Join(it.files, ", "))
	}
	if about := it.about(); about != "" {
		lines = append(lines, about)
	}
	return strings.Join(lines, "\n")
}

// leastSeconds is the shortest duration that is told: shorter ones are 0 s.
const leastSeconds = 0.5

func (it *iteration) about() string {
	var parts []string
	if it.tool != "" {
		parts = append(parts, "with "+it.tool)
	}
	if it.seconds >= leastSeconds {
		parts = append(parts, fmt.Sprintf("%.0f s", it.seconds))
	}
	if it.score > 0 {
		parts = append(parts, fmt.Sprintf("progress score %g", it.score))
	}
	if it.failed {
		parts = append(parts, "a tool failed")
	}
	if len(parts) == 0 {
		return ""
	}
	return "Done " + strings.Join(parts, ", ")
}

// brief returns the iteration as one paragraph of at most chars characters.
func (it *iteration) brief(chars int) string {
	heading := fmt.Sprintf("Iteration %d: ", it.number)
	left := chars - len(heading) - len(" → ")
	output := it.output
	if len(it.markers) > 0 {
		output = strings.Join(it.markers, "; ")
	}
	if output == "" {
		output = noAnswer
	}
	return clip.Chars(heading+clip.Line(it.prompt, left/3)+" → "+clip.Line(output, left-left/3), chars)
}

// Text returns what a plan and a summary see of a message in a loop: no more of its text than the view keeps, and what is
// known of the progress.
func Text(m *history.Message, text string, l *profile.Loop) string {
	var known iteration
	if m.Role != history.RoleUser {
		known.read(m)
		return paragraphs([]string{clip.Middle(text, l.OutputChars), known.facts()})
	}
	known.readMeta(m)
	text = clip.Middle(text, l.PromptChars)
	if facts := known.facts(); facts != "" {
		return paragraphs([]string{text, facts})
	}
	return text
}
