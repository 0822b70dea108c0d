package server

import (
	"bytes"
	"encoding/base64"
	"fmt"
	pixels "image"
	"image/jpeg"
	"net/http"
	"strings"
	"testing"

	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/llm"
	"strata/rpc"
	"strata/session/choices"
)

// jpegOf returns an image with a pattern that depends on seed.
func jpegOf(t testing.TB, width, height, seed int) []byte {
	t.Helper()
	img := pixels.NewGray(pixels.Rect(0, 0, width, height))
	for i := range img.Pix {
		img.Pix[i] = byte(i * (seed + 3))
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, img, nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func pictureBlock(mime string, data []byte) map[string]any {
	return map[string]any{"type": "image", "mimeType": mime, "data": data}
}

// show sends a prompt with images, which must succeed.
func show(t testing.TB, e *testclient.Editor, sid, text string, pictures ...map[string]any) testclient.Reply {
	t.Helper()
	blocks := []any{words(text)}
	for _, p := range pictures {
		blocks = append(blocks, p)
	}
	reply, err := e.StartWith(sid, blocks, "").Wait()
	if err != nil {
		t.Fatal(err)
	}
	if reply.StopReason != "end_turn" {
		t.Fatalf("prompt %.20q ended with %s", text, reply.StopReason)
	}
	return reply
}

// sentPictures returns the types of the images in a request.
func sentPictures(r *upstream.Request) (types []string) {
	var look func([]upstream.Block)
	look = func(blocks []upstream.Block) {
		for _, b := range blocks {
			if b.Type == "image" {
				types = append(types, b.Source.MediaType)
			}
			look(b.Content)
		}
	}
	for _, m := range r.Messages {
		look(m.Blocks)
	}
	return types
}

// withModel starts a server with models changed by adjust.
func withModel(adjust func(*llm.Model)) func(*Options) {
	return func(o *Options) {
		adjustModels(o, func(m *llm.Model) {
			m.Vision = true
			adjust(m)
		})
	}
}

func startSeeing(t *testing.T, model string, up upstream.Options, adjust func(*llm.Model)) *testServer {
	t.Helper()
	sees := true
	ts := &testServer{t: t, upstream: upstream.Start(up), dir: t.TempDir(), work: t.TempDir(), models: map[string]llm.ModelConfig{model: {Vision: &sees}}}
	t.Cleanup(ts.upstream.Close)
	ts.start(func(o *Options) { o.Sessions.DefaultConfig.Model = model }, withModel(adjust))
	return ts
}

func TestF13PictureWithWrongType(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"local/test", "claude/test"} {
		ts := startSeeing(t, model, upstream.Options{Strict: true, Pictures: true}, func(*llm.Model) {})
		e, sid := attached(t, ts)
		picture := jpegOf(t, 64, 48, 1)
		show(t, e, sid, "look", pictureBlock("image/png", picture))
		message := []any{map[string]any{"role": "user", "content": []any{pictureBlock("image/webp", picture)}}}
		call[map[string]any](ts, e, "_strata/history/append", sid, map[string]any{"messages": message})
		mustPrompt(t, e, sid, "and now?")
		if got := strings.Join(sentPictures(ts.upstream.Last()), " "); got != "image/jpeg image/jpeg" {
			t.Errorf("%s: sent as %s", model, got)
		}
		for _, m := range transcript(t, e, sid) {
			for _, b := range m.Blocks {
				if len(b.Data) > 0 && (b.MIME != "image/jpeg" || b.Width != 64 || b.Height != 48) {
					t.Errorf("%s: stored as %s, %d x %d", model, b.MIME, b.Width, b.Height)
				}
			}
		}
	}
}

func TestF13PicturesThatNoRequestCanHold(t *testing.T) {
	t.Parallel()
	ts := startSeeing(t, "claude/test", upstream.Options{Strict: true, Pictures: true}, func(m *llm.Model) {
		m.Pictures, m.MaxBytes = llm.PictureLimits{Bytes: 50_000, Pixels: 2_000}, 200_000
	})
	e, sid := attached(t, ts)
	mustPrompt(t, e, sid, "hello")
	stored, requests := len(transcript(t, e, sid)), len(ts.upstream.Requests())
	fits := pictureBlock("image/png", png(64, 64, 49_000))
	for name, tc := range map[string]struct {
		blocks []any
		told   string
	}{
		"bytes":   {[]any{words("look"), fits, pictureBlock("image/png", png(64, 64, 50_001))}, "picture 2: 50001 bytes exceeds the limit of 50000 for claude/test"},
		"pixels":  {[]any{pictureBlock("image/png", png(64, 2_001, 900))}, "picture 1: 64 x 2001 pixels exceeds the limit of 2000"},
		"none":    {[]any{pictureBlock("image/png", []byte("a text"))}, "picture 1: not a PNG, JPEG, GIF or WebP"},
		"svg":     {[]any{pictureBlock("image/svg+xml", []byte("<svg/>"))}, "picture 1: not a PNG, JPEG, GIF or WebP"},
		"broken":  {[]any{pictureBlock("image/png", png(64, 64, 20))}, "picture 1: not a PNG, JPEG, GIF or WebP"},
		"request": {[]any{fits, fits, fits}, "exceeds the limit of 180000 for a request to claude/test"},
		"text":    {[]any{words(strings.Repeat("a", 180_000))}, "exceeds the limit of 180000 for a request to claude/test"},
	} {
		_, err := e.StartWith(sid, tc.blocks, "").Wait()
		if fault := wireFault(t, err, rpc.CodeInvalidParams); !strings.Contains(fault.Message, tc.told) {
			t.Errorf("%s: received %q", name, fault.Message)
		}
		var content []any
		content = append(content, tc.blocks...)
		messages := []any{map[string]any{"role": "user", "content": "fine"}, map[string]any{"role": "user", "content": content}}
		for _, method := range []string{"_strata/history/append", "_strata/history/replace"} {
			err := e.Call(method, map[string]any{"sessionId": sid, "messages": messages}, nil)
			if fault := wireFault(t, err, rpc.CodeInvalidParams); !strings.Contains(fault.Message, "messages[1]: ") || !strings.Contains(fault.Message, tc.told) {
				t.Errorf("%s, %s: received %q", name, method, fault.Message)
			}
		}
	}
	if n := len(transcript(t, e, sid)); n != stored || len(ts.upstream.Requests()) != requests {
		t.Errorf("%d messages are stored, %d requests were made", n-stored, len(ts.upstream.Requests())-requests)
	}
	show(t, e, sid, "look", fits)
}

// refusesPicture makes a provider refuse every request that contains one of the given images.
func refusesPicture(ts *testServer, status int, pictures ...[]byte) {
	ts.upstream.Choose(func(req *upstream.Request) upstream.Script {
		for _, p := range pictures {
			if strings.Contains(string(req.Body), base64.StdEncoding.EncodeToString(p)) {
				return upstream.Script{Status: status, Body: `{"error":{"type":"invalid_request_error","message":"Could not process image"}}`}
			}
		}
		return upstream.Default(req)
	})
}

func TestF13RefusedPicturesLeave(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"local/test", "claude/test"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			ts := startSeeing(t, model, upstream.Options{Strict: true, Pictures: true}, func(*llm.Model) {})
			good, bad := jpegOf(t, 64, 48, 1), jpegOf(t, 65, 48, 2)
			refusesPicture(ts, http.StatusBadRequest, bad)
			e, sid := attached(t, ts)
			show(t, e, sid, "look", pictureBlock("image/jpeg", good))
			reply := show(t, e, sid, "and here", pictureBlock("image/jpeg", bad))
			if told := rawOf(reply.Frames.Kind("notice")); !strings.Contains(told, "refused a picture") || !strings.Contains(told, "image/jpeg, 65 x 48") {
				t.Errorf("notices: %s", told)
			}
			all := transcript(t, e, sid)
			key := "msg:" + all[2].ID
			if out := leftOutOf(t, reply); out[key] != "picture_refused" || len(out) != 1 {
				t.Errorf("left out %v, want %s", out, key)
			}
			if n := len(ts.upstream.Requests()); n != 3 {
				t.Errorf("%d requests", n)
			}
			check := func(when string) {
				t.Helper()
				reply := mustPrompt(t, e, sid, "go on")
				last := ts.upstream.Last()
				if pictures(last, good) != 1 || pictures(last, bad) != 0 || !strings.Contains(string(last.Body), "[picture: image/jpeg, 65 x 48; not shown to this model]") {
					t.Errorf("%s: sent %v", when, sentPictures(last))
				}
				if out := leftOutOf(t, reply); out[key] != "picture_refused" {
					t.Errorf("%s: omitted %v", when, out)
				}
			}
			check("the next prompt")
			before := len(ts.upstream.Requests())
			ts.close()
			ts.start(func(o *Options) { o.Sessions.DefaultConfig.Model = model }, withModel(func(*llm.Model) {}))
			e = resume(ts, sid)
			check("after a restart")
			if n := len(ts.upstream.Requests()) - before; n != 1 {
				t.Errorf("%d requests after a restart", n)
			}
		})
	}
}

