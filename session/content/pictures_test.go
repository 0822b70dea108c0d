package content

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/llm"
	"strata/tokens"
)

// shown returns a gallery and the view of messages with one picture each, of the given bytes; 0: a text.
func shown(bytes ...int) (*Gallery, []history.Viewed) {
	g := new(Gallery)
	var view []history.Viewed
	for i, n := range bytes {
		m := history.Message{ID: string(rune('a' + i)), Seq: int64(i + 1), Role: history.RoleUser, Tokens: 1600, Blocks: []history.Block{{Type: history.BlockText, Text: "hello"}}}
		if n > 0 {
			m.Blocks = append(m.Blocks, history.Block{Type: history.BlockImage, MIME: "image/png", Data: make([]byte, n), Width: 800, Height: 600})
		}
		g.Add(&m)
		view = append(view, history.Viewed{Head: m.Head(Bytes(m.Blocks))})
	}
	return g, view
}

func messagesOf(patches []history.Patch) string {
	var ids strings.Builder
	for _, p := range patches {
		ids.WriteString(p.Message)
	}
	return ids.String()
}

// The oldest pictures leave, no more than are needed, and none twice.
func TestTheOldestPicturesLeave(t *testing.T) {
	g, view := shown(300, 0, 300, 600)
	counter := tokens.For("")
	for save, want := range map[int]string{-1: "", 0: "", 1: "a", 400: "a", 401: "ac", 800: "ac", 801: "acd", 1 << 20: "acd"} {
		if got := messagesOf(g.Oldest(view, save, counter)); got != want {
			t.Errorf("%d bytes to save: the pictures of %q leave, want %q", save, got, want)
		}
	}
	without := WithPatches(view, g.Oldest(view, 1, counter))
	if got := messagesOf(g.Oldest(without, 401, counter)); got != "cd" {
		t.Errorf("after the first one left %q leave", got)
	}
	if len(view[0].Patches) != 0 {
		t.Error("the view was changed")
	}
}

// A picture that a patch replaces adds no bytes to a request.
func TestBytesOfOmittedPictures(t *testing.T) {
	g, view := shown(300)
	before := g.Bytes(&view[0])
	now := WithPatches(view, g.Oldest(view, 1, tokens.For("")))
	if after := g.Bytes(&now[0]); before != view[0].Bytes || before-after != 400 {
		t.Errorf("%d bytes, then %d, want 400 less than %d", before, after, view[0].Bytes)
	}
}

// Only pictures after the newest answer are new to the provider.
func TestPicturesAfterAMessage(t *testing.T) {
	g, view := shown(300, 300, 300)
	for seq, want := range map[int64]string{0: "abc", 1: "bc", 2: "c", 3: "", 9: ""} {
		patches := g.After(view, seq, ReasonPictureRefused, tokens.For(""))
		if got := messagesOf(patches); got != want {
			t.Errorf("after %d: %q, want %q", seq, got, want)
		}
		for _, p := range patches {
			if p.Origin != ReasonPictureRefused || p.Block != 1 || p.Saved <= 0 {
				t.Errorf("after %d: %+v", seq, p)
			}
		}
	}
}

// A patch changes no other view of the message: views are shared by goroutines.
func TestPatchesAreNotShared(t *testing.T) {
	base := history.Viewed{Head: history.Head{ID: "a", Tokens: 100}, Patches: make([]history.Patch, 0, 4)}
	one := Patched(base, history.Patch{Text: "one", Saved: 30})
	two := Patched(base, history.Patch{Text: "two", Saved: 300})
	if one.Patches[0].Text != "one" || two.Patches[0].Text != "two" || len(base.Patches) != 0 {
		t.Errorf("%+v, %+v", one.Patches, two.Patches)
	}
	if base.Tokens != 100 || one.Tokens != 70 || two.Tokens != 0 {
		t.Errorf("%d, %d and %d tokens", base.Tokens, one.Tokens, two.Tokens)
	}
}

// A message that no request to the model can hold is refused when it is sent.
func TestAMessageMustFitIntoARequest(t *testing.T) {
	block := history.Block{Type: history.BlockText, Text: strings.Repeat("x", 900-64)}
	for limit, want := range map[int]bool{0: true, 1000: true, 999: false} { // content may have 90 % of a request
		err := Check([]history.Block{block}, &llm.Model{Name: "local/test", MaxBytes: limit})
		if (err == nil) != want {
			t.Errorf("%d bytes for requests of %d: %v", Bytes([]history.Block{block}), limit, err)
		}
	}
}

// Each reason for which a model takes no picture has its limit.
func TestPicturesThatAModelCannotTake(t *testing.T) {
	g, view := shown(300)
	sees := func(bytes, pixels int) llm.Model {
		m := llm.Model{Name: "local/test", Vision: true}
		m.Pictures.Bytes, m.Pictures.Pixels = bytes, pixels
		return m
	}
	for name, tt := range map[string]struct {
		model llm.Model
		want  string
	}{
		"blind":           {llm.Model{}, ReasonNoVision},
		"no limits":       {sees(0, 0), ""},
		"at the limits":   {sees(300, 800), ""},
		"too many bytes":  {sees(299, 800), ReasonPictureTooLarge},
		"too many pixels": {sees(300, 799), ReasonPictureTooLarge},
	} {
		var got []string
		for _, p := range g.Unfit(view, &tt.model, tokens.For("")) {
			got = append(got, p.Origin)
		}
		var want []string
		if tt.want != "" {
			want = []string{tt.want}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
