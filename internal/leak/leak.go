// Package leak finds goroutines that tests leave behind. Those that are about to end get the time that they need, however
// busy the machine is: goleak alone waits for less than half a second.
//
// It must only be used by tests.
package leak

import (
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines may take to end. Only a leak takes so long.
const patience = time.Minute

// Tests are those of a package: a *testing.M.
type Tests interface{ Run() int }

// Main runs the tests of m and exits with their status, or with a failure where goroutines are left.
func Main(m Tests) { goleak.VerifyTestMain(patient{m}) }

// patient are tests that end after their goroutines.
type patient struct{ Tests }

func (p patient) Run() int {
	status := p.Tests.Run()
	if status == 0 {
		_ = Find() // goleak looks again, and says what is left
	}
	return status
}

// Find returns an error that names the goroutines that are left, but for those that the options leave out.
func Find(options ...goleak.Option) error {
	err := goleak.Find(options...)
	for giveUp := time.Now().Add(patience); err != nil && time.Now().Before(giveUp); {
		err = goleak.Find(options...)
	}
	return err
}
