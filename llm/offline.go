package llm

import (
	"context"
	"strings"
	"time"

	"strata/history"
	"strata/llm/actor"
	"strata/llm/digest"
	"strata/llm/reply"
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
		res.Attempts, res.Received = attempt.Number, err == nil || attempt.Answer.Started() || ctx.Err() != nil
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
	lines := digest.Lines(contentsOf(req))
	for _, line := range lines {
		if err := c.pause(ctx, gap); err != nil {
			out := failure(ctx, provider, "", err)
			out.Partial = a.Shown
			res := model.result(a, false)
			res.Attempts, res.Received = 1, true
			return res, out
		}
		a.Say(line) // far below the bounds of an answer
		length += len(line)
	}
	a.Finish()
	res := model.result(a, true)
	res.Attempts, res.Received = 1, true
	res.Usage = history.Usage{Input: roughTokens(req), Output: rough(length)}
	return res, nil
}

func (c *Client) pause(ctx context.Context, gap time.Duration) error {
	if gap <= 0 {
		return ctx.Err()
	}
	return c.sleep(ctx, gap)
}

// contentsOf counts what a request contains.
func contentsOf(req Request) digest.Contents {
	out := digest.Contents{Tools: len(req.Tools), Tokens: roughTokens(req), Messages: map[history.Role]int{}}
	for _, e := range req.Entries {
		switch e.Kind {
		case EntrySystem:
			out.System++
		case EntryContext:
			out.Context++
		default:
			out.Messages[e.Role]++
		}
	}
	if i := runningTurn(req.Entries); i >= 0 {
		m := history.Message{Blocks: req.Entries[i].Blocks}
		out.Prompt = strings.ToValidUTF8(m.PlainText(), "\uFFFD")
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
