package stability

import (
	"fmt"
	"slices"
	"strings"
)

// member is an item and the number of turns for which it has been unchanged.
type member struct {
	Item
	n int
}

// step computes the moves between tiers after one turn.
type step struct {
	target  int
	lead    []Item
	members [tiers][]member

	broken   [tiers]bool
	done     [tiers]bool // its members were considered for promotion
	arriving [tiers][]member
	arrived  map[string]bool

	changed map[string]bool
	reasons map[string]string
}

// register starts a step: it compares the items of a request to the members of the tiers. An item that has changed or was
// removed breaks its tier.
func register(members *[tiers][]member, target int, req *Request) *step {
	s := &step{target: target, arrived: map[string]bool{}, changed: map[string]bool{}, reasons: map[string]string{}}
	present := make(map[string]*Item, len(req.Items))
	var stream []*Item
	for i := range req.Items {
		it := &req.Items[i]
		switch present[it.Key] = it; {
		case it.Kind == Tools:
			s.lead = slices.Insert(s.lead, 0, *it)
		case it.Kind == System:
			s.lead = append(s.lead, *it)
		case it.inStream():
			stream = append(stream, it)
		}
	}
	continues := continues(members, stream)

	for t := L0; t <= Active; t++ {
		for _, m := range members[t] {
			it, ok := present[m.Key]
			if !ok || it.Kind != m.Kind || m.inStream() && !continues {
				s.broken[t] = true
				s.reasons[m.Key] = "history rebuilt"
				continue
			}
			delete(present, m.Key)
			if it.Hash == m.Hash {
				s.members[t] = append(s.members[t], member{*it, m.n})
				continue
			}
			s.broken[t], s.changed[m.Key] = true, true
			s.members[Active] = append(s.members[Active], member{*it, -1})
		}
	}
	for i := range req.Items {
		it := &req.Items[i]
		if _, isNew := present[it.Key]; isNew && !it.Kind.atStart() {
			s.members[Active] = append(s.members[Active], member{*it, -1})
		}
	}
	return s
}

// continues reports whether the conversation starts with its members. If not (after a compaction or clear), all of
// its members are removed and added as new.
func continues(members *[tiers][]member, stream []*Item) bool {
	i := 0
	for t := range members {
		for j := range members[t] {
			m := &members[t][j]
			if !m.inStream() {
				continue
			}
			if i == len(stream) || stream[i].Key != m.Key || stream[i].Hash != m.Hash {
				return false
			}
			i++
		}
	}
	return true
}

// count increments N of the active items, inside a turn only that of new and changed items, which start with -1.
func (s *step) count(inside bool) {
	for i := range s.members[Active] {
		if m := &s.members[Active][i]; !inside || m.n < 0 {
			m.n++
		}
	}
}

// place moves the outlines in first from the active items to their tiers, in the order of their keys. As with any arrival
// they get the entry N, and their tier is broken.
func (s *step) place(first map[string]Tier) {
	var outlines []member
	s.members[Active] = slices.DeleteFunc(s.members[Active], func(m member) bool {
		placed := first[m.Key] != NoTier
		if placed {
			outlines = append(outlines, m)
		}
		return placed
	})
	slices.SortFunc(outlines, func(a, b member) int { return strings.Compare(a.Key, b.Key) })
	for _, m := range outlines {
		t := first[m.Key]
		s.members[t] = append(s.members[t], member{m.Item, entryN[t]})
		s.broken[t], s.arrived[m.Key] = true, true
	}
}

// cascade moves members through the tiers from L3 up, and repeats until nothing moves.
func (s *step) cascade() {
	s.graduate()
	for moved := true; moved; {
		moved = false
		for t := L3; t >= L0; t-- {
			if t == L3 {
				s.graduateHistory()
			}
			entered, left := s.enter(t), s.promote(t)
			moved = moved || entered || left
		}
	}
}

// graduate moves active items that have been unchanged for long enough to L3.
func (s *step) graduate() {
	ready := func(m member) bool {
		return !m.inStream() && m.Kind != Note && m.Key != structureKey && m.n >= entryN[L3]
	}
	for _, m := range s.members[Active] {
		if ready(m) {
			s.arriving[L3] = append(s.arriving[L3], m)
		}
	}
	s.members[Active] = slices.DeleteFunc(s.members[Active], ready)
	// The result must not depend on the order in which items were added to the session.
	slices.SortFunc(s.arriving[L3], func(a, b member) int { return strings.Compare(a.Key, b.Key) })
}

