// Package profile runs the server inside a benchmark, to record profiles with `go test` (see docs/benchmarks.md). Its
// figures are of little use, because the editor and the provider run in the same process.
//
// It must never be imported.
package profile
