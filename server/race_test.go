//go:build race

package server

// less divides the size of slow tests with the race detector, which makes them several times slower.
const less = 4
