package access

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestCodeIsGoodOnce(t *testing.T) {
	c := newCodes(newClock().Now)
	a, b := c.issue(), c.issue()
	if a == b {
		t.Fatal("two codes are equal")
	}
	for _, wrong := range []string{"", "x", a[1:], a + "A", a + b} {
		if c.redeem(wrong) {
			t.Errorf("%q is good", wrong)
		}
	}
	if !c.redeem(b) || !c.redeem(a) {
		t.Error("a good code is refused")
	}
	if c.redeem(a) || c.redeem(b) {
		t.Error("a code is good twice")
	}
}

func TestCodeLivesTenMinutes(t *testing.T) {
	if CodeLife != 10*time.Minute {
		t.Fatalf("codes live %v", CodeLife)
	}
	clock := newClock()
	c := newCodes(clock.Now)
	early, late := c.issue(), c.issue()
	clock.advance(CodeLife - 1)
	if !c.redeem(early) {
		t.Error("a code dies early")
	}
	clock.advance(1)
	if c.redeem(late) {
		t.Error("a code lives too long")
	}
	if len(c.waiting) != 0 {
		t.Error("an expired code uses memory")
	}
}

func TestCodesAreBounded(t *testing.T) {
	c := newCodes(newClock().Now)
	var made []string
	for range maxCodes + 3 {
		made = append(made, c.issue())
	}
	if len(c.waiting) != maxCodes {
		t.Fatalf("%d codes wait", len(c.waiting))
	}
	for i, code := range made {
		if got, want := c.redeem(code), i >= 3; got != want {
			t.Errorf("code %d: %v", i, got)
		}
	}
}

func TestCodeIsGoodOnceForManyAtOnce(t *testing.T) {
	c := newCodes(newClock().Now)
	code := c.issue()
	var good atomic.Int32
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			c.issue()
			if c.redeem(code) {
				good.Add(1)
			}
		})
	}
	wg.Wait()
	if good.Load() != 1 {
		t.Errorf("good %d times", good.Load())
	}
}
