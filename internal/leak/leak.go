// Package leak finds goroutines leaked by tests. It gives goroutines that are about to end enough time, even on a busy
// machine: goleak alone waits less than half a second.
//
// It must only be used by tests.
package leak

import (
	"time"

	"go.uber.org/goleak"
)

// patience is the maximum time for goroutines to end. Only a leak reaches it.
const patience = time.Minute

// Tests are the tests of a package: a *testing.M.
type Tests interface{ Run() int }

// Main runs the tests of m and exits with their status, or with a failure if goroutines are leaked.
func Main(m Tests) { goleak.VerifyTestMain(patient{m}) }

// patient wraps Tests to wait for their goroutines.
type patient struct{ Tests }

func (p patient) Run() int {
	status := p.Tests.Run()
	if status == 0 {
		_ = Find() // goleak checks again and reports leaks
	}
	return status
}

// Find returns an error with the leaked goroutines, except for those ignored by the options.
func Find(options ...goleak.Option) error {
	err := goleak.Find(options...)
	for giveUp := time.Now().Add(patience); err != nil && time.Now().Before(giveUp); {
		err = goleak.Find(options...)
	}
	return err
}
