package config

import "strings"

// knob is a number or word of a profile that has a flag of its own.
type knob struct{ section, name, doc string }

// knobs are set in the chosen profile by their flag, and in any profile by the environment.
var knobs = []knob{
	{"budget", "context_window", "context window, in tokens; smaller than the model's own"},
	{"budget", "reserved_output", "tokens kept free for the answer"},
	{"compaction", "strategy", "topic, rolling, prune, middle or window"},
	{"compaction", "compaction_trigger_tokens", "size of the history that starts a compaction, in tokens"},
	{"compaction", "verbatim_window_tokens", "newest part of the history that stays word for word, in tokens"},
	{"compaction", "summary_budget_tokens", "longest summary, in tokens"},
	{"compaction", "min_verbatim_exchanges", "exchanges that stay word for word in any case"},
	{"compaction", "min_confidence", "how sure a topic boundary must be, 0 to 1"},
	{"compaction", "summary_threshold", "steps without a summary that start one"},
	{"compaction", "max_steps", "most steps where summaries are off"},
	{"compaction", "keep_first", "first steps that are kept"},
	{"compaction", "keep_last", "last steps that are kept"},
	{"compaction", "raw_window_size", "iterations that stay raw"},
	{"compaction", "summarize_every", "iterations between whole new summaries"},
	{"compaction", "max_summary_tokens", "longest running summary, in tokens"},
}

// in gives the knob's path in the configuration.
func (k knob) in(profile string) []string { return []string{"profiles", profile, k.section, k.name} }

func (k knob) flag() string { return strings.ReplaceAll(k.name, "_", "-") }

func (l *loader) setKnob(profile string, k knob, text string, from Origin) {
	o := Override{Path: []string{k.section, k.name}, Value: wordOrNumber(text), Origin: from}
	l.Profiles[profile] = override(l.Profiles[profile], o)
}

func wordOrNumber(text string) any {
	switch text {
	case "true":
		return true
	case "false":
		return false
	}
	if n, err := plainNumber(text); err == nil {
		return n
	}
	return text
}
