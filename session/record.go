package session

import (
	"fmt"
	"maps"
	"slices"

	"strata/history"
	"strata/llm"
	"strata/session/profile"
)

// State is what a session is doing.
type State string

// The states of a loaded session.
const (
	StateIdle       State = "idle"
	StateRunning    State = "running"
	StateCompacting State = "compacting"
	StateClosing    State = "closing"
	StateClosed     State = "closed" // not loaded any more
)

// Info tells about a session.
type Info struct {
	Session  history.Session
	Config   history.Config // choices in force, defaults filled in
	Model    llm.Model
	State    State
	Running  string // id of the running turn
	Unsaved  bool   // an ending waits to be stored
	Epoch    string
	Seq      uint64
	Totals   history.Totals
	Messages int // in the transcript
	InView   int // of them in the working history
	Tokens   int // of the working history
	Files    int
	Profiles []profile.Profile // that can be chosen, by name
	Phases   []profile.Phase   // of the profile in force; the current one is Config.Mode
	Notices  []string          // what whoever opens the session should know
}

// Info returns what there is to know of the session.
func (s *Session) Info(reply func(Info, error)) {
	s.post(func() { reply(s.info(), nil) }, func(err error) { reply(Info{}, err) })
}

func (s *Session) info() Info {
	i := Info{
		Session: s.record, Config: s.config(), Model: s.model, State: s.state(), Unsaved: s.unsaved != nil,
		Epoch: s.Epoch(), Seq: s.events.End(), Totals: s.context.Totals(), Messages: len(s.context.Transcript()),
		InView: len(s.context.View()), Tokens: s.context.Tokens(), Files: s.context.FileCount(), Notices: s.allNotices(),
	}
	i.Session.Messages = i.Messages
	if s.turn != nil {
		i.Running = s.turn.record.ID
	}
	i.Phases = s.profile.Phases
	for _, name := range slices.Sorted(maps.Keys(s.rules.Profiles)) {
		i.Profiles = append(i.Profiles, s.rules.Profiles[name])
	}
	return i
}

// state is what the session is doing.
func (s *Session) state() State {
	switch {
	case s.phase == closing:
		return StateClosing
	case s.turn != nil:
		return StateRunning
	case s.compacting != nil:
		return StateCompacting
	}
	return StateIdle
}

// allNotices returns what whoever opens the session should know.
func (s *Session) allNotices() []string {
	if s.modelNotice == "" {
		return slices.Clone(s.notices)
	}
	return append(slices.Clone(s.notices), s.modelNotice)
}

// config returns the choices in force.
func (s *Session) config() history.Config {
	c, d := s.record.Config, s.deps.DefaultConfig
	c.Model = s.model.Name
	c.Profile, c.Compaction = s.profile.Name, s.strategy()
	if phase, ok := s.profile.Phase(c.Mode); ok {
		c.Mode = phase.ID
	}
	if c.ThoughtLevel == "" {
		c.ThoughtLevel = d.ThoughtLevel
	}
	if !slices.Contains(s.model.Thought, llm.ThoughtLevel(c.ThoughtLevel)) {
		c.ThoughtLevel = string(llm.ThoughtOff)
	}
	return c
}

// thought returns the thought level in force.
func (s *Session) thought() llm.ThoughtLevel { return llm.ThoughtLevel(s.config().ThoughtLevel) }

// The options that Configure takes.
const (
	OptionModel   = "model"
	OptionThought = "thought_level"
)

// Configured is the answer to a change of an option.
type Configured struct {
	Info  Info
	After string // id of the running turn after which it takes effect; empty for at once
}

// Configure chooses a value for an option. It is stored with the session and takes effect with the next turn. author
// learns the options from the answer; a change of mode that comes with it is told to author too.
func (s *Session) Configure(option, value string, author *Cursor, reply func(Configured, error)) {
	s.configure(option, value, told{options: author}, reply)
}

// SetMode chooses a phase of the profile, as Configure does. author, who chose it, is told how the options are now.
func (s *Session) SetMode(mode string, author *Cursor, reply func(Configured, error)) {
	s.configure(OptionMode, mode, told{mode: author}, reply)
}

