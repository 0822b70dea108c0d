package assembly

import (
	"fmt"
	"testing"

	"strata/history"
	"strata/stability"
)

// BenchmarkTurn measures what the request of a turn costs after so many exchanges without files: built from nothing, and after
// what was kept of the request before.
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
		first, err := state.Build(b.Context())
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
		anew := state
		anew.Beginning = nil
		for name, s := range map[string]State{"anew": anew, "kept": state} {
			b.Run(fmt.Sprint(exchanges, "/", name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := s.Build(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