// One provider accepts an image and the next one refuses it: all images are removed.
func TestF13APictureThatWasTakenIsRefused(t *testing.T) {
	t.Parallel()
	ts := startSeeing(t, "claude/test", upstream.Options{Strict: true, Pictures: true}, func(*llm.Model) {})
	old := jpegOf(t, 64, 48, 1)
	e, sid := attached(t, ts)
	show(t, e, sid, "look", pictureBlock("image/jpeg", old))
	refusesPicture(ts, http.StatusUnprocessableEntity, old)
	reply := show(t, e, sid, "and here", pictureBlock("image/jpeg", jpegOf(t, 65, 48, 2)))
	if n := len(sentPictures(ts.upstream.Last())); n != 0 {
		t.Errorf("%d pictures were sent", n)
	}
	if out := leftOutOf(t, reply); len(out) != 2 {
		t.Errorf("omitted %v", out)
	}
	mustPrompt(t, e, sid, "go on")
}

func TestF15TheOldestPicturesLeave(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]struct{ ours, theirs int }{"ours": {1_000_000, 0}, "theirs": {0, 1_000_000}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sees := func(m *llm.Model) { m.MaxBytes = limits.ours }
			ts := startSeeing(t, "claude/test", upstream.Options{Strict: true, Pictures: true, MaxBytes: limits.theirs}, sees)
			e, sid := attached(t, ts)
			pic := func(i int) []byte { return png(64+i, 64, 100_000) }
			requests := 0
			for i := range 12 {
				reply := show(t, e, sid, fmt.Sprint("picture ", i), pictureBlock("image/png", pic(i)))
				last := ts.upstream.Last()
				if len(last.Body) > 1_000_000 || pictures(last, pic(i)) != 1 {
					t.Fatalf("prompt %d: %d bytes, pictures %v", i, len(last.Body), sentPictures(last))
				}
				out := leftOutOf(t, reply)
				if gone := i + 1 - len(sentPictures(last)); len(out) != gone {
					t.Errorf("prompt %d: %d images are missing, omitted %v", i, gone, out)
				}
				for j := range i {
					if newer := pictures(last, pic(j+1)); pictures(last, pic(j)) > newer {
						t.Errorf("prompt %d: image %d is kept, a newer one is removed", i, j)
					}
				}
				for _, reason := range out {
					if reason != "request_too_large" {
						t.Errorf("prompt %d: omitted %v", i, out)
					}
				}
				requests++
			}
			if n := len(sentPictures(ts.upstream.Last())); n < 4 {
				t.Errorf("only %d images remain", n)
			}
			// Images are removed in groups, so that not every prompt invalidates the cache.
			edits := call[struct {
				Edits []struct{ Kind, Reason string }
			}](ts, e, "_strata/history/edits", sid, nil)
			if n := len(edits.Edits); n < 1 || n > 3 || edits.Edits[0].Reason != "request_too_large" {
				t.Errorf("edits: %+v", edits.Edits)
			}
			sent := len(sentPictures(ts.upstream.Last()))
			ts.close()
			ts.start(func(o *Options) { o.Sessions.DefaultConfig.Model = "claude/test" }, withModel(sees))
			e = resume(ts, sid)
			mustPrompt(t, e, sid, "go on")
			if n := len(sentPictures(ts.upstream.Last())); n != sent {
				t.Errorf("after a restart %d pictures are sent, before %d", n, sent)
			}
		})
	}
}

