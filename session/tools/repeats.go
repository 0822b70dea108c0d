package tools

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// Repeats notices a model that repeats itself: identical calls in a row with identical results. The zero value has seen none.
type Repeats struct {
	last  [sha256.Size]byte
	times int
}

// The numbers of identical calls in a row at which the model is told, and at which its turn ends.
const (
	repeatsTold = 3
	repeatsMost = 5
)

// Note notes the calls of a step that is over, and tells the model of those that it repeats. It reports whether the turn has
// to end.
func (r *Repeats) Note(s *Step) (exhausted bool) {
	for i := range s.calls {
		c := &s.calls[i]
		if sum := c.sum(); sum == r.last && r.times > 0 {
			r.times++
		} else {
			r.last, r.times = sum, 1
		}
		if r.times == repeatsTold && i >= s.stored {
			told := *c.result
			told.Content = append(told.Content[:len(told.Content):len(told.Content)],
				textBlock(fmt.Sprintf("[The last %d calls and their results were identical. Another such call will not help; try something else.]", repeatsTold)))
			c.result = &told
		}
		exhausted = exhausted || r.times >= repeatsMost
	}
	return exhausted
}

// sum identifies a call with its result.
func (c *stepCall) sum() (sum [sha256.Size]byte) {
	h := sha256.New()
	add := func(text string) {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(text)))
		h.Write(length[:])
		h.Write([]byte(text))
	}
	add(c.block.Name)
	add(c.block.Args)
	for i := range c.result.Content {
		add(c.result.Content[i].Text)
		add(string(c.result.Content[i].Data))
	}
	h.Sum(sum[:0])
	return sum
}
