package server

import (
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/session/profile"
)

// busy is a server whose sessions send prompts without pause while its summarizer is slow.
type busy struct {
	*testServer
	scribe *scribe
	gate   chan struct{} // holds summaries
	e      *testclient.Editor
}

func newBusy(t *testing.T) *busy {
	ts, s := startCompacting(t, 200_000, upstream.Options{}, withCompaction(t, func(p *profile.Profile) {
		p.Compaction.TriggerTokens, p.Compaction.VerbatimWindowTokens = 1500, 400
	}))
	b := &busy{testServer: ts, scribe: s, e: ts.editor()}
	s.others = func(req *upstream.Request) upstream.Script {
		asked, _, _ := strings.Cut(req.LastText(), ":")
		return upstream.Script{Steps: upstream.Texts("The answer to ", asked, " is "+strings.Repeat("that it works so. ", 20)+asked)}
	}
	b.hold()
	return b
}

// hold makes summaries wait until release. Their text depends only on the summarized messages.
func (b *busy) hold() {
	gate := make(chan struct{})
	b.gate = gate
	b.scribe.does(func(req *upstream.Request) upstream.Script {
		sum := fnv.New64a()
		for _, m := range req.Messages {
			fmt.Fprintln(sum, m.Text())
		}
		return upstream.Script{Steps: []upstream.Step{upstream.Hold(gate), upstream.Text(fmt.Sprintf("Summary %x of what was said.", sum.Sum64()))}}
	})
}

// release lets the summaries continue and waits until all work is done.
func (b *busy) release() {
	close(b.gate)
	b.settle(b.e)
	b.hold()
}

// prompts sends prompts in a session one after the other, without a pause.
func (b *busy) prompts(sid string, session, from, to int) error {
	for i := from; i < to; i++ {
		asked := fmt.Sprintf("question %d of session %d", i, session)
		reply, err := b.e.Prompt(sid, asked+": "+strings.Repeat("how does it work? ", 20))
		if err != nil {
			return fmt.Errorf("%s: %w", asked, err)
		}
		if !strings.HasPrefix(reply.Said(), "The answer to "+asked) {
			return fmt.Errorf("the reply to %s was %q", asked, reply.Said())
		}
	}
	return nil
}

// 20 sessions send prompts without pause while compactions wait for a slow summarizer: no prompt waits or is lost, and
// each session's final view equals that of a session that runs alone.
func TestPromptsInManySessionsWhileTheSummarizerIsSlow(t *testing.T) {
	t.Parallel()
	const sessions, rounds, perRound = 20, 2, 10 // a compaction is due after seven of ten prompts
	all := newBusy(t)
	var ids []string
	for range sessions {
		ids = append(ids, all.e.NewSession(all.work))
	}
	for round := range rounds {
		asked := all.scribe.times()
		var talking sync.WaitGroup
		for i, sid := range ids {
			talking.Go(func() {
				if err := all.prompts(sid, i, round*perRound, (round+1)*perRound); err != nil {
					t.Error(err)
				}
			})
		}
		talking.Wait() // all get a reply while the gate is closed
		if t.Failed() {
			close(all.gate)
			return
		}
		if running, queued := all.server.pool.Load(); running != 2 || running+queued != sessions {
			t.Errorf("round %d: %d compactions run and %d wait", round, running, queued)
		}
		all.release()
		if n := all.scribe.times() - asked; n < sessions {
			t.Errorf("round %d: %d summaries were made", round, n)
		}
	}

	alone := newBusy(t)
	for i, sid := range ids {
		reference := alone.e.NewSession(alone.work)
		for round := range rounds {
			if err := alone.prompts(reference, i, round*perRound, (round+1)*perRound); err != nil {
				t.Fatal(err)
			}
			alone.release()
		}
		want, got := alone.stored(reference), all.stored(sid)
		if len(got.Heads) != 2*rounds*perRound || len(got.Edits) != rounds {
			t.Fatalf("session %d has %d messages and %d edits", i, len(got.Heads), len(got.Edits))
		}
		if d := cmp.Diff(alone.viewed(reference, history.NewLog(want.Heads, want.Edits)), all.viewed(sid, history.NewLog(got.Heads, got.Edits))); d != "" {
			t.Errorf("session %d (-alone +with others): %s", i, d)
		}
	}
}
