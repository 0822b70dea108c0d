//go:build linux

package trial

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"strata/internal/testclient"
	"strata/rpc"
)

const (
	image      = "localhost/strata:trial"
	containers = 65532           // user of the containers
	hung       = 2 * time.Minute // time after which something that a test waits for is considered hung
	public     = "strata.example"
)

// engine is podman with its own storage, which ends with the test.
type engine struct {
	*testing.T
	folder string
	env    []string
}

// newEngine builds the image.
func newEngine(t *testing.T) *engine {
	archive := archive(t)
	needs(t, "podman", "crun", "unshare")
	if os.Geteuid() != 0 {
		t.Skip("only root can run containers without further settings")
	}
	e := &engine{T: t, folder: t.TempDir()}
	// Limits and control groups are those of this process, which may be in a container.
	e.configure("CONTAINERS_STORAGE_CONF", "storage.conf", "[storage]\ndriver = \"vfs\"\ngraphroot = %[1]q\nrunroot = %[2]q\n", e.path("graph"), e.path("run"))
	e.configure("CONTAINERS_CONF", "containers.conf", "[containers]\ncgroups = \"disabled\"\nlog_driver = \"k8s-file\"\n"+
		"default_ulimits = [\"nofile=1024:1024\", \"nproc=1024:1024\"]\n[engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\ntmp_dir = %q\n", e.path("tmp"))
	e.env = append(e.env, "BUILDAH_ISOLATION=chroot")
	output(t, e.command("../image", archive, image))
	t.Cleanup(func() { e.podman("rm", "--all", "--force", "--time", "0") })
	return e
}

func (e *engine) path(name string) string { return filepath.Join(e.folder, name) }

func (e *engine) configure(variable, name, format string, args ...any) {
	if err := os.WriteFile(e.path(name), fmt.Appendf(nil, format, args...), 0o600); err != nil {
		e.Fatal(err)
	}
	e.env = append(e.env, variable+"="+e.path(name))
}

// command returns a command that uses the engine's storage. crun refuses a system that has both versions of control groups,
// so it sees only the second.
func (e *engine) command(args ...string) *exec.Cmd {
	if _, err := os.Stat("/sys/fs/cgroup/unified"); err == nil {
		only := `umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && exec "$@"`
		args = append([]string{"unshare", "--mount", "sh", "-ec", only, "sh"}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), e.env...)
	return cmd
}

// podman runs a command of podman.
func (e *engine) podman(args ...string) string {
	e.Helper()
	return output(e.T, e.command(append([]string{"podman"}, args...)...))
}

func (e *engine) with(t *testing.T) *engine {
	inner := *e
	inner.T = t
	return &inner
}

// secured are the restrictions under which the containers run.
var secured = []string{"--read-only", "--read-only-tmpfs=false", "--cap-drop=all", "--security-opt=no-new-privileges"}

// required are the settings without which the server does not listen beyond loopback.
var required = []string{"--env=STRATA_BEHIND_PROXY=true", "--env=STRATA_WORKSPACES_ROOTS=/work"}

// serve starts a container and returns when it is healthy.
func (e *engine) serve(name string, options ...string) {
	e.Helper()
	args := append([]string{"run", "--detach", "--name", name, "--env=STRATA_MODEL=offline/actor"}, secured...)
	args = append(args, options...)
	e.podman(append(args, image)...)
	e.Cleanup(func() {
		if e.Failed() {
			e.Logf("%s wrote:\n%s", name, e.podman("logs", name))
		}
		e.podman("rm", "--force", "--time", "0", name)
	})
	e.awaitHealth(name)
}

// awaitHealth runs the health check of the image until it succeeds.
func (e *engine) awaitHealth(name string) {
	e.Helper()
	deadline := time.Now().Add(hung)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		err := e.command("podman", "healthcheck", "run", name).Run()
		if err == nil {
			return
		}
		if running := e.podman("inspect", "--format", "{{.State.Running}}", name); time.Now().After(deadline) || !strings.HasPrefix(running, "true") {
			e.Fatalf("%s does not become healthy: %v\n%s", name, err, e.podman("logs", name))
		}
	}
}

