// Package client contains the client library for editor plugins and web pages, in TypeScript: the library in src, its
// tests in test. The package's Go tests run them with the real server.
//
// It must never contain Go code other than tests.
package client
