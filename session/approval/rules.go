package approval

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"strata/internal/clip"
	"strata/internal/lazy"
)

// CommandTool is the tool whose rules can name a command.
const CommandTool = "run_command"

// The bounds of rules.
const (
	MaxRules = 200      // in a list
	MaxRule  = 4 << 10  // bytes of a rule's text
	MaxBytes = 32 << 10 // of the texts of a session's rules
)

// Rule names calls: those of a tool, or those that run certain commands. It is comparable. As text it is one of
//
//	edit_file                     calls of the tool
//	run_command(go test ./...)    this command line
//	run_command("go test *")      this command line, quoted as in Go: needed at the end " *", for line breaks, and the like
//	run_command(go test *)        command lines that begin with these words
//
// A rule that allows needs two words before the star, the program and its first argument, and covers simple commands only.
type Rule struct {
	tool   string
	line   string // empty: calls of the tool
	begins bool   // the line is the words with which command lines begin, separated by a blank each
}

// Rules are a list of rules with at most MaxRules.
type Rules []Rule

// Tool returns the name of the tool.
func (r Rule) Tool() string { return r.tool }

// Command returns the command line, or the words with which command lines begin and " *". It is empty for a rule of a tool.
func (r Rule) Command() string {
	if r.begins {
		return r.line + " *"
	}
	return r.line
}

// ParseAllow parses the text of a rule that allows. It refuses one that would allow commands that it does not name. The error
// names the rule.
func ParseAllow(text string) (Rule, error) {
	rule, err := parse(text)
	if err == nil {
		err = rule.checkAllow()
	}
	if err != nil {
		return Rule{}, ruleError(text, err)
	}
	return rule, nil
}

// ParseDeny parses the text of a rule that denies. The error names the rule.
func ParseDeny(text string) (Rule, error) {
	rule, err := parse(text)
	if err != nil {
		return Rule{}, ruleError(text, err)
	}
	return rule, nil
}

