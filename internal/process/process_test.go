package process

import (
	"os"
	"testing"

	"strata/internal/leak"
)

func TestMain(m *testing.M) {
	Supervise()
	if len(os.Args) > 1 && helpers[os.Args[1]] != nil {
		helpers[os.Args[1]](os.Args[2:])
		return
	}
	leak.Main(m)
}

// helpers are the programs that tests run in processes of their own, by the first argument.
var helpers = map[string]func(args []string){}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
