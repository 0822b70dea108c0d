// Package version defines the version of the next release, for the program and its client library.
//
// It must never contain more than that: details of a build belong to the program.
package version

// Release is the semantic version of the next release.
const Release = "0.1.0"
