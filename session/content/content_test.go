package content

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/llm"
	"strata/tokens"
)

// drawn returns a block with a PNG picture of the given size, of the type that a client claims.
func drawn(t *testing.T, width, height int, claimed string) history.Block {
	t.Helper()
	var data bytes.Buffer
	if err := png.Encode(&data, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return history.Block{Type: history.BlockImage, Data: data.Bytes(), MIME: claimed}
}

func result(parts ...history.Block) history.Block {
	return history.Block{Type: history.BlockToolResult, CallID: "1", Content: parts}
}

// A picture has the type and size of its bytes, also in the result of a tool; its cost follows from the size.
func TestPicturesAreMeasuredByTheirBytes(t *testing.T) {
	messages := []history.Message{{Blocks: []history.Block{drawn(t, 400, 300, "image/webp"), result(drawn(t, 200, 100, "image/jpeg"))}}}
	if err := Measure(t.Context(), tokens.For(""), messages); err != nil {
		t.Fatal(err)
	}
	outer, inner := messages[0].Blocks[0], messages[0].Blocks[1].Content[0]
	if outer.MIME != "image/png" || outer.Width != 400 || outer.Height != 300 {
		t.Errorf("%s, %d x %d", outer.MIME, outer.Width, outer.Height)
	}
	if inner.MIME != "image/png" || inner.Width != 200 || inner.Height != 100 {
		t.Errorf("in a result: %s, %d x %d", inner.MIME, inner.Width, inner.Height)
	}
	if want := tokens.MessageOverhead + tokens.Image(400, 300) + tokens.Image(200, 100); messages[0].Tokens != want {
		t.Errorf("%d tokens, want %d", messages[0].Tokens, want)
	}
}

// An old message can have a picture of a wrong type. A request gets the right one; the stored message keeps what it has.
func TestTypedBlocksAreACopy(t *testing.T) {
	blocks := []history.Block{text("before"), drawn(t, 2, 2, "image/jpeg"), result(text("x"), drawn(t, 2, 2, "image/gif"))}
	typed := Typed(blocks)
	if typed[1].MIME != "image/png" || typed[2].Content[1].MIME != "image/png" {
		t.Errorf("sent as %s and %s", typed[1].MIME, typed[2].Content[1].MIME)
	}
	if blocks[1].MIME != "image/jpeg" || blocks[2].Content[1].MIME != "image/gif" {
		t.Errorf("stored as %s and %s", blocks[1].MIME, blocks[2].Content[1].MIME)
	}
	if right := []history.Block{drawn(t, 2, 2, "image/png")}; &Typed(right)[0] != &right[0] {
		t.Error("blocks whose types are right are copied")
	}
}

func TestAFailedToolIsFoundInAnyBlock(t *testing.T) {
	failed := result(text("no such file"))
	failed.IsError = true
	for _, tt := range []struct {
		blocks []history.Block
		want   bool
	}{{nil, false}, {[]history.Block{result()}, false}, {[]history.Block{failed}, true}, {[]history.Block{result(), failed}, true}} {
		if Failed(&history.Message{Blocks: tt.blocks}) != tt.want {
			t.Errorf("%+v: %t", tt.blocks, !tt.want)
		}
	}
}

// The view shows each message with its own patches, and an error of the store is not a short list.
func TestMessagesAreReadAsTheViewShowsThem(t *testing.T) {
	stored := map[int64]history.Message{3: {ID: "a", Seq: 3, Blocks: []history.Block{text("first")}}, 5: {ID: "b", Seq: 5, Blocks: []history.Block{text("second")}}}
	read := Reader(func(_ context.Context, seqs []int64) (messages []history.Message, err error) {
		for _, seq := range seqs {
			messages = append(messages, stored[seq])
		}
		return messages, nil
	})
	view := []history.Viewed{
		{Head: history.Head{ID: "a", Seq: 3}},
		{Head: history.Head{ID: "b", Seq: 5}, Patches: []history.Patch{{Message: "b", Text: "shorter"}}},
	}
	messages, err := read.View(t.Context(), view)
	if err != nil || len(messages) != 2 || messages[0].PlainText() != "first" || messages[1].PlainText() != "shorter" {
		t.Errorf("%+v, %v", messages, err)
	}
	if stored[5].Blocks[0].Text != "second" {
		t.Error("the stored message was changed")
	}
	broken := errors.New("disk")
	read = func(context.Context, []int64) ([]history.Message, error) { return nil, broken }
	if _, err := read.View(t.Context(), view); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// A refused picture is named by its place in the message, also in the result of a tool.
func TestPicturesThatAreRefusedWithTheirMessage(t *testing.T) {
	small, wide, broken := drawn(t, 10, 10, ""), drawn(t, 300, 10, ""), history.Block{Type: history.BlockImage, Data: []byte("GIF")}
	sees := llm.Model{Name: "local/sees", Vision: true}
	sees.Pictures.Pixels = 200
	heavy := sees
	heavy.Pictures.Pixels, heavy.Pictures.Bytes = 0, len(small.Data)
	blind := llm.Model{Name: "local/blind"}
	blind.Pictures.Pixels = 200
	for name, tt := range map[string]struct {
		blocks []history.Block
		model  llm.Model
		want   string // prefix of the error
	}{
		"fine":                {[]history.Block{small, text("x"), small}, sees, ""},
		"the second":          {[]history.Block{small, text("x"), wide}, sees, "picture 2: 300 x 10 pixels exceeds the limit of 200 along a side"},
		"after a result":      {[]history.Block{result(small, small), wide}, sees, "picture 3: 300 x 10"},
		"in a result":         {[]history.Block{small, result(wide)}, sees, "picture 2: 300 x 10"},
		"as many bytes":       {[]history.Block{small}, heavy, ""},
		"too many bytes":      {[]history.Block{wide}, heavy, "picture 1: "},
		"broken":              {[]history.Block{broken}, sees, "picture 1: not a PNG"},
		"broken, not shown":   {[]history.Block{broken}, blind, "picture 1: not a PNG"},
		"too wide, not shown": {[]history.Block{wide}, blind, ""},
	} {
		err := Check(tt.blocks, &tt.model)
		if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// Each of several pictures in one tool's result leaves on its own, and the others stay.
func TestPicturesOfOneResultLeaveOneByOne(t *testing.T) {
	m := history.Message{ID: "a", Seq: 1, Role: history.RoleTool, Blocks: []history.Block{result(drawn(t, 900, 900, ""), text("and"), drawn(t, 900, 900, ""))}}
	if err := Measure(t.Context(), tokens.For(""), []history.Message{m}); err != nil {
		t.Fatal(err)
	}
	g := new(Gallery)
	g.Add(&m)
	view := []history.Viewed{{Head: m.Head(Bytes(m.Blocks))}}
	var parts []int
	for range 3 {
		patches := g.Oldest(view, 1, tokens.For(""))
		for _, p := range patches {
			parts = append(parts, p.Part)
		}
		view = WithPatches(view, patches)
	}
	if diff := cmp.Diff([]int{0, 2}, parts); diff != "" {
		t.Error(diff)
	}
}

// A message is read for its pictures once, also one that has none.
func TestMessagesAreLookedAtOnce(t *testing.T) {
	g, view := shown(300, 0)
	view = append(view, history.Viewed{Head: history.Head{ID: "new", Seq: 9}})
	unseen := g.Unseen(view)
	if len(unseen) != 1 || unseen[0].ID != "new" {
		t.Errorf("unseen are %+v", unseen)
	}
}

// A notice names the first pictures that leave, with their size if it is known, and counts the others.
func TestOmittedPicturesAreNamed(t *testing.T) {
	for n, want := range map[int]string{
		0: "", 1: "image/png, 800 x 600", 3: "image/png, 800 x 600; image/png, 800 x 600; image/png, 800 x 600",
		5: "image/png, 800 x 600; image/png, 800 x 600; image/png, 800 x 600; 2 more",
	} {
		g, view := shown(300, 300, 300, 300, 300)
		if got := g.Names(g.Oldest(view, 400*n, tokens.For(""))); got != want {
			t.Errorf("%d pictures: %q, want %q", n, got, want)
		}
	}
	g := new(Gallery)
	m := history.Message{ID: "a", Seq: 1, Blocks: []history.Block{{Type: history.BlockImage, MIME: "image/gif", Data: []byte("?")}}}
	g.Add(&m)
	if got := g.Names(g.Unfit([]history.Viewed{{Head: m.Head(1)}}, &llm.Model{}, tokens.For(""))); got != "image/gif" {
		t.Errorf("without a size: %q", got)
	}
}
