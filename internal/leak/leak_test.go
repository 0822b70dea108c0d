package leak

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { Main(m) }

func TestFindWaitsForWhatIsAboutToEnd(t *testing.T) {
	others := goleak.IgnoreCurrent()
	gate := make(chan struct{})
	go func() { <-gate }()
	if err := goleak.Find(others); err == nil || !strings.Contains(err.Error(), "TestFindWaits") {
		t.Errorf("goleak finds %v", err)
	}
	time.AfterFunc(time.Second, func() { close(gate) })
	if err := Find(others); err != nil {
		t.Errorf("a goroutine that has ended is found: %v", err)
	}
}
