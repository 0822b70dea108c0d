package crash

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/internal/binary"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/rpc"
)

// shownView is the view of a session.
type shownView struct {
	seq    int64 // newest sequence number of a message or an edit
	ids    []string
	tokens int
}

func (v shownView) same(o shownView) bool { return v.tokens == o.tokens && slices.Equal(v.ids, o.ids) }

func (v shownView) String() string {
	return fmt.Sprintf("%d messages of %d tokens at %d", len(v.ids), v.tokens, v.seq)
}

// viewChange is one change of a view. If the server dies during the change, the view is the one before or one accepted by after.
type viewChange struct {
	name   string
	method string
	params map[string]any
	undone bool // can be undone
	after  func(before, now shownView) bool
}

// editor changes the view of one session until the server dies.
type viewEditor struct {
	*world
	session string
	chance  *rand.Rand
	n       int

	views   map[int64]shownView
	before  shownView   // the current view
	undo    *shownView  // the view before the last change, if that can be undone
	pending *viewChange // sent without a response
	done    map[string]int

	steps chan struct{} // one for each change that was answered and each request to the provider
}

// summarizing delays summaries, so that the server can be killed during a compaction.
const summarizing = "detection_model: local/test\nsummary_model: local/test\n"

func newViewEditor(t *testing.T, seed uint64, opt binary.Options) *viewEditor {
	v := &viewEditor{
		world: newWorld(t, summarizing, opt), chance: rand.New(rand.NewPCG(seed, 3)),
		views: make(map[int64]shownView), done: make(map[string]int), steps: make(chan struct{}, 1000),
	}
	v.teller.Choose(func(req *upstream.Request) upstream.Script {
		v.step()
		steps := upstream.Texts("It was decided ", "to go on ", "with part three ", "of the plan.")
		if strings.Contains(req.Messages[0].Text(), "You determine where the newest topic") {
			steps = upstream.Texts(`{"boundary": null, "confidence": 1}`)
		}
		return upstream.Script{Steps: steps, Gap: 2 * time.Millisecond, Usage: upstream.Usage{Input: 100, Output: 10}}
	})
	return v
}

// step counts for moment; more steps than it can ever wait for are not kept.
func (v *viewEditor) step() {
	select {
	case v.steps <- struct{}{}:
	default:
	}
}

