package crash

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"strata/history"
	"strata/internal/binary"
	"strata/internal/testclient"
	"strata/internal/upstream"
)

// A server that is killed during a reply keeps all completed turns, the prompt and the start of the reply.
func TestK4_01_FinishedTurnsSurviveAKill(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", binary.Options{})
	e := w.editor()
	session := e.NewSession(w.Home.Project)
	told := make(map[string]string)
	for i := range 20 {
		a := &ask{session: session, name: fmt.Sprintf("finished%d", i), parts: 5}
		said := answerOf(t, w.tell(e, a))
		told[said.UserMessageID], told[said.MessageID] = a.text(), a.story()
	}
	for round := range 3 {
		a := &ask{session: session, name: fmt.Sprintf("cut%d", round), parts: 200, stop: 100}
		turn := a.send(e)
		e.Expect(testclient.Says(session, testclient.AgentChunk, a.started()))
		w.crash()
		if _, err := turn.Wait(); err == nil || fault(err) != nil {
			t.Fatalf("the prompt to a killed server ended with %v", err)
		}

		e = w.editor()
		transcript := w.audit(e, session)[session]
		kept(t, transcript, told)
		w.again(e, a)
		next := &ask{session: session, name: fmt.Sprintf("next%d", round), parts: 5}
		said := answerOf(t, w.tell(e, next))
		told[said.UserMessageID], told[said.MessageID] = next.text(), next.story()
	}
	w.audit(e, session)
	w.Stop()
}

// A server that dies after its provider has answered, but before the prompt is stored, has told nobody of the turn: it is as
// if the prompt had not been sent.
func TestDeathBetweenTheCallAndThePrompt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", armed("begin.before=1h,gate"))
	e := w.editor()
	a := &ask{session: e.NewSession(w.Home.Project), name: "ahead", parts: 5}
	v := newViewer(t, a.session)
	v.attach(w)
	if reply, err := a.send(e).Wait(); err == nil || fault(err) != nil || reply.Said() != "" {
		t.Fatalf("the prompt ended with %v after %q", err, reply.Said())
	}
	w.Wait()
	if n := w.teller.times(a); n != 1 {
		t.Fatalf("%d requests to the provider: the server did not die in between", n)
	}
	if said := v.editor.Frames().Of(a.session).Text(testclient.AgentChunk); said != "" {
		t.Errorf("a viewer received %q", said)
	}

	w.Restart(binary.Options{})
	v.attach(w)
	e = w.editor()
	if transcript := w.audit(e, a.session)[a.session]; len(transcript) > 0 {
		t.Errorf("transcript %v", transcript)
	}
	w.again(e, a)
	transcript := w.audit(e, a.session)[a.session]
	if len(transcript) != 2 || transcript[1].Text != a.story() {
		t.Errorf("after the prompt was sent again: %v", transcript)
	}
	v.catchUp(e)
	v.compare(map[string][]message{a.session: transcript})
}

// The received part of a running reply is on disk soon.
func TestK4_01_PartialTextIsSavedWhileItStreams(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", binary.Options{})
	e := w.editor()
	a := &ask{session: e.NewSession(w.Home.Project), name: "slow", parts: 20, stop: 10}
	a.send(e)
	e.Expect(testclient.Says(a.session, testclient.AgentChunk, a.started()))
	seen := time.Now()
	db := open(t, w.Database, "ro")
	eventually(t, "the saved beginning", func() bool { return saidOnDisk(t, db, a.session) == a.started() })
	t.Logf("saved %v after it was seen", time.Since(seen).Round(time.Millisecond))

	w.crash()
	e = w.editor()
	transcript := w.audit(e, a.session)[a.session]
	if m := transcript[len(transcript)-1]; m.Status != string(history.StatusInterrupted) || m.Text != a.started() {
		t.Errorf("the interrupted reply is %s", m)
	}
}

