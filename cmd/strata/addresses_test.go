package main

import "testing"

func TestAddresses(t *testing.T) {
	for server, want := range map[string]string{
		"http://127.0.0.1:7717":       "ws://127.0.0.1:7717/acp",
		"https://strata.example/":     "wss://strata.example/acp",
		"ws://[::1]:7717/acp":         "ws://[::1]:7717/acp",
		"wss://strata.example/in/acp": "wss://strata.example/in/acp",
	} {
		if got, err := webSocketURL(server); got != want || err != nil {
			t.Errorf("%s: got %s, %v, want %s", server, got, err, want)
		}
	}
	for path, want := range map[string]string{
		"/a b/c#1.txt": "file:///a%20b/c%231.txt",
		"/ä":           "file:///%C3%A4",
		"C:/x":         "file:///C:/x",
	} {
		if got := fileURI(path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	for listen, want := range map[string]bool{"127.0.0.1:7717": true, "127.0.0.1:7718": false, "wrong": false} {
		if got := samePort("ws://127.0.0.1:7717/acp", listen); got != want {
			t.Errorf("%s: got %v", listen, got)
		}
	}
}
