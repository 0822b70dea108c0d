package session

import (
	"fmt"
	"strings"

	"strata/compaction"
	"strata/history"
	"strata/session/profile"
	"strata/stability"
)

// The options that Configure takes beside those of the model.
const (
	OptionProfile    = "profile"
	OptionMode       = "mode" // a phase of the profile
	OptionCompaction = "compaction"
)

// Rules are what a workspace's sessions go by.
type Rules struct {
	Profile      string // of sessions that chose none; empty: profile.Default
	SystemPrompt string // empty: the profile's
	Profiles     map[string]profile.Profile
	Stability    stability.Options
}

// rulesFor returns the rules of the session's folder. Where they cannot be read the server's own count,
// and whoever opens the session is told why.
func (s *Session) rulesFor(folder string) Rules {
	if err := s.deps.allowed(folder); err != nil {
		s.notices = append(s.notices, "The session works without its files: "+err.Error())
		return s.deps.Rules
	}
	if s.deps.Workspace == nil {
		return s.deps.Rules
	}
	rules, err := s.deps.Workspace(folder)
	if err != nil {
		s.notices = append(s.notices, "The workspace's settings do not count: "+err.Error())
		return s.deps.Rules
	}
	return rules
}

// MissingDocumentError says which document a phase cannot do without. It is an ErrInvalid.
type MissingDocumentError struct{ Phase, Document string }

func (e *MissingDocumentError) Error() string {
	return fmt.Sprintf("the phase %s needs the document %q: set it with documents/set", e.Phase, e.Document)
}

// Is reports whether target is ErrInvalid.
func (e *MissingDocumentError) Is(target error) bool { return target == ErrInvalid }

// chooseProfile sets the profile in force: the session's own, or the default where it chose none or
// where there is none of that name any more.
func (s *Session) chooseProfile() {
	for _, name := range []string{s.record.Config.Profile, s.rules.Profile, profile.Default} {
		if p, ok := s.rules.Profiles[name]; ok {
			s.profile = p
			return
		}
	}
}

// systemPrompt is what the model is told: the configured prompt or the profile's, and the phase's.
func (s *Session) systemPrompt() string {
	prompt := s.rules.SystemPrompt
	if prompt == "" {
		prompt = s.profile.SystemPrompt
	}
	if phase, ok := s.profile.Phase(s.record.Config.Mode); ok && phase.Prompt != "" {
		prompt = strings.TrimRight(prompt, "\n") + "\n\n" + phase.Prompt + "\n"
	}
	return prompt
}

// chooseRule returns the session's record with a choice of profile, phase or strategy made.
func (s *Session) chooseRule(option, value string) (history.Session, error) {
	update := s.record
	switch option {
	case OptionProfile:
		if _, ok := s.rules.Profiles[value]; !ok {
			return update, fmt.Errorf("%w: there is no profile %q", ErrInvalid, value)
		}
		update.Config.Profile, update.Config.Mode, update.Config.Compaction = value, "", ""
	case OptionMode:
		if _, ok := s.profile.Phase(value); !ok || value == "" {
			return update, fmt.Errorf("%w: the profile %s has no phase %q", ErrInvalid, s.profile.Name, value)
		}
		update.Config.Mode = value
	case OptionCompaction:
		if _, err := compaction.Named(value); err != nil {
			return update, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		update.Config.Compaction = value
	default:
		return update, fmt.Errorf("%w: unknown option %q", ErrInvalid, option)
	}
	return update, nil
}

// checkDocuments returns an error where the phase in force cannot do without a document that is not set.
func (s *Session) checkDocuments() error {
	phase, ok := s.profile.Phase(s.record.Config.Mode)
	if !ok {
		return nil
	}
	for _, name := range phase.Required {
		if s.context.findDocument(name) < 0 {
			return &MissingDocumentError{Phase: phase.ID, Document: name}
		}
	}
	return nil
}

// followRules makes the profile and the phase in force those of the next request.
func (s *Session) followRules() {
	s.chooseProfile()
	s.model = narrowed(s.model, s.profile.Budget)
	s.context.profile, s.context.system, s.context.phase = s.profile, s.systemPrompt(), ""
	if phase, ok := s.profile.Phase(s.record.Config.Mode); ok {
		s.context.phase = phase.ID
	}
}
