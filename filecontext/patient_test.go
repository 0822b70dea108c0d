package filecontext

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/internal/patience"
	"strata/internal/stuckfs"
)

// never is a limit that no test reaches: only a cancellation can end the wait.
const never = 24 * time.Hour

// brief is a limit that a test waits for.
const brief = 300 * time.Millisecond

// rootsOn returns the roots of a disk that does not respond to all requests.
func rootsOn(t *testing.T, d *stuckfs.Disk, limit time.Duration) (*Roots, *patience.Watch) {
	t.Helper()
	watch := patience.New(limit)
	r, err := NewRoots(t.Context(), d.Folder, nil, Limits{Patience: watch, SearchReuse: 1})
	for err != nil && strings.Contains(err.Error(), "the disk does not respond") { // on a busy machine
		r, err = NewRoots(t.Context(), d.Folder, nil, Limits{Patience: watch, SearchReuse: 1})
	}
	must(t, err)
	t.Cleanup(func() { // what was given up ends with the disk
		d.Abort()
		for watch.Lost() > 0 {
			time.Sleep(time.Millisecond)
		}
	})
	return r, watch
}

// unanswered fails unless an error says that a disk does not respond.
func unanswered(t *testing.T, what string, err error) {
	t.Helper()
	if ReasonOf(err) != ReasonUnreadable || !strings.Contains(err.Error(), "the disk does not respond") {
		t.Errorf("%s: %v", what, err)
	}
}

// eventually reads a file that comes, if not always in the short time that a folder has in which others do not.
func eventually(t *testing.T, r *Roots, path string) Content {
	t.Helper()
	for {
		c, err := read(t, r, path)
		if err == nil {
			return c
		}
		unanswered(t, path, err)
	}
}

// A file whose attributes or content never come is unreadable, with the reason; other files of the folder are read as ever,
// and the same file is not tried again while the first attempt waits.
func TestR01AFileThatNeverComesIsUnreadable(t *testing.T) {
	d := stuckfs.Mount(t)
	r, watch := rootsOn(t, d, brief)
	for range 3 {
		for _, name := range []string{stuckfs.Stuck, stuckfs.Deaf} {
			_, err := read(t, r, name)
			unanswered(t, name, err)
		}
		unanswered(t, "buffer", buffer(r, stuckfs.Deaf))
		if c := eventually(t, r, stuckfs.Good); c.Text != stuckfs.Text {
			t.Errorf("read %q", c.Text)
		}
	}
	if d.Unanswered() > 3 {
		t.Errorf("%d reads are lost, the disk was asked %d times", watch.Lost(), d.Unanswered())
	}
}

// A refresh reports files that do not come, once, and finds the others unchanged.
func TestR01RefreshGoesOn(t *testing.T) {
	d := stuckfs.Mount(t)
	r, _ := rootsOn(t, d, brief)
	f := New()
	put(t, f, eventually(t, r, stuckfs.Good), AddOptions{})
	for _, name := range []string{stuckfs.Stuck, stuckfs.Deaf} {
		put(t, f, newContent(name, "before\n", []byte("before\n")), AddOptions{})
	}
	lost := make(map[string]bool)
	for range 3 {
		changes, err := r.Refresh(t.Context(), f.List())
		must(t, err)
		for _, c := range f.Apply(changes) {
			if c.Path == stuckfs.Good { // it took too long on a busy machine, or is there again
				continue
			}
			if lost[c.Path] {
				t.Errorf("%s is reported again", c.Path)
			}
			lost[c.Path] = true
			if c.Kind != Unreadable || c.Reason != ReasonUnreadable || !strings.Contains(c.Explain(), "cannot be read (the disk does not respond") {
				t.Errorf("%+v: %s", c, c.Explain())
			}
		}
	}
	if len(lost) != 2 {
		t.Errorf("reported as lost: %v", lost)
	}
	for {
		entries := []Entry{{Content: Content{Path: stuckfs.Good, Hash: eventually(t, r, stuckfs.Good).Hash}}}
		if changes, err := r.Refresh(t.Context(), entries); err == nil && len(changes) == 1 && changes[0].Content.Text == stuckfs.Text {
			break
		}
	}
}

// A search lists all folders but those that do not come.
func TestR01FindGoesOn(t *testing.T) {
	r, _ := rootsOn(t, stuckfs.Mount(t), 3*time.Second)
	got := found(t, r, "", 0)
	slices.Sort(got)
	if want := []string{stuckfs.Deaf, stuckfs.Good, stuckfs.Stuck}; !slices.Equal(got, want) {
		t.Errorf("found %q", got)
	}
}

// A cancellation ends every wait at once, however long the disk may take.
func TestR01CancelEndsEveryWait(t *testing.T) {
	d := stuckfs.Mount(t)
	r, watch := rootsOn(t, d, never)
	stuck, err := r.Locate(stuckfs.Stuck)
	must(t, err)
	deaf, err := r.Locate(stuckfs.Deaf)
	must(t, err)
	for what, do := range map[string]func(ctx context.Context) error{
		"read":   func(ctx context.Context) error { _, err := r.Read(ctx, stuck); return err },
		"buffer": func(ctx context.Context) error { _, _, err := r.Buffer(ctx, deaf, "text"); return err },
		"refresh": func(ctx context.Context) error {
			_, err := r.Refresh(ctx, []Entry{{Content: Content{Path: stuckfs.Deaf}}})
			return err
		},
		"find": func(ctx context.Context) error { _, err := r.Find(ctx, "", 0); return err },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		before := d.Unanswered()
		ended := make(chan error, 1)
		go func() { ended <- do(ctx) }()
		for d.Unanswered() == before && what != "refresh" && what != "buffer" { // these two may join the same request
			time.Sleep(time.Millisecond)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if watch.Lost() == 0 {
		t.Error("nothing waits")
	}
}

// The folders of a session on a disk that is dead cannot be opened; those of a disk that dies later are unreadable.
func TestR01ADeadDisk(t *testing.T) {
	d := stuckfs.Mount(t)
	r, watch := rootsOn(t, d, brief)
	eventually(t, r, stuckfs.Good)
	d.Die()
	_, err := read(t, r, stuckfs.Good)
	unanswered(t, "read", err)
	if _, err := NewRoots(t.Context(), filepath.Join(d.Folder, stuckfs.Hung), nil, Limits{Patience: watch}); !errors.Is(err, patience.ErrNoResponse) {
		t.Errorf("opened: %v", err)
	}
	if got := found(t, r, "", 0); len(got) > 0 {
		t.Errorf("found %q", got)
	}
}
