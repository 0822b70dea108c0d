// Package kept contains a database of each schema, made by the program of its time, and tests that this program migrates
// the database without a loss. README.md describes how to add one.
package kept
