package servers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"strata/session/tools"
)

// opens opens the session, and returns once that has happened.
func (s *session) opens(o Opening) {
	s.Open(o)
	s.does(func() {})
}

func (s *session) prompts(environment ...string) (starting <-chan struct{}) {
	s.does(func() {
		s.Prompted(func() []string { return environment })
		starting = s.Starting()
	})
	return starting
}

func TestServersStartWhenAClientOpensTheSessionOrPrompts(t *testing.T) {
	env := []string{"PATH=/opt/bin"}
	for name, open := range map[string]func(*session){
		"it opens the session": func(s *session) { s.opens(Opening{Environment: env}) },
		"it prompts":           func(s *session) { s.prompts(env...) },
	} {
		s := newSession(t, command("git"))
		s.does(s.Moved)
		want(t, name+": tools before", s.names(), nil)
		want(t, name+": servers before", s.source.running(), nil)
		open(s)
		open(s)
		want(t, name+": servers", s.source.running(), []string{"git in /work"})
		want(t, name+": uses", len(s.source.all()), 1)
		want(t, name+": environment", s.source.all()[0].place.Environment, env)
	}
}

// Servers that an editor names replace those that were named before, and configured ones of the same name.
func TestWhichServersRun(t *testing.T) {
	s := newSession(t, command("git", "configured"), command("db"))
	names := func() (names []string) {
		for _, u := range s.source.all() {
			if u.count(&u.released) == 0 {
				names = append(names, strings.Join(append([]string{u.definition.Name}, u.definition.Args...), " "))
			}
		}
		slices.Sort(names)
		return names
	}
	for _, step := range []struct {
		named []Definition
		want  []string
	}{
		{nil, []string{"db", "git configured"}},
		{[]Definition{command("git", "named"), command("files")}, []string{"db", "files", "git named"}},
		{nil, []string{"db", "files", "git named"}},
		{[]Definition{command("web")}, []string{"db", "git configured", "web"}},
	} {
		s.opens(Opening{Named: step.named})
		want(t, fmt.Sprint("named ", step.named), names(), step.want)
	}
	for _, u := range s.source.all() {
		if n := u.count(&u.released); n > 1 {
			t.Errorf("%s was released %d times", u.definition.Name, n)
		}
	}
}

// A page that has no environment, and a prompt of another client, leave that of the editor that opened the session.
func TestTheEnvironmentIsThatOfTheClientThatOpenedTheSession(t *testing.T) {
	s := newSession(t, command("git"))
	for _, step := range []struct {
		does func()
		uses int
		env  []string
	}{
		{func() { s.opens(Opening{}) }, 1, nil},
		{func() { s.opens(Opening{Environment: []string{"A=1"}}) }, 2, []string{"A=1"}},
		{func() { s.opens(Opening{}) }, 2, []string{"A=1"}},
		{func() { s.prompts("A=2") }, 2, []string{"A=1"}},
		{func() { s.opens(Opening{Environment: []string{"A=1"}}) }, 2, []string{"A=1"}},
		{func() { s.opens(Opening{Environment: []string{"A=3"}}) }, 3, []string{"A=3"}},
	} {
		step.does()
		all := s.source.all()
		want(t, "uses", len(all), step.uses)
		want(t, "environment", all[len(all)-1].place.Environment, step.env)
		want(t, "in use", len(s.source.running()), 1)
	}
}

// A session that moves uses its servers in the new folder, and none in a folder that cannot be opened. Until the new ones
// have listed their tools, the model keeps those that it knows.
func TestServersMoveWithTheSession(t *testing.T) {
	s := newSession(t, command("git"))
	s.opens(Opening{})
	s.source.all()[0].ready("log")
	move := func(folder string) {
		s.mu.Lock()
		s.folder = folder
		s.mu.Unlock()
		s.does(s.Moved)
	}
	move("/other")
	want(t, "servers", s.source.running(), []string{"git in /other"})
	want(t, "tools", s.names(), []string{"git__log"})
	move("/other")
	want(t, "uses", len(s.source.all()), 2)
	s.source.all()[1].ready("diff")
	want(t, "tools of the new one", s.names(), []string{"git__diff"})
	move("")
	want(t, "servers without a folder", s.source.running(), nil)
	want(t, "tools without a folder", s.names(), nil)
}

