package health

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"strata/cmd/strata/internal/cli"
	"strata/historystore/lock"
	"strata/server/access"
)

// place is a user's home with a database that this process has.
type place struct {
	*testing.T
	folder  string
	token   access.Token
	env     map[string]string
	printed strings.Builder
}

func newPlace(t *testing.T) *place {
	folder := t.TempDir()
	p := &place{T: t, folder: folder, token: access.NewToken(), env: map[string]string{"HOME": folder}}
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"} {
		p.env[name] = folder
	}
	if err := os.Mkdir(filepath.Join(folder, "strata"), 0o700); err != nil {
		t.Fatal(err)
	}
	return p
}

// publish writes server.json for a server of this process.
func (p *place) publish(url string) {
	p.Helper()
	database := filepath.Join(p.folder, "strata", "strata.db")
	held, err := lock.Acquire(database)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { held.Release() })
	err = access.WriteServerFile(filepath.Join(p.folder, "strata", "server.json"), access.ServerFile{URL: url, Token: p.token, PID: os.Getpid(), Database: database})
	if err != nil {
		p.Fatal(err)
	}
}

func (p *place) check(timeout time.Duration) error {
	return check(p.Context(), &cli.Process{Stdout: &p.printed, Getenv: func(name string) string { return p.env[name] }}, timeout)
}

// authorized serves clients with the token.
func (p *place) authorized() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+p.token.Reveal() {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
}

func (p *place) wants(err error, text string) {
	p.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		p.Errorf("error %v, want %q", err, text)
	}
	if p.printed.Len() > 0 {
		p.Errorf("printed %q", p.printed.String())
	}
}

func TestAServerThatRespondsIsHealthy(t *testing.T) {
	p := newPlace(t)
	server := httptest.NewServer(p.authorized())
	defer server.Close()
	p.publish(server.URL)
	if err := p.check(time.Minute); err != nil || !strings.HasSuffix(p.printed.String(), server.URL+" responds\n") {
		t.Errorf("%v, printed %q", err, p.printed.String())
	}
}

func TestWithoutAServerNothingIsHealthy(t *testing.T) {
	p := newPlace(t)
	p.wants(p.check(time.Minute), "no server is running")
}

func TestAServerThatDoesNotRespondIsNotHealthy(t *testing.T) {
	p := newPlace(t)
	hangs := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hangs }))
	defer server.Close()
	defer close(hangs)
	p.publish(server.URL)
	p.wants(p.check(10*time.Millisecond), "no response within 10ms")
}

func TestAServerWithAnotherTokenIsNotHealthy(t *testing.T) {
	p := newPlace(t)
	server := httptest.NewServer(p.authorized())
	defer server.Close()
	p.publish(server.URL)
	p.token = access.NewToken()
	p.wants(p.check(time.Minute), "refuses the token")
}

func TestAServerThatHasClosedItsPortIsNotHealthy(t *testing.T) {
	p := newPlace(t)
	server := httptest.NewServer(p.authorized())
	server.Close()
	p.publish(server.URL)
	p.wants(p.check(time.Minute), "refused")
}

// The certificate is for another address, as that of a server on the internet is for its name.
func TestTheConfiguredCertificateIsTrusted(t *testing.T) {
	p := newPlace(t)
	server := httptest.NewUnstartedServer(p.authorized())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	p.publish(strings.Replace(server.URL, "127.0.0.1", "localhost", 1))
	p.env["STRATA_TLS_CERT"], p.env["STRATA_TLS_KEY"] = filepath.Join(p.folder, "cert.pem"), filepath.Join(p.folder, "key.pem")
	p.wants(p.check(time.Minute), "cert.pem: no such file")

	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw[1:]})
	p.write("cert.pem", text)
	p.wants(p.check(time.Minute), "certificate is not the one in")

	p.write("cert.pem", []byte("none"))
	p.wants(p.check(time.Minute), "contains no certificate")

	p.write("cert.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	if err := p.check(time.Minute); err != nil {
		t.Error(err)
	}
	delete(p.env, "STRATA_TLS_CERT")
	delete(p.env, "STRATA_TLS_KEY")
	p.printed.Reset()
	p.wants(p.check(time.Minute), "certificate")
}

func (p *place) write(name string, text []byte) {
	p.Helper()
	if err := os.WriteFile(filepath.Join(p.folder, name), text, 0o600); err != nil {
		p.Fatal(err)
	}
}
