package llm

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"strata/internal/lazy"
)

// The names of the output limit in chat completions.
const (
	outputMaxTokens           = "max_tokens"
	outputMaxCompletionTokens = "max_completion_tokens"
)

// dialect is how a model wants its requests. The configuration sets it, refusals of the provider teach the rest.
type dialect struct {
	outputName    string // OpenAI; empty: no limit is sent
	renamed       bool   // the other name was tried
	maxOutput     int    // the most that can be asked for; 0: the model's own
	temperature   bool
	streamOptions bool
	effort        bool // reasoning effort, thinking
	tools         bool
	system        bool // false: the system text stands in the first user message
	cacheTTL      bool // false: marks without a lifetime
	cacheMarks    bool
	thinkingBack  ThinkingBack
	userAfterTool bool // false: a short assistant message stands between a tool result and a user message
	shortIDs      bool // ids of calls have nine letters and digits
}

// dialectOf returns the dialect of a model before anything was learned.
func dialectOf(config ProviderConfig, model Model) dialect {
	d := dialect{
		outputName: outputMaxTokens, temperature: true, streamOptions: true, effort: true, tools: true, system: true,
		cacheTTL: true, cacheMarks: true, thinkingBack: ThinkingNone, userAfterTool: true,
	}
	if config.official() {
		d.outputName = outputMaxCompletionTokens
	}
	if config.Kind == Anthropic {
		d.thinkingBack = ThinkingAlways
	}
	set := model.wants
	d.outputName = cmp.Or(set.OutputName, d.outputName)
	d.thinkingBack = cmp.Or(set.ThinkingBack, d.thinkingBack)
	for _, s := range []struct {
		to   *bool
		from *bool
	}{{&d.temperature, set.Temperature}, {&d.streamOptions, set.StreamOptions}, {&d.effort, set.Effort}, {&d.tools, set.Tools}, {&d.userAfterTool, set.UserAfterTool}} {
		if s.from != nil {
			*s.to = *s.from
		}
	}
	return d
}

// lesson is a change of the dialect that answers a refusal.
type lesson struct {
	words func() *regexp.Regexp // in the provider's message or in the name of the parameter
	name  string                // for the log
	learn func(d *dialect, set ModelConfig) bool
}

// unless returns a lesson that turns a part of a request off, unless the configuration demands it.
func unless(field func(*dialect) *bool, demanded func(ModelConfig) *bool) func(*dialect, ModelConfig) bool {
	return func(d *dialect, set ModelConfig) bool {
		if on := demanded(set); on != nil && *on || !*field(d) {
			return false
		}
		*field(d) = false
		return true
	}
}

func undemanded(ModelConfig) *bool { return nil }

// lessons are tried in this order: a message can hold the words of several.
var lessons = []lesson{
	{lazy.Regexp(`(?i)tool.?call.?id.{0,80}length of 9`), "long ids of calls", func(d *dialect, _ ModelConfig) bool { // Mistral
		changed := !d.shortIDs
		d.shortIDs = true
		return changed
	}},
	{lazy.Regexp(`(?i)unexpected role .?user.? after role .?tool`), "a user message after a tool result", // Mistral
		unless(func(d *dialect) *bool { return &d.userAfterTool }, func(s ModelConfig) *bool { return s.UserAfterTool })},
	{lazy.Regexp(`(?i)reasoning_content.{0,60}(not (allowed|supported|permitted)|forbidden)`), "thinking of earlier replies", learnThinking(ThinkingNone)},
	{lazy.Regexp(`(?i)(missing|must (be passed|include|contain)|require).{0,80}reasoning_content|reasoning_content.{0,80}(missing|must be|required)`),
		"replies without their thinking", learnThinking(ThinkingOfTurn)}, // DeepSeek, Moonshot
	{lazy.Regexp(`(?i)\bstream_options\b`), "stream_options",
		unless(func(d *dialect) *bool { return &d.streamOptions }, func(s ModelConfig) *bool { return s.StreamOptions })},
	{lazy.Regexp(`(?i)\bmax_(completion_)?tokens\b`), "the name of the output limit", learnOutputName},
	{lazy.Regexp(`(?i)\btemperature\b`), "temperature",
		unless(func(d *dialect) *bool { return &d.temperature }, func(s ModelConfig) *bool { return s.Temperature })},
	{lazy.Regexp(`(?i)\breasoning[_. ]?effort\b|\boutput_config\b|\bthinking (is )?not supported|does not support (thinking|reasoning|effort)|\bthinking\.(type|adaptive|enabled|budget_tokens|display)|adaptive thinking`), "reasoning effort",
		unless(func(d *dialect) *bool { return &d.effort }, func(s ModelConfig) *bool { return s.Effort })},
	{lazy.Regexp(`(?i)(not support|unsupported|no endpoints|not available|not enabled|unknown|unrecognized|requires? --).{0,80}\b(tools?|tool.?(use|calls?|calling|choice)|function.?call(s|ing)?)\b|\btools?\b.{0,40}(not supported|unsupported|not permitted|--jinja)`), "tools",
		unless(func(d *dialect) *bool { return &d.tools }, func(s ModelConfig) *bool { return s.Tools })},
	{lazy.Regexp(`(?i)system (role|messages?|prompts?) (is |are )?(not supported|unsupported|not allowed)|(not support|unsupported|unknown|invalid).{0,30}(\bsystem (role|message|instruction|prompt)|role:? .?system)|developer instruction is not enabled`), "a system message", // Gemma
		unless(func(d *dialect) *bool { return &d.system }, undemanded)},
	{lazy.Regexp(`(?i)cache_control\W+(ephemeral\W+)?ttl\b`), "the lifetime of cache marks", unless(func(d *dialect) *bool { return &d.cacheTTL }, undemanded)},
	{lazy.Regexp(`(?i)\bcache_control\b`), "cache marks", unless(func(d *dialect) *bool { return &d.cacheMarks }, undemanded)},
}

