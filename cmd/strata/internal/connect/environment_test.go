package connect

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"strata/cmd/strata/internal/cli"
)

const takesEnvironments = `{"agentCapabilities":{"_meta":{"strata":{"methods":["_strata/environment/offer"]}}}}`

func TestVariablesThatStayHere(t *testing.T) {
	home := t.TempDir()
	environ := []string{
		"HOME=" + home, "TWICE=1", "TWICE=a=b", "EMPTY=", "STRATA_TOKEN=secret", "strata_token=secret", "ANTHROPIC_API_KEY=secret",
		"THEIRS=secret", "=C:=C:\\secret", "", "BAD=\xff",
	}
	p := &cli.Process{
		Environ: func() []string { return environ },
		Getenv:  func(name string) string { return map[string]string{"HOME": home, "XDG_CONFIG_HOME": home}[name] },
	}
	var got struct{ Env map[string]string }
	err := OfferEnvironment(func(_ string, params, _ any) error { return json.Unmarshal(params.(json.RawMessage), &got) }, p,
		json.RawMessage(takesEnvironments), []string{"THEIRS"})
	if want := map[string]string{"HOME": home, "TWICE": "a=b", "EMPTY": ""}; err != nil || !maps.Equal(got.Env, want) {
		t.Errorf("%v, %v, want %v", got.Env, err, want)
	}
}

// An environment beyond the bounds would be refused, or end the connection.
func TestAnEnvironmentBeyondTheBoundsStaysHere(t *testing.T) {
	p := &cli.Process{Environ: func() []string { return []string{"A=" + strings.Repeat("secret", 200_000)} }, Getenv: func(string) string { return "" }}
	call := func(string, any, any) error {
		t.Error("the server is called")
		return nil
	}
	err := OfferEnvironment(call, p, json.RawMessage(takesEnvironments), nil)
	if err == nil || !strings.Contains(err.Error(), "exceeds the limit of 1048576") || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
	if err := OfferEnvironment(call, p, json.RawMessage(`{"agentCapabilities":{}}`), nil); err != nil {
		t.Errorf("a server that takes none: %v", err)
	}
}
