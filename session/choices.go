package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"strata/compaction"
	"strata/history"
	"strata/internal/clip"
	"strata/llm"
	"strata/session/assembly"
	"strata/session/compacting"
	"strata/session/profile"
)

// choices are the model, the profile and the phase in force, with the record in which the session's own are stored. They
// belong to the mailbox.
type choices struct {
	deps    *Deps
	record  history.Session
	rules   Rules
	model   llm.Model // narrowed by the profile
	profile profile.Profile
	phase   string // of the profile, whose documents are shown; empty: all

	// Notices for clients that open the session: of damage, and while there is something to say of the folder's rules, the
	// folder, and the chosen model.
	notices                                []string
	rulesNotice, folderNotice, modelNotice string
}

// newChoices returns the choices of a stored session.
func newChoices(ctx context.Context, deps *Deps, record history.Session) *choices {
	c := &choices{deps: deps, record: record}
	c.use(c.rulesOf(ctx, record.CWD))
	return c
}

// folderRules are the rules of a folder, with a notice if they cannot be read.
type folderRules struct {
	Rules
	notice string
}

// rulesOf returns the rules of a folder, the server's own if they cannot be read. It reads files.
func (c *choices) rulesOf(ctx context.Context, folder string) folderRules {
	if err := c.deps.Host.Allowed(ctx, folder); err != nil {
		return folderRules{c.deps.Rules, "The session works without its files: " + err.Error()}
	}
	if c.deps.Workspaces == nil {
		return folderRules{Rules: c.deps.Rules}
	}
	rules, err := c.deps.Workspaces.Rules(ctx, folder)
	if err != nil {
		return folderRules{c.deps.Rules, "Ignoring .strata.yaml: " + err.Error()}
	}
	return folderRules{Rules: rules}
}

// use makes rules those of the session.
func (c *choices) use(rules folderRules) {
	c.rules, c.rulesNotice = rules.Rules, rules.notice
	c.renew()
}

// renew brings what is in force up to date with the record, the rules and what was learned of the model.
func (c *choices) renew() {
	c.chooseModel()
	c.chooseProfile()
	c.model = assembly.Narrowed(c.model, &c.profile.Budget)
	c.phase = ""
	if phase, ok := c.profile.Phase(c.record.Config.Mode); ok {
		c.phase = phase.ID
	}
}

// chooseModel sets the model in force: the session's own, or the default if the session chose none or its model is no
// longer configured.
func (c *choices) chooseModel() {
	name := c.record.Config.Model
	if name == "" {
		name = c.deps.DefaultConfig.Model
	}
	model, ok := c.deps.Models.Model(name)
	c.modelNotice = ""
	if !ok {
		c.modelNotice = fmt.Sprintf("The model %s of this session is not configured any more; %s is used. Choose another with the model option.", name, c.deps.DefaultConfig.Model)
		model, _ = c.deps.Models.Model(c.deps.DefaultConfig.Model)
	}
	c.model = model
}

// chooseProfile sets the profile in force: the session's own, or the default if the session chose none or its profile no
// longer exists.
func (c *choices) chooseProfile() {
	for _, name := range []string{c.record.Config.Profile, c.rules.Profile, profile.Default} {
		if p, ok := c.rules.Profiles[name]; ok {
			c.profile = p
			return
		}
	}
}

// systemPrompt returns the configured prompt or the profile's, with the phase's.
func (c *choices) systemPrompt() string {
	prompt := c.rules.SystemPrompt
	if prompt == "" {
		prompt = c.profile.SystemPrompt
	}
	if phase, ok := c.profile.Phase(c.record.Config.Mode); ok && phase.Prompt != "" {
		prompt = strings.TrimRight(prompt, "\n") + "\n\n" + phase.Prompt + "\n"
	}
	return prompt
}

// config returns the choices in force.
func (c *choices) config() history.Config {
	config, d := c.record.Config, c.deps.DefaultConfig
	config.Model = c.model.Name
	config.Profile, config.Compaction = c.profile.Name, c.strategy()
	if c.phase != "" {
		config.Mode = c.phase
	}
	if config.ThoughtLevel == "" {
		config.ThoughtLevel = d.ThoughtLevel
	}
	if !slices.Contains(c.model.Thought, llm.ThoughtLevel(config.ThoughtLevel)) {
		config.ThoughtLevel = string(llm.ThoughtOff)
	}
	return config
}

// thought returns the thought level in force.
func (c *choices) thought() llm.ThoughtLevel { return llm.ThoughtLevel(c.config().ThoughtLevel) }

// strategy returns the name of the compaction strategy in force.
func (c *choices) strategy() string {
	if name := c.record.Config.Compaction; name != "" {
		return name
	}
	return c.profile.Compaction.Strategy
}

func (c *choices) compactionRules() compacting.Rules {
	return compacting.Rules{Strategy: c.strategy(), Profiles: c.rules.Profiles}
}

// profiles returns the profiles that can be chosen, by name.
func (c *choices) profiles() []profile.Profile {
	var all []profile.Profile
	for _, name := range slices.Sorted(maps.Keys(c.rules.Profiles)) {
		all = append(all, c.rules.Profiles[name])
	}
	return all
}

// allNotices returns the notices for clients that open the session.
func (c *choices) allNotices() []string {
	all := slices.Clone(c.notices)
	for _, notice := range []string{c.rulesNotice, c.folderNotice, c.modelNotice} {
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
)

// with returns the session's record with a value chosen for an option.
func (c *choices) with(option, value string) (history.Session, error) {
	update := c.record
	switch option {
	case OptionModel:
		if _, ok := c.deps.Models.Model(value); !ok {
			return update, fmt.Errorf("%w: model %q: provider not configured", ErrInvalid, clip.Name(value))
		}
		update.Config.Model = value
	case OptionThought:
		if !slices.Contains(c.model.Thought, llm.ThoughtLevel(value)) {
			return update, fmt.Errorf("%w: the model %s has no thought level %q", ErrInvalid, c.model.Name, clip.Name(value))
		}
		update.Config.ThoughtLevel = value
	case OptionProfile:
		if _, ok := c.rules.Profiles[value]; !ok {
			return update, fmt.Errorf("%w: there is no profile %q", ErrInvalid, clip.Name(value))
		}
		update.Config.Profile, update.Config.Mode, update.Config.Compaction = value, "", ""
	case OptionMode:
		if _, ok := c.profile.Phase(value); !ok || value == "" {
			return update, fmt.Errorf("%w: the profile %s has no phase %q", ErrInvalid, c.profile.Name, clip.Name(value))
		}
		update.Config.Mode = value
	case OptionCompaction:
		if _, err := compaction.Named(value); err != nil {
			return update, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		update.Config.Compaction = value
	default:
		return update, fmt.Errorf("%w: unknown option %q", ErrInvalid, clip.Name(option))
	}
	return update, nil
}
