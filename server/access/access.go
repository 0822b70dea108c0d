// Package access decides who may connect and where sessions may work: the server's token and its file, the Host and
// Origin rules of every HTTP route, the one-use codes, the cookie and the page secrets of the HUD, the private file by
// which clients find the server, and the folders that sessions may use.
//
// Every client with the token is the same user; there are no accounts and no permissions. The package defends against
// other users of the machine, web pages in the user's browser (foreign origins, DNS rebinding), programs on other ports of
// this machine that the browser visits and, if the server listens beyond loopback, the network.
//
// It must never write a token into a log line, an error, a page, a header, a cookie or an address, never read one from an
// address, never let a cookie alone open more than the empty page of the HUD, and never send a header that opens the
// server to foreign pages (CORS). It starts no goroutine.
package access
