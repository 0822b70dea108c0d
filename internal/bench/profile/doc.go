// Package profile runs the server inside a benchmark, for the profiles that `go test` writes: docs/benchmarks.md says
// how. Its figures say little, since the editor and the provider are in the same process.
//
// It must never be imported.
package profile
