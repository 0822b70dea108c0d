package connect

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"

	"strata/cmd/strata/internal/cli"
)

// transport returns the connections of this machine's clients to the server. A server with TLS must have the configured
// certificate, which need not be for the server's address on this machine.
func transport(p *cli.Process) http.RoundTripper {
	c, err := p.Load(nil)
	if err != nil || c.TLS.Cert == "" {
		return http.DefaultTransport
	}
	t := &http.Transport{DisableKeepAlives: true}
	t.TLSClientConfig = &tls.Config{
		InsecureSkipVerify: true, // isServer compares the certificate instead
		VerifyConnection:   func(state tls.ConnectionState) error { return isServer(state, c.TLS.Cert) },
	}
	return t
}

// isServer returns an error unless the server's certificate is the first in a PEM file.
func isServer(state tls.ConnectionState, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("tls.cert: %w", err)
	}
	block, _ := pem.Decode(text)
	switch {
	case block == nil:
		return fmt.Errorf("tls.cert: %s contains no certificate", file)
	case len(state.PeerCertificates) == 0:
		return errors.New("the server sent no certificate")
	case !bytes.Equal(block.Bytes, state.PeerCertificates[0].Raw):
		return fmt.Errorf("the server's certificate is not the one in %s: if that file was replaced, restart the server", file)
	}
	return nil
}