// While a reply streams without pauses, the text that a client has received is repeatedly saved.
func TestK4_01_PartialTextKeepsPace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", binary.Options{})
	e := w.editor()
	session := e.NewSession(w.Home.Project)
	part := func(n int) string { return fmt.Sprintf("This is part %d of it. ", n) }
	end := make(chan struct{})
	defer close(end)
	w.teller.Push(upstream.Script{Steps: []upstream.Step{upstream.Endless(end, time.Millisecond, part)}})
	e.Start(session, "Tell me without an end.")
	e.Expect(testclient.Sees(session, testclient.AgentChunk))
	db := open(t, w.Database, "ro")
	said := func() string { return e.Frames().Of(session).Text(testclient.AgentChunk) }
	var saved string
	for range 10 {
		e.Expect(testclient.Condition{Name: "text that is not saved yet", Met: func(fs testclient.Frames) bool {
			return len(fs.Of(session).Text(testclient.AgentChunk)) > len(saved)
		}})
		seen, since := said(), time.Now()
		eventually(t, "the received text on disk", func() bool {
			saved = saidOnDisk(t, db, session)
			return len(saved) >= len(seen)
		})
		if !strings.HasPrefix(saved, seen) {
			t.Fatalf("saved %.100q..., received %.100q...", saved, seen)
		}
		t.Logf("%d bytes were saved %v after they were received; %d more were received by then", len(seen), time.Since(since).Round(time.Millisecond), len(said())-len(seen))
	}
	w.crash()
	e = w.editor()
	transcript := w.audit(e, session)[session]
	m := transcript[len(transcript)-1]
	var whole strings.Builder
	for n := 0; whole.Len() < len(m.Text); n++ {
		whole.WriteString(part(n))
	}
	if !strings.HasPrefix(m.Text, saved) || !strings.HasPrefix(whole.String(), m.Text) || m.Status != string(history.StatusInterrupted) {
		t.Errorf("the interrupted reply is %s; %d bytes were saved before", m, len(saved))
	}
}

// saidOnDisk returns the saved length of the running reply.
func saidOnDisk(t *testing.T, db *sql.DB, session string) string {
	t.Helper()
	var text strings.Builder
	for _, row := range rows(t, db, "SELECT text FROM partial WHERE session = ? ORDER BY n", session) {
		text.WriteString(row[0])
	}
	return text.String()
}

// perWorld is the number of kills after which a test goes on with another database: each kill is followed by a check of all
// of it.
const perWorld = 50

// inWorlds runs a test with some kills, in as many worlds as it takes.
func inWorlds(t *testing.T, test func(t *testing.T, seed uint64, kills int)) {
	t.Parallel()
	seed := *seedFlag
	for left := *kills; left > 0; left -= perWorld {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { test(t, seed, min(left, perWorld)) })
		seed++
	}
}

// Nothing is lost or duplicated, whenever the server is killed. The moments are derived from a seed.
func TestK4_01_RandomKills(t *testing.T) { inWorlds(t, randomKills) }

