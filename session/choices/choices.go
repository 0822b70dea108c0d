// Package choices determines which model, profile, phase and approval are in force in a session: its own choices, else the rules of its
// folder, else the settings of the server.
package choices

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"strata/compaction"
	"strata/history"
	"strata/internal/clip"
	"strata/llm"
	"strata/session/approval"
	"strata/session/assembly"
	"strata/session/mailbox"
	"strata/session/profile"
	"strata/stability"
)

// Rules are those of a workspace's sessions.
type Rules struct {
	Profile      string                     // of sessions that chose none; empty: profile.Default
	SystemPrompt string                     // empty: the profile's
	Profiles     map[string]profile.Profile // by name; shared by sessions and never changed
	Stability    stability.Options
}

// Workspaces knows the rules of folders. Methods are safe for concurrent use.
type Workspaces interface {
	// Rules returns the rules of sessions in a folder, those of the server if the folder has none of its own. With an error
	// the session uses those of the server and reports the error.
	Rules(ctx context.Context, folder string) (Rules, error)
}

// Services is what choices need of the server.
type Services struct {
	Default    history.Config                                 // of a session that chose nothing
	Rules      *Rules                                         // of a folder without rules of its own
	Workspaces Workspaces                                     // nil: no folder has rules of its own
	Model      func(name string) (llm.Model, bool)            // by provider/model; false if it is not configured
	Allowed    func(ctx context.Context, folder string) error // for a folder in which no session may work
}

// Choices are the model, the profile and the phase in force, with the record in which the session's own are
// stored. Not safe for concurrent use.
type Choices struct {
	Record  history.Session
	Rules   Rules
	Model   llm.Model // narrowed by the profile
	Profile profile.Profile
	Phase   string // of the profile, whose documents are shown; empty: all

	Approval approval.Mode // the session's own or approval.Default: no folder has a rule for it

	// Notices for clients that open the session: of damage, and while there is something to say of the folder's rules, the
	// folder, and the chosen model.
	Notices                  []string
	FolderNotice             string
	rulesNotice, modelNotice string

	services *Services
}

// New returns the choices of a stored session.
func New(ctx context.Context, services *Services, record history.Session) *Choices {
	c := &Choices{services: services, Record: record}
	if record.Config.IsRemote() {
		c.Use(FolderRules{Rules: *services.Rules}) // the folder is not on this machine
	} else {
		c.Use(services.RulesOf(ctx, record.CWD))
	}
	return c
}

// FolderRules are the rules of a folder, with a notice if they cannot be read.
type FolderRules struct {
	Rules
	notice string
}

// RulesOf returns the rules of a folder, the server's own if they cannot be read. It reads files. Safe for concurrent use.
func (s *Services) RulesOf(ctx context.Context, folder string) FolderRules {
	if err := s.Allowed(ctx, folder); err != nil {
		return FolderRules{*s.Rules, "The session works without its files: " + err.Error()}
	}
	if s.Workspaces == nil {
		return FolderRules{Rules: *s.Rules}
	}
	rules, err := s.Workspaces.Rules(ctx, folder)
	if err != nil {
		return FolderRules{*s.Rules, "Ignoring .strata.yaml: " + err.Error()}
	}
	return FolderRules{Rules: rules}
}

// Use makes rules those of the session.
func (c *Choices) Use(rules FolderRules) {
	c.Rules, c.rulesNotice = rules.Rules, rules.notice
	c.Renew()
}

// Renew brings what is in force up to date with the record, the rules and what was learned of the model.
func (c *Choices) Renew() {
	c.chooseModel()
	c.chooseProfile()
	c.Model = assembly.Narrowed(c.Model, &c.Profile.Budget)
	c.Phase = ""
	if phase, ok := c.Profile.Phase(c.Record.Config.Mode); ok {
		c.Phase = phase.ID
	}
	c.Approval = approval.Mode(c.Record.Config.Approval)
	if !c.Approval.Valid() {
		c.Approval = approval.Default
	}
}

// Mode returns the mode that clients of ACP are shown: the phase, or the approval in a profile without phases.
func (c *Choices) Mode() string { return cmp.Or(c.Phase, string(c.Approval)) }

// chooseModel sets the model in force: the session's own, or the default if the session chose none or its model is no
// longer configured.
func (c *Choices) chooseModel() {
	name := c.Record.Config.Model
	if name == "" {
		name = c.services.Default.Model
	}
	model, ok := c.services.Model(name)
	c.modelNotice = ""
	if !ok {
		c.modelNotice = fmt.Sprintf("The model %s of this session is not configured any more; %s is used. Choose another with the model option.", name, c.services.Default.Model)
		model, _ = c.services.Model(c.services.Default.Model)
	}
	c.Model = model
}

// chooseProfile sets the profile in force: the session's own, or the default if the session chose none or its profile no
// longer exists.
func (c *Choices) chooseProfile() {
	for _, name := range []string{c.Record.Config.Profile, c.Rules.Profile, profile.Default} {
		if p, ok := c.Rules.Profiles[name]; ok {
			c.Profile = p
			return
		}
	}
}

