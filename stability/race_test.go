//go:build race

package stability

// less is the factor by which the number of random sessions is smaller with the race detector: nothing in them is
// concurrent.
const less = 8
