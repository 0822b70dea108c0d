package session

import (
	"context"
	"fmt"

	"strata/filecontext"
	"strata/llm"
)

// EditRefusedError says that a file may not be patched, and why.
type EditRefusedError = filecontext.EditRefusedError

// Tool is a tool that the model may call.
type Tool = llm.Tool

// CheckEdit tells whether a file may be patched: a request held all of its present version, which is the
// one with the hash base where one is given. The error is otherwise an *EditRefusedError.
func (s *Session) CheckEdit(path, base string, reply func(struct{}, error)) {
	fail := func(err error) { reply(struct{}{}, err) }
	s.post(func() {
		s.enqueue(op{fail: fail, begin: func() (work, error) {
			roots, err := s.context.needRoots()
			if err != nil {
				return nil, err
			}
			name := s.context.name(path)
			var entries []filecontext.Entry
			if e, in := s.context.files.Get(name); in {
				entries = append(entries, e)
			}
			return func(ctx context.Context) (step, error) {
				changes, err := roots.Refresh(ctx, entries)
				if err != nil {
					return nil, fmt.Errorf("look at %s: %w", name, err)
				}
				return done(func() {
					s.filesRefreshed(changes)
					reply(struct{}{}, s.context.files.CheckEdit(name, base))
				}), nil
			}, nil
		}})
	}, fail)
}

// FoundPath is a path of the workspace that a search found.
type FoundPath struct {
	Path  string `json:"path"`
	Score int    `json:"score"`
}

// FindPaths searches the paths of the session's folders, leaving out what git ignores.
func (s *Session) FindPaths(query string, limit int, reply func([]FoundPath, error)) {
	fail := func(err error) { reply(nil, err) }
	s.post(func() {
		roots, err := s.context.needRoots()
		if err != nil {
			fail(err)
			return
		}
		s.spawn(func() {
			found, err := roots.Find(s.ctx, query, limit)
			paths := make([]FoundPath, len(found))
			for i, f := range found {
				paths[i] = FoundPath{Path: f.Path, Score: f.Score}
			}
			reply(paths, err)
		})
	}, fail)
}

// CompactionStatus tells how a session's compaction stands. While it is off only the last two fields say something: a
// compaction can be asked for all the same.
type CompactionStatus struct {
	Enabled       bool   `json:"enabled"`
	Strategy      string `json:"strategy"`
	HistoryTokens int    `json:"historyTokens"`
	TriggerTokens int    `json:"triggerTokens"`
	PercentUsed   int    `json:"percentUsed"`
	Paused        bool   `json:"paused"` // two in a row were fruitless: it waits until the history has grown
	Running       bool   `json:"running"`
	LastOutcome   string `json:"lastOutcome"`
}

// Compaction tells how the session's compaction stands.
func (s *Session) Compaction(reply func(CompactionStatus, error)) {
	s.post(func() {
		if !s.profile.Compaction.Enabled {
			reply(CompactionStatus{Running: s.compacting != nil, LastOutcome: s.lastOutcome}, nil)
			return
		}
		c := CompactionStatus{
			Enabled: true, Strategy: s.strategy(),
			HistoryTokens: s.context.calibrated(s.model, s.context.Tokens()), TriggerTokens: s.triggerShown(),
			Paused: !s.pause.Allows(s.context.Tokens()), Running: s.compacting != nil, LastOutcome: s.lastOutcome,
		}
		if c.TriggerTokens > 0 {
			c.PercentUsed = c.HistoryTokens * 100 / c.TriggerTokens
		}
		reply(c, nil)
	}, func(err error) { reply(CompactionStatus{}, err) })
}

// triggerShown is the trigger as the provider counts tokens.
func (s *Session) triggerShown() int {
	if s.profile.Budget.Reserve.Zero() {
		return s.mostTokens()
	}
	return s.context.calibrated(s.model, s.trigger())
}
