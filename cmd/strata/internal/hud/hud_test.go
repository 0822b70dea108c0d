package hud

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// The user's own browser comes first. Without a display or a browser, the error says so.
func TestF42TheBrowserOfTheUser(t *testing.T) {
	for name, tt := range map[string]struct {
		goos      string
		env       map[string]string
		installed string
		want, err string
	}{
		"a display":          {"linux", map[string]string{"DISPLAY": ":0"}, "xdg-open www-browser", "xdg-open", ""},
		"Wayland":            {"freebsd", map[string]string{"WAYLAND_DISPLAY": "wayland-0"}, "www-browser", "www-browser", ""},
		"no display":         {"linux", nil, "xdg-open", "", "there is no display"},
		"no browser":         {"linux", map[string]string{"DISPLAY": ":0"}, "", "", "none of xdg-open, "},
		"BROWSER":            {"linux", map[string]string{"BROWSER": "w3m -N"}, "w3m xdg-open", "w3m -N", ""},
		"BROWSER, not there": {"linux", map[string]string{"BROWSER": "w3m", "DISPLAY": ":0"}, "xdg-open", "", "w3m is not there"},
		"macOS":              {"darwin", nil, "", "open", ""},
		"Windows":            {"windows", nil, "", "rundll32 url.dll,FileProtocolHandler", ""},
		"macOS with BROWSER": {"darwin", map[string]string{"BROWSER": "lynx"}, "lynx", "lynx", ""},
		"BROWSER of blanks":  {"linux", map[string]string{"BROWSER": " ", "DISPLAY": ":0"}, "xdg-open", "xdg-open", ""},
	} {
		find := func(name string) (string, error) {
			if slices.Contains(strings.Fields(tt.installed), name) {
				return "/bin/" + name, nil
			}
			return "", errors.New(name + " is not there")
		}
		got, err := browser(func(name string) string { return tt.env[name] }, tt.goos, find)
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) || err == nil && strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
