package unit

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func service() Service {
	return Service{
		Program: `/opt/a "b"/100% $x\strata`, ConfigFile: "/home/u/my file.yaml", Listen: "127.0.0.1:7717", Database: "/home/u/strata.db",
		ExitIdle: 10 * time.Minute, Environment: map[string]string{"XDG_DATA_HOME": "/data/50%", "A": "<&>"},
		EnvFile: "/home/u/100%.env", LogFile: "/home/u/service.log",
	}
}

// Clients read the address, the database and the configuration that the service was installed for.
func TestTheSocketComesBack(t *testing.T) {
	want := service()
	got, err := ReadSocket(want.Socket())
	if err != nil || got.Listen != want.Listen || got.Database != want.Database || got.ConfigFile != want.ConfigFile {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{"", "[Socket]\nListenStream=127.0.0.1:1\n", "[X-Strata]\nDatabase=/x\n"} {
		if _, err := ReadSocket(text); err == nil {
			t.Errorf("%q is a socket of the service", text)
		}
	}
}

func TestSpecialCharactersInAUnit(t *testing.T) {
	text := service().Unit()
	for _, want := range []string{
		`ExecStart="/opt/a \"b\"/100%% $$x\\strata" "serve" "--exit-idle" "10m0s" "--config" "/home/u/my file.yaml"` + "\n",
		"Environment=\"A=<&>\"\nEnvironment=\"XDG_DATA_HOME=/data/50%%\"\n",
		"EnvironmentFile=-/home/u/100%%.env\n", "TimeoutStopSec=30\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestTheConfigurationInAPropertyList(t *testing.T) {
	s := service()
	for _, file := range []string{"", "/home/u/a & <b>.yaml"} {
		s.ConfigFile = file
		if got := PlistConfigFile(s.Plist()); got != file {
			t.Errorf("%q, want %q", got, file)
		}
	}
}

func TestThePropertyListIsXML(t *testing.T) {
	text := service().Plist()
	decoder := xml.NewDecoder(strings.NewReader(text))
	var values []string
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := token.(xml.CharData); ok && strings.TrimSpace(string(data)) != "" {
			values = append(values, string(data))
		}
	}
	all := strings.Join(values, "\n")
	for _, want := range []string{service().Program, "/home/u/my file.yaml", "A\n<&>", Label, "/home/u/service.log"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
}

func TestValuesThatUnitsCannotContain(t *testing.T) {
	good := service()
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Service){
		"a line break in the program": func(s *Service) { s.Program = "/a\nExecStartPre=/b" },
		"a relative program":          func(s *Service) { s.Program = "strata" },
		"a line break in a variable":  func(s *Service) { s.Environment["A"] = "a\nb" },
	} {
		bad := service()
		change(&bad)
		if bad.Check() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// systemd reads both files without a remark.
func TestSystemdAcceptsTheUnits(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip(err)
	}
	folder := t.TempDir()
	s := service()
	s.Program = "/bin/sh"
	for name, text := range map[string]string{SocketName: s.Socket(), ServiceName: s.Unit()} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(analyze, "--user", "--man=no", "verify", filepath.Join(folder, SocketName), filepath.Join(folder, ServiceName))
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir(), "HOME="+folder)
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "Failed to initialize manager") {
		t.Skipf("systemd-analyze: %s", out)
	}
	if err != nil || strings.Contains(string(out), "strata.") {
		t.Errorf("%v\n%s", err, out)
	}
}
