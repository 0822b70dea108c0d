// Package access decides who may come in: the server's token and where it is kept, the Host and Origin rules of
// every HTTP route, the one-use codes and the cookie of the HUD, and the private file in which clients find the server.
//
// Every visitor with the token is the same user; there are no accounts and no rights. What the package defends against
// are other users of the machine, web pages in the user's browser (foreign origins, DNS rebinding), and, where the
// server listens beyond loopback, the network.
//
// It must never let a token into a log line, an error, a page, a header, a cookie or an address, never take one from an
// address, and never answer with a header that opens the server to foreign pages (CORS). It keeps no goroutine.
package access
