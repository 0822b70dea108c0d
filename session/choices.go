package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"strata/compaction"
	"strata/history"
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
	phase   string   // of the profile, whose documents are shown; empty: all
	notices []string // for clients that open the session, e.g. of damage

	modelNotice string // one more, while the chosen model is not configured
}

// newChoices returns the choices of a stored session.
func newChoices(ctx context.Context, deps *Deps, record history.Session) *choices {
	c := &choices{deps: deps, record: record}
	c.rules = c.rulesFor(ctx, record.CWD)
	c.renew()
	return c
}

// rulesFor returns the rules of the session's folder. If they cannot be read the server's own are used, with a notice.
func (c *choices) rulesFor(ctx context.Context, folder string) Rules {
	if err := c.deps.Host.Allowed(ctx, folder); err != nil {
		c.notices = append(c.notices, "The session works without its files: "+err.Error())
		return c.deps.Rules
	}
	if c.deps.Workspaces == nil {
		return c.deps.Rules
	}
	rules, err := c.deps.Workspaces.Rules(ctx, folder)
	if err != nil {
		c.notices = append(c.notices, "Ignoring .strata.yaml: "+err.Error())
		return c.deps.Rules
	}
	return rules
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
	if c.modelNotice == "" {
		return slices.Clone(c.notices)
	}
	return append(slices.Clone(c.notices), c.modelNotice)
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
			return update, fmt.Errorf("%w: model %q: provider not configured", ErrInvalid, value)
		}
		update.Config.Model = value
	case OptionThought:
		if !slices.Contains(c.model.Thought, llm.ThoughtLevel(value)) {
			return update, fmt.Errorf("%w: the model %s has no thought level %q", ErrInvalid, c.model.Name, value)
		}
		update.Config.ThoughtLevel = value
	case OptionProfile:
		if _, ok := c.rules.Profiles[value]; !ok {
			return update, fmt.Errorf("%w: there is no profile %q", ErrInvalid, value)
		}
		update.Config.Profile, update.Config.Mode, update.Config.Compaction = value, "", ""
	case OptionMode:
		if _, ok := c.profile.Phase(value); !ok || value == "" {
			return update, fmt.Errorf("%w: the profile %s has no phase %q", ErrInvalid, c.profile.Name, value)
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
