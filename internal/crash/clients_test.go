package crash

import (
	"testing"
	"time"

	"strata/internal/binary"
	"strata/internal/testclient"
)

// Two windows with the same session continue after the server is killed during a reply: they show the same, and the
// prompt that both send again results in one request.
func TestTwoClientsAfterAKill(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", binary.Options{})
	author := w.editor()
	session := author.NewSession(w.Home.Project)
	first, second := newViewer(t, session), newViewer(t, session)
	first.attach(w)
	second.attach(w)
	w.tell(author, &ask{session: session, name: "before", parts: 20, gap: time.Millisecond})

	cut := &ask{session: session, name: "cut", parts: 40, stop: 20}
	lost := cut.send(author)
	for _, v := range []*viewer{first, second} {
		v.editor.Expect(testclient.Says(session, testclient.AgentChunk, cut.started()))
	}
	second.drop() // one window loses its connection and reconnects before the server dies
	second.attach(w)
	w.Kill()
	if _, err := lost.Wait(); err == nil || fault(err) != nil {
		t.Errorf("the prompt to a killed server ended with %v", err)
	}

	w.Restart(binary.Options{})
	a, b := w.editor(), w.editor()
	again, joined := cut.send(a), cut.send(b)
	first.attach(w)
	second.attach(w)
	for _, turn := range []*testclient.Turn{again, joined} {
		_, err := turn.Wait()
		wantFault(t, err, codeProvider)
	}
	next := &ask{session: session, name: "next", parts: 40, gap: time.Millisecond}
	started, joins := next.send(a), next.send(b)
	for _, turn := range []*testclient.Turn{started, joins} {
		if reply, err := turn.Wait(); err != nil || reply.StopReason != "end_turn" {
			t.Errorf("the next prompt ended with %q, %v", reply.StopReason, err)
		}
	}
	for _, n := range []*ask{cut, next} {
		if times := w.teller.times(n); times != 1 {
			t.Errorf("%d requests to the provider for %s", times, n.name)
		}
	}
	transcripts := w.audit(a, session)
	if got := len(transcripts[session]); got > 6 || got < 5 {
		t.Errorf("transcript %v", transcripts[session])
	}
	for _, v := range []*viewer{first, second} {
		v.catchUp(a)
		v.compare(transcripts)
	}
}

// Two windows concurrently send different prompts to a restarted server: one is accepted, the other is refused because
// the session is busy, and both show the same.
func TestTwoClientsCompeteAfterAKill(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", binary.Options{})
	author := w.editor()
	session := author.NewSession(w.Home.Project)
	cut := &ask{session: session, name: "cut", parts: 40, stop: 20}
	cut.send(author)
	author.Expect(testclient.Says(session, testclient.AgentChunk, cut.started()))
	w.crash()

	a, b := w.editor(), w.editor()
	first, second := newViewer(t, session), newViewer(t, session)
	first.attach(w)
	second.attach(w)
	asks := []*ask{{session: session, name: "mine", parts: 40, stop: 39}, {session: session, name: "yours", parts: 40, stop: 39}}
	turns := []*testclient.Turn{asks[0].send(a), asks[1].send(b)}
	first.editor.Expect(testclient.Says(session, testclient.AgentChunk, "part 39 of"))
	refused := 0
	if w.teller.times(asks[0]) > 0 {
		refused = 1
	}
	_, err := turns[refused].Wait()
	wantFault(t, err, codeBusy)
	if n := w.teller.times(asks[refused]); n > 0 {
		t.Errorf("a refused prompt was sent to the provider")
	}
	if err := a.Cancel(session); err != nil {
		t.Fatal(err)
	}
	if reply, err := turns[1-refused].Wait(); err != nil || reply.StopReason != "cancelled" {
		t.Errorf("the cancelled turn ended with %q, %v", reply.StopReason, err)
	}
	first.catchUp(a)
	second.catchUp(a)
	transcripts := w.audit(a, session)
	for _, v := range []*viewer{first, second} {
		for id := range v.views[session].told {
			if m, _ := find(transcripts[session], id); m.Status == "cancelled" {
				delete(v.views[session].told, id) // stored as reported, but not as complete
			}
		}
		v.compare(transcripts)
	}
}
