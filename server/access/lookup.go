package access

import (
	"os"
	"time"
)

// The limits of the looks at places.
const (
	maxRunning = 1000
	maxKnown   = 10_000
)

// place describes a path on the disk.
type place struct {
	real    string // resolved
	missing bool   // nothing is there, or no folder
}

func newLookups(d disk, limit time.Duration) *looks[place] {
	return newLooks(func(dir string) place {
		real := resolve(d, dir)
		info, err := os.Stat(real)
		return place{real: real, missing: err != nil || !info.IsDir()}
	}, limit, maxRunning, maxKnown)
}