func learnThinking(back ThinkingBack) func(*dialect, ModelConfig) bool {
	return func(d *dialect, set ModelConfig) bool {
		if set.ThinkingBack != "" || d.thinkingBack == back {
			return false
		}
		d.thinkingBack = back
		return true
	}
}

// learnOutputName takes the other name of the output limit, then none.
func learnOutputName(d *dialect, set ModelConfig) bool {
	switch {
	case set.OutputName != "" || d.outputName == "":
		return false
	case d.outputName == outputMaxTokens && !d.renamed:
		d.outputName = outputMaxCompletionTokens
	case d.outputName == outputMaxCompletionTokens && !d.renamed:
		d.outputName = outputMaxTokens
	default:
		d.outputName = ""
	}
	d.renamed = true
	return true
}

// refusesParameter reports whether an error with this status can mean that a parameter is refused.
func refusesParameter(e *Error) bool {
	switch e.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusNotImplemented:
		return e.Kind == KindInvalid || e.Kind == KindOverloaded
	}
	return false
}

// after returns the dialect for another attempt after a refusal, and the name of what the provider refused; empty where
// the refusal teaches nothing.
func (d dialect) after(e *Error, kind Kind, set ModelConfig, asked int) (dialect, string) {
	if !refusesParameter(e) {
		return d, ""
	}
	text := e.param + "\n" + e.err.Error()
	if most := outputLimitIn(text, asked); most > 0 && most < asked {
		d.maxOutput = most
		return d, "an output limit of " + strconv.Itoa(asked)
	}
	for _, l := range lessons {
		if kind == Anthropic && strings.HasPrefix(l.name, "the name of") || !l.words().MatchString(text) {
			continue
		}
		if l.learn(&d, set) {
			return d, l.name
		}
	}
	return d, ""
}

var (
	outputWords = lazy.Regexp(`(?i)max(imum)?[_ ](completion_|output_|new_)?tokens`)
	tooLarge    = lazy.Regexp(`(?i)too large|exceed|at most|less than|greater than|larger than|maximum|supports? (only|up to)|between|range|must be|<=|>`)
	thousands   = lazy.Regexp(`(\d)[,_](\d{3})(\D|$)`)
	digits      = lazy.Regexp(`\d+`)
)

// outputLimitIn returns the output limit that a refusal names, in tokens; 0 where it names none. asked is the limit that
// was refused: the largest number below it is the one that the model has.
func outputLimitIn(text string, asked int) int {
	if !outputWords().MatchString(text) || !tooLarge().MatchString(text) {
		return 0
	}
	numbers := digits().FindAllString(thousands().ReplaceAllString(text, "$1$2"), -1)
	if !slices.Contains(numbers, strconv.Itoa(asked)) && !strings.Contains(strings.ToLower(text), "at most") {
		return 0
	}
	most := 0
	for _, number := range numbers {
		if n, err := strconv.Atoi(number); err == nil && n >= minOutput && n < asked {
			most = max(most, n)
		}
	}
	return most
}

// minOutput is the smallest output limit that is believed, in tokens.
const minOutput = 64

// maxOutput returns the output limit of a request, in tokens.
func maxOutput(req Request, model Model, d dialect) int {
	limit := model.MaxOutput
	if req.MaxOutput > 0 {
		limit = req.MaxOutput
	}
	if d.maxOutput > 0 {
		limit = min(limit, d.maxOutput)
	}
	return limit
}
