package actor

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"strata/history"
	"strata/internal/clip"
)

// Limits of a script.
const (
	maxCommands    = 10_000
	maxScriptWait  = time.Minute // of one wait
	maxUnknownLine = 80          // bytes that are quoted of a line that is no command
	maxFailures    = 100         // failed attempts of one command
)

// stepEnd is the line that separates two steps of a script.
const stepEnd = "---"

// script is what a prompt tells the actor to do, by steps.
type script [][]command

// command is a command of a script. It returns the error with which the model call fails.
type command func(*performance) error

// verb is a kind of command. parse returns the command for the rest of its line.
type verb struct {
	name, example string
	parse         func(rest string) (command, error)
}

// verbs are the commands of the language that docs/actor.md describes.
var verbs = []verb{
	{"say", "say TEXT", parseSay},
	{"think", "think TEXT", parseThink},
	{"call", "call TOOL {json}", parseCall},
	{"wait", "wait 200ms", parseWait},
	{"fail", "fail 429", parseFail},
	{"usage", "usage IN OUT", parseUsage},
}

// parseScript reads a prompt. complaint is a sentence about the first line that is no command; empty for none.
func parseScript(prompt string) (steps script, complaint string) {
	steps = script{nil}
	commands, n := 0, 0
	for line := range strings.Lines(prompt) {
		n++
		line = strings.TrimLeft(strings.TrimRight(line, "\r\n"), " \t")
		switch strings.TrimRight(line, " \t") {
		case "":
			continue
		case stepEnd:
			steps = append(steps, nil)
			continue
		}
		do, err := parseCommand(line)
		if commands++; err == nil && commands > maxCommands {
			err = fmt.Errorf("a prompt has at most %d commands", maxCommands)
		}
		if err != nil {
			return nil, fmt.Sprintf("Line %d was not understood, %q: %s; %s.", n, clip.Bytes(line, maxUnknownLine), err, commandList())
		}
		last := len(steps) - 1
		steps[last] = append(steps[last], do)
	}
	if commands == 0 {
		return nil, fmt.Sprintf("Line 1 was not understood: the prompt has no command; %s.", commandList())
	}
	return steps, ""
}

func parseCommand(line string) (command, error) {
	name, rest := line, ""
	if i := strings.IndexAny(line, " \t"); i >= 0 {
		name, rest = line[:i], line[i+1:]
	}
	for _, v := range verbs {
		if v.name == name {
			return v.parse(rest)
		}
	}
	return nil, errors.New("no such command")
}

// commandList lists the commands in half a sentence.
func commandList() string {
	var all []string
	for _, v := range verbs {
		all = append(all, v.example)
	}
	return "the commands are " + strings.Join(all, ", ") + ", and a line " + stepEnd + " between two steps"
}

func parseSay(text string) (command, error) {
	return func(p *performance) error { return p.prose("say", text, p.Answer.Say) }, nil
}

func parseThink(text string) (command, error) {
	return func(p *performance) error { return p.prose("think", text, p.Answer.Think) }, nil
}

func parseCall(rest string) (command, error) {
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return nil, errors.New("the tool has no name")
	}
	tool := fields[0]
	_, args, _ := strings.Cut(rest, tool)
	return func(p *performance) error { return p.call(tool, strings.TrimSpace(args)) }, nil
}

func parseWait(rest string) (command, error) {
	d, err := time.ParseDuration(strings.TrimSpace(rest))
	if err != nil || d < 0 || d > maxScriptWait {
		return nil, fmt.Errorf("a wait is a time such as 200ms or 2s, at most %.0fs", maxScriptWait.Seconds())
	}
	return func(p *performance) error { return p.Sleep(d) }, nil
}

// parseFail reads an HTTP status and, optionally, the number of attempts that fail with it; by default all do.
func parseFail(rest string) (command, error) {
	fields := strings.Fields(rest)
	if len(fields) == 1 {
		fields = append(fields, strconv.Itoa(maxFailures))
	}
	numbers, err := parseNumbers(fields, 2)
	if err != nil || numbers[0] < 400 || numbers[0] > 599 || numbers[1] < 1 || numbers[1] > maxFailures {
		return nil, fmt.Errorf("a failure is an HTTP status from 400 to 599, optionally followed by the number of attempts that fail, at most %d", maxFailures)
	}
	return func(p *performance) error { return p.fail(numbers[0], numbers[1]) }, nil
}

func parseUsage(rest string) (command, error) {
	numbers, err := parseNumbers(strings.Fields(rest), 2)
	if err != nil {
		return nil, fmt.Errorf("a usage is two numbers of tokens, each at most %d", history.MaxTokens)
	}
	usage := history.Usage{Input: numbers[0], Output: numbers[1]}
	return func(p *performance) error { p.Answer.Report(usage); return nil }, nil
}

// parseNumbers reads n numbers from 0 to history.MaxTokens.
func parseNumbers(fields []string, n int) (out []int, err error) {
	if len(fields) != n {
		return nil, errors.New("another number of words")
	}
	for _, field := range fields {
		number, err := strconv.Atoi(field)
		if err != nil || number < 0 || number > history.MaxTokens {
			return nil, errors.New("no number in range")
		}
		out = append(out, number)
	}
	return out, nil
}