// A server that does not run keeps the tools that it listed.
func TestAServerThatIsDownKeepsItsTools(t *testing.T) {
	s := newSession(t, command("git"))
	s.opens(Opening{})
	git := s.source.all()[0]
	want(t, "tools while it starts", s.names(), nil)
	git.ready("log", "diff")
	before := s.definitionBytes(t)
	git.is(State{Status: Failed, Error: "exit code 1"})
	want(t, "definitions after it failed", s.definitionBytes(t), before)
	git.is(State{Status: Starting})
	want(t, "definitions while it starts again", s.definitionBytes(t), before)
	git.ready()
	want(t, "tools of one without any", s.names(), nil)
}

// definitionBytes returns the bytes of the definitions.
func (s *session) definitionBytes(t *testing.T) string {
	t.Helper()
	set, err := tools.NewSet(s.tools(tools.MaxTools)...)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(set.Definitions())
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// However a server orders its tools and the members of schemas, the definitions are equal.
func TestEqualListsGiveEqualDefinitions(t *testing.T) {
	s := newSession(t, command("git"))
	s.opens(Opening{})
	git := s.source.all()[0]
	list := func(flip bool) []Tool {
		all := []Tool{
			{Name: "a", Schema: json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"},"y":{"maximum":1e3}}}`)},
			{Name: "b"}, {Name: "a.b"}, {Name: "a b"},
		}
		if flip {
			slices.Reverse(all)
			all[3].Schema = json.RawMessage("{\"properties\":{\"y\":{\"maximum\":1e3},\n\"x\":{\"type\":\"string\"}}}")
			all[0].Schema = json.RawMessage(`{}`)
		}
		return all
	}
	git.is(State{Status: Ready, Tools: list(false)})
	before := s.definitionBytes(t)
	git.is(State{Status: Ready, Tools: list(true)})
	want(t, "definitions", s.definitionBytes(t), before)
	want(t, "names", s.names(), []string{"git__a", "git__a_b", "git__a_b_2", "git__b"})
}

// A failure is told once; the same one again only after the server has been ready.
func TestFailuresAreTold(t *testing.T) {
	s := newSession(t, command("git"))
	s.opens(Opening{})
	git := s.source.all()[0]
	for _, step := range []struct {
		does func()
		want []string
	}{
		{func() { git.fails("not found") }, []string{"MCP server git: failed: not found"}},
		{func() { git.fails("not found") }, nil},
		{func() { git.is(State{Status: Starting}); s.told(); git.fails("not found") }, nil},
		{func() { git.fails("exit code 1\nTraceback  of\n  it") }, []string{"MCP server git: failed: exit code 1 Traceback of it"}},
		{func() { git.ready("log") }, nil},
		{func() { git.fails(strings.Repeat("x", 1000)) }, []string{"MCP server git: failed: " + strings.Repeat("x", maxError-1) + "…"}},
		{func() { git.ready("log"); s.told(); git.fails("") }, []string{"MCP server git: failed: unknown error"}},
		{func() { git.is(State{Status: Ready, Error: "tools omitted"}) }, []string{"MCP server git: tools omitted"}},
		{func() { git.is(State{Status: Ready, Error: "tools omitted"}) }, nil},
	} {
		step.does()
		want(t, "notices", s.told(), step.want)
	}
}

// Prompts wake servers that have failed; others they leave alone.
func TestAPromptWakesServersThatFailed(t *testing.T) {
	s := newSession(t, command("db"), command("git"))
	s.opens(Opening{})
	db, git := s.source.all()[0], s.source.all()[1]
	db.ready("query")
	git.fails("not found")
	s.prompts()
	want(t, "git was woken", git.count(&git.woken), 1)
	want(t, "db was woken", db.count(&db.woken), 0)
}

// A prompt waits for servers that start for the first time.
func TestWhatAPromptWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, command("db"), command("git"))
		waited := func(starting <-chan struct{}) time.Duration {
			began := time.Now()
			if starting != nil {
				Await(t.Context(), starting)
			}
			return time.Since(began)
		}
		starting := s.prompts()
		db, git := s.source.all()[0], s.source.all()[1]
		var does sync.WaitGroup
		does.Go(func() {
			time.Sleep(time.Second)
			db.ready("query")
			time.Sleep(time.Second)
			git.fails("not found")
		})
		want(t, "the first one waits", waited(starting), 2*time.Second)
		does.Wait()
		git.is(State{Status: Starting})
		want(t, "one while a server starts again waits", waited(s.prompts()), 0)

		s.opens(Opening{Named: []Definition{command("slow")}})
		want(t, "one for a server that does not start waits", waited(s.prompts()), startTime)
		want(t, "the next one waits", waited(s.prompts()), startTime)
		s.source.all()[2].ready("x")
		want(t, "one after the start waits", waited(s.prompts()), 0)
	})
}

