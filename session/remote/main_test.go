package remote

import (
	"testing"

	"strata/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }
