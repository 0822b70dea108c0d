package session

import (
	"cmp"
	"maps"
	"slices"

	"strata/compaction"
	"strata/history"
	"strata/llm"
	"strata/session/profile"
)

// narrowed returns a model with no more window and answer than a profile's budget gives it.
func narrowed(m llm.Model, b profile.Budget) llm.Model {
	if b.ContextWindow > 0 {
		m.Window = min(m.Window, b.ContextWindow)
	}
	if b.ReservedOutput > 0 {
		m.MaxOutput = min(m.MaxOutput, b.ReservedOutput)
	}
	return m
}

// reported is what a provider said of the newest call: how large the request and its answer were together.
type reported struct {
	tokens  int // as the provider counts them; 0 where nothing was said
	history int // counted tokens of the working history at that time, the answer included
	gen     int // edits of the view at that time
}

// report notes the usage of a call whose answer is part of the view, as its provider told it.
func (m *ContextManager) report(u history.Usage) {
	m.reported = reported{tokens: u.Context() + u.Output, history: m.Tokens(), gen: m.editGen}
}

// beside returns how many counted tokens of a request are not the working history: from what the provider said
// of the newest call, or by our count of it where the view was edited since.
func (m *ContextManager) beside(model llm.Model) int {
	if r := m.reported; r.tokens > 0 && r.gen == m.editGen {
		return m.counted(model, r.tokens) - r.history
	}
	sum := 0
	entries := m.layout.entries()
	for i := range entries {
		if e := &entries[i]; !e.Dead && categoryOf(e) != categoryHistory {
			sum += e.Tokens
		}
	}
	return sum
}

// counted returns how many counted tokens the provider takes for n of its own.
func (m *ContextManager) counted(model llm.Model, n int) int {
	s := snapshot{deps: m.deps, model: model, drift: m.drift}
	return s.capacity(n)
}

// calibrated returns how many tokens the provider takes n counted ones for.
func (m *ContextManager) calibrated(model llm.Model, n int) int {
	s := snapshot{deps: m.deps, model: model, drift: m.drift}
	return s.calibrated(n)
}

// trigger is the history above which a compaction is due, in counted tokens; 0 where its size never makes one due. A
// profile that reserves a part of the window watches the whole request: what is beside the history then counts too.
func (s *Session) trigger() int {
	most := s.mostTokens()
	if most == 0 {
		return 0
	}
	trigger := s.context.counted(s.model, most)
	if !s.profile.Budget.Reserve.Zero() {
		trigger -= s.context.beside(s.model)
	}
	return max(trigger, 1)
}

// mostTokens is what the history, or with a reserve the whole request, may have before a compaction is due, in the
// provider's tokens; 0 where there is no such limit.
func (s *Session) mostTokens() int {
	c, reserve := s.profile.Compaction, &s.profile.Budget.Reserve
	most := s.model.Window * c.WindowPercent / 100
	other := c.TriggerTokens
	if !reserve.Zero() {
		other = s.model.Window - reserve.Of(s.model.Window)
	}
	if most == 0 || other == 0 {
		return max(most, other)
	}
	return min(most, other)
}

// numbers are the settings of a strategy, from the profile.
func (s *Session) numbers(strategy string, asked bool) compaction.Numbers {
	c, room := s.settings(strategy), s.historyRoom()
	return compaction.Numbers{
		TriggerTokens: s.trigger(), VerbatimWindowTokens: s.context.counted(s.model, c.VerbatimWindowTokens), SummaryBudgetTokens: summaryBudget(strategy, &c),
		NoSummary:            c.SummaryThreshold == 0,
		MinVerbatimExchanges: c.MinVerbatimExchanges, MinConfidence: c.MinConfidence, RawWindowSize: c.RawWindowSize,
		SummarizeEvery: c.SummarizeEvery, SummaryThreshold: c.SummaryThreshold, MaxSteps: c.MaxSteps,
		KeepFirst: c.KeepFirst, KeepLast: c.KeepLast, FailureWords: c.FailureWords, RoomTokens: room,
		FillTokens: int(float64(room) * shedTo), Asked: asked,
	}
}

// settings are the profile's for a strategy. Where that is not the profile's own, the numbers that the profile lacks
// are those of the first profile that has it: without any it would keep next to nothing.
func (s *Session) settings(strategy string) profile.Compaction {
	c := s.profile.Compaction
	if c.Strategy == strategy {
		return c
	}
	for _, name := range slices.Sorted(maps.Keys(s.rules.Profiles)) {
		if of := s.rules.Profiles[name].Compaction; of.Strategy == strategy {
			return c.With(of)
		}
	}
	return c
}

// summaryBudget is the length of a summary: a running one has its own.
func summaryBudget(strategy string, c *profile.Compaction) int {
	if strategy == compaction.Rolling {
		return cmp.Or(c.MaxSummaryTokens, c.SummaryBudgetTokens)
	}
	return c.SummaryBudgetTokens
}

// historyRoom is what the history may have beside everything else, in tokens as they were counted.
func (s *Session) historyRoom() int {
	room := max(s.context.counted(s.model, s.model.Window-reserve(s.model))-max(s.context.beside(s.model), 0), 1)
	if most := s.profile.Budget.HistoryTokens; most > 0 {
		room = min(room, s.context.counted(s.model, most))
	}
	return room
}
