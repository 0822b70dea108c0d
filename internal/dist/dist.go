// Package dist contains the scripts and settings that make a release (`make dist`), and tests of the release.
//
// It must never contain a version: internal/version has it.
package dist
