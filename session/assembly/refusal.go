package assembly

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"strata/history"
	"strata/llm"
	"strata/session/content"
	"strata/session/fit"
	"strata/tokens"
)

// leastWindow is the smallest window that is assumed if no provider has told it, in tokens.
const leastWindow = 2_048

// Refusal is what the refusal of a request teaches. The zero value teaches nothing.
type Refusal struct {
	Window  int             // the model's context in tokens; 0: nothing was learned of it
	Counted int             // the request in the provider's tokens; 0: not known
	Patches []history.Patch // that omit pictures
	Reason  string          // for which they are omitted
	Notice  string          // for the user
}

// Teaches reports whether something was learned.
func (r *Refusal) Teaches() bool { return r.Window > 0 || r.Counted > 0 || len(r.Patches) > 0 }

// Refusal returns what an error of the provider teaches about a request of the state.
func (s *State) Refusal(b *Built, e *llm.Error) Refusal {
	switch {
	case e.Kind == llm.KindContext:
		return ContextRefusal(e, b.Counted, s.Calibrated(b.Counted), b.Request.MaxOutput, s.Model.Window)
	case e.Kind == llm.KindPicture:
		return s.pictureRefusal()
	case e.Status == http.StatusRequestEntityTooLarge:
		return s.bytesRefusal()
	}
	return Refusal{}
}

// ContextRefusal returns what a provider says by refusing a request for its length: of counted tokens by our count, expected
// of the provider, and answer tokens kept for the answer, for a model taken to have a window.
func ContextRefusal(e *llm.Error, counted, expected, answer, window int) (r Refusal) {
	if e.Counted > expected && !tokens.Partial(counted, e.Counted) {
		r.Counted = e.Counted
		r.Notice = "The provider counts more tokens than expected; the request was shortened."
	}
	switch {
	case e.Limit > 0 && e.Limit < window:
		r.Window = e.Limit
		r.Notice = fmt.Sprintf("The model's context is %s tokens; the request was shortened.", grouped(e.Limit))
	case r.Counted > 0:
	case e.Limit > expected: // the window is as expected, so the tokens are denser
		r.Counted = e.Limit
		r.Notice = "The provider counts more tokens than expected; the request was shortened."
	default:
		r.Window = max(min(window, expected+answer)/2, leastWindow)
		r.Notice = "The model's context is smaller than expected; the request was shortened."
	}
	return r
}

// pictureRefusal returns which pictures leave when the provider refuses one of a request: those that no answered request has
// held, otherwise all.
func (s *State) pictureRefusal() Refusal {
	patches := s.Pictures.After(s.View, s.answeredSeq(), content.ReasonPictureRefused, s.Counter)
	if len(patches) == 0 {
		patches = s.Pictures.After(s.View, 0, content.ReasonPictureRefused, s.Counter)
	}
	return Refusal{Patches: patches, Reason: content.ReasonPictureRefused, Notice: fmt.Sprintf(
		"The provider refused a picture; it is omitted from now on: %s.", s.Pictures.Names(patches))}
}

// bytesRefusal returns which pictures leave when a request has too many bytes for the provider: the oldest, until the
// messages are down to a share of what they were.
func (s *State) bytesRefusal() Refusal {
	all := 0
	for i := range s.View {
		all += s.Pictures.Bytes(&s.View[i])
	}
	patches := s.Pictures.Oldest(s.View, all-int(float64(all)*fit.KeepShare), s.Counter)
	return Refusal{Patches: patches, Reason: content.ReasonRequestTooLarge, Notice: fmt.Sprintf(
		"The request was too large for the provider; the oldest pictures are omitted from now on: %s.", s.Pictures.Names(patches))}
}

// answeredSeq returns the place of the newest answer that a turn of this session has brought, 0 for none: the provider has
// taken what came before it.
func (s *State) answeredSeq() int64 {
	for _, v := range slices.Backward(s.View) {
		if v.Role == history.RoleAssistant && v.Status == history.StatusComplete && v.Turn != "" {
			return v.Seq
		}
	}
	return 0
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
