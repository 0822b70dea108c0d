package compacting

import (
	"cmp"
	"maps"
	"slices"

	"strata/compaction"
	"strata/history"
	"strata/session/assembly"
	"strata/session/fit"
	"strata/session/profile"
)

// Rules say how a session compacts its history.
type Rules struct {
	Strategy string                     // name of the one in force
	Profiles map[string]profile.Profile // that have numbers for other strategies
}

// trigger returns the history size that starts a compaction, in counted tokens; 0: its size never does. A profile that
// reserves a part of the window watches the whole request: the tokens beside the history count then too.
func trigger(s *assembly.State) int {
	most := mostTokens(s)
	if most == 0 {
		return 0
	}
	t := s.Capacity(most)
	if !s.Profile.Budget.Reserve.Zero() {
		t -= s.Beside
	}
	return max(t, 1)
}

// mostTokens returns how many of the provider's tokens the history, or with a reserve the whole request, may have before a
// compaction is due; 0 for no such limit.
func mostTokens(s *assembly.State) int {
	c, reserve := s.Profile.Compaction, &s.Profile.Budget.Reserve
	most := s.Model.Window * c.WindowPercent / 100
	other := c.TriggerTokens
	if !reserve.Zero() {
		other = s.Model.Window - reserve.Of(s.Model.Window)
	}
	if most == 0 || other == 0 {
		return max(most, other)
	}
	return min(most, other)
}

// numbers returns the settings of a strategy, from the profile.
func numbers(s *assembly.State, rules *Rules, strategy string, asked bool) compaction.Numbers {
	c, whole := settings(s.Profile.Compaction, rules, strategy), wholeRoom(s)
	room := historyRoom(s, whole)
	return compaction.Numbers{
		TriggerTokens: trigger(s), VerbatimWindowTokens: s.Capacity(c.VerbatimWindowTokens), SummaryBudgetTokens: summaryBudget(strategy, &c),
		NoSummary:            c.SummaryThreshold == 0,
		MinVerbatimExchanges: c.MinVerbatimExchanges, MinConfidence: c.MinConfidence, RawWindowSize: c.RawWindowSize,
		SummarizeEvery: c.SummarizeEvery, SummaryThreshold: c.SummaryThreshold, MaxSteps: c.MaxSteps,
		KeepFirst: c.KeepFirst, KeepLast: c.KeepLast, FailureWords: c.FailureWords, RoomTokens: room,
		FillTokens: int(float64(room) * fit.KeepShare), TurnRoomTokens: whole, Asked: asked,
	}
}

// settings returns a profile's numbers for a strategy. If that is not the profile's own, the numbers that the profile lacks
// are those of the first profile that has the strategy: without any it would keep next to nothing.
func settings(c profile.Compaction, rules *Rules, strategy string) profile.Compaction {
	if c.Strategy == strategy {
		return c
	}
	for _, name := range slices.Sorted(maps.Keys(rules.Profiles)) {
		if of := rules.Profiles[name].Compaction; of.Strategy == strategy {
			return c.With(of)
		}
	}
	return c
}

// summaryBudget returns the length of a summary: a running summary has its own.
func summaryBudget(strategy string, c *profile.Compaction) int {
	if strategy == compaction.Rolling {
		return cmp.Or(c.MaxSummaryTokens, c.SummaryBudgetTokens)
	}
	return c.SummaryBudgetTokens
}

// wholeRoom returns how many counted tokens the history may have beside everything else while a turn runs.
func wholeRoom(s *assembly.State) int { return max(s.Capacity(s.Room())-max(s.Beside, 0), 1) }

// historyRoom returns how many of them the finished turns may have.
func historyRoom(s *assembly.State, whole int) int {
	room := whole
	if most := s.Profile.Budget.HistoryTokens; most > 0 {
		room = min(room, s.Capacity(most))
	}
	return room
}

// Need is how the history of a session stands to its next automatic compaction. Everything that says or decides whether
// one is due uses it. The zero Need is that of a session whose profile does not compact automatically.
type Need struct {
	compaction.Fill      // in the strategy's unit; tokens are counted ones
	shortens        bool // a compaction would remove messages
	asked           bool // as if asked for: due by its size, however few steps it has
	pressing        bool // due whatever became of earlier compactions
}

// NeedOf asks the strategy in force whether a compaction of a state's history is due. That needs no texts.
func NeedOf(s *assembly.State, rules *Rules) Need {
	strategy, err := compaction.Named(rules.Strategy)
	if err != nil || !s.Profile.Compaction.Enabled {
		return Need{}
	}
	n, h := numbers(s, rules, rules.Strategy, false), outline(s)
	need := Need{Fill: compaction.New(strategy, n, nil).Fill(h)}
	need.pressing = need.Unit == compaction.Steps && n.MaxSteps > 0 && need.Size > n.MaxSteps
	if need.Unit == compaction.Steps && !n.NoSummary {
		size := compaction.Fill{Size: h.Finished(), Trigger: n.RoomTokens, Unit: compaction.Tokens}
		size.Due = size.Size > size.Trigger
		if size.Percent() > need.Percent() { // the next request would evict steps that no summary covers
			need.Fill, need.asked = size, true
		}
	}
	n.Asked = need.asked
	need.shortens = need.Due && compaction.New(strategy, n, nil).Shortens(h)
	return need
}

