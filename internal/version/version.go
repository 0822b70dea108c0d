// Package version names the release that this tree is on its way to, once for the program and its client.
//
// It must never hold more than that: how a build came about is the program's to say.
package version

// Release is the version of the next release, as semantic versioning has it.
const Release = "0.1.0"
