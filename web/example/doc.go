// Package example contains a page with an editor, on the client library: the tutorial for authors of plugins. The
// package's Go tests use the page in Chromium, with the real server.
//
// It must never contain Go code other than tests.
package example