// triggerShown returns the trigger in the provider's tokens, 0 if the strategy counts another unit.
func (n *Need) triggerShown(s *assembly.State) int {
	switch {
	case n.Unit != compaction.Tokens:
		return 0
	case n.Trigger == trigger(s) && s.Profile.Budget.Reserve.Zero():
		return mostTokens(s) // as it was set, not converted there and back
	}
	return s.Calibrated(n.Trigger)
}

// covered returns the messages that a compaction removes, and with a summary those that left the history before without one.
func covered(s *assembly.State, out *compaction.Outcome) []string {
	heads := unsummarized(s.Evicted)
	if out.Summary == "" || len(heads) == 0 {
		return out.Plan.Drop
	}
	ids := make([]string, 0, len(heads)+len(out.Plan.Drop))
	for _, h := range heads {
		ids = append(ids, h.ID)
	}
	return append(ids, out.Plan.Drop...)
}

// outline returns the history without its texts.
func outline(s *assembly.State) compaction.History {
	h := compaction.History{
		Summary: s.Summary.Text, SummaryTokens: s.Summary.Tokens, Summarised: s.Summary.Exchanges, Messages: make([]compaction.Message, 0, len(s.View)),
	}
	for _, v := range compactable(s.View) {
		h.Messages = append(h.Messages, compaction.Message{ID: v.ID, Role: v.Role, Tokens: v.Tokens, Calls: v.HasCalls, Exchange: v.Exchange, Kept: v.Kept})
	}
	return h
}

// compactable returns the messages of a view without kept messages and the answers to kept prompts, which no compaction changes.
// Those of the newest exchange are included, so that the strategy recognizes it.
func compactable(view []history.Viewed) []history.Viewed {
	newest := len(view) - 1
	for newest >= 0 && view[newest].Role != history.RoleUser {
		newest--
	}
	if newest < 0 || !slices.ContainsFunc(view[:newest], func(v history.Viewed) bool { return v.Kept }) {
		return view
	}
	left := make([]history.Viewed, 0, len(view))
	for i := range view {
		if i >= newest || !view[i].Kept && !(i > 0 && answersKept(&view[i-1], &view[i])) {
			left = append(left, view[i])
		}
	}
	return left
}

// answersKept reports whether a message is the answer to a kept prompt before it.
func answersKept(prompt, answer *history.Viewed) bool {
	return prompt.Kept && prompt.Role == history.RoleUser && answer.Role == history.RoleAssistant && !answer.HasCalls
}

// pendingCalls reports whether the newest message is tool calls without their results.
func pendingCalls(view []history.Viewed) bool { return len(view) > 0 && view[len(view)-1].HasCalls }

// Status tells how a session's compaction stands. If the profile has none only the last two fields are set: a compaction
// can be asked for all the same.
type Status struct {
	Enabled         bool            `json:"enabled"`
	Strategy        string          `json:"strategy"`
	HistoryTokens   int             `json:"historyTokens"`   // the provider's
	TriggerTokens   int             `json:"triggerTokens"`   // likewise; 0 if the strategy counts another unit
	Unit            compaction.Unit `json:"unit"`            // that the strategy counts; empty without automatic compaction
	Size            int             `json:"size"`            // of the history, in the unit
	Trigger         int             `json:"trigger"`         // in the unit; 0: none
	PercentUsed     int             `json:"percentUsed"`     // of the trigger; at least 100 exactly if a compaction is due
	NeedsCompaction bool            `json:"needsCompaction"` // one is due
	WaitsFor        string          `json:"waitsFor"`        // why one that is due has not started; empty otherwise
	Paused          bool            `json:"paused"`          // two in a row were fruitless: the next one waits until the history has grown
	Running         bool            `json:"running"`
	LastOutcome     string          `json:"lastOutcome"`
}

// What a compaction that is due waits for.
const (
	waitsForTurn    = "turn"         // the end of the running turn or of its step, with the result stored
	waitsForResults = "tool_results" // of the newest tool calls
	waitsForGrowth  = "growth"       // of the history by a quarter, after two fruitless compactions
	waitsForHistory = "more_history" // all of the present one has to be kept
	waitsForReply   = "reply"        // the next one: the trigger fell, or a compaction was undone
)

// needs fills in how the history of a state stands to its next compaction.
func (c *Status) needs(s *assembly.State, need *Need) {
	c.HistoryTokens, c.TriggerTokens = s.History(), need.triggerShown(s)
	c.Unit, c.Size, c.Trigger = need.Unit, need.Size, need.Trigger
	if need.Unit == compaction.Tokens {
		c.Size, c.Trigger = s.Calibrated(need.Size), c.TriggerTokens
	}
	c.PercentUsed, c.NeedsCompaction = need.Percent(), need.Due
}
