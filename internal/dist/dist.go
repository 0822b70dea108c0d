// Package dist has the scripts and settings that make a release: `make dist`.
//
// It must never contain a version: internal/version has it.
package dist
