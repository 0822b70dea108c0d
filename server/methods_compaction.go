package server

import (
	"strata/compaction"
	"strata/rpc"
	"strata/session"
)

type compactParams struct {
	sessionParams
	Strategy string `json:"strategy"`
	Keep     string `json:"keep"` // with middle
}

// compactHistory compacts now; the request's cancellation cancels the compaction.
func compactHistory(p *peer, r *rpc.Request, params compactParams) {
	withSession(p, r, params.SessionID, func(s *session.Session) {
		cancel := s.Compact(session.CompactRequest{Strategy: params.Strategy, Keep: params.Keep}, answer(r, s.ID(), func(c session.Compacted) any { return c }))
		r.OnCancel(cancel)
	})
}

type modeParams struct {
	sessionParams
	ModeID string `json:"modeId"`
}

// setMode chooses a phase of the profile.
func setMode(p *peer, r *rpc.Request, params modeParams) {
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.SetMode(params.ModeID, p.subscribed(s), answer(r, s.ID(), func(c session.Configured) any {
			if c.After == "" {
				return struct{}{}
			}
			return map[string]any{"_meta": strataMeta(map[string]string{"afterTurn": c.After})}
		}))
	})
}

// modeState is the phases of a session's profile as ACP's modes.
type modeState struct {
	Current string `json:"currentModeId"`
	Modes   []mode `json:"availableModes"`
}

type mode struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// modes returns the modes of a session, nil where its profile has none.
func modes(i session.Info) *modeState {
	if len(i.Phases) == 0 {
		return nil
	}
	state := &modeState{Current: i.Config.Mode}
	for _, phase := range i.Phases {
		state.Modes = append(state.Modes, mode{ID: phase.ID, Name: phase.Title, Description: phase.Prompt})
	}
	return state
}

// ruleOptions are the config options for what the context engine does: profile, phase and strategy.
func (s *Server) ruleOptions(i session.Info) []configOption {
	profiles := configOption{
		ID: session.OptionProfile, Name: "Profile", Type: "select", CurrentValue: i.Config.Profile,
		Description: "The rules by which the context is managed",
	}
	for _, p := range i.Profiles {
		profiles.Options = append(profiles.Options, configValue{Value: p.Name, Name: p.Title})
	}
	strategies := configOption{
		ID: session.OptionCompaction, Name: "Compaction", Type: "select", CurrentValue: i.Config.Compaction,
		Description: "How a long history is made shorter",
	}
	for _, name := range []string{compaction.Topic, compaction.Rolling, compaction.Prune, compaction.Middle, compaction.Window} {
		strategies.Options = append(strategies.Options, configValue{Value: name, Name: name})
	}
	options := []configOption{profiles, strategies}
	if m := modes(i); m != nil {
		options = append(options, modeOption(m))
	}
	return options
}

func modeOption(m *modeState) configOption {
	o := configOption{
		ID: session.OptionMode, Name: "Phase", Category: "mode", Type: "select", CurrentValue: m.Current,
		Description: "The phase of work, with its own documents",
	}
	for _, mode := range m.Modes {
		o.Options = append(o.Options, configValue{Value: mode.ID, Name: mode.Name})
	}
	return o
}

// modeUpdate tells which phase is in force.
type modeUpdate struct {
	Kind    string `json:"sessionUpdate"`
	Current string `json:"currentModeId"`
}

// compactionUpdate is a compaction as ACP tells it. It replaces all of what was told of the summary before, also by an
// empty one.
type compactionUpdate struct {
	Kind    string         `json:"sessionUpdate"`
	ID      string         `json:"compactionId"`
	Status  string         `json:"status"` // in_progress, completed, failed, cancelled
	Summary []contentBlock `json:"summary"`
	Error   string         `json:"error,omitempty"`
}

func wireCompaction(c session.Compacted) compactionUpdate {
	u := compactionUpdate{Kind: "compaction_update", ID: c.ID, Status: compactionStatusOf(c.Outcome), Summary: []contentBlock{}}
	if c.Summary != "" {
		u.Summary = []contentBlock{{Type: "text", Text: &c.Summary}}
	}
	if u.Status == "failed" {
		u.Error = c.Reason
	}
	return u
}

func compactionStatusOf(outcome string) string {
	switch compaction.Result(outcome) {
	case compaction.Compacted, compaction.NothingToDo, compaction.NoGain:
		return "completed"
	case compaction.Failed:
		return "failed"
	case session.OutcomeRunning:
		return "in_progress"
	}
	return "cancelled" // by the user, by another edit of the view, or by the server's end
}

// summaryChunk is more of a summary that is being written.
type summaryChunk struct {
	Kind    string       `json:"sessionUpdate"`
	ID      string       `json:"compactionId"`
	Content contentBlock `json:"content"`
}
