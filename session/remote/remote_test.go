package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"strata/filecontext"
	"strata/filecontext/source"
	"strata/session/clients"
)

func noEvent() uint64 { return 0 }

// client holds a workspace, with the functions that serve its requests.
type client struct {
	clients.Client
	list  func(clients.List) (clients.ListPage, error)
	read  func(path string) (string, error)
	write func(path string) error

	readSome func(clients.ReadMany) ([]clients.ReadResult, error) // nil: not served

	asked []string
	quiet bool // asked is not kept
}

func (c *client) note(request string) {
	if !c.quiet {
		c.asked = append(c.asked, request)
	}
}

func (c *client) Can(capability clients.Capability) bool {
	return capability == clients.Workspaces
}

func (c *client) ListWorkspace(_ context.Context, l clients.List, _ uint64) (clients.ListPage, error) {
	c.note("list " + l.Cursor)
	return c.list(l)
}

func (c *client) ReadTextFile(_ context.Context, r clients.Read, _ uint64) (string, error) {
	c.note("read " + r.Path)
	return c.read(r.Path)
}

func (c *client) ReadFiles(_ context.Context, r clients.ReadMany, _ uint64) ([]clients.ReadResult, error) {
	if c.readSome == nil {
		return nil, &clients.Refused{Code: notServed}
	}
	c.note(fmt.Sprint("read some ", len(r.Paths)))
	return c.readSome(r)
}

func (c *client) WriteTextFile(_ context.Context, w clients.Write, _ uint64) error {
	c.note("write " + w.Path)
	return c.write(w.Path)
}

// with returns the files of a session with clients, the last of which is asked first.
func with(all ...*client) *Files {
	f := New("/project")
	for _, c := range all {
		f.Join(c)
	}
	return f
}

func paged(paths ...string) func(clients.List) (clients.ListPage, error) {
	return func(clients.List) (clients.ListPage, error) {
		var page clients.ListPage
		for _, path := range paths {
			page.Files = append(page.Files, clients.ListedFile{Path: path})
		}
		return page, nil
	}
}

func TestListTakesOnlyPathsBelowTheFolder(t *testing.T) {
	bad := []string{"", ".", "..", "../a", "/etc/passwd", "a/../b", "a//b", "a/", "./a", "a\x00b", "a\xffb", strings.Repeat("a", maxPath+1)}
	f := with(&client{list: paged(append(bad, "b/c.go", "a.go", "a.go")...)})
	list, err := f.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, file := range list.Files {
		paths = append(paths, file.Path)
	}
	if !slices.Equal(paths, []string{"a.go", "b/c.go"}) || list.Nameless != len(bad) {
		t.Errorf("got %q, and %d without a name", paths, list.Nameless)
	}
}

// A client that always has a next page, with the same cursor or others, does not keep the list from ending.
func TestListEndsAtItsBounds(t *testing.T) {
	for name, page := range map[string]func(n int) clients.ListPage{
		"empty pages": func(int) clients.ListPage { return clients.ListPage{Next: "again"} },
		"many files": func(n int) clients.ListPage {
			page := clients.ListPage{Next: fmt.Sprint(n)}
			for i := range pageFiles {
				page.Files = append(page.Files, clients.ListedFile{Path: fmt.Sprintf("%d/%d", n, i)})
			}
			return page
		},
		"long paths": func(n int) clients.ListPage {
			return clients.ListPage{Next: "more", Files: []clients.ListedFile{{Path: strings.Repeat("a", maxPath-8) + fmt.Sprint(n)}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			f := with(&client{list: func(clients.List) (clients.ListPage, error) { n++; return page(n), nil }})
			list, err := f.List(t.Context())
			if err != nil || !list.Cut || len(list.Files) > maxFiles || n > maxPages {
				t.Errorf("%d pages, %d files, cut: %v, error %v", n, len(list.Files), list.Cut, err)
			}
		})
	}
}

func TestAnUnchangedListIsNotSentAgain(t *testing.T) {
	c := &client{list: func(l clients.List) (clients.ListPage, error) {
		if l.Since == "7" {
			return clients.ListPage{Unchanged: true}, nil
		}
		return clients.ListPage{Version: "7", Files: []clients.ListedFile{{Path: "a"}}}, nil
	}}
	f := with(c)
	for range 2 {
		list, err := f.List(t.Context())
		if err != nil || len(list.Files) != 1 {
			t.Fatalf("%v, %v", list, err)
		}
	}
	f.Join(&client{list: paged("b")})
	if list, err := f.List(t.Context()); err != nil || list.Files[0].Path != "b" {
		t.Errorf("another client's list is %v, %v", list, err)
	}
}

// A client that says "unchanged" of a list that it has never sent has an empty one.
func TestUnchangedWithoutAList(t *testing.T) {
	f := with(&client{list: func(clients.List) (clients.ListPage, error) { return clients.ListPage{Unchanged: true}, nil }})
	if list, err := f.List(t.Context()); err != nil || list == nil || len(list.Files) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

func TestErrorsOfAClient(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want filecontext.Reason
	}{
		"missing":  {&clients.Refused{Code: -32002, Message: "no"}, filecontext.ReasonMissing},
		"refused":  {&clients.Refused{Code: -32603, Message: "no"}, filecontext.ReasonUnreadable},
		"late":     {clients.ErrLate, filecontext.ReasonAway},
		"gone":     {clients.ErrGone, filecontext.ReasonAway},
		"too long": {nil, filecontext.ReasonTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			f := with(&client{read: func(string) (string, error) { return "too long", test.err }})
			if _, err := f.Read(t.Context(), "a", source.Reading{Limit: 3}); filecontext.ReasonOf(err) != test.want {
				t.Errorf("got %v", err)
			}
		})
	}
}