// CheckDocuments returns an error that wraps mailbox.ErrInvalid if the phase in force requires a document that is not set.
func (c *Choices) CheckDocuments(isSet func(name string) bool) error {
	phase, _ := c.Profile.Phase(c.Record.Config.Mode)
	for _, name := range phase.Required {
		if !isSet(name) {
			return fmt.Errorf("%w: the phase %s needs the document %q: set it with documents/set", mailbox.ErrInvalid, phase.ID, name)
		}
	}
	return nil
}

// SystemPrompt returns the configured prompt or the profile's, with the phase's.
func (c *Choices) SystemPrompt() string {
	prompt := c.Rules.SystemPrompt
	if prompt == "" {
		prompt = c.Profile.SystemPrompt
	}
	if phase, ok := c.Profile.Phase(c.Record.Config.Mode); ok && phase.Prompt != "" {
		prompt = strings.TrimRight(prompt, "\n") + "\n\n" + phase.Prompt + "\n"
	}
	return prompt
}

// Config returns the choices in force, without the rules that allow calls.
func (c *Choices) Config() history.Config {
	config, d := c.Record.Config, &c.services.Default
	config.Rules = nil
	config.Model = c.Model.Name
	config.Profile, config.Compaction, config.Approval = c.Profile.Name, c.Strategy(), string(c.Approval)
	if c.Phase != "" {
		config.Mode = c.Phase
	}
	if config.ThoughtLevel == "" {
		config.ThoughtLevel = d.ThoughtLevel
	}
	if !slices.Contains(c.Model.Thought, llm.ThoughtLevel(config.ThoughtLevel)) {
		config.ThoughtLevel = string(llm.ThoughtOff)
	}
	return config
}

// Thought returns the thought level in force.
func (c *Choices) Thought() llm.ThoughtLevel { return llm.ThoughtLevel(c.Config().ThoughtLevel) }

// Strategy returns the name of the compaction strategy in force.
func (c *Choices) Strategy() string {
	if name := c.Record.Config.Compaction; name != "" {
		return name
	}
	return c.Profile.Compaction.Strategy
}

// Profiles returns the profiles that can be chosen, by name.
func (c *Choices) Profiles() []profile.Profile {
	var all []profile.Profile
	for _, name := range slices.Sorted(maps.Keys(c.Rules.Profiles)) {
		all = append(all, c.Rules.Profiles[name])
	}
	return all
}

// AllNotices returns the notices for clients that open the session.
func (c *Choices) AllNotices() []string {
	all := slices.Clone(c.Notices)
	for _, notice := range []string{c.rulesNotice, c.FolderNotice, c.modelNotice} {
		if notice != "" {
			all = append(all, notice)
		}
	}
	return all
}

// The options of a session.
const (
	OptionModel      = "model"
	OptionThought    = "thought_level"
	OptionProfile    = "profile"
	OptionMode       = "mode" // a phase of the profile
	OptionCompaction = "compaction"
	OptionApproval   = "approval"
)

// TakesEffectAtOnce reports whether a change of an option concerns the running turn.
func TakesEffectAtOnce(option string) bool { return option == OptionApproval }

// ModeOption returns the option that a mode of ACP chooses.
func (c *Choices) ModeOption() string {
	if len(c.Profile.Phases) == 0 {
		return OptionApproval
	}
	return OptionMode
}

// With returns the session's record with a value chosen for an option. The error for a value that cannot be chosen wraps
// mailbox.ErrInvalid.
func (c *Choices) With(option, value string) (history.Session, error) {
	update := c.Record
	switch option {
	case OptionModel:
		if _, ok := c.services.Model(value); !ok {
			return update, fmt.Errorf("%w: model %q: provider not configured", mailbox.ErrInvalid, clip.Name(value))
		}
		update.Config.Model = value
	case OptionThought:
		if !slices.Contains(c.Model.Thought, llm.ThoughtLevel(value)) {
			return update, fmt.Errorf("%w: the model %s has no thought level %q", mailbox.ErrInvalid, c.Model.Name, clip.Name(value))
		}
		update.Config.ThoughtLevel = value
	case OptionProfile:
		if _, ok := c.Rules.Profiles[value]; !ok {
			return update, fmt.Errorf("%w: there is no profile %q", mailbox.ErrInvalid, clip.Name(value))
		}
		update.Config.Profile, update.Config.Mode, update.Config.Compaction = value, "", ""
	case OptionMode:
		if _, ok := c.Profile.Phase(value); !ok || value == "" {
			return update, fmt.Errorf("%w: the profile %s has no phase %q", mailbox.ErrInvalid, c.Profile.Name, clip.Name(value))
		}
		update.Config.Mode = value
	case OptionCompaction:
		if _, err := compaction.Named(value); err != nil {
			return update, fmt.Errorf("%w: %w", mailbox.ErrInvalid, err)
		}
		update.Config.Compaction = value
	case OptionApproval:
		if !approval.Mode(value).Valid() {
			return update, fmt.Errorf("%w: there is no approval %q", mailbox.ErrInvalid, clip.Name(value))
		}
		update.Config.Approval = value
	default:
		return update, fmt.Errorf("%w: unknown option %q", mailbox.ErrInvalid, clip.Name(option))
	}
	return update, nil
}
