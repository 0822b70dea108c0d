package wire

import (
	"slices"

	"strata/compaction"
	"strata/session"
	"strata/session/approval"
	"strata/session/choices"
)

// ConfigOption is a choice of a session, such as its model.
type ConfigOption struct {
	ID           string        `json:"id"`
	Name         string        `json:"name"`
	Description  string        `json:"description,omitempty"`
	Category     string        `json:"category,omitempty"`
	Type         string        `json:"type"`
	CurrentValue string        `json:"currentValue"`
	Options      []ConfigValue `json:"options"`
}

// ConfigValue is a value of a ConfigOption.
type ConfigValue struct {
	Value       string `json:"value"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// ConfigOptionsResult is the result of session/load, session/resume and session/set_config_option.
type ConfigOptionsResult struct {
	Modes         *ModeState     `json:"modes,omitempty"`
	ConfigOptions []ConfigOption `json:"configOptions"`
	Meta          any            `json:"_meta,omitempty"`
}

// NewConfigured returns the result of session/set_config_option.
func NewConfigured(c session.Configured, models []Model) ConfigOptionsResult {
	result := ConfigOptionsResult{ConfigOptions: ConfigOptions(c.Info, models)}
	if c.After != "" {
		result.Meta = strataMeta(AfterTurn(c.After))
	}
	return result
}

// SetConfigParams are the parameters of session/set_config_option.
type SetConfigParams struct {
	SessionParams
	ConfigID string `json:"configId" need:"content"`
	Value    string `json:"value" need:"value"`
}

// ConfigOptions returns the options of a session. models are the ones on offer.
func ConfigOptions(i session.Info, models []Model) []ConfigOption {
	model := ConfigOption{
		ID: choices.OptionModel, Name: "Model", Category: "model", Type: "select", CurrentValue: i.Config.Model,
		Description: "The model that replies",
	}
	for _, m := range models {
		model.Options = append(model.Options, ConfigValue{Value: m.Name, Name: m.Title})
	}
	if !slices.ContainsFunc(model.Options, func(v ConfigValue) bool { return v.Value == i.Config.Model }) {
		model.Options = append([]ConfigValue{{Value: i.Config.Model, Name: i.Config.Model}}, model.Options...)
	}
	options := []ConfigOption{model}

	if len(i.Model.Thought) > 1 {
		thought := ConfigOption{
			ID: choices.OptionThought, Name: "Thought level", Category: "thought_level", Type: "select",
			CurrentValue: i.Config.ThoughtLevel, Description: "How much the model thinks before it replies",
		}
		for _, level := range i.Model.Thought {
			thought.Options = append(thought.Options, ConfigValue{Value: string(level), Name: string(level)})
		}
		options = append(options, thought)
	}

	profile := ConfigOption{
		ID: choices.OptionProfile, Name: "Profile", Type: "select", CurrentValue: i.Config.Profile,
		Description: "The rules by which the context is managed",
	}
	for _, p := range i.Profiles {
		profile.Options = append(profile.Options, ConfigValue{Value: p.Name, Name: p.Title})
	}
	strategy := ConfigOption{
		ID: choices.OptionCompaction, Name: "Compaction", Type: "select", CurrentValue: i.Config.Compaction,
		Description: "How a long history is shortened",
	}
	for _, name := range []string{compaction.Topic, compaction.Rolling, compaction.Prune, compaction.Middle, compaction.Window} {
		strategy.Options = append(strategy.Options, ConfigValue{Value: name, Name: name})
	}
	options = append(options, profile, strategy)

	asking := ConfigOption{
		ID: choices.OptionApproval, Name: "Approval", Type: "select", CurrentValue: i.Config.Approval,
		Description: "What the model may do without asking",
	}
	for _, m := range approvals {
		asking.Options = append(asking.Options, ConfigValue{Value: m.ID, Name: m.Name, Description: m.Description})
	}
	if len(i.Phases) == 0 {
		asking.Category = modeCategory
		return append(options, asking)
	}
	phase := ConfigOption{
		ID: choices.OptionMode, Name: "Phase", Category: modeCategory, Type: "select", CurrentValue: i.Config.Mode,
		Description: "The phase of work, with its own documents",
	}
	for _, p := range i.Phases {
		phase.Options = append(phase.Options, ConfigValue{Value: p.ID, Name: p.Title})
	}
	return append(options, phase, asking)
}

// modeCategory is the category of the option that a session's modes choose.
const modeCategory = "mode"

// approvals are the values of the option approval, in the order of approval.Modes.
var approvals = []Mode{
	{string(approval.ReadOnly), "Read only", "Refuses calls that can change something"},
	{string(approval.Ask), "Ask", "Asks before every change"},
	{string(approval.Edits), "Edits", "Changes files in the session's folders without asking"},
	{string(approval.Auto), "Auto", "Changes files and runs commands without asking"},
}

// ModeState holds the phases of a session's profile, or the values of approval, as ACP's modes.
type ModeState struct {
	Current string `json:"currentModeId"`
	Modes   []Mode `json:"availableModes"`
}

// Mode is a phase of a profile, or a value of approval.
type Mode struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// Modes returns the modes of a session.
func Modes(i session.Info) *ModeState {
	if len(i.Phases) == 0 {
		return &ModeState{Current: i.Config.Approval, Modes: approvals}
	}
	state := &ModeState{Current: i.Config.Mode}
	for _, phase := range i.Phases {
		state.Modes = append(state.Modes, Mode{ID: phase.ID, Name: phase.Title, Description: phase.Prompt})
	}
	return state
}

// ModeParams are the parameters of session/set_mode.
type ModeParams struct {
	SessionParams
	ModeID string `json:"modeId" need:"content"`
}

// RuleParams are the parameters of _strata/permissions/revoke and keep. Rule is the text of a rule, as the list has it.
type RuleParams struct {
	SessionParams
	Rule string `json:"rule" need:"content"`
}

// NewModeSet returns the result of session/set_mode.
func NewModeSet(c session.Configured) any {
	if c.After == "" {
		return struct{}{}
	}
	return map[string]any{"_meta": strataMeta(AfterTurn(c.After))}
}
