package testclient

import (
	"fmt"
	"strings"
)

// Condition is something that a test expects to come true.
type Condition struct {
	Name string // what a test that waits in vain says it waited for
	Met  func(Frames) bool
}

// Expect waits until all conditions hold at once. The test fails when they cannot any more.
func (e *Editor) Expect(conditions ...Condition) {
	e.t.Helper()
	if err := e.Await(conditions...); err != nil {
		e.t.Fatal(err)
	}
}

// Await is Expect for other goroutines than the test's.
func (e *Editor) Await(conditions ...Condition) error {
	all := All(conditions...)
	if err := e.wait(func() bool { return all.Met(e.frames) }); err != nil {
		return fmt.Errorf("wait for %s: %w; what came:\n%s", all.Name, err, e.Frames().tail())
	}
	return nil
}

// Sees holds when a notification of that kind has come for the session.
func Sees(session, kind string) Condition { return SeesTimes(session, kind, 1) }

// SeesTimes holds when at least n notifications of that kind have come for the session.
func SeesTimes(session, kind string, n int) Condition {
	return Condition{
		Name: fmt.Sprintf("%d %s of %s", n, kind, session),
		Met:  func(fs Frames) bool { return len(fs.Of(session).Kind(kind)) >= n },
	}
}

// Says holds when the chunks of that kind that have come for the session hold a text.
func Says(session, kind, text string) Condition {
	return Condition{
		Name: fmt.Sprintf("%q in the %s of %s", text, kind, session),
		Met:  func(fs Frames) bool { return strings.Contains(fs.Of(session).Text(kind), text) },
	}
}

// Answers holds when a reply with that id, as it stands in the frame, has come.
func Answers(id string) Condition {
	return Condition{
		Name: "an answer to " + id,
		Met: func(fs Frames) bool {
			return len(fs.where(func(f Frame) bool { return f.Method == "" && string(f.ID) == id })) > 0
		},
	}
}

// All holds when all conditions do.
func All(conditions ...Condition) Condition {
	return Condition{
		Name: join(conditions, " and "),
		Met: func(fs Frames) bool {
			for _, c := range conditions {
				if !c.Met(fs) {
					return false
				}
			}
			return true
		},
	}
}

// Any holds when one of the conditions does.
func Any(conditions ...Condition) Condition {
	return Condition{
		Name: join(conditions, " or "),
		Met: func(fs Frames) bool {
			for _, c := range conditions {
				if c.Met(fs) {
					return true
				}
			}
			return false
		},
	}
}

// After holds when c does for what comes after the frames that have come by now.
func (e *Editor) After(c Condition) Condition {
	start := len(e.Frames())
	return Condition{
		Name: c.Name + " from now on",
		Met:  func(fs Frames) bool { return c.Met(fs[start:]) },
	}
}

func join(conditions []Condition, word string) string {
	names := make([]string, len(conditions))
	for i, c := range conditions {
		names[i] = c.Name
	}
	return strings.Join(names, word)
}

// tail prints the newest frames, a line each.
func (fs Frames) tail() string {
	const frames, bytes = 20, 200
	var out strings.Builder
	if left := len(fs) - frames; left > 0 {
		fmt.Fprintf(&out, "(%d frames)\n", left)
	}
	for _, f := range fs[max(0, len(fs)-frames):] {
		fmt.Fprintf(&out, "%.*s\n", bytes, f.Raw)
	}
	return out.String()
}
