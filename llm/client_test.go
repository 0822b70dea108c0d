package llm

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"strata/internal/upstream"
	"strata/llm/reply"
	"strata/llm/silence"
)

func TestNewRefusesBadProviders(t *testing.T) {
	for name, p := range map[string]ProviderConfig{
		"a":   {Kind: "gopher"},
		"b":   {},
		"c":   {Kind: OpenAI, BaseURL: "localhost:1234"},
		"d/e": {Kind: OpenAI},
		"":    {Kind: OpenAI},
	} {
		if _, err := New(Options{Providers: map[string]ProviderConfig{name: p}}); err == nil {
			t.Errorf("%q: %+v was accepted", name, p)
		}
	}
}

func TestKeys(t *testing.T) {
	up := upstream.Start(upstream.Options{Key: "sk-right-key-0123456789"})
	t.Cleanup(up.Close)
	env := map[string]string{}
	stored, unreadable := "", error(nil)
	c := newClient(t, up, func(o *Options) {
		o.Getenv = func(name string) string { return env[name] }
		o.StoredKey = func(string) (string, error) { return stored, unreadable }
		for name, p := range o.Providers {
			if p.Kind != Offline {
				p.APIKeyEnv = "MY_KEY"
				o.Providers[name] = p
			}
		}
	})
	expect := func(step string, source KeySource, kind ErrorKind) {
		t.Helper()
		for _, wire := range wires {
			_, err := c.Stream(t.Context(), ask(wire, "hi"), func(reply.Event) {})
			if kind == "" && err != nil || kind != "" && failureOf(t, err).Kind != kind {
				t.Errorf("%s, %s: error %v", step, wire, err)
			}
			if err := c.Check(t.Context(), string(wire)); (err == nil) != (kind == "") {
				t.Errorf("%s, %s: check returned %v", step, wire, err)
			}
			if err != nil && strings.Contains(err.Error(), "0123456789") {
				t.Errorf("%s, %s: the key is in %v", step, wire, err)
			}
		}
		for _, p := range c.Providers() {
			if p.Kind != Offline && p.Key != source || p.Kind == Offline && p.Key != KeyNotNeeded {
				t.Errorf("%s: %+v", step, p)
			}
		}
	}
	offer := func(key string, used bool) {
		t.Helper()
		for _, wire := range wires {
			if got := c.OfferKey(string(wire), key); got != used {
				t.Errorf("offer to %s: used %t, want %t", wire, got, used)
			}
		}
	}
	expect("no key", KeyMissing, KindAuth)
	offer("", false)
	offer("sk-right-key-0123456789", true)
	expect("offered", KeyOffered, "")
	offer("sk-right-key-0123456789", false)
	offer("sk-another-0123456789", true)
	expect("offered again", KeyOffered, KindAuth)
	unreadable = errors.New("the file is open to other users")
	expect("a stored key that cannot be used", KeyOffered, KindAuth)
	unreadable, stored = nil, "sk-right-key-0123456789"
	expect("stored", KeyStored, "")
	offer("sk-another-0123456789", false)
	env["MY_KEY"] = "sk-wrong-0123456789"
	expect("wrong key", KeyEnv, KindAuth)
	for _, wire := range wires {
		if err := c.SetKey(string(wire), "sk-right-key-0123456789"); err != nil {
			t.Fatal(err)
		}
	}
	expect("key in memory", KeyMemory, "")
	for _, wire := range wires {
		c.SetKey(string(wire), "")
	}
	expect("taken back", KeyEnv, KindAuth)
	if c.OfferKey("nobody", "x") {
		t.Error("a key for nobody is used")
	}
	if err := c.SetKey("nobody", "x"); err == nil {
		t.Error("a key for an unknown provider was accepted")
	}
}

