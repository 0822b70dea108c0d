package assembly

import (
	"fmt"
	"testing"

	"strata/history"
	"strata/session/fit"
	"strata/stability"
)

// BenchmarkTurn measures what the request of a turn costs after so many exchanges without files.
func BenchmarkTurn(b *testing.B) {
	for _, exchanges := range []int{20, 200, 350, 2000} {
		stored := &talk{blobs: make(map[string][]byte)}
		state := stateOf(b, stored, stability.Options{})
		state.Model.Window, state.Model.MaxOutput = 4_000_000, 1_000_000
		for i := range exchanges {
			stored.say(history.RoleUser, fmt.Sprint("prompt ", i, words(20)))
			stored.say(history.RoleAssistant, fmt.Sprint("reply ", i, words(100)))
		}
		state.View = stored.view()
		state.Beginning = NewBeginnings().New()
		first, err := state.Build(b.Context(), nil)
		if err != nil {
			b.Fatal(err)
		}
		first.Mirror.Answered(first.Plan, stability.Usage{Write: first.Plan.Tokens, Input: first.Plan.Tokens})
		var change history.Change
		if err := state.Layout.Answered(&first, &change); err != nil {
			b.Fatal(err)
		}
		for _, blob := range change.Blobs {
			stored.blobs[blob.Hash] = blob.Bytes
		}
		stored.say(history.RoleAssistant, "Now this.")
		stored.say(history.RoleUser, "And then?")
		state.View = stored.view()
		b.Run(fmt.Sprint(exchanges, "/build"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := state.Build(b.Context(), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
		c, err := state.collect(b.Context(), nil)
		if err != nil {
			b.Fatal(err)
		}
		fitted, err := fit.Fit(b.Context(), state.fitting(&c))
		if err != nil {
			b.Fatal(err)
		}
		p, fitted, err := state.plan(b.Context(), &c, fitted, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint(exchanges, "/pictures"), func(b *testing.B) {
			for b.Loop() {
				state.withoutUnfitPictures(b.Context())
			}
		})
		b.Run(fmt.Sprint(exchanges, "/collect"), func(b *testing.B) {
			for b.Loop() {
				state.collect(b.Context(), nil)
			}
		})
		b.Run(fmt.Sprint(exchanges, "/fit"), func(b *testing.B) {
			for b.Loop() {
				fit.Fit(b.Context(), state.fitting(&c))
			}
		})
		b.Run(fmt.Sprint(exchanges, "/plan"), func(b *testing.B) {
			for b.Loop() {
				state.plan(b.Context(), &c, fitted, nil)
			}
		})
		b.Run(fmt.Sprint(exchanges, "/render"), func(b *testing.B) {
			for b.Loop() {
				state.render(b.Context(), &c, &p, &fitted, nil)
			}
		})
	}
}
