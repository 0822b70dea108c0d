// Package client holds the client library for editor plugins and pages, written in TypeScript: src is the library, test
// its tests. Go sees only that those pass, against the real server.
//
// It must never have Go code that is no test.
package client