// The error of a change tells whether the client may still make it, and why the files are not available.
func TestErrorsOfAChange(t *testing.T) {
	for _, said := range []error{clients.ErrLate, clients.ErrGone, clients.ErrInvalid} {
		f := with(&client{write: func(string) error { return said }})
		err := f.Write(t.Context(), "a", "b")
		want := fmt.Sprintf("a is not available now: the client that has the files is not connected or does not respond (%v)", said)
		if !errors.Is(err, said) || err.Error() != want {
			t.Errorf("%v: got %v", said, err)
		}
	}
}

// Another client that has the files takes the place of one that is gone, but does not repeat a change.
func TestAnotherClientTakesOver(t *testing.T) {
	gone := func(string) error { return clients.ErrGone }
	first := &client{read: func(string) (string, error) { return "text", nil }, write: func(string) error { return nil }}
	second := &client{read: func(string) (string, error) { return "", clients.ErrGone }, write: gone}
	f := with(first, second)
	if text, err := f.Read(t.Context(), "a", source.Reading{Limit: 10}); err != nil || string(text.Data) != "text" {
		t.Errorf("read %q, %v", text.Data, err)
	}
	third := &client{write: gone}
	f.Join(third)
	if err := f.Write(t.Context(), "a", "b"); filecontext.ReasonOf(err) != filecontext.ReasonAway {
		t.Errorf("write: %v", err)
	}
	if slices.Contains(first.asked, "write /project/a") {
		t.Error("the change was repeated")
	}
	if err := f.Write(t.Context(), "a", "b"); err != nil {
		t.Errorf("the next write: %v", err)
	}
}

// Another client that has the files is asked in the place of one that does not respond, and the latter is asked last then.
func TestAnotherClientIsAskedForOneThatDoesNotRespond(t *testing.T) {
	text := func(string) (string, error) { return "text", nil }
	late := func(string) (string, error) { return "", clients.ErrLate }
	first, second := &client{read: text, write: func(string) error { return nil }}, &client{read: late}
	f := with(first, second)
	for range 2 {
		if got, err := f.Read(t.Context(), "a", source.Reading{Limit: 10}); err != nil || string(got.Data) != "text" {
			t.Fatalf("read %q, %v", got.Data, err)
		}
	}
	if !slices.Equal(second.asked, []string{"read /project/a"}) {
		t.Errorf("the client that does not respond was asked for %q", second.asked)
	}
	first.read = late
	if _, err := f.Read(t.Context(), "a", source.Reading{Limit: 10}); filecontext.ReasonOf(err) != filecontext.ReasonAway || !strings.Contains(err.Error(), "in time") {
		t.Errorf("nobody responds: %v", err)
	}
	if len(f.holders) != 2 || len(first.asked) != 3 || len(second.asked) != 2 {
		t.Errorf("asked %q and %q", first.asked, second.asked)
	}
}

