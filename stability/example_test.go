package stability_test

import (
	"fmt"
	"time"

	"strata/stability"
)

// A session plans a request, sends it, updates the mirror with the reported usage, and commits.
func Example() {
	tracker, err := stability.New(stability.Options{Layout: stability.LayoutLog, Target: stability.DefaultTarget})
	if err != nil {
		fmt.Println(err)
		return
	}
	mirror := stability.NewMirror()
	items := []stability.Item{
		{Key: "system", Kind: stability.System, Hash: "5f1d", Tokens: 1500},
		{Key: "file:main.go", Kind: stability.File, Hash: "77a0", Rev: "c3d2", Tokens: 900},
		{Key: "msg:1", Kind: stability.Message, Hash: "01be", Tokens: 40, User: true},
	}
	request := func(at int64) stability.Request {
		return stability.Request{
			Now:   time.Unix(at, 0),
			Items: items,
			Diff:  func(key, from, to string) (string, int, bool) { return "e9f4", 120, true },
			Cache: stability.Cache{Mirror: mirror, Minimum: 1024},
		}
	}
	plan, err := tracker.Plan(request(0))
	if err != nil {
		fmt.Println(err)
		return
	}
	mirror.Answered(plan, stability.Usage{Write: plan.Tokens, Input: plan.Tokens}) // its first usage event
	if err := tracker.Commit(plan); err != nil {
		fmt.Println(err)
		return
	}

	items[1] = stability.Item{Key: "file:main.go", Kind: stability.File, Hash: "90c2", Rev: "d4e1", Tokens: 950}
	items = append(items,
		stability.Item{Key: "msg:2", Kind: stability.Message, Hash: "02af", Tokens: 300},
		stability.Item{Key: "msg:3", Kind: stability.Message, Hash: "03c7", Tokens: 25, User: true},
	)
	if plan, err = tracker.Plan(request(60)); err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range plan.Entries {
		fmt.Println(e.Kind, e.Key, e.Tokens, e.Tier, e.Mark)
	}
	fmt.Println("kept", plan.Kept, "entries, expect to read", plan.Expect, "of", plan.Tokens, "tokens")
	// Output:
	// system system 1500 L0 true
	// base file:main.go 900 active true
	// message msg:1 40 active true
	// message msg:2 300 active false
	// diff file:main.go 120 active false
	// message msg:3 25 active true
	// kept 3 entries, expect to read 2440 of 2885 tokens
}