func TestF15TextBeyondTheBytesOfARequest(t *testing.T) {
	t.Parallel()
	ts := startSeeing(t, "claude/test", upstream.Options{Strict: true, Pictures: true, MaxBytes: 40_000}, func(m *llm.Model) { m.MaxBytes = 40_000 })
	e, sid := attached(t, ts)
	for i := range 12 {
		mustPrompt(t, e, sid, talk(i, 1_200))
	}
	if b := tokensOf(ts, e, sid); len(b.Omitted) == 0 {
		t.Error("nothing was omitted")
	}
}

func TestF33AModelWithoutVision(t *testing.T) {
	t.Parallel()
	sees := true
	ts := startServer(t, func(o *Options) {
		o.Sessions.DefaultConfig.Model = "claude/blind"
		adjustModels(o, func(m *llm.Model) {
			m.Vision = m.Name == "claude/seeing" && sees
			m.Pictures = llm.PictureLimits{Pixels: 1_000}
		})
	})
	e, sid := attached(t, ts)
	picture, large := png(1_000, 700, 3_000), png(1_100, 700, 3_000)
	reply := show(t, e, sid, "look", pictureBlock("image/png", picture), pictureBlock("image/png", large))
	key := "msg:" + transcript(t, e, sid)[0].ID
	if out := leftOutOf(t, reply); out[key] != "no_vision" || len(out) != 1 {
		t.Errorf("omitted %v", out)
	}
	if told := rawOf(reply.Frames.Kind("left_out")); !strings.Contains(told, "no_vision") {
		t.Errorf("events: %s", told)
	}
	b := tokensOf(ts, e, sid)
	if b.Used > 500 || len(b.Omitted) != 1 || b.Omitted[0].Tokens < 1_500 {
		t.Errorf("%d tokens without images, omitted %+v", b.Used, b.Omitted)
	}
	if sent := string(ts.upstream.Last().Body); !strings.Contains(sent, "[picture: image/png, 1000 x 700; not shown to this model]") {
		t.Errorf("sent %.600s", sent)
	}
	call[map[string]any](ts, e, "session/set_config_option", sid, map[string]any{"configId": choices.OptionModel, "value": "claude/seeing"})
	b = tokensOf(ts, e, sid)
	if b.Used < 800 || len(b.Omitted) != 1 || b.Omitted[0].Reason != "picture_too_large" {
		t.Errorf("%d tokens with an image, omitted %+v", b.Used, b.Omitted)
	}
}
