package slash

import (
	"fmt"
	"testing"
)

func TestOutputsAreBounded(t *testing.T) {
	var outputs Outputs
	for i := range MaxOutputs + 1 {
		outputs.Put(Key{"s", fmt.Sprint(i)}, "text")
	}
	outputs.Put(Key{"s", ""}, "text")
	_, first := outputs.Get(Key{"s", "0"})
	_, second := outputs.Get(Key{"s", "1"})
	_, none := outputs.Get(Key{"s", ""})
	if first || !second || none || len(outputs.texts) != MaxOutputs || len(outputs.order) != MaxOutputs {
		t.Errorf("known: %t, %t, %t; %d outputs", first, second, none, len(outputs.texts))
	}
}
