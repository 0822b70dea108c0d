package testclient

import (
	"fmt"
	"strings"
)

// Condition is a condition for which a test waits.
type Condition struct {
	Name string // for the error if the wait times out
	Met  func(Frames) bool
}

// Expect waits until all conditions hold. The test fails if the connection ends or the wait times out.
func (e *Editor) Expect(conditions ...Condition) {
	e.t.Helper()
	if err := e.Await(conditions...); err != nil {
		e.t.Fatal(err)
	}
}

// Await is Expect for goroutines other than the test's.
func (e *Editor) Await(conditions ...Condition) error {
	all := All(conditions...)
	if err := e.wait(func() bool { return all.Met(e.frames) }); err != nil {
		return fmt.Errorf("wait for %s: %w; received:\n%s", all.Name, err, e.Frames().tail())
	}
	return nil
}

// Sees holds when a notification of the given kind was received for the session.
func Sees(session, kind string) Condition { return SeesTimes(session, kind, 1) }

// SeesTimes holds when at least n notifications of the given kind were received for the session.
func SeesTimes(session, kind string, n int) Condition {
	return Condition{
		Name: fmt.Sprintf("%d %s of %s", n, kind, session),
		Met:  func(fs Frames) bool { return len(fs.Of(session).Kind(kind)) >= n },
	}
}

// Says holds when the received chunks of the given kind for the session contain a text.
func Says(session, kind, text string) Condition {
	return Condition{
		Name: fmt.Sprintf("%q in the %s of %s", text, kind, session),
		Met:  func(fs Frames) bool { return strings.Contains(fs.Of(session).Text(kind), text) },
	}
}

// Answers holds when a response with the given id, as in the frame, was received.
func Answers(id string) Condition {
	return Condition{
		Name: "an answer to " + id,
		Met: func(fs Frames) bool {
			return len(fs.where(func(f Frame) bool { return f.Method == "" && string(f.ID) == id })) > 0
		},
	}
}

// All holds when all conditions hold.
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

// Any holds when one of the conditions holds.
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

// After holds when c holds for the frames received from now on.
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

// tail returns the newest frames, one per line.
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
