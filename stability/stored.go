package stability

import (
	"encoding/json"
	"errors"
	"fmt"
)

// storedEntry is the stored form of an entry of the log.
type storedEntry struct {
	Kind       Kind   `json:"kind"`
	Key        string `json:"key"`
	Blob       string `json:"blob"`
	Rev        string `json:"rev,omitempty"`
	Tokens     int    `json:"tokens"`
	Blocks     int    `json:"blocks"`
	Born       int    `json:"born"`
	Chg        int    `json:"chg"`
	Steps      int    `json:"steps,omitempty"` // requests up to Chg that continued a turn
	BlockEnd   bool   `json:"end,omitempty"`
	Marked     bool   `json:"marked,omitempty"`
	Dead       bool   `json:"dead,omitempty"`
	Partial    bool   `json:"partial,omitempty"`
	Run        bool   `json:"run,omitempty"`
	Unmarkable bool   `json:"unmarkable,omitempty"`

	Before Separation `json:"before,omitempty"`
	Side   side       `json:"side,omitempty"`

	Version string    `json:"version,omitempty"`
	Led     storedLed `json:"led,omitzero"`
}

// storedLed is the stored form of led.
type storedLed struct {
	Rev     string `json:"rev"`
	Version string `json:"version"`
	Chg     int    `json:"chg"`
	Steps   int    `json:"steps,omitempty"`
}

func (l *log) sent() []Entry { return l.entries }

// save returns a row for each entry. Rows of entries that are as they were at the last save are not encoded again.
func (l *log) save() (any, [][]byte) {
	saved := make([]savedEntry, len(l.entries))
	rows := make([][]byte, len(l.entries))
	for i := range l.entries {
		e := &l.entries[i]
		now := storedEntry{e.Kind, e.Key, e.Blob, e.Rev, e.Tokens, e.Blocks, e.Born, e.chg.request, e.chg.steps(),
			e.BlockEnd, e.marked, e.Dead, e.partial, e.Run, e.unmarkable, e.Before, e.side, e.version,
			storedLed{e.led.rev, e.led.version, e.led.chg.request, e.led.chg.steps()}}
		if i < len(l.saved) && l.saved[i].entry == now {
			saved[i] = l.saved[i]
		} else {
			saved[i] = savedEntry{now, now.encode()}
		}
		rows[i] = saved[i].row
	}
	l.saved = saved
	return nil, rows
}

// savedEntry is an entry of the log with its row.
type savedEntry struct {
	entry storedEntry
	row   []byte
}

func (s *storedEntry) encode() []byte {
	row, err := json.Marshal(s)
	if err != nil {
		panic(err) // it has only texts, numbers and booleans
	}
	return row
}

func (l *log) load(data []byte, next moment) error {
	var stored []storedEntry
	if err := decode(data, &stored); err != nil {
		return err
	}
	if len(stored) > maxEntries {
		return fmt.Errorf("%d entries exceeds the limit of %d", len(stored), maxEntries)
	}
	entries := make([]Entry, len(stored))
	based := make(map[string]bool)
	for i := range stored {
		s := &stored[i]
		if err := s.check(next); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		if s.Kind == Diff && !based[s.Key] {
			return fmt.Errorf("entry %d: diff of %s without a base", i, s.Key)
		}
		based[s.Key] = based[s.Key] || s.Kind == Base
		entries[i] = Entry{Kind: s.Kind, Key: s.Key, Blob: s.Blob, Rev: s.Rev, Tokens: s.Tokens, Blocks: s.Blocks, Born: s.Born,
			chg: moment{s.Chg, s.Chg - s.Steps}, BlockEnd: s.BlockEnd, marked: s.Marked, Dead: s.Dead, partial: s.Partial, Run: s.Run, unmarkable: s.Unmarkable, Before: s.Before, side: s.Side,
			version: s.Version, led: led{s.Led.Rev, s.Led.Version, moment{s.Led.Chg, s.Led.Chg - s.Led.Steps}}}
	}
	seal(entries, 0)
	relabel(entries, next.turn-1)
	l.entries = entries
	l.talk.follow(entries, 0)
	return nil
}

