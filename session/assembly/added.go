package assembly

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"strata/filecontext"
	"strata/history"
	"strata/session/content"
	"strata/session/reads"
)

// Resent returns the newest prompt of the view if its turn has no answer yet and it has the same content and the same meta as
// m, nil otherwise. A prompt that is sent again is not stored a second time: its turn goes on from its newest finished step.
// unfinished is the reply that broke off after that step, nil for none.
func (s *State) Resent(ctx context.Context, m *history.Message) (prompt *history.Message, unfinished *history.Viewed, err error) {
	last, unfinished := unanswered(s.View)
	if last == nil || last.Turn == "" || len(last.Patches) > 0 || last.Blocks != len(m.Blocks) {
		return nil, nil, nil
	}
	stored, err := s.Messages(ctx, []history.Viewed{*last})
	if err != nil {
		return nil, nil, err
	}
	before, err := identity(&stored[0])
	if err != nil {
		return nil, nil, err
	}
	if now, err := identity(m); err != nil || !bytes.Equal(before, now) {
		return nil, nil, err
	}
	return &stored[0], unfinished, nil
}

// unanswered returns the newest prompt of a view if nothing follows it, or if finished steps do, with the reply that broke
// off after these.
func unanswered(view []history.Viewed) (prompt, unfinished *history.Viewed) {
	end := len(view) - 1
	if end > 0 && view[end].Role == history.RoleAssistant && view[end].Status != history.StatusComplete && view[end-1].Role == history.RoleTool {
		unfinished = &view[end]
		end--
	}
	for i := end; i >= 0; i-- {
		if view[i].Role != history.RoleUser {
			continue
		}
		if i == end || view[end].Role == history.RoleTool {
			return &view[i], unfinished
		}
		break
	}
	return nil, nil
}

// ShownLines returns the lines of files that the results of tools in the view show.
func (s *State) ShownLines(ctx context.Context) (*reads.View, error) {
	if err := s.see(ctx); err != nil {
		return nil, err
	}
	v := new(reads.View)
	shown := s.Reads.Shown(s.verbatim())
	for i := range shown {
		v.Add(&shown[i].FileLines)
	}
	return v, nil
}

// ShownLines returns the lines of the user's files that the request shows: of files that are in it whole.
func (b *Built) ShownLines() (shown []history.FileLines) {
	for i := range b.Files {
		e := &b.Files[i]
		if slices.Contains(b.Sent, SentFile{Path: e.Path, Hash: e.Hash, Whole: true}) {
			shown = append(shown, history.FileLines{Path: e.Path, Version: e.Version(), Lines: wholeFile(e.Lines), Of: e.Lines, Disk: e.Disk()})
		}
	}
	return shown
}

// wholeFile returns the lines of a whole file, none for an empty one.
func wholeFile(lines int) []history.Lines {
	if lines == 0 {
		return nil
	}
	return []history.Lines{{Start: 1, End: lines}}
}

// Read returns the files that tools read in messages of the view, or since the session was loaded, and that the user did not
// add, by path: how much of their present versions the next request shows. At most reads.MaxFiles, those read last.
func (s State) Read(ctx context.Context) ([]reads.File, error) {
	if err := s.see(ctx); err != nil {
		return nil, err
	}
	l, err := s.look(ctx, s.Files)
	if err != nil {
		return nil, err
	}
	paths := slices.DeleteFunc(s.Reads.Files(), func(path string) bool {
		return slices.ContainsFunc(s.Files, func(e filecontext.Entry) bool { return e.Path == path })
	})
	files := make([]reads.File, 0, len(paths))
	for _, path := range paths[max(len(paths)-reads.MaxFiles, 0):] {
		files = append(files, l.File(path))
	}
	slices.SortFunc(files, func(a, b reads.File) int { return cmp.Compare(a.Path, b.Path) })
	return files, nil
}

// identity returns what makes two prompts the same: the content, and the data that the client attached.
func identity(m *history.Message) ([]byte, error) {
	return json.Marshal(history.Message{Blocks: m.Blocks, Meta: m.Meta})
}

// Measured sets the tokens of messages that are to be added to the view, and the types of their pictures. It returns the tool
// results that come late. A *content.MessageError names the message that no request to the model can hold, or that has a
// result that nobody waits for.
func (s *State) Measured(ctx context.Context, messages []history.Message) ([]content.Late, error) {
	if err := content.Measure(ctx, s.Counter, messages); err != nil {
		return nil, err
	}
	if err := content.CheckAll(messages, &s.Model); err != nil {
		return nil, err
	}
	return content.Reader(s.read).Results(ctx, s.View, messages)
}
