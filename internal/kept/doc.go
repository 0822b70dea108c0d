// Package kept keeps a database of each schema, made by the program of its time, and tests that this program migrates it
// and loses nothing. README.md describes how to add one.
package kept
