package llm

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"strata/history"
	"strata/internal/lazy"
	"strata/llm/actor"
	"strata/llm/reply"
)

// Limits of an offline answer.
const (
	maxQuoted = 200    // lines of the prompt
	maxCount  = 10_000 // numbers
)

// streamOffline replies without a network. It is deterministic. Summaries and topics need words that the actor does not
// have, so they get the digest.
func (c *Client) streamOffline(ctx context.Context, req Request, on func(reply.Event)) (reply.Result, error) {
	_, id, _ := strings.Cut(req.Model, "/")
	if id == actorID && req.Purpose != history.PurposeDetection && req.Purpose != history.PurposeSummary {
		return c.streamActor(ctx, req, on)
	}
	return c.streamDigest(ctx, req, on)
}

// streamActor replies with the step of the newest prompt that is next. Failures are retried like those of a provider.
func (c *Client) streamActor(ctx context.Context, req Request, on func(reply.Event)) (reply.Result, error) {
	config := c.providers[providerOf(req.Model)]
	model, _ := c.Model(req.Model)
	step := nextStep(req.Entries)
	attempt := actor.Attempt{Gap: config.DeltaGap, Sleep: func(d time.Duration) error { return c.pause(ctx, d) }}
	var res reply.Result
	rules := retries{statuses: config.retryStatuses(), sleep: c.sleep, jitter: c.jitter}
	failed := rules.run(ctx, on, func() *Error {
		attempt.Number++
		attempt.Answer = &reply.Answer{On: on, Tools: len(req.Tools) > 0, NewID: c.newCallID}
		err := step.Do(attempt)
		res = model.result(attempt.Answer, err == nil)
		if err == nil {
			return nil
		}
		out := failure(ctx, model.Provider, "", err)
		out.Partial = attempt.Answer.Shown
		return out
	})
	if failed != nil {
		return res, failed
	}
	if !res.UsageReported {
		res.Usage = history.Usage{Input: roughTokens(req), Output: rough(sizeOf(res.Blocks))}
	}
	return res, nil
}

// nextStep returns the next step of the running turn.
func nextStep(entries []Entry) actor.Step {
	var prompt []history.Block
	running := runningTurn(entries)
	if running >= 0 {
		prompt = entries[running].Blocks
	}
	var after [][]history.Block
	for _, e := range entries[running+1:] {
		after = append(after, e.Blocks)
	}
	return actor.Next(prompt, after)
}

// sizeOf returns the bytes of a reply.
func sizeOf(blocks []history.Block) (n int) {
	for i := range blocks {
		n += len(blocks[i].Text) + len(blocks[i].Name) + len(blocks[i].Args)
	}
	return n
}

// streamDigest replies with a digest of the request, one line a delta.
func (c *Client) streamDigest(ctx context.Context, req Request, on func(reply.Event)) (reply.Result, error) {
	provider, id, _ := strings.Cut(req.Model, "/")
	gap := c.providers[provider].DeltaGap
	model := offlineModel(provider, id)
	a := &reply.Answer{On: on}
	length := 0
	lines := digest(req)
	for _, line := range lines {
		if err := c.pause(ctx, gap); err != nil {
			out := failure(ctx, provider, "", err)
			out.Partial = a.Shown
			return model.result(a, false), out
		}
		a.Say(line) // far below the bounds of an answer
		length += len(line)
	}
	a.Finish()
	res := model.result(a, true)
	res.Usage = history.Usage{Input: roughTokens(req), Output: rough(length)}
	return res, nil
}

func (c *Client) pause(ctx context.Context, gap time.Duration) error {
	if gap <= 0 {
		return ctx.Err()
	}
	return c.sleep(ctx, gap)
}

// digest says what a request holds, quotes the last prompt, and counts if that asks to count.
func digest(req Request) []string {
	prompt := lastPrompt(req)
	lines := []string{
		"This is the offline digest: no language model is asked.\n",
		"The request holds:\n",
	}
	for _, s := range summary(req) {
		lines = append(lines, "- "+s+"\n")
	}
	lines = append(lines, fmt.Sprintf("- about %d tokens in all\n", roughTokens(req)))
	if prompt != "" {
		lines = append(lines, "\nThe last prompt:\n")
		lines = append(lines, quoted(prompt)...)
	}
	return append(lines, counted(prompt)...)
}

func summary(req Request) []string {
	var system, context int
	roles := map[history.Role]int{}
	for _, e := range req.Entries {
		switch e.Kind {
		case EntrySystem:
			system++
		case EntryContext:
			context++
		default:
			roles[e.Role]++
		}
	}
	return []string{
		plural(len(req.Tools), "tool"),
		plural(system, "system entry"),
		plural(context, "context entry"),
		plural(roles[history.RoleUser], "user message"),
		plural(roles[history.RoleAssistant], "assistant message"),
		plural(roles[history.RoleTool], "tool message"),
	}
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if stem, ok := strings.CutSuffix(thing, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func lastPrompt(req Request) string {
	for i := len(req.Entries) - 1; i >= 0; i-- {
		if e := req.Entries[i]; e.Kind == EntryMessage && e.Role == history.RoleUser {
			m := history.Message{Blocks: e.Blocks}
			return strings.ToValidUTF8(m.PlainText(), "\uFFFD")
		}
	}
	return ""
}

func quoted(prompt string) []string {
	var out []string
	for line := range strings.Lines(prompt) {
		if len(out) == maxQuoted {
			return append(out, "> […]\n")
		}
		out = append(out, "> "+strings.TrimRight(line, "\r\n")+"\n")
	}
	return out
}

var countRequest = lazy.Regexp(`(?is)\bcount\b.{0,80}?\b(?:from 1 )?to (\d{1,9})\b`)

// counted counts where the prompt asks to count from 1 to a number, so that a long answer, and its end, can be tried.
func counted(prompt string) []string {
	m := countRequest().FindStringSubmatch(prompt)
	if m == nil {
		return nil
	}
	n, _ := strconv.Atoi(m[1])
	out := []string{"\nCounting needs no model:\n"}
	for i := range min(n, maxCount) {
		out = append(out, strconv.Itoa(i+1)+"\n")
	}
	return out
}

// roughTokens takes four bytes for a token.
func roughTokens(req Request) int {
	bytes := 0
	for _, e := range req.Entries {
		for i := range e.Blocks {
			m := history.Message{Blocks: e.Blocks[i : i+1]}
			bytes += len(m.PlainText()) + len(e.Blocks[i].Args)
		}
	}
	return rough(bytes)
}

func rough(bytes int) int { return (bytes + 3) / 4 }
