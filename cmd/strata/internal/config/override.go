package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// ProfileNames are the built-in profiles.
var ProfileNames = []string{"chat", "steps", "loop", "task", "phased"}

// Override replaces one value of a profile. The owner of the profiles checks its name and type and reports what is
// wrong with Errorf.
type Override struct {
	Profile string
	Path    []string // such as compaction, summarize_every
	Value   any      // as package yaml decodes it: string, bool, a number, nil, or []any and map[string]any of these
	Origin  Origin
}

// Errorf returns an error that names the place of the override.
func (o Override) Errorf(format string, args ...any) error {
	return &Error{o.Origin, strings.Join(o.Path, "."), fmt.Errorf(format, args...)}
}

func (o Override) dotted() string {
	return "profiles." + o.Profile + "." + strings.Join(o.Path, ".")
}

// override adds o, or replaces the override of the same value unless that one counts more.
func (l *loader) override(o Override) {
	i := slices.IndexFunc(l.Profiles, func(p Override) bool { return p.Profile == o.Profile && slices.Equal(p.Path, o.Path) })
	switch {
	case i < 0:
		l.Profiles = append(l.Profiles, o)
	case o.Origin.commands() || !l.Profiles[i].Origin.commands():
		l.Profiles[i] = o
	}
}

// readProfile adds the overrides in a mapping, which is at path in the profile.
func (l *loader) readProfile(d document, mapping *ast.MappingNode, profile string, path []string) {
	for _, entry := range mapping.Values {
		o := Override{Profile: profile, Path: append(slices.Clone(path), keyName(entry)), Origin: d.at(nodeStart(entry.Value))}
		if inner, ok := entry.Value.(*ast.MappingNode); ok {
			l.readProfile(d, inner, profile, o.Path)
		} else if err := yaml.NodeToValue(entry.Value, &o.Value); err != nil {
			l.problems.add(o.Origin, o.dotted(), err)
		} else {
			l.override(o)
		}
	}
}

// knob is a value of a profile that has a flag, which sets it in the chosen profile, and a variable for each profile.
type knob struct{ section, name, doc string }

var knobs = []knob{
	{"budget", "context_window", "maximum context window, in tokens; a smaller window of the model takes precedence"},
	{"budget", "reserved_output", "tokens reserved for the reply"},
	{"budget", "outline_share", "percent of the window for outlines of the workspace's files; 0: none"},
	{"budget", "outline_tokens", "maximum for outlines of the workspace's files, in tokens; 0: limited only by outline_share"},
	{"budget", "structure_tokens", "maximum for the tree of the workspace, in tokens; 0: shown only if outlines leave files unnamed"},
	{"compaction", "strategy", "topic, rolling, prune, middle or window"},
	{"compaction", "compaction_trigger_tokens", "history size that starts a compaction, in tokens"},
	{"compaction", "verbatim_window_tokens", "newest part of the history to keep verbatim, in tokens"},
	{"compaction", "summary_budget_tokens", "longest summary, in tokens; 0: middle and window make no digest"},
	{"compaction", "min_verbatim_exchanges", "minimum number of exchanges to keep verbatim"},
	{"compaction", "min_confidence", "minimum confidence in a topic boundary, 0 to 1"},
	{"compaction", "summary_threshold", "number of steps since the last summary that starts a summary"},
	{"compaction", "max_steps", "maximum number of steps if summaries are off; above it, a due compaction does not wait for growth"},
	{"compaction", "keep_first", "number of initial steps to keep"},
	{"compaction", "keep_last", "number of final steps to keep"},
	{"compaction", "raw_window_size", "number of iterations to keep verbatim"},
	{"compaction", "summarize_every", "number of iterations between complete rewrites of the summary"},
	{"compaction", "max_summary_tokens", "longest running summary, in tokens"},
}

func (k knob) flag() string { return strings.ReplaceAll(k.name, "_", "-") }

func (k knob) env(profile string) string {
	return setting{dotted: k.in(profile, "", "").dotted()}.env()
}

// in returns the knob's override of a profile.
func (k knob) in(profile, text, source string) Override {
	return Override{Profile: profile, Path: []string{k.section, k.name}, Value: scalar(text), Origin: Origin{Source: source}}
}

// scalar returns text as the boolean or decimal number that it is, else as text.
func scalar(text string) any {
	if text == "true" || text == "false" {
		return text == "true"
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
		return f
	}
	return text
}