func randomKills(t *testing.T, seed uint64, n int) {
	w := newWorld(t, "", binary.Options{})
	users := newUsers(w, seed, 3)
	v := newViewer(t, sessionsOf(users)...)
	v.attach(w)
	chance := rand.New(rand.NewPCG(seed, 0))
	for round := range n {
		working := startAll(w, users)
		if round%2 == 1 { // a client that loses its connection continues, too
			v.moment(chance)
			v.drop()
			v.attach(w)
		}
		v.moment(chance)
		w.Kill()
		working.Wait()
		w.Restart(binary.Options{})

		v.attach(w)
		e := w.editor()
		all := sessionsOf(users)
		for _, u := range users {
			all = append(all, u.forks.settle(e)...)
		}
		transcripts := w.audit(e, all...)
		v.catchUp(e)
		v.compare(transcripts)
		judgeAll(w, users, transcripts)
		for _, u := range users {
			u.forks.judge(w, e, transcripts)
		}
		e.Close()
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	finish(w, v, users)
}

// judgeAll checks the prompts of each user since the last call.
func judgeAll(w *world, users []*user, transcripts map[string][]message) {
	w.t.Helper()
	db := open(w.t, w.Database, "ro")
	defer db.Close()
	for _, u := range users {
		kept(w.t, transcripts[u.session], u.told)
		for _, a := range u.asked[u.judged:] {
			w.judge(db, transcripts[u.session], a)
		}
		u.judged = len(u.asked)
		if u.open != nil {
			u.judged-- // still running
		}
	}
}

// finish repeats the open prompts and checks everything a last time.
func finish(w *world, v *viewer, users []*user) {
	w.t.Helper()
	e := w.editor()
	prompts, again := 0, 0
	for _, u := range users {
		if u.open != nil {
			w.again(e, u.open)
		}
		w.tell(e, &ask{session: u.session, name: "end-of-" + u.name, parts: 3})
		prompts += len(u.asked)
		again += u.again
	}
	v.catchUp(e)
	v.compare(w.audit(e, sessionsOf(users)...))
	w.t.Logf("%d prompts, %d of them sent again after a crash", prompts, again)
	w.Stop()
	if out, err := w.Home.Command(w.t.Context(), "doctor").CombinedOutput(); err != nil || !strings.Contains(string(out), "database") {
		w.t.Errorf("strata doctor: %v\n%s", err, out)
	}
}

// moment waits until a number of frames was received, and a little longer.
func (v *viewer) moment(chance *rand.Rand) {
	v.t.Helper()
	more := len(v.editor.Frames()) + max(0, chance.IntN(120)-20) // often none
	v.editor.Expect(testclient.Condition{
		Name: fmt.Sprintf("%d frames", more),
		Met:  func(fs testclient.Frames) bool { return len(fs) >= more },
	})
	<-time.After(randomTime(chance, 20*time.Millisecond))
}

func randomTime(chance *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(chance.Int64N(int64(most)))
}

// user works in one session, and repeats prompts that a crash left without a response.
type user struct {
	session string
	name    string
	chance  *rand.Rand
	open    *ask // without a response yet
	asked   []*ask
	told    map[string]string // messages reported as stored
	judged  int               // of asked
	again   int
	said    int // messages that it appended, stored or not

	folder string
	forks  forks
}

func newUsers(w *world, seed uint64, n int) []*user {
	e := w.editor()
	users := make([]*user, n)
	for i := range users {
		users[i] = &user{
			session: e.NewSession(w.Home.Project), name: fmt.Sprintf("user%d", i), folder: w.Home.Project,
			chance: rand.New(rand.NewPCG(seed, uint64(i+1))), told: make(map[string]string),
		}
	}
	e.Close()
	return users
}

func sessionsOf(users []*user) []string {
	ids := make([]string, len(users))
	for i, u := range users {
		ids[i] = u.session
	}
	return ids
}

// startAll starts all users, which work until the server dies. It returns when they are connected.
func startAll(w *world, users []*user) *sync.WaitGroup {
	w.t.Helper()
	var all sync.WaitGroup
	for _, u := range users {
		e := w.editor()
		all.Go(func() {
			if err := u.work(e); fault(err) != nil {
				w.t.Errorf("%s: %v", u.name, err)
			}
		})
	}
	return &all
}

// work sends prompts, and sometimes other requests, until the connection ends.
func (u *user) work(e *testclient.Editor) error {
	for {
		if err := u.step(e); err != nil {
			return err
		}
	}
}

// step sends a prompt, and sometimes other requests.
func (u *user) step(e *testclient.Editor) error {
	if u.open != nil {
		u.again++
	} else {
		u.open = u.next()
	}
	reply, err := u.open.send(e).Wait()
	if f := fault(err); err != nil && (f == nil || f.Code != codeProvider) {
		return err
	}
	if err := u.answered(reply, err != nil); err != nil {
		return err
	}
	if u.chance.IntN(4) == 0 {
		if err := u.append(e); err != nil {
			return err
		}
	}
	if u.chance.IntN(4) == 0 {
		return u.forks.change(e, u, u.folder)
	}
	return nil
}

func (u *user) next() *ask {
	a := &ask{
		session: u.session, name: fmt.Sprintf("%s-%d", u.name, len(u.asked)),
		parts: 1 + u.chance.IntN(100), gap: randomTime(u.chance, 2*time.Millisecond),
	}
	u.asked = append(u.asked, a)
	return a
}

// answered records a reply, which is partial for an interrupted turn.
func (u *user) answered(reply testclient.Reply, interrupted bool) error {
	a := u.open
	u.open = nil
	if interrupted {
		return nil
	}
	var result struct {
		Meta struct{ Strata answer } `json:"_meta"`
	}
	if err := json.Unmarshal(reply.Result, &result); err != nil {
		return err
	}
	u.told[result.Meta.Strata.UserMessageID], u.told[result.Meta.Strata.MessageID] = a.text(), a.story()
	return nil
}

func (u *user) append(e *testclient.Editor) error {
	u.said++
	text := fmt.Sprintf("%s says this %d", u.name, u.said)
	var result struct{ MessageIDs []string }
	err := e.Call("_strata/history/append", map[string]any{"sessionId": u.session, "messages": []any{
		map[string]any{"role": "assistant", "content": text},
	}}, &result)
	for _, id := range result.MessageIDs {
		u.told[id] = text
	}
	return err
}