func TestAMissingKeySaysHowToGiveOne(t *testing.T) {
	unreadable := error(nil)
	c, err := New(Options{
		Providers: map[string]ProviderConfig{"openai": {Kind: OpenAI, APIKeyEnv: "MY_KEY"}},
		Getenv:    func(string) string { return "" },
		StoredKey: func(string) (string, error) { return "", unreadable },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	const how = "no key: run `strata login openai`, or set MY_KEY for the server or the editor"
	if err := c.Check(t.Context(), "openai"); err == nil || !strings.HasSuffix(err.Error(), how) {
		t.Errorf("without a key: %v", err)
	}
	unreadable = errors.New("its mode is 0644")
	if err := c.Check(t.Context(), "openai"); err == nil || !strings.Contains(err.Error(), how+" (its mode is 0644)") {
		t.Errorf("with an unusable key: %v", err)
	}
}

func TestNothingIsTakenFromTheEnvironment(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"} {
		t.Setenv(name, "sk-from-the-environment")
	}
	for _, name := range []string{"ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	for _, name := range []string{"ANTHROPIC_CUSTOM_HEADERS", "OPENAI_CUSTOM_HEADERS"} {
		t.Setenv(name, "X-Custom: leak")
	}
	t.Setenv("OPENAI_ORG_ID", "org-leak")
	up := newUpstream(t)
	c := newClient(t, up)
	for _, wire := range wires {
		if _, err := c.Stream(t.Context(), ask(wire, "hi"), func(reply.Event) {}); err != nil {
			t.Fatal(err)
		}
		for name, values := range up.Last().Header {
			if v := strings.Join(values, " "); strings.Contains(v, "leak") || strings.Contains(v, "from-the-environment") {
				t.Errorf("%s sends %s: %s", wire, name, v)
			}
		}
	}
}

func TestHeaders(t *testing.T) {
	up := newUpstream(t)
	c := newClient(t, up, func(o *Options) {
		for name, p := range o.Providers {
			p.Headers = map[string]string{"X-Title": "strata", "HTTP-Referer": "https://example.org"}
			o.Providers[name] = p
		}
	})
	for _, wire := range wires {
		if _, err := c.Stream(t.Context(), ask(wire, "hi"), func(reply.Event) {}); err != nil {
			t.Fatal(err)
		}
		if h := up.Last().Header; h.Get("X-Title") != "strata" || h.Get("Http-Referer") == "" || h.Get("Authorization")+h.Get("X-Api-Key") != "" {
			t.Errorf("%s: headers %v", wire, h)
		}
	}
}

func TestUnknownProvider(t *testing.T) {
	c := newClient(t, newUpstream(t))
	for _, model := range []string{"nobody/model", "model", ""} {
		res, err := c.Stream(t.Context(), Request{Model: model}, func(reply.Event) {})
		if e := failureOf(t, err); e.Kind != KindUnknown || res.Model != model {
			t.Errorf("%q: %+v", model, e)
		}
	}
	if c.Check(t.Context(), "nobody") == nil {
		t.Error("no model can be called")
	}
}

// answerWith starts a server that handles all requests with h, and a client for it.
func answerWith(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	c, err := New(Options{Sleep: noSleep, Providers: map[string]ProviderConfig{
		"anthropic": {Kind: Anthropic, BaseURL: server.URL},
		"openai":    {Kind: OpenAI, BaseURL: server.URL},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestErrorTexts(t *testing.T) {
	for _, test := range []struct {
		name, contentType, body string
		status                  int
		kind                    ErrorKind
		want                    string // part of the text
	}{
		{"a provider's words", "application/json", `{"error":{"type":"invalid_request_error","message":"too long"}}`, 400, KindInvalid, "(status 400): too long"},
		{"a string", "application/json", `{"error":"model 'x' not found"}`, 404, KindInvalid, "model 'x' not found"},
		{"a page", "text/html", "<html>502</html>", 502, KindOverloaded, "Bad Gateway"},
		{"nothing", "", "", 500, KindOverloaded, "Internal Server Error"},
		{"no money", "application/json", `{"error":{"message":"no quota","code":"insufficient_quota"}}`, 429, KindQuota, "no quota"},
		{"a key", "application/json", `{"error":{"message":"Incorrect API key provided: sk-ant-api03-abcdefgh. Bearer abcdef123"}}`, 401, KindAuth, "provided: ***"},
		{"control characters", "application/json", `{"error":{"message":"a\u0000b\u001b[31m\nc"}}`, 400, KindInvalid, "ab[31m c"},
		{"a redirect", "", "", 307, KindInvalid, "Temporary Redirect"},
		{"a login page", "text/html; charset=utf-8", "<html>", 200, KindInvalid, "a web page instead of a reply"},
		{"no stream", "application/json", `{"choices":[]}`, 200, KindInvalid, "JSON without a reply"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := answerWith(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", test.contentType)
				w.Header().Set("Location", "http://127.0.0.1:1/")
				w.WriteHeader(test.status)
				io.WriteString(w, test.body)
			})
			for _, wire := range wires {
				_, err := c.Stream(t.Context(), ask(wire, "SECRET PROMPT"), func(reply.Event) {})
				e := failureOf(t, err)
				if text := e.Error(); e.Kind != test.kind || e.Status != test.status || e.Provider != string(wire) || !strings.Contains(text, test.want) ||
					strings.Contains(text, "abcdef") || strings.Contains(text, "SECRET") {
					t.Errorf("%s: kind %s: %s", wire, e.Kind, text)
				}
			}
		})
	}
}

func TestErrorTextIsShort(t *testing.T) {
	long := strings.Repeat("é ", 1<<20)
	c := answerWith(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(400)
		io.WriteString(w, `{"error":{"message":"`+long[:60<<10]+`"}}`)
	})
	_, err := c.Stream(t.Context(), ask(upstream.OpenAI, "hi"), func(reply.Event) {})
	if n := len([]rune(failureOf(t, err).err.Error())); n > maxMessage || n < maxMessage-10 {
		t.Errorf("%d characters", n)
	}
}

func TestEndlessErrorBodyIsCut(t *testing.T) {
	c := answerWith(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(400)
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	})
	_, err := c.Stream(t.Context(), ask(upstream.Anthropic, "hi"), func(reply.Event) {})
	if e := failureOf(t, err); e.Status != 400 {
		t.Errorf("error %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(nil)
	address := strings.Replace(server.URL, "http://", "http://user:password@", 1)
	server.Close()
	c, err := New(Options{Sleep: noSleep, Providers: map[string]ProviderConfig{"anthropic": {Kind: Anthropic, BaseURL: address}, "openai": {Kind: OpenAI, BaseURL: address}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, wire := range wires {
		var rec recorder
		_, err := c.Stream(t.Context(), ask(wire, "hi"), rec.on)
		if e := failureOf(t, err); e.Kind != KindNetwork || len(rec.retries()) != maxTries-1 || strings.Contains(e.Error(), "password") {
			t.Errorf("%s: %v after %d retries", wire, err, len(rec.retries()))
		}
		if failureOf(t, c.Check(t.Context(), string(wire))).Kind != KindNetwork {
			t.Errorf("%s can be reached", wire)
		}
	}
}

func TestCheckTakesServersWithoutModelList(t *testing.T) {
	c := answerWith(t, func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) })
	if err := c.Check(t.Context(), "openai"); err != nil {
		t.Error(err)
	}
}

// slowTransport responds with a body that sends some bytes every four minutes, and then nothing until the request is
// cancelled.
type slowTransport struct {
	wait time.Duration // for the headers
	says []string
}

func (t slowTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := sleep(req.Context(), t.wait); err != nil {
		return nil, err
	}
	out, in := io.Pipe()
	context.AfterFunc(req.Context(), func() { in.CloseWithError(req.Context().Err()) }) // as a connection does
	go func() {
		for _, s := range t.says {
			time.Sleep(4 * time.Minute)
			io.WriteString(in, s)
		}
	}()
	return &http.Response{StatusCode: http.StatusOK, Body: out, Header: http.Header{}}, nil
}

// TestF10SilentProviders measures the time that a call waits for a silent provider. F10: a large local model needs
// longer for the first byte than the default limits.
func TestF10SilentProviders(t *testing.T) {
	keepAlive := []string{": keep-alive\n", ": keep-alive\n"}
	finished := []string{`data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}` + "\n\n"}
	for _, test := range []struct {
		name, base string
		transport  slowTransport
		change     func(*Options)
		want       time.Duration
		err        error
	}{
		{"between bytes", "https://example.org", slowTransport{says: keepAlive}, nil, 13 * time.Minute, silence.Err},
		{"before the headers", "https://example.org", slowTransport{wait: time.Hour}, nil, 10 * time.Minute, silence.Err},
		{"before the first byte", "https://example.org", slowTransport{}, nil, 10 * time.Minute, silence.Err},
		{"a limit of its own", "https://example.org", slowTransport{}, func(o *Options) { o.FirstByte = time.Hour }, time.Hour, silence.Err},
		{"no limit on loopback", "http://127.0.0.1:8080/v1", slowTransport{wait: 5 * time.Hour, says: finished}, nil, 5*time.Hour + 4*time.Minute + 3*time.Second, nil},
		{"after the finish reason", "https://example.org", slowTransport{says: finished}, nil, 4*time.Minute + 3*time.Second, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opt := Options{Providers: map[string]ProviderConfig{"p": {Kind: OpenAI, BaseURL: test.base}}, Transport: test.transport}
				if test.change != nil {
					test.change(&opt)
				}
				c, err := New(opt)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				call, err := c.newCall("p")
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				a := &reply.Answer{On: func(reply.Event) {}}
				if err := call.try(t.Context(), dialect{}, call.req, a); !errors.Is(err, test.err) || time.Since(start) != test.want {
					t.Errorf("error %v after %v, want %v after %v", err, time.Since(start), test.err, test.want)
				}
			})
		})
	}
	if e := failure(t.Context(), "p", "", silence.Err); e.Kind != KindNetwork || !e.retryable(DefaultRetryStatuses) {
		t.Errorf("%+v", e)
	}
}

func TestSleepAndDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := sleep(t.Context(), time.Minute); err != nil || time.Since(start) != time.Minute {
			t.Errorf("slept %v, error %v", time.Since(start), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := sleep(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute+time.Second {
			t.Errorf("slept %v, error %v", time.Since(start), err)
		}
	})
	for jitter, want := range map[float64]time.Duration{0: 250 * time.Millisecond, 1: 500 * time.Millisecond} {
		r := retries{jitter: func() float64 { return jitter }}
		if got := r.delay(1, 0); got != want {
			t.Errorf("jitter %v: %v, want %v", jitter, got, want)
		}
	}
}

func TestRetryAfterValues(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "3": 3 * time.Second, "0.5": 500 * time.Millisecond, "-1": 0, "NaN": 0, "soon": 0, "1e300": 24 * time.Hour,
		"Fri, 01 May 2026 12:00:09 GMT": 9 * time.Second, "Fri, 01 May 2026 11:00:00 GMT": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}
