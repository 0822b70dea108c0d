package stability

import (
	"fmt"
	"time"
)

// Cache describes the provider's prompt cache.
type Cache struct {
	Mirror    *Mirror // of the cache's content; nil: empty
	Automatic bool    // the provider caches automatically and accepts no marks
	Cold      bool    // with Automatic: nothing sent before is cached, for example after a change of model
	Minimum   int     // tokens of the shortest prefix that can be cached
	Prices    Prices
}

// Prices are the prices of cached input tokens relative to the price of an uncached one.
type Prices struct{ Read, Write, WriteLong float64 }

// Anthropic's prices, and those of providers with free cache writes.
var (
	MarkedPrices    = Prices{Read: 0.1, Write: 1.25, WriteLong: 2}
	AutomaticPrices = Prices{Read: 0.1, Write: 1, WriteLong: 1}
)

// prices returns c.Prices, or the defaults if the caller set none.
func (c *Cache) prices() Prices {
	switch {
	case c.Prices != (Prices{}):
		return c.Prices
	case c.Automatic:
		return AutomaticPrices
	default:
		return MarkedPrices
	}
}

// maxPrice is the maximum of a price. It prevents overflows.
const maxPrice = 10

func (p Prices) check() error {
	for _, price := range []float64{p.Read, p.Write, p.WriteLong} {
		if !(price >= 0 && price <= maxPrice) {
			return fmt.Errorf("price %g: must be between 0 and %d", price, maxPrice)
		}
	}
	return nil
}

// expect computes the expected cache read from the mirror. For a provider that caches automatically there is no mirror:
// expect assumes that the kept entries are cached if they were sent to this provider within the last hour.
func (p *Plan) expect(c *Cache, pause time.Duration) {
	p.automatic = c.Automatic
	sums := sums(p.Entries)
	if c.Automatic {
		if !c.Cold && pause <= LongLife {
			p.Expect = sums[p.Kept]
			p.until = p.at.Add(LongLife - pause)
		}
		return
	}
	for i := len(p.Entries) - 1; i >= 0; i-- {
		if !p.Entries[i].Mark {
			continue
		}
		if n := c.Mirror.longest(p.Entries[:i+1], p.at); n > 0 && sums[n] > p.Expect {
			p.Expect, p.hit = sums[n], p.Entries[n-1].prefix
			p.ExpectBlocks = blocks(p.Entries[:n])
		}
	}
	if u, ok := c.Mirror.lastUse(p.hit, p.at); ok && p.Expect > 0 {
		p.life = u.life
		p.until = u.at.Add(u.life)
	}
}

// WarmUntil returns when the provider forgets the expected read unless it is used before, zero if nothing is expected, and the
// lifetime of what is read: if nothing is, of what the request writes.
func (p *Plan) WarmUntil() (until time.Time, life time.Duration) {
	switch {
	case p.life > 0:
		return p.until, p.life
	case p.automatic:
		return p.until, LongLife
	}
	return p.until, lifetime(p.Long)
}

// Marked returns the tokens up to the last mark: what is not read of these is written. A provider that caches automatically
// tells of no writes.
func (p *Plan) Marked() int {
	marked, sum := 0, 0
	for i := range p.Entries {
		if sum += p.Entries[i].Tokens; p.Entries[i].Mark {
			marked = sum
		}
	}
	return marked
}
