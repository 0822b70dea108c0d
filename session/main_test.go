package session

import (
	"testing"

	"strata/internal/leak"
	"strata/internal/process"
)

func TestMain(m *testing.M) {
	process.Supervise()
	leak.Main(m)
}
