package lazy

import (
	"sync"
	"testing"
)

func TestRegexpIsCompiledOnce(t *testing.T) {
	number := Regexp(`^\d+$`)
	first := number()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if number() != first || !number().MatchString("12") || number().MatchString("x") {
				t.Error("another expression")
			}
		})
	}
	all.Wait()
}

func TestWrongPatternPanicsAtItsFirstUse(t *testing.T) {
	wrong := Regexp(`(`) // not yet
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	wrong()
}