// told are the subscribers that need not be told what changed, since the answer tells them.
type told struct{ options, mode *Cursor }

func (s *Session) configure(option, value string, told told, reply func(Configured, error)) {
	fail := func(err error) { reply(Configured{}, err) }
	s.post(func() {
		s.enqueue(op{fail: fail, begin: func() (work, error) {
			update, err := s.choose(option, value)
			if err != nil {
				return nil, err
			}
			return s.update(update, func() { s.configured(told, reply) }), nil
		}})
	}, fail)
}

// choose returns the session's record with the choice made.
func (s *Session) choose(option, value string) (history.Session, error) {
	update := s.record
	switch option {
	case OptionModel:
		if _, ok := s.deps.Model(value); !ok {
			return update, fmt.Errorf("%w: no provider is configured for the model %q", ErrInvalid, value)
		}
		update.Config.Model = value
	case OptionThought:
		if !slices.Contains(s.model.Thought, llm.ThoughtLevel(value)) {
			return update, fmt.Errorf("%w: the model %s has no thought level %q", ErrInvalid, s.model.Name, value)
		}
		update.Config.ThoughtLevel = value
	default:
		return s.chooseRule(option, value)
	}
	return update, nil
}

// update returns the work that stores a changed record; then runs on the mailbox once it is stored.
func (s *Session) update(record history.Session, then func()) work {
	record.UpdatedAt = s.deps.Now()
	return s.store("update session "+s.id, history.Change{Update: &record}, func() {
		s.record = record
		then()
	})
}

func (s *Session) configured(told told, reply func(Configured, error)) {
	mode := s.context.phase
	s.chooseModel()
	s.context.setModel(s.model)
	s.followRules()
	answer := Configured{Info: s.info(), After: answerAfter(s.turn)}
	s.emit(Event{Kind: EventOptions, Data: answer.Info, Origin: told.options})
	if now := s.context.phase; now != mode && now != "" {
		s.emit(Event{Kind: EventMode, Text: now, Origin: told.mode})
	}
	s.emit(Event{Kind: EventConfigChanged, Data: ConfigInfo{Config: s.config()}})
	reply(answer, nil)
}

func answerAfter(t *turn) string {
	if t == nil {
		return ""
	}
	return t.record.ID
}

// SetRoots replaces the session's further roots, which must have been checked.
func (s *Session) SetRoots(roots []string, reply func(Info, error)) {
	fail := func(err error) { reply(Info{}, err) }
	s.post(func() {
		s.enqueue(op{fail: fail, begin: func() (work, error) {
			update := s.record
			update.Roots = roots
			return s.update(update, func() {
				s.context.openRoots(s.record)
				reply(s.info(), nil)
			}), nil
		}})
	}, fail)
}

// Notify tells the session's present subscribers something that their user should know.
func (s *Session) Notify(text string) {
	s.tell(func() {
		if s.phase == live {
			s.emit(Event{Kind: EventNotice, Text: text})
		}
	})
}

// Idle tells whether the session waits for nothing: no turn, no operation, no unsaved ending.
func (s *Session) Idle(reply func(bool, error)) {
	s.post(func() { reply(s.idle(), nil) }, func(err error) { reply(true, err) })
}

// Rename gives the session a title, which no rule replaces any more.
func (s *Session) Rename(title string, reply func(Info, error)) {
	fail := func(err error) { reply(Info{}, err) }
	s.post(func() {
		s.enqueue(op{fail: fail, begin: func() (work, error) {
			update := s.record
			update.Title, update.TitleByUser = tidyTitle(title, maxUserTitle), true
			if update.Title == "" {
				return nil, fmt.Errorf("%w: the title is empty", ErrInvalid)
			}
			return s.update(update, func() {
				s.emit(Event{Kind: EventInfo, Data: TitleInfo{Title: s.record.Title, UpdatedAt: s.record.UpdatedAt}})
				reply(s.info(), nil)
			}), nil
		}})
	}, fail)
}
