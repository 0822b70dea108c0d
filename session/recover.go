package session

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"strata/history"
	"strata/llm"
	"strata/tokens"
)

// maxRequests is how many requests a turn sends at most while it learns what its provider takes.
const maxRequests = 4

// leastWindow bounds how small a window is taken to be that no provider has told, in tokens.
const leastWindow = 2_048

// converse builds the turn's request and streams the answer. A request that is refused for its size or for a picture
// teaches something; where nothing of an answer was shown the request is built anew with that, and sent again if it is
// smaller than the one that was refused.
func (s *Session) converse(t *turn, snap snapshot) (out outcome) {
	before := 0 // tokens of the request that was refused
	for n := 1; ; n++ {
		b, err := s.prepare(t.ctx, &snap, nil)
		if err == nil {
			err = s.shed(&b)
		}
		switch {
		case err != nil:
			return outcome{err: err}
		case n > 1 && (b.claims() >= before || snap.fitError(&b) != nil):
			return out // nothing is left to leave out
		}
		before = b.claims()
		snap.logPlanned(&b)
		s.onMailbox(func() { s.requestBuilt(t, b) })
		out = s.receive(t, &b)
		learned, err := s.learnRefusal(t, &snap, &b, out.err)
		switch {
		case err != nil:
			return outcome{err: err}
		case !learned.some(), out.shown, n == maxRequests, t.ctx.Err() != nil:
			return out
		}
		s.onMailbox(func() {
			s.emit(Event{Kind: EventNotice, Turn: t.record.ID, Text: learned.notice})
			snap = s.context.renewed(snap, t.model)
		})
	}
}

// claims is what a request takes of a window: its tokens, as they were counted, and the answer that it asks for.
func (b *built) claims() int { return b.counted + b.request.MaxOutput }

// refusal is what the refusal of a request teaches. The zero value is nothing.
type refusal struct {
	window  int             // the model's context in tokens; 0: nothing was learned of it
	counted int             // the request in the provider's tokens; 0 where that is not known
	patches []history.Patch // pictures that leave
	reason  string          // for which they leave
	notice  string          // for the user
}

func (r *refusal) some() bool { return r.window > 0 || r.counted > 0 || len(r.patches) > 0 }

// learnRefusal learns from the error that a request of the turn ended with, if it says anything of what the provider takes.
// An error of its own is that of the store.
func (s *Session) learnRefusal(t *turn, snap *snapshot, b *built, failed error) (refusal, error) {
	e, ok := errors.AsType[*llm.Error](failed)
	if !ok {
		return refusal{}, nil
	}
	r := snap.refusalOf(b, e)
	if len(r.patches) > 0 {
		edit := history.Edit{Kind: history.EditTruncate, Reason: r.reason, Patches: r.patches, SavedTokens: saved(r.patches)}
		if err := s.amend(edit, "fitted"); err != nil {
			return refusal{}, fmt.Errorf("leave pictures out: %w", err)
		}
	}
	s.onMailbox(func() { s.takeRefusal(t, b, r) })
	return r, nil
}

// takeRefusal makes what a refusal said of tokens and of the window hold for the turn's model.
func (s *Session) takeRefusal(t *turn, b *built, r refusal) {
	if r.counted > 0 {
		t.calibration = s.context.learn(t.model.Name, b.counted, r.counted)
	}
	if r.window == 0 {
		return
	}
	s.deps.limitWindow(t.model.Name, r.window)
	t.model.Window = min(t.model.Window, r.window)
	s.renewModel()
}

// refusalOf returns what an error of the provider says of a request.
func (s *snapshot) refusalOf(b *built, e *llm.Error) refusal {
	switch {
	case e.Kind == llm.KindContext:
		return contextRefusal(e, b.counted, s.calibrated(b.counted), b.request.MaxOutput, s.model.Window)
	case e.Kind == llm.KindPicture:
		return s.pictureRefusal()
	case e.Status == http.StatusRequestEntityTooLarge:
		return s.bytesRefusal()
	}
	return refusal{}
}

// contextRefusal returns what a provider says by refusing a request for its length: of counted tokens by our count, expected
// of the provider, and answer tokens kept for the answer, for a model taken to have a window.
func contextRefusal(e *llm.Error, counted, expected, answer, window int) (r refusal) {
	if e.Counted > expected && !tokens.Partial(counted, e.Counted) {
		r.counted = e.Counted
		r.notice = "The provider counts more tokens than expected; the request was shortened."
	}
	switch {
	case e.Limit > 0 && e.Limit < window:
		r.window = e.Limit
		r.notice = fmt.Sprintf("The model's context is %s tokens; the request was shortened.", grouped(e.Limit))
	case r.counted > 0:
	case e.Limit > expected: // the window is as expected, so the tokens are denser
		r.counted = e.Limit
		r.notice = "The provider counts more tokens than expected; the request was shortened."
	default:
		r.window = max(min(window, expected+answer)/2, leastWindow)
		r.notice = "The model's context is smaller than expected; the request was shortened."
	}
	return r
}

// pictureRefusal returns which pictures leave when the provider refuses one of a request: those that no answered request has
// held, otherwise all.
func (s *snapshot) pictureRefusal() refusal {
	patches := s.newPictures(s.view, s.answeredSeq(), reasonPictureRefused)
	if len(patches) == 0 {
		patches = s.newPictures(s.view, 0, reasonPictureRefused)
	}
	return refusal{patches: patches, reason: reasonPictureRefused, notice: fmt.Sprintf(
		"The provider refused a picture; it is omitted from now on: %s.", s.namedPictures(patches))}
}

// bytesRefusal returns which pictures leave when a request has too many bytes for the provider: the oldest, until the
// messages are down to a share of what they were.
func (s *snapshot) bytesRefusal() refusal {
	all := 0
	for i := range s.view {
		all += s.messageBytes(&s.view[i])
	}
	patches := s.oldestPictures(s.view, all-int(float64(all)*shedTo))
	return refusal{patches: patches, reason: reasonRequestTooLarge, notice: fmt.Sprintf(
		"The request was too large for the provider; the oldest pictures are omitted from now on: %s.", s.namedPictures(patches))}
}

// answeredSeq returns the place of the newest answer that a turn of this session has brought, 0 for none: the provider has
// taken what came before it.
func (s *snapshot) answeredSeq() int64 {
	for _, v := range slices.Backward(s.view) {
		if v.Role == history.RoleAssistant && v.Status == history.StatusComplete && v.Turn != "" {
			return v.Seq
		}
	}
	return 0
}

// renewed returns a snapshot of a running turn with the view, the files and the counts as they are now. What the user has
// chosen meanwhile holds for the next turn.
func (m *ContextManager) renewed(old snapshot, model llm.Model) snapshot {
	now := m.snapshot(model, old.thought)
	now.profile, now.phase, now.system, now.counter = old.profile, old.phase, old.system, old.counter
	now.documents, now.all = old.documents, old.all
	return now
}

// renewModel takes over what was learned of the session's model since it was chosen.
func (s *Session) renewModel() {
	s.chooseModel()
	s.followRules()
}

func (d *Deps) limitWindow(model string, tokens int) {
	if d.LimitWindow != nil {
		d.LimitWindow(model, tokens)
	}
}

// grouped writes a number with commas between its thousands.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	var groups []string
	for len(digits) > 3 {
		groups = append(groups, digits[len(digits)-3:])
		digits = digits[:len(digits)-3]
	}
	slices.Reverse(groups)
	return strings.Join(append([]string{digits}, groups...), ",")
}