// check returns an error for an entry that cannot be in the request before next.
func (s *storedEntry) check(next moment) error {
	if !s.Kind.inSystemPart() && !s.Kind.inConversation() && !s.Kind.isFileText() && s.Kind != Note {
		return fmt.Errorf("unknown kind %q", s.Kind)
	}
	switch {
	case s.Key == "" || s.Blob == "":
		return errors.New("missing key or hash")
	case s.Kind.isFileText() != (s.Rev != ""):
		return fmt.Errorf("%s with revision %q", s.Kind, s.Rev)
	case s.Tokens < 0 || s.Tokens > maxTokens || s.Blocks < 1 || s.Blocks > maxTokens:
		return fmt.Errorf("invalid size: %d tokens, %d blocks", s.Tokens, s.Blocks)
	case s.Before < NotSeparated || s.Before > Unanswered || s.Side < sideContext || s.Side > sideRun:
		return fmt.Errorf("invalid separation: %d, side %d", s.Before, s.Side)
	case !s.Kind.isFileText() && (s.Version != "" || s.Led != storedLed{}):
		return fmt.Errorf("%s with version %q, led to %q", s.Kind, s.Version, s.Led.Rev)
	case s.Led != storedLed{} && (s.Version == "" || s.Led.Rev == "" || s.Led.Version == "" || s.Led.Chg < 0):
		return fmt.Errorf("version %q, led to revision %q, version %q in request %d", s.Version, s.Led.Rev, s.Led.Version, s.Led.Chg)
	case s.Born < 0 || s.Born >= next.request || !validAge(s.Chg, s.Steps, next) || !validAge(s.Led.Chg, s.Led.Steps, next):
		return fmt.Errorf("invalid age: born %d, changed %d with %d steps, of %d", s.Born, s.Chg, s.Steps, next.request)
	}
	return nil
}

// validAge reports whether something can have changed in a request before next, with so many requests up to then that continued
// a turn.
func validAge(chg, steps int, next moment) bool {
	return chg-steps >= -entryN[L0] && chg < next.request && steps >= 0 && steps <= next.steps()
}

// relabel sets N and Tier of the entries as they were in the turn with the given number.
func relabel(entries []Entry, turn int) {
	chg := make(map[string]moment, len(entries))
	for i := range entries {
		chg[entries[i].Key] = entries[i].changed()
	}
	for i := range entries {
		e := &entries[i]
		e.N = turn - chg[e.Key].turn
		e.Tier = tierOf(e.N)
	}
}

// storedMember is the stored form of an item in a tier of `ripple`.
type storedMember struct {
	Item
	N int
}

// storedRipple is the stored form of `ripple`: the members of L0, L1, L2, L3 and active.
type storedRipple struct {
	Lead  []Item           `json:"lead"`
	Tiers [][]storedMember `json:"tiers"`
}

func (r *ripple) sent() []Entry { return r.entries }

// conversation returns an empty one: the keys of all items are compared.
func (r *ripple) conversation() *sent { return new(sent) }

func (r *ripple) save() (any, [][]byte) {
	out := storedRipple{Lead: r.lead, Tiers: make([][]storedMember, Active)}
	for t := L0; t <= Active; t++ {
		for _, m := range r.members[t] {
			out.Tiers[t-L0] = append(out.Tiers[t-L0], storedMember{m.Item, m.n})
		}
	}
	return out, nil
}

func (r *ripple) load(data []byte, next moment) error {
	var stored storedRipple
	if err := decode(data, &stored); err != nil {
		return err
	}
	if len(stored.Tiers) != int(Active) {
		return fmt.Errorf("%d tiers; want %d", len(stored.Tiers), Active)
	}
	all := Request{Items: stored.Lead}
	for i := range stored.Lead {
		if k := stored.Lead[i].Kind; !k.atStart() {
			return fmt.Errorf("%s before the tiers", k)
		}
	}
	for i, members := range stored.Tiers {
		for _, m := range members {
			if m.N < 0 || m.N > next.turn+entryN[L0] || m.Kind.atStart() {
				return fmt.Errorf("invalid member %s: %s, N %d", m.Key, m.Kind, m.N)
			}
			r.members[L0+Tier(i)] = append(r.members[L0+Tier(i)], member{m.Item, m.N})
			all.Items = append(all.Items, m.Item)
		}
	}
	r.lead = stored.Lead
	if err := all.check(); err != nil {
		return err
	}
	if err := all.checkKeys(new(sent)); err != nil {
		return err
	}
	r.layOut()
	seal(r.entries, 0)
	return nil
}
