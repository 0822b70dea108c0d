// Package reply reads a provider's reply, in whatever form it comes, into events and a result.
//
// A reply is an event stream, a whole completion, an error or a web page. A member of an unexpected type is read as if it
// were absent. The package must never connect to a provider, retry, or hold a reply without bounds.
package reply
