package stability

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	Last     int64           `json:"last"` // Unix time in nanoseconds
	Long     bool            `json:"long,omitempty"`
	Placed   bool            `json:"placed,omitempty"`
	Cached   []cachedPrefix  `json:"cached,omitempty"`
	State    json.RawMessage `json:"state"`
}

// cachedPrefix is the stored form of the mirror's record of the first N entries.
type cachedPrefix struct {
	N    int   `json:"n"`
	Used int64 `json:"used"` // Unix time in nanoseconds
	Long bool  `json:"long,omitempty"`
}

// State returns an encoding of t for Restore, with m's records of the session's prefixes. m may be nil.
// Equal trackers have equal encodings.
func (t *Tracker) State(m *Mirror) ([]byte, error) {
	inner, err := json.Marshal(t.layout.save())
	if err != nil {
		return nil, fmt.Errorf("encode layout: %w", err)
	}
	s := state{
		Version: stateVersion, Layout: t.kind, Answered: t.progress.answered,
		Long: t.progress.long, Placed: t.progress.placed, State: inner,
	}
	if t.progress.answered > 0 {
		s.Last = t.progress.last.UnixNano()
	}
	entries := t.layout.sent()
	for i := range entries {
		if u, ok := m.lastUse(entries[i].prefix, t.progress.last); ok {
			s.Cached = append(s.Cached, cachedPrefix{i + 1, u.at.UnixNano(), u.life == longLife})
		}
	}
	return json.Marshal(s)
}

// Restore decodes the result of State and adds the stored records of cached prefixes to m, which may be nil.
// The error is ErrLayout if the state has a different layout than opt.Layout; any other error means invalid options or
// a damaged state.
func Restore(opt Options, bytes []byte, m *Mirror) (*Tracker, error) {
	t, err := New(opt)
	if err != nil {
		return nil, err
	}
	if err := t.restore(bytes, m); err != nil {
		return nil, fmt.Errorf("restore layout state: %w", err)
	}
	return t, nil
}

func (t *Tracker) restore(bytes []byte, m *Mirror) error {
	if len(bytes) > maxState {
		return fmt.Errorf("%d bytes exceeds the limit of %d", len(bytes), maxState)
	}
	var s state
	if err := decode(bytes, &s); err != nil {
		return err
	}
	switch {
	case s.Version != stateVersion:
		return fmt.Errorf("version %d is not supported; want %d", s.Version, stateVersion)
	case s.Layout != t.kind:
		return fmt.Errorf("%q, want %q: %w", s.Layout, t.kind, ErrLayout)
	case s.Answered < 0 || s.Answered > maxAnswered:
		return fmt.Errorf("invalid number of replies: %d", s.Answered)
	}
	if err := t.layout.load(s.State, s.Answered); err != nil {
		return err
	}
	now := progress{answered: s.Answered, long: t.progress.long, placed: s.Placed}
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
