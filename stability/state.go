package stability

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// stateVersion is the version of the encoding used by State.
const stateVersion = 1

// The limits of Restore.
const (
	maxState    = 64 << 20 // bytes
	maxAnswered = 1 << 40
)

// ErrLayout is returned, wrapped, for the state of a different layout than that in the options. The caller then starts
// with a new tracker.
var ErrLayout = errors.New("the state belongs to another layout")

// state is the stored form of a Tracker.
type state struct {
	Version  int             `json:"version"`
	Layout   string          `json:"layout"`
	Answered int             `json:"answered"`
	Steps    int             `json:"steps,omitempty"` // of the answered requests, those inside a turn
	Last     int64           `json:"last"`            // Unix time in nanoseconds
	Long     bool            `json:"long,omitempty"`
	Placed   bool            `json:"placed,omitempty"`
	Cached   []cachedPrefix  `json:"cached,omitempty"`
	Rows     int             `json:"rows,omitempty"`
	State    json.RawMessage `json:"state,omitempty"` // of the layout, unless it has rows
}

// cachedPrefix is the stored form of the mirror's record of the first N entries.
type cachedPrefix struct {
	N    int   `json:"n"`
	Used int64 `json:"used"` // Unix time in nanoseconds
	Long bool  `json:"long,omitempty"`
}

// Stored is the stored form of a Tracker. Most rows are the same as after the reply before, so that only the others need to
// be written. Callers share the rows and must not modify them.
type Stored struct {
	Head []byte
	Rows [][]byte
}

// State returns the stored form of t, with m's records of the session's prefixes. m may be nil. Equal trackers have equal
// stored forms. It must not be called concurrently.
func (t *Tracker) State(m *Mirror) (Stored, error) {
	inner, rows := t.layout.save()
	s := state{
		Version: stateVersion, Layout: t.kind, Answered: t.progress.answered, Steps: t.progress.steps,
		Long: t.progress.long, Placed: t.progress.placed, Rows: len(rows),
	}
	var err error
	if inner != nil {
		if s.State, err = json.Marshal(inner); err != nil {
			return Stored{}, fmt.Errorf("encode layout: %w", err)
		}
	}
	if t.progress.answered > 0 {
		s.Last = t.progress.last.UnixNano()
	}
	entries := t.layout.sent()
	for i := range entries {
		if u, ok := m.lastUse(entries[i].prefix, t.progress.last); ok {
			s.Cached = append(s.Cached, cachedPrefix{i + 1, u.at.UnixNano(), u.life == LongLife})
		}
	}
	head, err := json.Marshal(s)
	return Stored{head, rows}, err
}

// inner returns the state of the layout: that in the head, otherwise the rows.
func (s *Stored) inner(head *state) json.RawMessage {
	if len(head.State) > 0 {
		return head.State
	}
	return slices.Concat([]byte("["), bytes.Join(s.Rows, []byte(",")), []byte("]"))
}

// size returns the number of bytes.
func (s *Stored) size() int {
	n := len(s.Head)
	for _, row := range s.Rows {
		n += len(row) + 1
	}
	return n
}

// Restore decodes the result of State and adds the stored records of cached prefixes to m, which may be nil.
// The error is ErrLayout if the state has a different layout than opt.Layout; any other error means invalid options or
// a damaged state.
func Restore(opt Options, stored Stored, m *Mirror) (*Tracker, error) {
	t, err := New(opt)
	if err != nil {
		return nil, err
	}
	if err := t.restore(stored, m); err != nil {
		return nil, fmt.Errorf("restore layout state: %w", err)
	}
	return t, nil
}

func (t *Tracker) restore(stored Stored, m *Mirror) error {
	if n := stored.size(); n > maxState {
		return fmt.Errorf("%d bytes exceeds the limit of %d", n, maxState)
	}
	var s state
	if err := decode(stored.Head, &s); err != nil {
		return err
	}
	switch {
	case s.Version != stateVersion:
		return fmt.Errorf("version %d is not supported; want %d", s.Version, stateVersion)
	case s.Layout != t.kind:
		return fmt.Errorf("%q, want %q: %w", s.Layout, t.kind, ErrLayout)
	case s.Rows != len(stored.Rows) && len(s.State) == 0:
		return fmt.Errorf("%d rows of %d", len(stored.Rows), s.Rows)
	case s.Answered < 0 || s.Answered > maxAnswered:
		return fmt.Errorf("invalid number of replies: %d", s.Answered)
	case s.Steps < 0 || s.Steps >= max(s.Answered, 1):
		return fmt.Errorf("%d of %d replies inside a turn", s.Steps, s.Answered)
	}
	now := progress{answered: s.Answered, steps: s.Steps, long: t.progress.long, placed: s.Placed}
	if err := t.layout.load(stored.inner(&s), now.next(false)); err != nil {
		return err
	}
	if s.Answered > 0 {
		now.last = time.Unix(0, s.Last)
	}
	if t.lifetime == LifetimeAuto {
		now.long = s.Long
	}
	t.progress = &now
	return t.teach(m, s.Cached)
}

// teach adds the stored records of cached prefixes to m.
func (t *Tracker) teach(m *Mirror, cached []cachedPrefix) error {
	entries := t.layout.sent()
	for _, c := range cached {
		if c.N < 1 || c.N > len(entries) {
			return fmt.Errorf("cached prefix has %d entries of %d", c.N, len(entries))
		}
		m.learn(entries[c.N-1].prefix, use{time.Unix(0, c.Used), lifetime(c.Long)})
	}
	return nil
}

// decode decodes exactly one JSON value and refuses unknown fields.
func decode(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}
