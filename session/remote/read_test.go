package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"strata/filecontext"
	"strata/filecontext/source"
	"strata/session/clients"
)

// reading returns files that a client returns in this way.
func reading(files []clients.ReadResult, err error) (*Files, *client) {
	c := &client{
		readSome: func(clients.ReadMany) ([]clients.ReadResult, error) { return files, err },
		read:     func(path string) (string, error) { return "plain " + path, nil },
	}
	return with(c), c
}

// What a client returns is used only for the files that were requested, and within the limit.
func TestReadSomeOfAClientThatLies(t *testing.T) {
	text := func(path, text string) clients.ReadResult { return clients.ReadResult{Path: path, Data: []byte(text)} }
	long := clients.ReadResult{Path: "a", Data: []byte("a"), Version: strings.Repeat("1", maxVersion+1)}
	for name, test := range map[string]struct {
		files []clients.ReadResult
		err   error
		want  string
	}{
		"in another order":    {[]clients.ReadResult{text("b", "B"), text("a", "A")}, nil, "a: A; b: B"},
		"only some":           {[]clients.ReadResult{text("b", "B")}, nil, "b: B"},
		"others, too":         {[]clients.ReadResult{text("/etc/passwd", "x"), text("../b", "x"), text("a", "A")}, nil, "a: A"},
		"only others":         {[]clients.ReadResult{text("c", "C")}, nil, "away"},
		"nothing":             {nil, nil, "away"},
		"twice":               {[]clients.ReadResult{text("a", "first"), text("a", "second")}, nil, "a: first"},
		"too long":            {[]clients.ReadResult{text("a", strings.Repeat("x", 9)), text("b", "12345678")}, nil, "a: too_large; b: 12345678"},
		"too long a version":  {[]clients.ReadResult{long}, nil, "a: a"},
		"missing":             {[]clients.ReadResult{{Path: "a", Err: &clients.Refused{Code: notFound}}}, nil, "a: missing"},
		"too large":           {[]clients.ReadResult{{Path: "a", Err: &clients.Refused{Code: tooLarge}}}, nil, "a: too_large"},
		"refused":             {[]clients.ReadResult{{Path: "a", Err: &clients.Refused{Code: 1, Message: "no\x1b[31m"}}}, nil, "a: unreadable"},
		"all refused":         {nil, &clients.Refused{Code: -32603}, "unreadable"},
		"invalid":             {nil, clients.ErrInvalid, "away"},
		"too many in flight":  {nil, clients.ErrBusy, "away"},
		"gone":                {nil, clients.ErrGone, "away"},
		"not served":          {nil, &clients.Refused{Code: notServed}, "a: too_large"},
		"too late: not known": {nil, clients.ErrLate, "a: too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := reading(test.files, test.err)
			all, err := f.ReadSome(t.Context(), []string{"a", "b"}, source.Reading{Limit: 8})
			if got := outcome(all, err); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// outcome returns texts and errors as one text.
func outcome(all map[string]source.Text, err error) string {
	if err != nil {
		return string(filecontext.ReasonOf(err))
	}
	var parts []string
	for _, path := range []string{"a", "b"} {
		switch one, ok := all[path]; {
		case !ok:
		case one.Err != nil:
			parts = append(parts, path+": "+string(filecontext.ReasonOf(one.Err)))
		default:
			parts = append(parts, path+": "+string(one.Data)+one.Version)
		}
	}
	if extra := len(all) - len(parts); extra > 0 {
		parts = append(parts, fmt.Sprint(extra, " more"))
	}
	return strings.Join(parts, "; ")
}

// A client that does not return several files is asked so only once.
func TestAClientThatReadsOnlyOne(t *testing.T) {
	f, c := reading(nil, &clients.Refused{Code: notServed})
	for range 3 {
		if _, err := f.Read(t.Context(), "a", source.Reading{Limit: 99}); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"read some 1", "read /project/a", "read /project/a", "read /project/a"}; !slices.Equal(c.asked, want) {
		t.Errorf("asked for %q", c.asked)
	}
	if _, err := f.Read(t.Context(), "a", source.Reading{Limit: 99, Binary: true}); filecontext.ReasonOf(err) != filecontext.ReasonNoPicture {
		t.Errorf("bytes: %v", err)
	}
}

// A client that has returned several files is asked for several again, even if it once needs too long.
func TestAClientThatIsLateOnce(t *testing.T) {
	f, c := reading([]clients.ReadResult{{Path: "a", Data: []byte("A")}}, nil)
	all := c.readSome
	for n := range 3 {
		c.readSome = all
		if n == 1 {
			c.readSome = func(clients.ReadMany) ([]clients.ReadResult, error) { return nil, clients.ErrLate }
		}
		_, err := f.ReadSome(t.Context(), []string{"a", "b"}, source.Reading{Limit: 8})
		if (n == 1) != (filecontext.ReasonOf(err) == filecontext.ReasonAway) {
			t.Errorf("request %d: %v", n, err)
		}
	}
	if want := []string{"read some 2", "read some 2", "read some 2"}; !slices.Equal(c.asked, want) {
		t.Errorf("asked for %q", c.asked)
	}
}

// A client that refuses the list has other files: the next one is asked, and it is not asked again, not even to write.
func TestAClientWithOtherFiles(t *testing.T) {
	for _, code := range []int{notServed, notMine} {
		mine := &client{list: paged("a"), write: func(string) error { return nil }}
		other := &client{list: func(clients.List) (clients.ListPage, error) { return clients.ListPage{}, &clients.Refused{Code: code} }}
		f := with(mine, other)
		if list, err := f.List(t.Context()); err != nil || len(list.Files) != 1 {
			t.Errorf("%v, %v", list, err)
		}
		if err := f.Write(t.Context(), "a", ""); err != nil {
			t.Error(err)
		}
		if !slices.Equal(other.asked, []string{"list "}) {
			t.Errorf("the other client was asked for %q", other.asked)
		}
	}
}

// A client that refuses a later page, or an unknown version, still has the files.
func TestAClientThatRefusesAPage(t *testing.T) {
	f := with(&client{list: func(l clients.List) (clients.ListPage, error) {
		if l.Cursor == "" {
			return clients.ListPage{Next: "2"}, nil
		}
		return clients.ListPage{}, &clients.Refused{Code: notMine}
	}})
	if _, err := f.List(t.Context()); filecontext.ReasonOf(err) != filecontext.ReasonUnreadable || len(f.holders) != 1 {
		t.Errorf("%v, %d clients", err, len(f.holders))
	}
}

// A client that has found all of its files says so with the changes.
func TestAListBecomesComplete(t *testing.T) {
	f := with(&client{list: func(l clients.List) (clients.ListPage, error) {
		return clients.ListPage{Version: l.Since + "1", Changes: l.Since != "", Cut: len(l.Since) != 2}, nil
	}})
	for n, cut := range []bool{true, true, false, true} {
		if list, err := f.List(t.Context()); err != nil || list.Cut != cut {
			t.Errorf("list %d: %+v, %v", n, list, err)
		}
	}
}

// Lists of changes have the bounds of whole lists.
func TestListsOfChangesEndAtTheirBounds(t *testing.T) {
	n := 0
	f := with(&client{list: func(l clients.List) (clients.ListPage, error) {
		page := clients.ListPage{Version: fmt.Sprint(n), Changes: l.Since != "", Next: "ignored"}
		if l.Since == "" {
			page.Next = ""
		}
		for i := range 5 * pageFiles {
			page.Files = append(page.Files, clients.ListedFile{Path: fmt.Sprintf("%d/%d", n, i)})
			page.Removed = append(page.Removed, fmt.Sprintf("%d/%d", n-9, i), "../x")
		}
		n++
		return page, nil
	}})
	for range 12 {
		list, err := f.List(t.Context())
		if err != nil || len(list.Files) > maxFiles {
			t.Fatalf("%d files, %v", len(list.Files), err)
		}
	}
	if list := f.Known(); !list.Cut || n != 12 {
		t.Errorf("cut: %v after %d requests", list.Cut, n)
	}
}

// Requests, clients that come and clients that go at the same time.
func TestRequestsWhileClientsComeAndGo(t *testing.T) {
	f := New("/project")
	one := func() *client {
		return &client{quiet: true, list: paged("a", "b"), write: func(string) error { return nil },
			readSome: func(r clients.ReadMany) ([]clients.ReadResult, error) {
				return []clients.ReadResult{{Path: r.Paths[0], Data: []byte("text")}}, nil
			}}
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 50 {
				c := one()
				f.Join(c)
				f.Terminal()
				f.Leave(c)
			}
		})
		group.Go(func() {
			for range 50 {
				_, listErr := f.List(t.Context())
				_, readErr := f.Read(t.Context(), "a", source.Reading{Limit: 9})
				for _, err := range []error{listErr, readErr, f.Write(t.Context(), "a", "")} {
					if refused, ok := errors.AsType[*filecontext.RefusedError](err); err != nil && (!ok || refused.Reason != filecontext.ReasonAway) {
						t.Errorf("got %v", err)
					}
				}
			}
		})
	}
	group.Wait()
}

// A client that needs long for each page does not keep a list from ending.
func TestAListOfASlowClientEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		n := 0
		f := with(&client{list: func(clients.List) (clients.ListPage, error) {
			time.Sleep(9 * time.Second)
			if n++; time.Since(begun) > listTime {
				return clients.ListPage{}, context.DeadlineExceeded
			}
			return clients.ListPage{Next: fmt.Sprint(n)}, nil
		}})
		_, err := f.List(t.Context())
		if filecontext.ReasonOf(err) != filecontext.ReasonAway || !strings.Contains(err.Error(), "in time") || n != 4 {
			t.Errorf("%v after %d pages", err, n)
		}
	})
}
