// Package crash kills the real server at named and at random moments, fills its disk, locks and damages its database,
// and looks at what clients get afterwards: nothing that they were told is stored may be missing or stand twice.
//
// It holds nothing but tests, and must never kill a process that it has not started.
package crash
