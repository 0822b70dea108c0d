package binary

import (
	"bufio"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// Figures returns the values in /metrics without labels.
func (s *Server) Figures(t testing.TB) map[string]float64 {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.HTTP("/metrics"), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all := make(map[string]float64)
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if figure, err := strconv.ParseFloat(value, 64); err == nil {
			all[name] = figure
		}
	}
	if all["go_goroutines"] == 0 {
		t.Fatalf("/metrics has no goroutines: %v", all)
	}
	return all
}