// exec runs a command of strata in a container.
func (e *engine) exec(name string, args ...string) string {
	e.Helper()
	return e.podman(append([]string{"exec", name, "/strata"}, args...)...)
}

// A second build makes the same layers, whatever the time and the folder.
func testRepeated(e *engine) {
	again := image + "-again"
	output(e.T, e.command("../image", archive(e.T), again))
	layers := func(name string) string { return e.podman("inspect", "--format", "{{.RootFS.Layers}}", name) }
	if first, second := layers(image), layers(again); first != second || !strings.Contains(first, "sha256:") {
		e.Errorf("%s and %s", first, second)
	}
}

// The image needs three settings, and names those that are missing.
func testSettings(e *engine) {
	for _, test := range []struct {
		options []string
		says    []string
	}{
		{nil, []string{"0.0.0.0:7717", "TLS or --behind-proxy", "workspaces.roots"}},
		{required[:1], []string{"workspaces.roots"}},
		{append(required, "--env=STRATA_TOKEN=secret"), []string{"STRATA_TOKEN", "not a token"}},
		{append(required, "--tmpfs=/data:rw,mode=0755"), []string{"permission denied"}},
	} {
		cmd := e.command(append(append([]string{"podman", "run", "--rm"}, test.options...), image)...)
		out, err := cmd.CombinedOutput()
		if err == nil {
			e.Errorf("%q: the server runs", test.options)
		}
		has(e.T, string(out), test.says...)
	}
}

// A container that is killed and started again has its sessions, with a file system that is otherwise read-only.
func testKilled(e *engine) {
	e.serve("killed", append(required, "--network=none", "--volume=killed:/data", "--tmpfs=/work:mode=0777")...)
	stdio := func() *testclient.Editor {
		return openEditor(e.T, e.command("podman", "exec", "--interactive", "killed", "/strata", "stdio"))
	}
	editor := stdio()
	session := editor.NewSession("/work")
	prompted(e.T, editor, session, "say Before the kill.", "Before the kill.")
	e.isUnprivileged("killed")

	e.podman("kill", "--signal", "KILL", "killed")
	e.podman("wait", "killed")
	e.podman("start", "killed")
	e.awaitHealth("killed")
	editor = stdio()
	if err := editor.Call("session/load", map[string]any{"sessionId": session, "cwd": "/work", "mcpServers": []any{}}, nil); err != nil {
		e.Fatal(err)
	}
	if text := editor.Frames().Text(testclient.AgentChunk); text != "Before the kill." {
		e.Errorf("the session has %q", text)
	}
	prompted(e.T, editor, session, "say After the kill.", "After the kill.")
	editor.Close()

	e.podman("kill", "--signal", "STOP", "killed")
	if err := e.command("podman", "healthcheck", "run", "killed").Run(); err == nil {
		e.Error("a stopped process is healthy")
	}
	e.podman("kill", "--signal", "CONT", "killed")
	e.awaitHealth("killed")

	e.podman("stop", "--time", "30", "killed")
	if code := strings.TrimSpace(e.podman("inspect", "--format", "{{.State.ExitCode}}", "killed")); code != "0" {
		e.Errorf("exit code %s", code)
	}
	data := strings.TrimSpace(e.podman("volume", "inspect", "--format", "{{.Mountpoint}}", "killed"))
	if _, err := os.Stat(filepath.Join(data, "strata", "server.json")); err == nil {
		e.Error("server.json remains after the end")
	}
}

// isUnprivileged checks the user of a container's process.
func (e *engine) isUnprivileged(name string) {
	pid := strings.TrimSpace(e.podman("inspect", "--format", "{{.State.Pid}}", name))
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		e.Fatal(err)
	}
	user := strconv.Itoa(containers)
	has(e.T, string(status), "Uid:\t"+strings.Join([]string{user, user, user, user}, "\t"), "CapEff:\t0000000000000000", "NoNewPrivs:\t1")
}