// A client that has joined and is asked for a file before it is asked for the list may have other files.
func TestAFileOfAnotherClient(t *testing.T) {
	first := &client{read: func(string) (string, error) { return "text", nil }, write: func(string) error { return nil }}
	second := &client{read: func(string) (string, error) { return "", &clients.Refused{Code: notMine} }}
	f := with(first, second)
	if got, err := f.Read(t.Context(), "a", source.Reading{Limit: 10}); err != nil || string(got.Data) != "text" {
		t.Errorf("read %q, %v", got.Data, err)
	}
	if err := f.Write(t.Context(), "a", "b"); err != nil || !slices.Contains(first.asked, "write /project/a") {
		t.Errorf("write: %v", err)
	}
}

// A client that joins again changes nothing, and one that has left is not remembered, whatever its requests still say.
func TestClientsThatJoinAgainOrHaveLeft(t *testing.T) {
	c := &client{}
	f := New("/project")
	if !f.Join(c) || f.Join(c) {
		t.Error("the first Join must report a change, the second none")
	}
	c.readSome = func(clients.ReadMany) ([]clients.ReadResult, error) {
		f.Leave(c)
		return nil, &clients.Refused{Code: notServed}
	}
	c.read = func(string) (string, error) { return "", &clients.Refused{Code: notFound} }
	if _, err := f.Read(t.Context(), "a", source.Reading{Limit: 10}); filecontext.ReasonOf(err) != filecontext.ReasonMissing {
		t.Errorf("got %v", err)
	}
	if len(f.several) > 0 {
		t.Error("a client that has left is remembered")
	}
}

// A client that was late once is still asked for pictures, which only requests for several files return.
func TestAPictureOfAClientThatWasLate(t *testing.T) {
	said := clients.ErrLate
	c := &client{read: func(string) (string, error) { return "text", nil }}
	c.readSome = func(r clients.ReadMany) ([]clients.ReadResult, error) {
		return []clients.ReadResult{{Path: r.Paths[0], Data: []byte("bytes")}}, said
	}
	f := with(c)
	if text, err := f.Read(t.Context(), "a", source.Reading{Limit: 10}); err != nil || string(text.Data) != "text" {
		t.Errorf("read %q, %v", text.Data, err)
	}
	if _, err := f.Read(t.Context(), "a", source.Reading{Limit: 10, Binary: true}); !errors.Is(err, clients.ErrLate) {
		t.Errorf("a late picture: %v", err)
	}
	said = nil
	if text, err := f.Read(t.Context(), "a", source.Reading{Limit: 10, Binary: true}); err != nil || string(text.Data) != "bytes" {
		t.Errorf("read %q, %v", text.Data, err)
	}
}

// A call of a tool waits for a client that returns; other requests do not.
func TestPatientFilesWaitForAClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New("/project")
		if _, err := f.Read(t.Context(), "a", source.Reading{Limit: 10}); filecontext.ReasonOf(err) != filecontext.ReasonAway {
			t.Errorf("without patience: %v", err)
		}
		read := make(chan error)
		go func() {
			_, err := f.Patient(noEvent).Read(t.Context(), "a", source.Reading{Limit: 10})
			read <- err
		}()
		synctest.Wait()
		f.Join(&client{read: func(string) (string, error) { return "text", nil }})
		if err := <-read; err != nil {
			t.Errorf("after the return: %v", err)
		}
	})
}

// A call of a tool that waits for a client does not make other requests wait.
func TestPatienceIsThatOfOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New("/project")
		listed := make(chan error)
		go func() {
			_, err := f.Patient(noEvent).List(t.Context())
			listed <- err
		}()
		synctest.Wait()
		begun := time.Now()
		if _, err := f.List(t.Context()); filecontext.ReasonOf(err) != filecontext.ReasonAway || time.Since(begun) > 0 {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		f.Join(&client{list: paged("a")})
		if err := <-listed; err != nil {
			t.Errorf("after the return: %v", err)
		}
	})
}

func TestPatienceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New("/project").Patient(noEvent)
		if _, err := f.List(t.Context()); filecontext.ReasonOf(err) != filecontext.ReasonAway {
			t.Errorf("got %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := f.Delete(ctx, "a"); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
}