// look returns the view seen by clients.
func (v *viewEditor) look(e *testclient.Editor) (now shownView, err error) {
	for cursor := ""; ; {
		var page struct {
			Messages []struct {
				ID     string
				Seq    int64
				InView bool
			}
			NextCursor string
		}
		if err := e.Call("_strata/history/list", map[string]any{"sessionId": v.session, "limit": 500, "cursor": cursor}, &page); err != nil {
			return now, err
		}
		var ids []string
		for _, m := range page.Messages {
			now.seq = max(now.seq, m.Seq)
			if m.InView {
				ids = append(ids, m.ID)
			}
		}
		now.ids = append(ids, now.ids...)
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	var edits struct{ Edits []struct{ Seq int64 } }
	if err := e.Call("_strata/history/edits", map[string]any{"sessionId": v.session}, &edits); err != nil {
		return now, err
	}
	if n := len(edits.Edits); n > 0 {
		now.seq = max(now.seq, edits.Edits[n-1].Seq)
	}
	var info struct{ HistoryTokens int }
	err = e.Call("_strata/session/info", map[string]any{"sessionId": v.session}, &info)
	now.tokens = info.HistoryTokens
	return now, err
}

// make makes a change and checks the resulting view.
func (v *viewEditor) make(e *testclient.Editor, c viewChange) error {
	v.pending = &c
	params := map[string]any{"sessionId": v.session}
	for name, value := range c.params {
		params[name] = value
	}
	if err := e.Call(c.method, params, nil); err != nil {
		return err
	}
	now, err := v.look(e)
	if err != nil {
		return err
	}
	v.take(c, now)
	v.step()
	return nil
}

// take records a change as done.
func (v *viewEditor) take(c viewChange, now shownView) {
	v.t.Helper()
	if now.seq == v.before.seq && !now.same(v.before) || now.seq > v.before.seq && !c.after(v.before, now) {
		v.t.Errorf("%s made %s of %s", c.name, now, v.before)
	}
	v.undo = nil
	if before := v.before; c.undone && now.seq > before.seq {
		v.undo = &before
	}
	if now.seq > v.before.seq { // a restore of the present view changes nothing
		v.done[c.name]++
	}
	v.pending, v.before, v.views[now.seq] = nil, now, now
}

func (v *viewEditor) talk() viewChange {
	var messages []any
	for range 4 {
		v.n++
		messages = append(messages,
			map[string]any{"role": "user", "content": fmt.Sprintf("Question %d. %s", v.n, strings.Repeat("What of this part? ", 20))},
			map[string]any{"role": "assistant", "content": fmt.Sprintf("Answer %d. %s", v.n, strings.Repeat("It is decided so. ", 20))})
	}
	return viewChange{
		name: "append", method: "_strata/history/append", params: map[string]any{"messages": messages},
		after: func(before, now shownView) bool {
			n := len(before.ids)
			return len(now.ids) == n+len(messages) && slices.Equal(now.ids[:n], before.ids)
		},
	}
}

func (v *viewEditor) replace() viewChange {
	c := v.talk()
	messages := c.params["messages"].([]any)
	c.name, c.method = "replace", "_strata/history/replace"
	c.after = func(_, now shownView) bool { return len(now.ids) == len(messages) }
	return c
}

func (v *viewEditor) clear() viewChange {
	return viewChange{name: "clear", method: "_strata/history/clear", undone: true, after: func(_, now shownView) bool { return len(now.ids) == 0 && now.tokens == 0 }}
}

func (v *viewEditor) compact(strategy string) viewChange {
	return viewChange{
		name: "compact", method: "_strata/history/compact", params: map[string]any{"strategy": strategy}, undone: true,
		after: func(before, now shownView) bool {
			rest := before.ids
			for _, id := range now.ids {
				i := slices.Index(rest, id)
				if i < 0 {
					return false
				}
				rest = rest[i+1:]
			}
			return len(now.ids) > 0 && len(now.ids) < len(before.ids) && now.tokens < before.tokens
		},
	}
}

func (v *viewEditor) restore(seq int64) viewChange {
	want := v.views[seq]
	return viewChange{
		name: "restore", method: "_strata/checkpoint/restore", params: map[string]any{"seq": seq}, undone: true,
		after: func(_, now shownView) bool { return now.same(want) },
	}
}

func (v *viewEditor) takeBack() viewChange {
	want := *v.undo
	return viewChange{name: "undo", method: "_strata/checkpoint/undo", after: func(_, now shownView) bool { return now.same(want) }}
}

// next returns a random change.
func (v *viewEditor) next() viewChange {
	known := make([]int64, 0, len(v.views))
	for seq := range v.views {
		if seq > 0 {
			known = append(known, seq)
		}
	}
	slices.Sort(known)
	switch n := v.chance.IntN(10); {
	case v.undo != nil && n < 5:
		return v.takeBack()
	case n < 3 && len(v.before.ids) > 4:
		return v.compact([]string{"rolling", "middle", "topic", "prune", "window"}[v.chance.IntN(5)])
	case n < 5 && len(known) > 0:
		return v.restore(known[v.chance.IntN(len(known))])
	case n == 8:
		return v.replace()
	case n == 9:
		return v.clear()
	}
	return v.talk()
}

// settle checks the state after a restart of the change during which the server died, and undoes the change if possible.
func (v *viewEditor) settle() *testclient.Editor {
	v.t.Helper()
	e := v.editor()
	now, err := v.look(e)
	if err != nil {
		v.t.Fatal(err)
	}
	if c := v.pending; c != nil {
		applied := now.seq > v.before.seq
		v.outcome(e, c, applied)
		v.take(*c, now)
		if v.undo != nil {
			if err := v.make(e, v.takeBack()); err != nil {
				v.t.Fatal(err)
			}
		}
	}
	v.audit(e, v.session)
	return e
}

// outcome checks the recorded outcome of a compaction during which the server died.
func (v *viewEditor) outcome(e *testclient.Editor, c *viewChange, applied bool) {
	v.t.Helper()
	var status struct {
		Running     bool
		LastOutcome string
	}
	if err := e.Call("_strata/context/compaction", map[string]any{"sessionId": v.session}, &status); err != nil {
		v.t.Fatal(err)
	}
	wrong := status.Running || status.LastOutcome == "running"
	if c.name == "compact" && applied {
		wrong = wrong || status.LastOutcome != "compacted"
	}
	if wrong {
		v.t.Errorf("after a crash during %s (applied: %v) the last compaction is %+v", c.name, applied, status)
	}
	v.done[status.LastOutcome]++
}

// enough is the number of changes of each kind that a test with random kills must see, and of crashes during each kind.
var enough = map[string]int{
	"append": 3, "compact": 3, "restore": 3, "undo": 3, "clear": 3, "replace": 3,
	"death in append": 1, "death in compact": 1, "death in restore": 1, "death in undo": 1,
}

// missing returns the kinds of changes of which too few were seen.
func (v *viewEditor) missing() (names []string) {
	for name, n := range enough {
		if v.done[name] < n {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// moment waits for a random number of steps and a short time, so that it mostly returns during a change.
func (v *viewEditor) moment(chance *rand.Rand, worked <-chan error) {
	v.t.Helper()
	for len(v.steps) > 0 {
		<-v.steps
	}
	for range chance.IntN(10) {
		select {
		case <-v.steps:
		case err := <-worked:
			v.t.Fatalf("the work ended before the kill: %v", err)
		case <-time.After(patience):
			v.t.Fatal("no change was completed")
		}
	}
	<-time.After(randomTime(chance, 20*time.Millisecond))
}

// Whenever a server is killed during compactions, restores and undos, the view is the one before or the one after, and
// completed changes can be undone. The moments are derived from a seed. The test continues until it has seen enough of
// each change.
func TestRandomKillsAroundEditsOfTheView(t *testing.T) { inWorlds(t, randomKillsAroundEdits) }

func randomKillsAroundEdits(t *testing.T, seed uint64, least int) {
	v := newViewEditor(t, seed, binary.Options{})
	e := v.editor()
	v.session = e.NewSession(v.Home.Project)
	const most = 500
	round := 0
	for ; round < least || round < most && len(v.missing()) > 0; round++ {
		worked := make(chan error, 1)
		go func() {
			var err error
			for err == nil {
				err = v.make(e, v.next())
			}
			worked <- err
		}()
		v.moment(rand.New(rand.NewPCG(seed, uint64(100+round))), worked)
		v.Kill()
		if err := within(t, "the end of the connection", worked); fault(err) != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if v.pending != nil {
			v.done["death in "+v.pending.name]++
		}
		v.Restart(binary.Options{})
		e = v.settle()
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	t.Logf("%d kills: %v", round, v.done)
	if missing := v.missing(); len(missing) > 0 {
		t.Errorf("after %d kills, too few of %q: %v", round, missing, v.done)
	}
	v.Stop()
}

// The same at the failpoints around the commits of compactions, restores and undos.
func TestDeathAroundEditsOfTheView(t *testing.T) {
	t.Parallel()
	var specs []string
	for point, hits := range map[string]int{"compaction.before": 4, "compaction.after": 4, "edit.before": 5, "edit.after": 5, rpc.ReplyBefore: 16, rpc.ReplyAfter: 16} {
		for n := range hits {
			specs = append(specs, fmt.Sprintf("%s:%d", point, n+1))
		}
	}
	slices.Sort(specs)
	for _, spec := range specs {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			v := newViewEditor(t, 1, armed(spec))
			if !v.script() {
				t.Fatalf("%s is never reached", spec)
			}
			v.Wait()
			v.Restart(binary.Options{})
			if v.session != "" {
				v.settle()
			}
		})
	}
}

// script makes one change of each kind and reports whether the server died.
func (v *viewEditor) script() (died bool) {
	v.t.Helper()
	e, err := v.connect()
	if err != nil {
		return true
	}
	var made struct{ SessionID string }
	if err := e.Call("session/new", map[string]any{"cwd": v.Home.Project, "mcpServers": []any{}}, &made); err != nil {
		return true
	}
	v.session = made.SessionID
	for _, next := range []func() viewChange{
		v.talk, v.talk,
		func() viewChange { return v.compact("rolling") }, v.takeBack,
		func() viewChange { return v.restore(8) }, v.takeBack,
		v.clear,
		func() viewChange { return v.compact("rolling") }, // has nothing to do, and is recorded after its response
		v.talk,
	} {
		if err := v.make(e, next()); err != nil {
			if fault(err) != nil {
				v.t.Fatal(err)
			}
			return true
		}
	}
	return false
}
