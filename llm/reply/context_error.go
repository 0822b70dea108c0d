package reply

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"strata/internal/lazy"
)

// Providers refuse a request that is longer than the model's context in words of their own, most of them with the
// numbers. The patterns below are those of the servers named.

// contextWords match an error that says that a request is too long for the model.
var contextWords = lazy.Regexp(`(?i)` + strings.Join([]string{
	`maximum context length`, // OpenAI, vLLM, DeepSeek, OpenRouter
	`prompt is too long`,     // Anthropic
	`exceeds? (the |your )?(available |maximum |model'?s? )*context`, // llama.cpp, Anthropic
	`context (length|window|size) (is |was |has been )?exceeded`,
	`(exceed|larger than|greater than|longer than|overflow)\w* .{0,40}context (length|window|size|limit)`, // LM Studio
	`context the overflows`,                                                // LM Studio
	`input (is |was )?too long`,                                            // Bedrock, Fireworks
	`token count .{0,30}exceeds the (maximum|limit)`,                       // Gemini, Copilot
	`maximum prompt length`,                                                // xAI
	`exceeds the max_model_len`,                                            // vLLM
	`tokens? \+ .?max_new_tokens.? must be <=`,                             // TGI
	`exceeded model token limit`,                                           // Moonshot
	`range of input length should be`,                                      // DashScope
	`(reduce|shorten) (the length of )?(the|your) (messages|prompt|input)`, // Groq
	`too large for model with \d+ maximum context`,                         // Mistral
	`too many tokens.{0,40}(context|max)`,
	`prompt too long`,
}, "|"))

// exceedsContext reports whether f, with its HTTP status, says that the request is longer than the model's context.
func (f *Failure) exceedsContext(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusInternalServerError:
	default:
		return false
	}
	switch f.kind {
	case "context_length_exceeded", "exceed_context_size_error", "context_window_exceeded", "model_context_window_exceeded":
		return true
	}
	return contextWords().MatchString(f.Message)
}

// contextNumbers find the limit and the size of the request in the words of an error.
var contextNumbers = []func() *regexp.Regexp{
	lazy.Regexp(`(?i)\((?P<counted>\d+) in the messages`),
	lazy.Regexp(`(?i)maximum context length (?:is|of) (?P<limit>\d+)`),
	lazy.Regexp(`(?i)(?:resulted in|requested(?: about)?|contains(?: at least)?|has) (?P<counted>\d+) (?:input )?tokens`),
	lazy.Regexp(`(?i)(?P<counted>\d+) tokens? > (?P<limit>\d+)`),
	lazy.Regexp(`(?i)context limit: (?P<counted>\d+) \+ \d+ > (?P<limit>\d+)`),
	lazy.Regexp(`(?i)must be <= (?P<limit>\d+)\. Given: (?P<counted>\d+)`),
	lazy.Regexp(`(?i)token count (?:of )?\(?(?P<counted>\d+)\)? exceeds the[^0-9]{0,60}(?P<limit>\d+)`),
	lazy.Regexp(`(?i)maximum prompt length is (?P<limit>\d+)`),
	lazy.Regexp(`(?i)(?:prompt length|prompt \(|length) ?\(?(?P<counted>\d+)[^0-9]{0,40}exceeds? the max_model_len ?\(?(?P<limit>\d+)`),
	lazy.Regexp(`(?i)request \((?P<counted>\d+) tokens\) exceeds`),
	lazy.Regexp(`(?i)keep the first (?P<counted>\d+) tokens`),
	lazy.Regexp(`(?i)prompt contains (?P<counted>\d+) tokens.*model with (?P<limit>\d+) maximum`),
	lazy.Regexp(`(?i)context (?:length|window|size|limit)[^0-9]{0,40}(?P<limit>\d+)`),
	lazy.Regexp(`(?i)token limit:? ?(?P<limit>\d+)`),
	lazy.Regexp(`(?i)input length should be \[\d+, ?(?P<limit>\d+)\]`),
	lazy.Regexp(`(?i)(?:limit|maximum|max)[^0-9]{0,30}?(?P<limit>\d+)`),
}

// Bounds of a context length that can be believed, in tokens.
const (
	minContext = 256
	maxContext = 100_000_000
)

var digitGroups = lazy.Regexp(`(\d)[,_](\d{3})(\D|$)`)

// readLimits takes the numbers of a context-length error from its words, where they are not members of their own.
func (f *Failure) readLimits() {
	text := f.Message
	for digitGroups().MatchString(text) {
		text = digitGroups().ReplaceAllString(text, "$1$2$3")
	}
	take := func(target *int, digits string) {
		if n, err := strconv.Atoi(digits); err == nil && *target == 0 {
			*target = n
		}
	}
	for _, expression := range contextNumbers {
		pattern := expression()
		m := pattern.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		for i, name := range pattern.SubexpNames() {
			switch name {
			case "limit":
				take(&f.Limit, m[i])
			case "counted":
				take(&f.Counted, m[i])
			}
		}
	}
	if f.Limit < minContext || f.Limit > maxContext {
		f.Limit = 0
	}
	if f.Counted < minContext || f.Counted > maxContext {
		f.Counted = 0
	}
}
