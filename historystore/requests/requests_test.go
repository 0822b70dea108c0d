package requests

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"strata/history"
)

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// ulid returns text in the form of an id: only its first characters are the same for successive ones.
func ulid(r *rand.Rand, n int) string {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	id := []byte(fmt.Sprintf("01KB%06d", n))
	for len(id) < 26 {
		id = append(id, digits[r.IntN(len(digits))])
	}
	return string(id)
}

// conversation is the requests of a session that grows.
type conversation struct {
	r    *rand.Rand
	last history.Request
	n    int
}

func (c *conversation) message() history.RequestItem {
	c.n++
	id := "msg_" + ulid(c.r, c.n)
	return history.RequestItem{Key: "msg:" + id, Kind: "message", Hash: id, Tokens: 20 + c.r.IntN(2000), Tier: "active"}
}

// next returns the request after a step: the earlier items are older, and some are new.
func (c *conversation) next() history.Request {
	now := c.last
	now.Call, now.Seq = fmt.Sprint("call_", c.n), now.Seq+2
	now.Items = append([]history.RequestItem{}, now.Items...)
	tiers := []string{"active", "L3", "L2", "L1", "L0"}
	for i := range now.Items {
		it := &now.Items[i]
		it.N, it.Mark, it.Moved = it.N+1, false, ""
		if tier := tiers[min(it.N/3, 4)]; tier != it.Tier {
			it.Tier, it.Moved = tier, fmt.Sprintf("unchanged for %d replies", it.N)
		}
	}
	now.Items = append(now.Items, c.message(), c.message())
	for _, i := range []int{0, len(now.Items) / 2, len(now.Items) - 1} {
		now.Items[i].Mark = true
	}
	now.Tokens = 0
	for i := range now.Items {
		now.Tokens += now.Items[i].Tokens
	}
	c.last = now
	return now
}

// change makes changes anywhere in the next request.
func (c *conversation) change(r *history.Request) {
	for range c.r.IntN(4) {
		i := c.r.IntN(len(r.Items))
		it := &r.Items[i]
		switch c.r.IntN(6) {
		case 0:
			it.Hash = hashOf(fmt.Sprint(c.r.Int()))
		case 1:
			r.Items = append(r.Items[:i:i], r.Items[i+1:]...)
		case 2:
			j := c.r.IntN(len(r.Items))
			r.Items[i], r.Items[j] = r.Items[j], r.Items[i]
		case 3:
			it.Dead, it.N, it.Reason = true, 0, "over_budget"
		case 4:
			r.Omitted = append(r.Omitted, history.RequestOmission{Key: it.Key, Count: c.r.IntN(3), Tokens: 7, Reason: "duplicate", Score: c.r.IntN(9) - 4})
		case 5:
			r.Items = append(r.Items, r.Items[i])
		}
	}
}

func TestARequestIsDecodedFromItsWholeOneAndItself(t *testing.T) {
	for seed := range uint64(30) {
		c := conversation{r: rand.New(rand.NewPCG(seed, 1))}
		var bases Bases
		stored := map[int64]history.Request{}
		for row := int64(1); row < 80; row++ {
			now := c.next()
			c.change(&now)
			c.last = now
			e, ok := bases.Encode("s", &now)
			if !ok {
				t.Fatal("not kept")
			}
			var base *history.Request
			if e.Base != 0 {
				of := stored[e.Base]
				base = &of
			}
			if IsDifference(e.Body) != (base != nil) {
				t.Fatalf("seed %d, request %d: a difference: %v", seed, row, IsDifference(e.Body))
			}
			got, err := Decode(e.Body, base)
			if err != nil {
				t.Fatal(err)
			}
			if got.Call = now.Call; len(now.Items) == 0 {
				now.Items = nil
			}
			if !reflect.DeepEqual(got, now) {
				t.Fatalf("seed %d, request %d:\n got %+v\nwant %+v", seed, row, got, now)
			}
			stored[row] = now
			bases.Stored("s", &now, &e, row)
		}
	}
}

// 400 calls that lead to 1,000 items take little room: the difference of a call is that of its new items.
func TestALongSessionIsSmall(t *testing.T) {
	c := conversation{r: rand.New(rand.NewPCG(7, 7))}
	c.last.Items = []history.RequestItem{
		{Key: "tools", Kind: "tools", Hash: hashOf("tools"), Tokens: 900}, {Key: "system", Kind: "system", Hash: hashOf("system"), Tokens: 400},
	}
	for range 198 {
		c.last.Items = append(c.last.Items, c.message())
	}
	var bases Bases
	bytes, whole := 0, 0
	const calls = 400
	for row := range int64(calls) {
		now := c.next()
		e, _ := bases.Encode("s", &now)
		if bytes += len(e.Body); e.Base == 0 {
			whole++
		}
		bases.Stored("s", &now, &e, row+1)
	}
	t.Logf("%d bytes per call of up to %d items, %d of %d calls whole", bytes/calls, len(c.last.Items), whole, calls)
	if bytes/calls > 1300 {
		t.Errorf("%d bytes per call", bytes/calls)
	}
}

// A damaged body is an error or another request, and never a panic or a request without bounds.
func FuzzDecode(f *testing.F) {
	c := conversation{r: rand.New(rand.NewPCG(1, 1))}
	base := c.next()
	now := c.next()
	f.Add(Encode(&now, nil))
	f.Add(Encode(&now, &base))
	f.Add([]byte{formWhole})
	f.Add([]byte{formWhole, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := Decode(body, &base)
		if err != nil && !errors.Is(err, ErrBody) {
			t.Errorf("%v", err)
		}
		if len(r.Items) > maxItems || len(r.Omitted) > maxItems {
			t.Errorf("%d items, %d omitted", len(r.Items), len(r.Omitted))
		}
	})
}

func TestBasesAreBounded(t *testing.T) {
	var bases Bases
	c := conversation{r: rand.New(rand.NewPCG(1, 1))}
	for range maxBaseItems / 40 {
		c.last.Items = append(c.last.Items, c.message())
	}
	for i := range 60 {
		now := c.last
		now.Call = "call_1"
		e, _ := bases.Encode(fmt.Sprint(i), &now)
		bases.Stored(fmt.Sprint(i), &now, &e, int64(i+1))
	}
	if bases.items > maxBaseItems || bases.used.Len() != len(bases.sessions) || bases.used.Len() == 0 {
		t.Errorf("%d items, %d of %d sessions", bases.items, bases.used.Len(), len(bases.sessions))
	}
	if e, _ := bases.Encode("0", &c.last); e.Base != 0 {
		t.Error("the base of the oldest session was kept")
	}
	if e, _ := bases.Encode("59", &c.last); e.Base != 60 || e.Of != "call_1" {
		t.Errorf("the base of the newest session is row %d", e.Base)
	}
	now := history.Request{Items: make([]history.RequestItem, maxItems+1)}
	if _, ok := bases.Encode("59", &now); ok {
		t.Error("a request that cannot be decoded was encoded")
	}
}

func BenchmarkEncode(b *testing.B) {
	c := conversation{r: rand.New(rand.NewPCG(1, 1))}
	for range 500 {
		c.next()
	}
	base := c.last
	now := c.next()
	b.ReportAllocs()
	for b.Loop() {
		Encode(&now, &base)
	}
}
