// Package profile defines the named sets of context rules: compaction strategy and numbers, system prompt, and phases of
// work. Profiles are embedded YAML files, and the configuration can override every value.
//
// The package must never apply a rule, or know the content of a session.
package profile

import (
	"cmp"
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Default is the profile of sessions without a selected profile.
const Default = "chat"

// Profile is one set of rules.
type Profile struct {
	Name         string     `yaml:"-"`
	Title        string     `yaml:"title"`
	SystemPrompt string     `yaml:"system_prompt"`
	Compaction   Compaction `yaml:"compaction"`
	Budget       Budget     `yaml:"budget"`
	Loop         Loop       `yaml:"loop"`
	Phases       []Phase    `yaml:"phases"` // in order; none: the profile has no phases
}

// Compaction defines when and how the history is compacted. Each strategy uses only some of the numbers.
type Compaction struct {
	Enabled              bool     `yaml:"enabled"`
	Strategy             string   `yaml:"strategy"`                  // one of package compaction's
	TriggerTokens        int      `yaml:"compaction_trigger_tokens"` // 0: only WindowPercent triggers
	WindowPercent        int      `yaml:"window_percent"`            // of the window; 0: only TriggerTokens triggers
	VerbatimWindowTokens int      `yaml:"verbatim_window_tokens"`
	SummaryBudgetTokens  int      `yaml:"summary_budget_tokens"`
	MinVerbatimExchanges int      `yaml:"min_verbatim_exchanges"`
	MinConfidence        float64  `yaml:"min_confidence"`
	MaxSummaryTokens     int      `yaml:"max_summary_tokens"` // of a running summary; 0: summary_budget_tokens
	RawWindowSize        int      `yaml:"raw_window_size"`
	SummarizeEvery       int      `yaml:"summarize_every"`
	SummaryThreshold     int      `yaml:"summary_threshold"` // steps; 0: steps are not summarized
	MaxSteps             int      `yaml:"max_steps"`
	KeepFirst            int      `yaml:"keep_first"`
	KeepLast             int      `yaml:"keep_last"`
	FailureWords         []string `yaml:"failure_words"`
}

// With returns c with the zero numbers replaced by those of other.
func (c Compaction) With(other Compaction) Compaction {
	c.VerbatimWindowTokens = cmp.Or(c.VerbatimWindowTokens, other.VerbatimWindowTokens)
	c.SummaryBudgetTokens = cmp.Or(c.SummaryBudgetTokens, other.SummaryBudgetTokens)
	c.MinVerbatimExchanges = cmp.Or(c.MinVerbatimExchanges, other.MinVerbatimExchanges)
	c.MinConfidence = cmp.Or(c.MinConfidence, other.MinConfidence)
	c.MaxSummaryTokens = cmp.Or(c.MaxSummaryTokens, other.MaxSummaryTokens)
	c.RawWindowSize = cmp.Or(c.RawWindowSize, other.RawWindowSize)
	c.SummarizeEvery = cmp.Or(c.SummarizeEvery, other.SummarizeEvery)
	c.SummaryThreshold = cmp.Or(c.SummaryThreshold, other.SummaryThreshold)
	c.MaxSteps = cmp.Or(c.MaxSteps, other.MaxSteps)
	c.KeepFirst = cmp.Or(c.KeepFirst, other.KeepFirst)
	c.KeepLast = cmp.Or(c.KeepLast, other.KeepLast)
	if len(c.FailureWords) == 0 {
		c.FailureWords = other.FailureWords
	}
	return c
}

// Budget limits the content of a request. A zero value is no limit.
type Budget struct {
	ContextWindow         int            `yaml:"context_window"`  // maximum; a smaller window of the model applies instead
	ReservedOutput        int            `yaml:"reserved_output"` // tokens for the reply; at most the model's maximum output
	HistoryTokens         int            `yaml:"history_tokens"`  // of the conversation, without system prompt, documents and files
	CodeShare             int            `yaml:"code_share"`      // percent of the room after the rules, for truncation
	HistoryShare          int            `yaml:"history_share"`   // percent; if either share is set, the room is filled greedily
	DedupeSufficesPercent int            `yaml:"dedupe_suffices_percent"`
	Reserve               Reserve        `yaml:"reserve"`
	Shares                map[string]int `yaml:"shares"`    // tokens by category: reported, and used for eviction
	Untrimmed             []string       `yaml:"untrimmed"` // documents that stay whole while other items can be evicted

	OutlineShare    int `yaml:"outline_share"`    // percent of the window for outlines of the workspace's files; 0: none
	OutlineTokens   int `yaml:"outline_tokens"`   // maximum for these outlines, however large the window is
	StructureTokens int `yaml:"structure_tokens"` // maximum for the tree of the workspace; 0: it is shown only if outlines leave files unnamed
}

// ShowsWorkspace reports whether requests contain outlines of the workspace's files, or its tree.
func (b *Budget) ShowsWorkspace() bool {
	return b.OutlineShare > 0 || b.StructureTokens > 0
}

// Reserve is the part of a window that a request must leave free; a larger request triggers a compaction. With the zero
// value, only the size of the history triggers a compaction.
type Reserve struct {
	Windows []WindowReserve `yaml:"windows"` // for windows of exactly these sizes
	Tokens  int             `yaml:"tokens"`  // for any other window
	Percent int             `yaml:"percent"` // of any other window; if Tokens is also set, the smaller of the two applies
}

// WindowReserve is the reserve of one size of window, in tokens.
type WindowReserve struct {
	Window int `yaml:"window"`
	Tokens int `yaml:"tokens"`
}

// Zero reports whether r reserves nothing.
func (r *Reserve) Zero() bool { return len(r.Windows) == 0 && r.Tokens == 0 && r.Percent == 0 }

// Of returns the reserve of a window, in tokens: the entry of Windows for its size, otherwise the smaller of Tokens and
// Percent, of those that are set.
func (r *Reserve) Of(window int) int {
	for _, w := range r.Windows {
		if w.Window == window {
			return w.Tokens
		}
	}
	share := window * r.Percent / 100
	if r.Tokens == 0 || r.Percent == 0 {
		return max(r.Tokens, share)
	}
	return min(r.Tokens, share)
}

// Loop limits the parts of a loop's view. Tokens and characters are upper bounds.
type Loop struct {
	PromptChars        int `yaml:"prompt_chars"` // of an iteration's prompt, for the view and for summaries
	OutputChars        int `yaml:"output_chars"` // of its replies, likewise
	GoalTokens         int `yaml:"goal_tokens"`
	RecentIterations   int `yaml:"recent_iterations"`
	RecentChars        int `yaml:"recent_chars"` // of each of these
	BriefChars         int `yaml:"brief_chars"`  // of an older iteration that no summary covers
	InstructionsTokens int `yaml:"instructions_tokens"`
	IterationTokens    int `yaml:"iteration_tokens"` // of any shown iteration
	TotalTokens        int `yaml:"total_tokens"`     // of all parts and the open iteration
}

// Zero reports whether requests contain the conversation instead of a loop's view.
func (l *Loop) Zero() bool { return *l == Loop{} }

// Phase is one phase of work: an ACP mode.
type Phase struct {
	ID           string   `yaml:"id"`
	Title        string   `yaml:"title"`
	Prompt       string   `yaml:"prompt"`        // added to the system prompt
	Required     []string `yaml:"required"`      // documents; without one of them, a prompt is refused
	Optional     []string `yaml:"optional"`      // further documents that are shown if they exist
	Units        int      `yaml:"units"`         // maximum number of approved units to show, newest first
	FailingUnits bool     `yaml:"failing_units"` // show the implementation of the units that the failures name
}

// Names reports whether the phase requires the document, or shows it if it exists.
func (p *Phase) Names(document string) bool {
	return slices.Contains(p.Required, document) || slices.Contains(p.Optional, document)
}

//go:embed *.yaml
var files embed.FS

// Names returns the names of the embedded profiles, sorted.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the embedded folder is always there
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".yaml")
	}
	slices.Sort(names)
	return names
}

