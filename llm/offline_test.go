package llm

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"strata/history"
	"strata/llm/reply"
)

func offlineClient(t *testing.T, gap time.Duration) *Client {
	t.Helper()
	c, err := New(Options{Providers: map[string]ProviderConfig{"offline": {Kind: Offline, DeltaGap: gap}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestOfflineDigest(t *testing.T) {
	req := Request{Model: "offline/digest", Entries: []Entry{
		{Kind: EntrySystem, Blocks: []history.Block{text("You are careful.")}},
		note("a file"), user("first"), assistant("an answer"), user("What is this?\nSay it."),
	}}
	want := `This is the offline digest: no language model is asked.
The request holds:
- 0 tools
- 1 system entry
- 1 context entry
- 2 user messages
- 1 assistant message
- 0 tool messages
- about 15 tokens in all

The last prompt:
> What is this?
> Say it.
`
	var rec recorder
	res, err := offlineClient(t, 0).Stream(t.Context(), req, rec.on)
	if err != nil || rec.text() != want || answerText(res) != want || res.StopReason != reply.StopEndTurn || res.UsageReported || res.Cost != 0 {
		t.Errorf("error %v, result %+v, shown\n%s", err, res, rec.text())
	}
	if res.Usage.Input != 15 || res.Usage.Output == 0 {
		t.Errorf("usage %+v", res.Usage)
	}
}

func TestOfflineCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := offlineClient(t, 5*time.Millisecond)
		start := time.Now()
		var rec recorder
		_, err := c.Stream(t.Context(), Request{Model: "offline/digest", Entries: []Entry{user("Count slowly from 1 to 400, one number per line.")}}, rec.on)
		if err != nil || !strings.HasSuffix(rec.text(), "\n399\n400\n") || time.Since(start) < 2*time.Second {
			t.Errorf("error %v, took %v, shown %q", err, time.Since(start), rec.text())
		}
	})
}

func TestOfflineCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	res, err := offlineClient(t, time.Millisecond).Stream(ctx, Request{Model: "offline/digest", Entries: []Entry{user("count to 9999")}}, func(reply.Event) {
		if seen++; seen == 5 {
			cancel()
		}
	})
	if e := failureOf(t, err); e.Kind != KindCancelled || !e.Partial || !errors.Is(err, context.Canceled) || seen != 5 || answerText(res) == "" {
		t.Errorf("error %+v after %d deltas", e, seen)
	}
}
