package tools

import (
	"encoding/json"
	"strings"

	"strata/history"
	"strata/internal/clip"
)

// Status is the status of a call, as ACP names it.
type Status string

// The states of a call. It is announced as pending.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Fails      Status = "failed"
)

// Progress is what clients are told of a call.
type Progress struct {
	CallID string
	Status Status
	Kind   Kind
	Input  json.RawMessage // as clients are shown it; nil for none
	Description
	Diffs  []history.Diff // of files that the call has changed, or would change; with absolute paths
	Output *Output        // shown last; nil for none
	Result *Result        // nil until the call has one
}

// Size returns the size of what clients are shown, in bytes.
func (p Progress) Size() int {
	n := len(p.Title) + len(p.Input)
	for i := range p.Diffs {
		n += p.Diffs[i].Size()
	}
	if p.Output != nil {
		n += len(p.Output.Text)
	}
	if p.Result == nil {
		return n
	}
	for i := range p.Result.Content {
		n += len(p.Result.Content[i].Text) + len(p.Result.Content[i].Data)
	}
	return n
}

// ShownInput returns the arguments of a call as clients are shown them: JSON, or as a string if they are not JSON; nil for
// none.
func ShownInput(args string) json.RawMessage {
	switch {
	case strings.TrimSpace(args) == "":
		return nil
	case json.Valid([]byte(args)):
		return json.RawMessage(args)
	}
	quoted, err := json.Marshal(args)
	if err != nil {
		panic(err) // no string is refused
	}
	return quoted
}

// Shown returns what is stored of the progress with the result of the call.
func (p *Progress) Shown() *history.CallShown {
	shown := &history.CallShown{Title: clip.Bytes(p.Title, history.MaxShownText), Kind: string(p.Kind), Diffs: p.Diffs}
	for _, l := range p.Locations {
		if len(shown.Locations) < history.MaxShownLocations && len(l.Path) <= history.MaxShownText {
			shown.Locations = append(shown.Locations, history.Location{Path: l.Path, Line: l.Line})
		}
	}
	if p.Result != nil {
		shown.Outcome, shown.Plan = p.Result.Outcome, p.Result.Plan
	}
	return shown
}

func (s *Step) progress(c *stepCall) Progress {
	p := Progress{CallID: c.block.CallID, Status: Pending, Kind: KindOf(c.block.Name), Description: Description{Title: c.block.Name}, Output: c.output, Result: c.result}
	p.Input = ShownInput(c.block.Args)
	if c.call != nil {
		p.Kind, p.Description = c.call.Tool.Kind, s.placed(c.call.Describe())
	}
	switch {
	case c.result == nil && c.prepared != nil:
		p.Diffs = s.placedDiffs(c.prepared.Diffs)
	case c.result == nil:
	case c.result.IsError:
		p.Status = Fails
	default:
		p.Status, p.Diffs = Completed, s.placedDiffs(c.result.Diffs)
	}
	if len(p.Diffs) > 0 && len(p.Locations) > 0 && p.Locations[0].Line == 0 {
		p.Locations[0].Line = p.Diffs[0].FirstLine()
	}
	return p
}

// placed returns a description with absolute paths.
func (s *Step) placed(d Description) Description {
	var places []Location
	for _, l := range d.Locations {
		if l.Path = s.place(l.Path); l.Path != "" {
			places = append(places, l)
		}
	}
	d.Locations = places
	return d
}

// placedDiffs returns diffs with absolute paths.
func (s *Step) placedDiffs(diffs []history.Diff) (placed []history.Diff) {
	for _, d := range diffs {
		if d.Path = s.place(d.Path); d.Path != "" {
			placed = append(placed, d)
		}
	}
	return placed
}
