//go:build race

package llm

// less is the factor by which tests that only take long are smaller with the race detector, which makes them several times
// as slow: nothing in them is concurrent that other tests do not have.
const less = 4