// ParseRules parses a list with ParseAllow or ParseDeny.
func ParseRules(texts []string, one func(text string) (Rule, error)) (rules Rules, err error) {
	if len(texts) > MaxRules {
		return nil, fmt.Errorf("%d rules exceeds the limit of %d", len(texts), MaxRules)
	}
	for _, text := range texts {
		rule, err := one(text)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	return rules, nil
}

// RestoreRules parses the stored texts of rules that allow. It drops those that cannot be read and those beyond the bounds of
// a session's rules, and returns an error for each.
func RestoreRules(texts []string) (rules Rules, dropped []error) {
	for _, text := range texts {
		rule, err := ParseAllow(text)
		switch {
		case err != nil:
			dropped = append(dropped, err)
		case !rules.HasRoomFor(rule):
			dropped = append(dropped, ruleError(text, errors.New("the session has too many rules")))
		default:
			rules = rules.With(rule)
		}
	}
	return rules, dropped
}

// Texts returns the texts of the rules, in their order. It is nil for no rules.
func (r Rules) Texts() (texts []string) {
	for _, rule := range r {
		texts = append(texts, rule.String())
	}
	return texts
}

func ruleError(text string, err error) error {
	return fmt.Errorf("rule %q: %w", clip.Name(text), err)
}

// toolName is a name that a tool can have.
var toolName = lazy.Regexp(`^[A-Za-z0-9_-]{1,64}$`)

func parse(text string) (Rule, error) {
	rule, err := parseText(text)
	if size := max(len(text), len(rule.String())); size > MaxRule {
		return Rule{}, fmt.Errorf("%d bytes exceeds the limit of %d", size, MaxRule)
	}
	return rule, err
}

func parseText(text string) (Rule, error) {
	tool, line, hasLine := strings.Cut(text, "(")
	switch {
	case !toolName().MatchString(tool):
		return Rule{}, errors.New("it must begin with the name of a tool")
	case !hasLine:
		return Rule{tool: tool}, nil
	case tool != CommandTool:
		return Rule{}, fmt.Errorf("only %s has a command", CommandTool)
	}
	line, closed := strings.CutSuffix(line, ")")
	switch {
	case !closed:
		return Rule{}, errors.New("the command must end with )")
	case strings.TrimSpace(line) == "":
		return Rule{}, errors.New("the command is empty")
	}
	return parseLine(line)
}

// parseLine parses what a rule has in its parentheses.
func parseLine(line string) (Rule, error) {
	if strings.HasPrefix(line, `"`) {
		quoted, err := strconv.Unquote(line)
		if err != nil || quoted == "" {
			return Rule{}, errors.New("a command that begins with a quotation mark must be quoted as a whole, with \\\" for one in it")
		}
		return Rule{tool: CommandTool, line: quoted}, nil
	}
	beginning, begins := strings.CutSuffix(line, " *")
	switch {
	case !begins && !isPlain(line):
		return Rule{}, errors.New("a command with other than printable characters, or with blanks around it, must be quoted")
	case !begins:
		return Rule{tool: CommandTool, line: line}, nil
	case beginning == "", beginning != strings.Join(words(beginning), " "):
		return Rule{}, errors.New("before * there must be words of a simple command, with a blank between them; quote a command that ends with *")
	}
	return Rule{tool: CommandTool, line: beginning, begins: true}, nil
}

// isPlain reports whether a command line can be written in a rule without quotes.
func isPlain(line string) bool {
	return line != "" && strings.TrimSpace(line) == line && !strings.HasPrefix(line, `"`) && !strings.HasSuffix(line, " *") &&
		!strings.ContainsFunc(line, func(r rune) bool { return !strconv.IsPrint(r) || r == '\ufffd' })
}

// String returns the text of the rule, which the parsers read.
func (r Rule) String() string {
	switch {
	case r.line == "":
		return r.tool
	case r.begins:
		return r.tool + "(" + r.line + " *)"
	case isPlain(r.line):
		return r.tool + "(" + r.line + ")"
	}
	return r.tool + "(" + strconv.Quote(r.line) + ")"
}

// shown returns the rule as a phrase has it.
func (r Rule) shown() string { return clip.Name(r.String()) }

// HasRoomFor reports whether a rule is in a session's list, or can be added within MaxRules and MaxBytes.
func (r Rules) HasRoomFor(rule Rule) bool {
	bytes := len(rule.String())
	for _, other := range r {
		bytes += len(other.String())
	}
	return slices.Contains(r, rule) || len(r) < MaxRules && bytes <= MaxBytes
}

// With returns a session's list with a rule. It returns the same list if the rule is in it, or if there is no room for it.
func (r Rules) With(rule Rule) Rules {
	if slices.Contains(r, rule) || !r.HasRoomFor(rule) {
		return r
	}
	return append(slices.Clip(r), rule)
}

// Without returns the list without a rule.
func (r Rules) Without(rule Rule) Rules {
	return slices.DeleteFunc(slices.Clone(r), func(other Rule) bool { return other == rule })
}

// allowing returns the first rule that allows a call.
func (r Rules) allowing(c *Call) (Rule, bool) {
	return r.first(func(rule Rule) bool { return rule.allows(c) })
}

// denying returns the first rule that denies a call.
func (r Rules) denying(c *Call) (Rule, bool) {
	return r.first(func(rule Rule) bool { return rule.denies(c) })
}

func (r Rules) first(is func(Rule) bool) (Rule, bool) {
	if at := slices.IndexFunc(r, is); at >= 0 {
		return r[at], true
	}
	return Rule{}, false
}

// checkAllow returns why a rule must not allow, nil if it may.
func (r Rule) checkAllow() error {
	switch {
	case r.line == "" && r.tool == CommandTool:
		return fmt.Errorf("it would allow all commands; name one, as in %s(go test *)", CommandTool)
	case r.begins:
		return checkBeginning(r.line)
	}
	return nil
}

// allows reports whether the rule allows a call, also if it is one that ParseAllow would refuse.
func (r Rule) allows(c *Call) bool {
	switch {
	case r.tool != c.Tool:
		return false
	case c.Effect != RunsCommand:
		return r.line == ""
	case r.begins:
		line, ok := beginning(c.Command)
		return ok && line == r.line
	}
	return r.line != "" && r.line == c.Command
}

// denies reports whether the rule denies a call. A rule for commands denies each line that contains its words, with any quotes, after
// any operator, and with options between the words, so it denies more than its own text. It cannot deny a command that a line
// composes while it runs.
func (r Rule) denies(c *Call) bool {
	switch {
	case r.tool != c.Tool:
		return false
	case r.line == "":
		return true
	}
	return c.Effect == RunsCommand && (r.line == c.Command || hasWords(c.Command, r.line))
}
