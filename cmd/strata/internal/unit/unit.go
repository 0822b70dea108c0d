// Package unit writes and reads the files that describe Strata's server to a service manager: systemd or launchd.
//
// It must never run a program or change a file.
package unit

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
)

// The names of the service in systemd and launchd.
const (
	SocketName  = "strata.socket"
	ServiceName = "strata.service"
	Label       = "dev.strata.server"
)

// EnvFileName is the name of the file with further variables, in the folder of the configuration. It may contain keys.
const EnvFileName = "service.env"

// StopTimeout is how long a service manager waits for the end of the server, which needs 15 seconds at most.
const StopTimeout = 30 * time.Second

// Service describes the server of a user.
type Service struct {
	Program     string            // absolute path
	ConfigFile  string            // absolute path; empty: the default
	Listen      string            // host:port; the port is fixed
	Database    string            // absolute path
	ExitIdle    time.Duration     // idle time before the server exits; 0: never
	Environment map[string]string // of the server, besides that of the service manager
	EnvFile     string            // path of a file with further variables, which need not exist; systemd only
	LogFile     string            // path of the file for standard error; launchd only
}

// Check returns an error if a value cannot be written to the files.
func (s Service) Check() error {
	values := []string{s.Program, s.ConfigFile, s.Listen, s.Database, s.EnvFile, s.LogFile}
	for name, value := range s.Environment {
		values = append(values, name, value)
	}
	for _, v := range values {
		if strings.ContainsFunc(v, unicode.IsControl) {
			return fmt.Errorf("%q contains a control character: rename the file or folder", v)
		}
	}
	if !filepath.IsAbs(s.Program) {
		return fmt.Errorf("program %q: the path is not absolute", s.Program)
	}
	return nil
}

func (s Service) args() []string {
	args := []string{s.Program, "serve"}
	if s.ExitIdle > 0 {
		args = append(args, "--exit-idle", s.ExitIdle.String())
	}
	if s.ConfigFile != "" {
		args = append(args, "--config", s.ConfigFile)
	}
	return args
}

// databaseKey and configKey are in a section that systemd ignores. Clients read them to know whose socket this is.
const (
	databaseKey = "Database="
	configKey   = "ConfigFile="
	listenKey   = "ListenStream="
)

// Socket returns strata.socket.
func (s Service) Socket() string {
	return `# Written by "strata service install".
[Unit]
Description=Socket of Strata, session server for AI chat in editors

[Socket]
` + listenKey + s.Listen + `
NoDelay=yes

[Install]
WantedBy=sockets.target

[X-Strata]
` + databaseKey + s.Database + "\n" + configKey + s.ConfigFile + "\n"
}

// Unit returns strata.service. A server whose configuration is wrong does not start again and again: after five attempts
// systemd closes the socket.
func (s Service) Unit() string {
	var b strings.Builder
	b.WriteString(`# Written by "strata service install".
[Unit]
Description=Strata, session server for AI chat in editors
Requires=strata.socket
After=strata.socket
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=notify
ExecStart=`)
	for i, arg := range s.args() {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(quoted(strings.ReplaceAll(arg, "$", "$$")))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Environment)) {
		fmt.Fprintf(&b, "\nEnvironment=%s", quoted(name+"="+s.Environment[name]))
	}
	if s.EnvFile != "" {
		fmt.Fprintf(&b, "\nEnvironmentFile=-%s", strings.ReplaceAll(s.EnvFile, "%", "%%"))
	}
	// KillMode=mixed: the server ends its commands and stores partial replies first. Recovery of a large database takes
	// time, so a start has no limit. The lock of the database (exit code 3) is no failure.
	fmt.Fprintf(&b, `
KillMode=mixed
TimeoutStartSec=infinity
TimeoutStopSec=%d
SuccessExitStatus=3
`, int(StopTimeout.Seconds()))
	return b.String()
}

// quoted returns a word for a unit file.
func quoted(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`).Replace(word) + `"`
}

// ReadSocket returns the address, the database and the configuration file in a strata.socket that Socket wrote.
func ReadSocket(text string) (Service, error) {
	var s Service
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		for key, value := range map[string]*string{listenKey: &s.Listen, databaseKey: &s.Database, configKey: &s.ConfigFile} {
			if v, ok := strings.CutPrefix(line, key); ok {
				*value = v
			}
		}
	}
	if s.Listen == "" || s.Database == "" {
		return Service{}, errors.New("it was not written by strata service install")
	}
	return s, nil
}

// Plist returns the property list for launchd. The server starts at login: launchd gives its sockets only to programs that
// are linked with its library. launchd starts a server that crashed again, but not one that was stopped.
func (s Service) Plist() string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>` + Label + `</string>
	<key>ProgramArguments</key>
	<array>
`)
	for _, arg := range s.args() {
		b.WriteString("\t\t<string>" + escaped(arg) + "</string>\n")
	}
	b.WriteString("\t</array>\n")
	if len(s.Environment) > 0 {
		b.WriteString("\t<key>EnvironmentVariables</key>\n\t<dict>\n")
		for _, name := range slices.Sorted(maps.Keys(s.Environment)) {
			fmt.Fprintf(&b, "\t\t<key>%s</key>\n\t\t<string>%s</string>\n", escaped(name), escaped(s.Environment[name]))
		}
		b.WriteString("\t</dict>\n")
	}
	fmt.Fprintf(&b, `	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>ThrottleInterval</key>
	<integer>10</integer>
	<key>ExitTimeOut</key>
	<integer>%d</integer>
	<key>ProcessType</key>
	<string>Interactive</string>
	<key>StandardErrorPath</key>
	<string>%s</string>
</dict>
</plist>
`, int(StopTimeout.Seconds()), escaped(s.LogFile))
	return b.String()
}

// PlistConfigFile returns the configuration file in a property list that Plist wrote; empty: the default.
func PlistConfigFile(text string) string {
	_, rest, found := strings.Cut(text, "<string>--config</string>")
	if !found {
		return ""
	}
	_, rest, _ = strings.Cut(rest, "<string>")
	file, _, _ := strings.Cut(rest, "</string>")
	return strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">").Replace(file)
}

func escaped(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// SystemdFolder returns the folder of the user's units.
func SystemdFolder(getenv func(string) string) string {
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "systemd", "user")
	}
	return filepath.Join(getenv("HOME"), ".config", "systemd", "user")
}

// PlistPath returns the path of the user's property list.
func PlistPath(getenv func(string) string) string {
	return filepath.Join(getenv("HOME"), "Library", "LaunchAgents", Label+".plist")
}