// Behind a proxy that terminates TLS, clients use the public name and the token, here from a secret file.
func testProxied(e *engine) {
	token := strings.Repeat("5a", 32)
	if err := os.WriteFile(e.path("token"), []byte(token), 0o600); err != nil {
		e.Fatal(err)
	}
	e.podman("secret", "create", "strata-token", e.path("token"))
	e.serve("proxied", append(required, "--network=host", "--tmpfs=/work:mode=0777", "--volume=proxied:/data", "--env=STRATA_LISTEN=0.0.0.0:0", "--env=STRATA_HOSTS="+public,
		fmt.Sprintf("--secret=strata-token,uid=%d,mode=0400", containers), "--env=STRATA_TOKEN_FILE=/run/secrets/strata-token")...)
	proxy := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(e.address("proxied"))
		r.Out.Host = r.In.Host
		r.SetXForwarded()
	}})
	defer proxy.Close()

	dial := func(host, token string) error {
		stream, err := rpc.DialWebSocket(e.Context(), "wss://"+host+"/acp", rpc.DialOptions{
			Header: http.Header{"Authorization": {"Bearer " + token}}, HTTPClient: reaching(proxy),
		})
		if err != nil {
			return err
		}
		editor := testclient.New(e.T, stream)
		defer editor.Close()
		editor.Initialize()
		prompted(e.T, editor, editor.NewSession("/work"), "say Proxied.", "Proxied.")
		return nil
	}
	if err := dial(public, token); err != nil {
		e.Error(err)
	}
	for _, wrong := range [][2]string{{public, strings.Repeat("a5", 32)}, {"other.example", token}} {
		if err := dial(wrong[0], wrong[1]); err == nil || !strings.Contains(err.Error(), "server returned 40") {
			e.Errorf("%q: %v", wrong, err)
		}
	}
}

// A certificate and its key are mounted; the health check and commands in the container use the server with it.
func testTLS(e *engine) {
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	defer server.Close()
	folder := e.path("tls")
	if err := os.Mkdir(folder, 0o700); err != nil {
		e.Fatal(err)
	}
	for name, block := range keyPair(e.T, server.TLS.Certificates[0]) {
		if err := os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o600); err != nil {
			e.Fatal(err)
		}
	}
	output(e.T, exec.Command("chown", "-R", strconv.Itoa(containers), folder))
	e.serve("tls", "--network=host", "--volume=tls:/data", "--volume="+folder+":/tls:ro", "--tmpfs=/work:mode=0777", "--workdir=/work",
		"--env=STRATA_WORKSPACES_ROOTS=/work", "--env=STRATA_LISTEN=0.0.0.0:0", "--env=STRATA_TLS_CERT=/tls/cert.pem", "--env=STRATA_TLS_KEY=/tls/key.pem")
	if scheme := e.address("tls").Scheme; scheme != "https" {
		e.Errorf("the server uses %s", scheme)
	}
	has(e.T, e.exec("tls", "ask", "say Encrypted."), "Encrypted.")
}

// address returns the address of the server in a container on the network of this system.
func (e *engine) address(name string) *url.URL {
	e.Helper()
	data := strings.TrimSpace(e.podman("volume", "inspect", "--format", "{{.Mountpoint}}", name))
	text, err := os.ReadFile(filepath.Join(data, "strata", "server.json"))
	if err != nil {
		e.Fatal(err)
	}
	var file struct{ URL string }
	if err := json.Unmarshal(text, &file); err != nil {
		e.Fatal(err)
	}
	u, err := url.Parse(strings.Replace(file.URL, "ws", "http", 1))
	if err != nil {
		e.Fatal(err)
	}
	u.Path = ""
	return u
}

// reaching returns a client for which every name leads to a server, whatever its certificate is for.
func reaching(server *httptest.Server) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
		},
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
}

func TestImage(t *testing.T) {
	e := newEngine(t)
	for name, test := range map[string]func(*engine){"repeated": testRepeated, "settings": testSettings, "killed": testKilled, "proxied": testProxied, "tls": testTLS} {
		t.Run(name, func(t *testing.T) { test(e.with(t)) })
	}
}

// keyPair returns the blocks of the PEM files of a certificate.
func keyPair(t *testing.T, pair tls.Certificate) map[string]*pem.Block {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, "key.pem": {Type: "PRIVATE KEY", Bytes: key}}
}
