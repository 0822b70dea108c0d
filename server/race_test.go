//go:build race

package server

// less is how much smaller what only takes long is than without the race detector, which makes all of it several times as slow.
const less = 4
