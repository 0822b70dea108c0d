package replay

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// The billing rules of testdata/README.md. Prices are relative to an input token at full price.
const (
	priceRead      = 0.1
	priceWrite     = 1.25
	priceWriteLong = 2.0

	lifeShort = 5.0  // minutes
	lifeLong  = 60.0 // minutes

	marksMax = 4  // per request
	lookBack = 20 // blocks up to a mark
)

// Bill is the cost of the requests of a session.
type Bill struct {
	Requests int
	Tokens   int     // sent
	Read     int     // of Tokens, read from the cache
	Written  int     // of Tokens, written to the cache
	Cost     float64 // in tokens at full price; equals Tokens without a cache
}

// Relative returns the cost relative to sending the same requests without a cache.
func (b Bill) Relative() float64 { return ratio(b.Cost, float64(b.Tokens)) }

// ReadShare returns the share of the sent tokens that was read from the cache.
func (b Bill) ReadShare() float64 { return ratio(float64(b.Read), float64(b.Tokens)) }

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func (b Bill) add(c Bill) Bill {
	return Bill{b.Requests + c.Requests, b.Tokens + c.Tokens, b.Read + c.Read, b.Written + c.Written, b.Cost + c.Cost}
}

// BillRequests decodes the printed requests of one session and bills them.
func BillRequests(r io.Reader) (Bill, error) {
	dec := json.NewDecoder(r)
	b := biller{cache: map[prefix]cached{}}
	for {
		var req Request
		err := dec.Decode(&req)
		if errors.Is(err, io.EOF) {
			return b.Bill, nil
		}
		if err == nil {
			err = req.check()
		}
		if err != nil {
			return b.Bill, fmt.Errorf("bill request %d: %w", b.Requests+1, err)
		}
		b.bill(&req)
	}
}

func (r *Request) check() error {
	if !(r.Gap >= 0 && r.Gap <= maxGap) {
		return fmt.Errorf("invalid pause of %g minutes", r.Gap)
	}
	marks := 0
	for i := range r.Items {
		if !sane(int64(r.Items[i].Tokens)) {
			return fmt.Errorf("item %d has %d tokens", i, r.Items[i].Tokens)
		}
		if !sane(int64(r.Items[i].Blocks)) {
			return fmt.Errorf("item %d has %d blocks", i, r.Items[i].Blocks)
		}
		if r.Items[i].Mark {
			marks++
		}
	}
	if marks > marksMax {
		return fmt.Errorf("%d marks exceeds the limit of %d", marks, marksMax)
	}
	return nil
}

// biller simulates the provider's cache and adds up the cost.
type biller struct {
	Bill
	now   float64 // minutes
	cache map[prefix]cached
}

type prefix [sha256.Size]byte

// cached is a marked position of an earlier request.
type cached struct{ used, life float64 }

// position is a position in a request after one of its items.
type position struct {
	Item
	prefix prefix
	tokens int // up to this position
	block  int // of the item, the last one of several
}

// bill adds a request: the tokens read, those between the longest hit and the last mark, and the rest.
func (b *biller) bill(req *Request) {
	b.now += req.Gap
	all := positions(req.Items)
	marks := marked(all)
	hit := b.longestHit(all, marks)
	total := 0
	if len(all) > 0 {
		total = all[len(all)-1].tokens
	}
	read := 0
	if hit >= 0 {
		read = all[hit].tokens
		b.use(&all[hit])
	}
	upTo := read
	for _, m := range marks {
		p := &all[m]
		if p.tokens < minCached {
			continue
		}
		b.use(p)
		if p.tokens > upTo {
			b.Cost += float64(p.tokens-upTo) * writePrice(p.Long)
			b.Written += p.tokens - upTo
			upTo = p.tokens
		}
	}
	b.Cost += float64(read)*priceRead + float64(total-upTo)
	b.Requests, b.Tokens, b.Read = b.Requests+1, b.Tokens+total, b.Read+read
}

func writePrice(long bool) float64 {
	if long {
		return priceWriteLong
	}
	return priceWrite
}

func positions(items []Item) []position {
	out := make([]position, len(items))
	tokens, block := 0, 0
	var before prefix
	for i, it := range items {
		tokens += it.Tokens
		before = sha256.Sum256(fmt.Appendf(before[:], "%t %s", it.End, it.Hash))
		block += max(it.Blocks, 1) - 1
		out[i] = position{it, before, tokens, block}
		if it.End {
			block++
		}
	}
	return out
}

// marked returns the indexes of the marked positions, in order.
func marked(all []position) []int {
	var out []int
	for i := range all {
		if all[i].Mark {
			out = append(out, i)
		}
	}
	return out
}

// longestHit returns the index of the longest cached prefix, or -1.
func (b *biller) longestHit(all []position, marks []int) int {
	for _, m := range slices.Backward(marks) {
		for i := m; i >= 0 && all[m].block-all[i].block < lookBack; i-- {
			if b.alive(all[i].prefix) {
				return i // marks are in order, so no other mark finds a longer one
			}
		}
	}
	return -1
}

func (b *biller) alive(p prefix) bool {
	c, ok := b.cache[p]
	return ok && b.now-c.used <= c.life
}

// use refreshes a cached position, or caches a new one.
func (b *biller) use(p *position) {
	life := lifeShort
	if p.Long {
		life = lifeLong
	}
	if b.alive(p.prefix) {
		life = b.cache[p.prefix].life
	}
	b.cache[p.prefix] = cached{b.now, life}
}
