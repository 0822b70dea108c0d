//go:build race

package llm

// less is the factor by which slow tests are smaller with the race detector, which makes them several times slower.
// They have no concurrency of their own.
const less = 4