// graduateHistory moves the conversation before the user's new message to L3 if L3 is being rewritten anyway or if
// the conversation alone reaches the target. A run stays where it is, and so does the conversation after it.
func (s *step) graduateHistory() {
	if s.target == 0 {
		return
	}
	history, tokens := s.activeHistory()
	if len(history) == 0 || history[0].Run || !s.broken[L3] && len(s.arriving[L3]) == 0 && tokens < s.target {
		return
	}
	s.arriving[L3] = append(s.arriving[L3], history...)
	last := history[len(history)-1].Key
	past := false
	s.members[Active] = slices.DeleteFunc(s.members[Active], func(m member) bool {
		leaves := m.inStream() && !past
		past = past || m.Key == last
		return leaves
	})
}

// activeHistory returns the active part of the conversation before the user's new message, oldest first, and its
// tokens.
func (s *step) activeHistory() (history []member, tokens int) {
	for _, m := range s.members[Active] {
		if m.inStream() {
			history = append(history, m)
		}
	}
	for len(history) > 0 && history[len(history)-1].User {
		history = history[:len(history)-1]
	}
	for i := range history {
		tokens += history[i].Tokens
	}
	return history, tokens
}

// enter adds the arriving members to t and reports whether there were any.
func (s *step) enter(t Tier) bool {
	if len(s.arriving[t]) == 0 {
		return false
	}
	for _, m := range s.arriving[t] {
		s.reasons[m.Key] = enterReason(&m, t)
		s.arrived[m.Key] = true
		m.n = entryN[t]
		s.members[t] = append(s.members[t], m)
	}
	s.arriving[t], s.broken[t] = nil, true
	return true
}

func enterReason(m *member, t Tier) string {
	switch {
	case t < L3:
		return fmt.Sprintf("unchanged for %d replies, and %s is being rewritten", m.n, t)
	case m.Kind.inConversation():
		return "history moves into L3"
	}
	return ""
}

// promote moves members of t that have reached the threshold to the tier above, if t or that tier is being rewritten.
// It considers each tier once per reply and reports whether a member moved.
func (s *step) promote(t Tier) bool {
	above := t - 1
	if s.done[t] || t == L0 || !s.broken[t] && !s.broken[above] {
		return false
	}
	s.done[t] = true
	open := s.broken[above] || len(s.members[above]) == 0
	anchored := s.anchors(t)
	stay := make([]member, 0, len(s.members[t]))
	for i, m := range s.members[t] {
		if anchored[i] || s.arrived[m.Key] {
			stay = append(stay, m)
			continue
		}
		if open || m.n < t.Threshold() {
			m.n++
		}
		if open && m.n >= t.Threshold() {
			s.arriving[above] = append(s.arriving[above], m)
			s.broken[t] = true
		} else {
			stay = append(stay, m)
		}
	}
	s.members[t] = stay
	return len(s.arriving[above]) > 0
}

// anchors reports which members of t must stay to keep it at the target: those with the lowest N. Among equals it picks
// the newer ones, so that the oldest part of the conversation moves up first.
func (s *step) anchors(t Tier) []bool {
	members := s.members[t]
	order := make([]int, len(members))
	for i := range order {
		order[i] = len(members) - 1 - i
	}
	slices.SortStableFunc(order, func(a, b int) int { return members[a].n - members[b].n })
	anchored := make([]bool, len(members))
	sum := 0
	for _, i := range order {
		if sum >= s.target {
			break
		}
		anchored[i] = true
		sum += members[i].Tokens
	}
	return anchored
}

// fold merges a tier that is too small for its own mark into the start of the next less stable tier.
func (s *step) fold() {
	for t := L0; t <= L3; t++ {
		tokens := 0
		for i := range s.members[t] {
			tokens += s.members[t][i].Tokens
		}
		if len(s.members[t]) == 0 || tokens >= s.target {
			continue
		}
		for i := range s.members[t] {
			s.reasons[s.members[t][i].Key] = fmt.Sprintf("%s is below the target", t)
		}
		s.members[t+1] = append(s.members[t], s.members[t+1]...)
		s.members[t] = nil
	}
}
