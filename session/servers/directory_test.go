package servers

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// lines returns a list, a line for each server.
func lines(all []Listed) (lines []string) {
	for _, l := range all {
		lines = append(lines, fmt.Sprintf("%s %s %s %s %q %d sessions %d tools", l.Name, strings.Join(l.Args, " "), l.Origin, l.Status, l.Error, l.Sessions, len(l.Tools)))
	}
	return lines
}

// The list has configured servers, used or not, and what editors have named: equal definitions together, with the worst state.
func TestTheList(t *testing.T) {
	src := &source{}
	var changes atomic.Int32
	d := NewDirectory(src, []Definition{command("db"), command("git")}, func() { changes.Add(1) })
	want(t, "at first", lines(d.List()), []string{`db  config unused "" 0 sessions 0 tools`, `git  config unused "" 0 sessions 0 tools`})

	one, two := sessionIn(t, src, d), sessionIn(t, src, d)
	one.opens(Opening{Named: []Definition{command("git", "named"), command("web")}})
	two.opens(Opening{})
	all := src.all() // db, git named, web; db, git
	all[0].ready("query")
	all[2].ready("get", "put")
	all[3].fails("exit code 1")
	all[1].fails("not found")
	want(t, "in use", lines(d.List()), []string{
		`db  config failed "exit code 1" 2 sessions 1 tools`, `git  config starting "" 1 sessions 0 tools`,
		`git named client failed "not found" 1 sessions 0 tools`, `web  client ready "" 1 sessions 2 tools`,
	})
	seen := changes.Load()
	all[3].ready("query")
	want(t, "later", lines(d.List())[0], `db  config ready "" 2 sessions 1 tools`)
	if changes.Load() == seen {
		t.Error("the change of a server is not reported")
	}
	seen = changes.Load()
	one.does(one.Close)
	two.does(two.Close)
	want(t, "at the end", lines(d.List()), []string{`db  config unused "" 0 sessions 0 tools`, `git  config unused "" 0 sessions 0 tools`})
	if changes.Load() == seen {
		t.Error("the end of servers is not reported")
	}
	want(t, "without a directory", lines((*Directory)(nil).List()), nil)
}

// The list is bounded, and has no schemas.
func TestTheListIsBounded(t *testing.T) {
	src := &source{}
	d := NewDirectory(src, nil, func() {})
	var names []string
	for i := range 500 {
		names = append(names, fmt.Sprint("tool_", i))
	}
	for i := range maxListed + 10 {
		s := d.Use(command(fmt.Sprint("server_", i)), Place{}, func() {})
		src.all()[i].ready(names...)
		src.all()[i].state.Tools[0].Description = strings.Repeat("x", 2*maxListedText)
		defer s.Release()
	}
	list := d.List()
	n := 0
	for _, l := range list {
		n += len(l.Tools)
		for _, tool := range l.Tools {
			if tool.Schema != nil || len(tool.Description) > maxListedText {
				t.Fatalf("%+v", tool)
			}
		}
	}
	want(t, "servers", len(list), maxListed)
	want(t, "tools", n, maxListedTools)
}

// Uses begin, change and end while the list is read.
func TestTheListWhileServersComeAndGo(t *testing.T) {
	src := &source{}
	d := NewDirectory(src, []Definition{command("db")}, func() {})
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			s := d.Use(command(fmt.Sprint("server_", i%3)), Place{}, func() {})
			s.(*listed).Server.(*server).ready("x")
			all.Go(s.Release)
			s.Release()
		})
		all.Go(func() { d.List() })
	}
	all.Wait()
	want(t, "at the end", lines(d.List()), []string{`db  config unused "" 0 sessions 0 tools`})
	for _, u := range src.all() {
		want(t, "releases", u.count(&u.released), 1)
	}
}

// A definition equals another one only if all of it does.
func TestEqualDefinitions(t *testing.T) {
	full := func() Definition {
		return Definition{
			Name: "n", Command: "c", Args: []string{"a"}, Env: []string{"A=1"}, URL: "u", Headers: []Header{{"A", "b"}}, Trusted: true, Fault: "f",
		}
	}
	a, b := full(), full()
	if !a.Equal(&b) {
		t.Error("equal definitions differ")
	}
	for i := range reflect.TypeFor[Definition]().NumField() {
		b := full()
		field := reflect.ValueOf(&b).Elem().Field(i)
		if field.IsZero() {
			t.Errorf("%s is not tested", reflect.TypeFor[Definition]().Field(i).Name)
		}
		field.SetZero()
		if a.Equal(&b) {
			t.Errorf("definitions with another %s are equal", reflect.TypeFor[Definition]().Field(i).Name)
		}
	}
}