// All servers are released when the session ends, each once, and none is used after that.
func TestTheEndOfASessionReleasesItsServersOnce(t *testing.T) {
	src := &source{}
	d := NewDirectory(src, []Definition{command("db"), command("git")}, func() {})
	ends, goesOn := sessionIn(t, src, d), sessionIn(t, src, d)
	ends.opens(Opening{Named: []Definition{command("web")}})
	goesOn.opens(Opening{})
	ends.does(ends.Close)
	ends.does(ends.Close)
	ends.opens(Opening{})
	ends.prompts()
	ends.does(ends.Moved)
	want(t, "in use", src.running(), []string{"db in /work", "git in /work"})
	released := 0
	for _, u := range src.all() {
		released += u.count(&u.released)
	}
	want(t, "releases", released, 3)
	want(t, "uses", len(src.all()), 5)
}

// A session without a directory has no servers, and does not ask a client for its environment.
func TestASessionWithoutServers(t *testing.T) {
	src := &source{}
	s := sessionIn(t, src, nil)
	s.opens(Opening{Named: []Definition{command("git")}})
	s.does(func() { s.Prompted(func() []string { panic("asked") }) })
	want(t, "tools", s.names(), nil)
	want(t, "waits", s.prompts(), nil)
}

// A copy of a session gets what the editor named, and the environment.
func TestTheOpeningOfACopy(t *testing.T) {
	s := newSession(t)
	s.opens(Opening{Named: []Definition{command("git")}, Environment: []string{"A=1"}})
	var o Opening
	s.does(func() { o = s.Opening() })
	want(t, "opening", o, Opening{Named: []Definition{command("git")}, Environment: []string{"A=1"}})
	want(t, "in no environment", o.In(nil).Environment, []string{"A=1"})
	want(t, "in another one", o.In([]string{"A=2"}).Environment, []string{"A=2"})
}

// However often a server changes while the mailbox is busy, one look waits.
func TestChangesWaitAsOneJob(t *testing.T) {
	s := newSession(t, command("git"))
	s.opens(Opening{})
	git := s.source.all()[0]
	before := 0
	s.does(func() {
		for range 1000 {
			git.ready("log")
		}
		before = git.count(&git.looks)
	})
	s.does(func() {})
	want(t, "looks", git.count(&git.looks)-before, 1)
}

// Changes from many goroutines cost the mailbox a few looks, and the newest state counts.
func TestManyChangesAtOnce(t *testing.T) {
	s := newSession(t, command("db"), command("git"))
	s.opens(Opening{})
	var all sync.WaitGroup
	for _, u := range s.source.all() {
		for i := range 50 {
			all.Go(func() { u.ready(fmt.Sprint("tool_", i)) })
			all.Go(func() { s.Open(Opening{}) })
			all.Go(func() { s.names() })
		}
	}
	all.Wait()
	for _, u := range s.source.all() {
		u.ready("last")
	}
	want(t, "tools", s.names(), []string{"db__last", "git__last"})
}
