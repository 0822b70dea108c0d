// Package crash kills the real server at named and at random points, fills its disk, locks and damages its database, and
// checks what clients get afterwards: nothing that was reported as stored may be missing or duplicated.
//
// It contains only tests, and must never kill a process that it has not started.
package crash
