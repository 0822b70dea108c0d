package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"strata/filecontext"
	"strata/llm"
	"strata/stability"
)

// layout is what a session remembers of the requests that were answered: the tracker, and which files
// the model was told of. Plans are made on the session's goroutines, answers are noted on its mailbox:
// hence the lock, which is a leaf.
type layout struct {
	options stability.Options

	mu      sync.RWMutex
	tracker *stability.Tracker
	told    map[string]string // availability by path, as the notes of the newest answered request tell it
	cache   string            // name of the cache that request went to
}

// storedLayout is a layout as it is stored.
type storedLayout struct {
	Tracker json.RawMessage   `json:"tracker"`
	Told    map[string]string `json:"told,omitempty"`
	Cache   string            `json:"cache,omitempty"`
}

// newLayout takes over a stored layout. What cannot be used is forgotten, since it costs a cache and
// nothing else; the error says so. mirror returns what is known of the cache with a name: only the one
// that the stored request went to learns of it.
func newLayout(options stability.Options, stored []byte, mirror func(cache string) *stability.Mirror) (*layout, error) {
	fresh, err := stability.New(options)
	if err != nil {
		return nil, fmt.Errorf("stability: %w", err)
	}
	l := &layout{options: options, tracker: fresh, told: make(map[string]string)}
	if len(stored) == 0 {
		return l, nil
	}
	var s storedLayout
	if err := json.Unmarshal(stored, &s); err != nil {
		return l, fmt.Errorf("stored layout: %w", err)
	}
	tracker, err := stability.Restore(options, s.Tracker, mirror(s.Cache))
	if err != nil {
		if errors.Is(err, stability.ErrLayout) {
			err = nil
		}
		return l, err
	}
	l.tracker, l.cache = tracker, s.Cache
	if s.Told != nil {
		l.told = s.Told
	}
	return l, nil
}

// plan lays out a request that goes to the cache with the given name.
func (l *layout) plan(req stability.Request, cache string) (*stability.Plan, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	req.Cache.Cold = l.cache != cache
	return l.tracker.Plan(req)
}

// entries returns the entries of the request answered last; they must not be changed.
func (l *layout) entries() []stability.Entry {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.tracker.Entries()
}

// answered notes that a request was answered, and returns the layout as it is to be stored.
func (l *layout) answered(b *built) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.tracker.Commit(b.plan); err != nil {
		return nil, err
	}
	l.told, l.cache = b.told, b.cache
	tracker, err := l.tracker.State(b.mirror)
	if err != nil {
		return nil, err
	}
	return json.Marshal(storedLayout{Tracker: tracker, Told: b.told, Cache: b.cache})
}

// lastTold returns the availability of files as the model was told it; the map must not be changed.
func (l *layout) lastTold() map[string]string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.told
}

const (
	filesHeading = "Files available for this step:\n"
	noFiles      = filesHeading + "none\n" // takes back what older notes said, which may still stand
)

// availabilityNote returns what is to be told of files whose availability is not what the model was told;
// the whole list where it was told nothing. It is empty where nothing is to be told.
func availabilityNote(told, now map[string]string) string {
	var lines []string
	for path, state := range now {
		if told[path] != state {
			lines = append(lines, state+": "+path)
		}
	}
	for path, state := range told {
		if _, still := now[path]; !still && state != removedFile {
			lines = append(lines, removedFile+": "+path)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(pathOf(a), pathOf(b)) })
	heading := "Changes to the files available for this step:\n"
	if len(told) == 0 {
		heading = filesHeading
	}
	return heading + strings.Join(lines, "\n") + "\n"
}

func pathOf(line string) string {
	_, path, _ := strings.Cut(line, ": ")
	return path
}

// The availabilities as the model is told them. A file of which only a part is shown counts as a
// summary, since neither may be patched.
const (
	fullFile    = "FULL"
	summaryFile = "SUMMARY"
	removedFile = "REMOVED"
)

// availability returns what the model is told of each file, by the path as it is printed.
func availability(entries []filecontext.Entry) map[string]string {
	now := make(map[string]string, len(entries))
	for _, e := range entries {
		switch state, _ := e.Availability(); state {
		case filecontext.Full:
			now[filecontext.Printable(e.Path)] = fullFile
		case filecontext.Partial, filecontext.SummaryOnly:
			now[filecontext.Printable(e.Path)] = summaryFile
		}
	}
	return now
}

// maxMirrors bounds the caches that are mirrored; the one unused for longest is forgotten.
const maxMirrors = 64

// Mirrors are what is known of providers' prompt caches, shared by all sessions of a server.
// It is safe for concurrent use; its lock is a leaf.
type Mirrors struct {
	mu   sync.Mutex
	all  map[string]*stability.Mirror
	used map[string]time.Time
}

// NewMirrors returns mirrors of empty caches.
func NewMirrors() *Mirrors {
	return &Mirrors{all: make(map[string]*stability.Mirror), used: make(map[string]time.Time)}
}

// cacheName names the cache that a model's calls share: of one provider, model, thinking and tool set.
func cacheName(model llm.Model, thought llm.ThoughtLevel, tools string) string {
	return strings.Join([]string{model.Name, string(thought), tools}, " ")
}

// of returns the mirror of the cache with a name.
func (m *Mirrors) of(cache string, now time.Time) *stability.Mirror {
	m.mu.Lock()
	defer m.mu.Unlock()
	mirror := m.all[cache]
	if mirror == nil {
		m.makeRoom()
		mirror = stability.NewMirror()
		m.all[cache] = mirror
	}
	m.used[cache] = now
	return mirror
}

func (m *Mirrors) makeRoom() {
	if len(m.all) < maxMirrors {
		return
	}
	oldest := ""
	for key, at := range m.used {
		if oldest == "" || at.Before(m.used[oldest]) {
			oldest = key
		}
	}
	delete(m.all, oldest)
	delete(m.used, oldest)
}
