package upstream

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// cached is a cache with a clock that a test sets. One letter counts as one token.
type cached struct {
	t   *testing.T
	now time.Time
	*Cache
}

func newCached(t *testing.T) *cached {
	c := &cached{t: t, now: time.Unix(1_700_000_000, 0)}
	c.Cache = NewCache(CacheOptions{
		Now:     func() time.Time { return c.now },
		Minimum: func(string) int { return 100 },
		Count:   func(text string) int { return len(text) },
	})
	return c
}

// block returns a text block of a hundred letters; ttl adds a breakpoint.
func block(letter, ttl string) string {
	mark := ""
	if ttl != "" {
		mark = fmt.Sprintf(`,"cache_control":{"type":"ephemeral","ttl":%q}`, ttl)
	}
	return fmt.Sprintf(`{"type":"text","text":%q%s}`, strings.Repeat(letter, 100), mark)
}

func user(blocks ...string) string {
	return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}`
}

// send serves a request with the given messages.
func (c *cached) send(head string, messages ...string) Read {
	c.t.Helper()
	req, err := parse(Anthropic, fmt.Appendf(nil, `{"model":"m",%s"messages":[%s]}`, head, strings.Join(messages, ",")))
	if err != nil {
		c.t.Fatal(err)
	}
	return c.Serve(req)
}

func (c *cached) want(got Read, input, read, write int) {
	c.t.Helper()
	if u := got.Usage; u.Input != input || u.CacheRead != read || u.CacheWrite != write {
		c.t.Errorf("input %d, read %d, written %d; want %d, %d, %d", u.Input, u.CacheRead, u.CacheWrite, input, read, write)
	}
}

func TestCacheReadsTheLongestMarkedPrefix(t *testing.T) {
	c := newCached(t)
	c.want(c.send("", user(block("a", "5m"), block("b", ""))), 100, 0, 100)
	c.want(c.send("", user(block("a", ""), block("b", "5m"))), 0, 100, 100)
	c.want(c.send("", user(block("a", ""), block("b", ""), block("c", "5m"), block("d", ""))), 100, 200, 100)
	got := c.send("", user(block("a", ""), block("x", ""), block("c", "5m")))
	c.want(got, 0, 100, 200)
	if got.Blocks != 1 || got.All != 3 || len(got.Marks) != 1 || got.Marks[0].Block != 2 || got.Marks[0].Tokens != 300 {
		t.Errorf("%+v", got)
	}
	if c.Last().Usage != got.Usage || len(c.Reads()) != 4 {
		t.Errorf("%d reads are reported", len(c.Reads()))
	}
}

func TestCacheNeedsTheSameBytes(t *testing.T) {
	tools := func(tool string) string { return `"tools":[` + tool + `],` }
	first := tools(`{"name":"f","input_schema":{"type":"object","title":"t"}}`)
	for name, head := range map[string]string{
		"order of keys":      tools(`{"name":"f","input_schema":{"title":"t","type":"object"}}`),
		"further tool":       tools(`{"name":"f","input_schema":{"type":"object","title":"t"}},{"name":"g"}`),
		"system":             first + `"system":"s",`,
		"thinking":           first + `"thinking":{"type":"enabled","budget_tokens":2000},`,
		"none of them":       "",
		"the same, and hits": first,
	} {
		c := newCached(t)
		c.send(first, user(block("a", "5m")))
		got := c.send(head, user(block("a", "5m"))).Usage.CacheRead
		if hit := strings.Contains(name, "hits"); (got > 0) != hit {
			t.Errorf("%s: read %d", name, got)
		}
	}
	c := newCached(t)
	c.send("", user(block("a", "5m")))
	if got := c.send("", strings.Replace(user(block("a", "5m")), "user", "assistant", 1)); got.Usage.CacheRead > 0 {
		t.Error("another role reads the same prefix")
	}
}

func TestCacheLooksBackTwentyBlocks(t *testing.T) {
	for further, hit := range map[int]bool{19: true, 20: false} {
		c := newCached(t)
		c.send("", user(block("a", "5m")))
		blocks := []string{block("a", "")}
		for range further {
			blocks = append(blocks, block("b", ""))
		}
		blocks[further] = block("b", "5m")
		if got := c.send("", user(blocks...)).Usage.CacheRead; (got > 0) != hit {
			t.Errorf("%d blocks later: read %d", further, got)
		}
	}
}

func TestCacheForgets(t *testing.T) {
	for ttl, life := range map[string]time.Duration{"5m": shortLife, "1h": longLife} {
		c := newCached(t)
		request := user(block("a", ttl))
		c.send("", request)
		c.now = c.now.Add(life)
		c.want(c.send("", request), 0, 100, 0)
		c.now = c.now.Add(life)
		c.want(c.send("", request), 0, 100, 0) // the use has renewed it
		c.now = c.now.Add(life + time.Second)
		c.want(c.send("", request), 0, 0, 100)
	}
}

func TestCacheTellsLongWritesApart(t *testing.T) {
	c := newCached(t)
	got := c.send("", user(block("a", "1h"), block("b", "5m"), block("c", "")))
	c.want(got, 100, 0, 200)
	if got.Usage.CacheWrite1h != 100 {
		t.Errorf("%d written for an hour", got.Usage.CacheWrite1h)
	}
}

func TestCacheIgnoresShortPrefixes(t *testing.T) {
	c := newCached(t)
	short := user(`{"type":"text","text":"a","cache_control":{}}`)
	c.send("", short)
	c.want(c.send("", short), 1, 0, 0)
}

func TestAutomaticCache(t *testing.T) {
	c := newCached(t)
	send := func(model string, texts ...string) Read {
		var messages []string
		for _, text := range texts {
			messages = append(messages, fmt.Sprintf(`{"role":"user","content":%q}`, text))
		}
		req, err := parse(OpenAI, fmt.Appendf(nil, `{"model":%q,"messages":[%s]}`, model, strings.Join(messages, ",")))
		if err != nil {
			t.Fatal(err)
		}
		return c.Serve(req)
	}
	long := strings.Repeat("a", 1100)
	send("m", long)
	if got := send("m", long, "more").Usage; got.CacheRead != 1024 || got.Input+got.CacheRead != len(long)+len("more")+2*len(`{"role":"user","content":""}`)+2 {
		t.Errorf("%+v", got)
	}
	if got := send("m", long+"b").Usage; got.CacheRead != 1024 {
		t.Errorf("a longer message: %+v", got)
	}
	if got := send("m", "b"+long).Usage; got.CacheRead != 0 {
		t.Errorf("another beginning: %+v", got)
	}
	if got := send("n", long).Usage; got.CacheRead != 0 {
		t.Errorf("another model: %+v", got)
	}
	c.now = c.now.Add(autoLife + time.Second)
	if got := send("m", long).Usage; got.CacheRead != 0 {
		t.Errorf("too late: %+v", got)
	}
	for range autoKept + 5 {
		send("m", "x")
	}
	if n := len(c.texts); n != autoKept {
		t.Errorf("%d requests are remembered", n)
	}
}

func TestCacheAnswers(t *testing.T) {
	c := newCached(t)
	s := start(t, Options{Strict: true})
	s.Choose(c.Answer)
	for range 2 {
		res := post(t, s, Anthropic, `{"model":"m","max_tokens":10,"messages":[`+user(block("a", "5m"))+`]}`)
		if res.StatusCode != 200 {
			t.Fatalf("status %d", res.StatusCode)
		}
	}
	if got := c.Last(); got.N != 2 || got.Usage.CacheRead != 100 {
		t.Errorf("%+v", got)
	}
}
