// Package trial tests the files of a release as their users get them: the packages in a clean Debian system that is booted
// for it, and the container image. `make dist-roots` runs it.
//
// It must only contain tests.
package trial
