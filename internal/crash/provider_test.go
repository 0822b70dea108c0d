package crash

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"strata/internal/testclient"
	"strata/internal/upstream"
)

// teller is a provider that replies with the story requested by a prompt, and counts the requests for each story.
type teller struct {
	*upstream.Server

	mu    sync.Mutex
	asked map[string]int             // requests by story name
	gates map[string]<-chan struct{} // before the last part of a story
}

func newTeller(t *testing.T) *teller {
	s := &teller{Server: upstream.Start(upstream.Options{}), asked: make(map[string]int), gates: make(map[string]<-chan struct{})}
	t.Cleanup(s.Close)
	s.Choose(s.tell)
	return s
}

// hold makes the story of an ask wait before its last part until open is called.
func (s *teller) hold(a *ask) (open func()) {
	gate := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gates[a.name] = gate
	return func() { close(gate) }
}

// ask is a prompt for a story. Its prompt id makes it safe to send again.
type ask struct {
	session, name string
	parts         int
	gap           time.Duration // between parts
	stop          int           // the part after which the provider pauses forever; 0: none
	lost          int           // how often it was sent to a server that died before it was stored
}

// story returns the whole reply.
func (a *ask) story() string { return strings.Join(story(a.name, a.parts), "") }

// started returns the part of the reply that is sent before the provider pauses.
func (a *ask) started() string { return strings.Join(story(a.name, a.parts)[:a.stop], "") }

// held returns the part of the reply before the last part, for which hold makes the provider wait.
func (a *ask) held() string { return strings.Join(story(a.name, a.parts)[:a.parts-1], "") }

func (a *ask) text() string {
	return fmt.Sprintf("Tell story %s in %d parts, %d us apart, and stop after %d.", a.name, a.parts, a.gap.Microseconds(), a.stop)
}

func (a *ask) send(e *testclient.Editor) *testclient.Turn {
	return e.StartWith(a.session, []any{map[string]any{"type": "text", "text": a.text()}}, a.name)
}

// story returns the parts of a story. It is deterministic, and all parts differ.
func story(name string, parts int) []string {
	told := make([]string, parts)
	for i := range told {
		told[i] = fmt.Sprintf("%s, part %d of %d:%s\n", name, i+1, parts, strings.Repeat(" and then", 1+i%17))
	}
	return told
}

var wanted = regexp.MustCompile(`(?m)^Tell story (\S+) in (\d+) parts, (\d+) us apart, and stop after (\d+)\.$`)

// tell returns the script of a reply.
func (s *teller) tell(req *upstream.Request) upstream.Script {
	prompts := wanted.FindAllStringSubmatch(req.LastText(), -1) // an unanswered prompt precedes the next one
	if len(prompts) == 0 {
		return upstream.Default(req)
	}
	m := prompts[len(prompts)-1]
	s.mu.Lock()
	s.asked[m[1]]++
	gate := s.gates[m[1]]
	s.mu.Unlock()
	script := upstream.Script{
		Usage: upstream.Usage{Input: req.Tokens(), Output: 10},
		Steps: upstream.Texts(story(m[1], number(m[2]))...),
		Gap:   time.Duration(number(m[3])) * time.Microsecond,
	}
	if stop := number(m[4]); stop > 0 {
		script.Steps = append(script.Steps[:stop:stop], upstream.Hold(nil)) // until the client disconnects
	}
	if gate != nil {
		script.Steps = slices.Insert(script.Steps, len(script.Steps)-1, upstream.Hold(gate))
	}
	return script
}

func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// times returns the number of requests for a story.
func (s *teller) times(a *ask) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[a.name]
}