// All returns the embedded profiles by name.
func All() (map[string]Profile, error) {
	all := make(map[string]Profile)
	for _, name := range Names() {
		text, err := files.ReadFile(name + ".yaml")
		if err != nil {
			return nil, fmt.Errorf("profile %s: %w", name, err)
		}
		p := Profile{Name: name}
		if err := yaml.UnmarshalWithOptions(text, &p, yaml.Strict()); err != nil {
			return nil, fmt.Errorf("profile %s: %w", name, err)
		}
		all[name] = p
	}
	return all, nil
}

// Phase returns the phase with the given id, or the first phase if id is empty. ok is false if the profile has no such
// phase.
func (p *Profile) Phase(id string) (phase Phase, ok bool) {
	for _, phase := range p.Phases {
		if phase.ID == id || id == "" {
			return phase, true
		}
	}
	return Phase{}, false
}

// With returns the profile with one value replaced. path contains the keys of its YAML form; value is a string, bool,
// int64, float64, or []any and map[string]any of these. The error names an unknown key or an invalid value.
func (p Profile) With(path []string, value any) (Profile, error) {
	text, err := yaml.Marshal(p)
	if err != nil {
		return p, err
	}
	var tree map[string]any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return p, err
	}
	if err := put(tree, path, value); err != nil {
		return p, err
	}
	if text, err = yaml.Marshal(tree); err != nil {
		return p, err
	}
	changed := Profile{Name: p.Name}
	if err := yaml.UnmarshalWithOptions(text, &changed, yaml.Strict()); err != nil {
		return p, fmt.Errorf("%v has the wrong type", value)
	}
	if below(value) {
		return p, fmt.Errorf("%v is below 0", value)
	}
	return changed, nil
}

// below reports whether value contains a number below 0, which no setting of a profile allows.
func below(value any) bool {
	switch v := value.(type) {
	case int64:
		return v < 0
	case float64:
		return v < 0
	case []any:
		return slices.ContainsFunc(v, below)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), below)
	}
	return false
}

// put sets a value in a tree. An unknown key is an error.
func put(tree map[string]any, path []string, value any) error {
	if len(path) == 0 {
		return fmt.Errorf("a key is missing")
	}
	old, known := tree[path[0]]
	if !known {
		return fmt.Errorf("unknown key %q; allowed: %s", path[0], strings.Join(slices.Sorted(maps.Keys(tree)), ", "))
	}
	if len(path) == 1 {
		tree[path[0]] = value
		return nil
	}
	inner, ok := old.(map[string]any)
	if !ok {
		if old != nil {
			return fmt.Errorf("%q has no keys below it", path[0])
		}
		inner = make(map[string]any)
		tree[path[0]] = inner
	}
	if path[0] == "shares" { // its keys are the user's
		inner[path[1]] = value
		return nil
	}
	return put(inner, path[1:], value)
}
