package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// variables returns an environment with a home folder and the given variables.
func variables(t *testing.T, given map[string]string) func(string) string {
	t.Helper()
	home := t.TempDir()
	return func(name string) string {
		if v, ok := given[name]; ok {
			return v
		}
		if name == "HOME" || name == "APPDATA" || name == "LOCALAPPDATA" {
			return home
		}
		return ""
	}
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "strata.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func loadText(t *testing.T, text string) (*Config, error) {
	t.Helper()
	return Load(Sources{File: writeFile(t, text), Getenv: variables(t, nil)})
}

func TestTheFileOfTheDocumentationLoads(t *testing.T) {
	c, err := loadText(t, `
listen: 127.0.0.1:7717
db: ""
log: {level: info, format: auto, file: ""}
token_file: ""
origins: ["vscode-webview://*"]
hosts: []
workspaces: {roots: []}
retention: 168h
idle_unload: 30m
model: offline/digest
detection_model: ""
summary_model: ""
thought_level: off
system_prompt: ""
providers:
  offline: {kind: offline, delta_gap: 0s}
  anthropic: {kind: anthropic, api_key_env: ANTHROPIC_API_KEY}
  openai: {kind: openai, api_key_env: OPENAI_API_KEY}
  local: {kind: openai, base_url: "http://127.0.0.1:11434/v1", api_key_env: "", headers: {X-Team: blue}, retry_statuses: [429, 503], max_request_bytes: 1000, max_image_bytes: 0}
models:
  local/qwen3: {window: 32768, max_output: 4096, encoding: o200k_base, vision: false, min_cache_tokens: 0, price: {input: 0, output: 0.5, cache_read: 0, cache_write: 0}, output_name: max_completion_tokens, temperature: false, stream_options: auto, tools: true, reasoning_effort: auto, thinking_back: turn, user_after_tool: false}
profile: chat
profiles: {chat: {compaction: {compaction_trigger_tokens: 24000}}}
stability: {layout: log, strict: false, cache_ttl: auto, cache_target_tokens: 1536}
compaction: {enabled: true, workers: 2}
timeouts: {first_byte: 10m, between_bytes: 5m}
limits: {frame_bytes: 16777216, connections: 256, requests: 64, file_bytes: 1048576}
`)
	if err != nil {
		t.Fatal(err)
	}
	local, model := c.Providers["local"], c.Models["local/qwen3"]
	if local.Kind != "openai" || *local.Headers["X-Team"] != "blue" || c.Retention != 168*time.Hour {
		t.Errorf("got provider %+v, retention %v", local, c.Retention)
	}
	if *model.Window != 32768 || *model.Vision || *model.Price.Output != 0.5 {
		t.Errorf("got model %+v", model)
	}
	if !slices.Equal(local.RetryStatuses, []int{429, 503}) || local.MaxRequestBytes != 1000 || len(c.Providers["openai"].RetryStatuses) != 15 {
		t.Errorf("got provider %+v", local)
	}
	if model.OutputName != "max_completion_tokens" || *model.Temperature || model.StreamOptions != nil || !*model.Tools ||
		model.ReasoningEffort != nil || model.ThinkingBack != "turn" || *model.UserAfterTool {
		t.Errorf("got model %+v", model)
	}
	override := c.Profiles[0]
	if strings.Join(override.Path, ".") != "compaction.compaction_trigger_tokens" || override.Profile != "chat" || override.Value != uint64(24000) || override.Origin.Line != 24 {
		t.Errorf("got override %+v", override)
	}
}

func TestNoFileGivesTheDefaults(t *testing.T) {
	getenv := variables(t, nil)
	c, err := Load(Sources{Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	if c.Model != OfflineModel || c.File != "" || !c.IsDefault("model") {
		t.Errorf("got model %q from file %q", c.Model, c.File)
	}
	if !filepath.IsAbs(c.DB) || filepath.Base(c.DB) != "strata.db" || !filepath.IsAbs(c.TokenFile) {
		t.Errorf("got db %q, token file %q", c.DB, c.TokenFile)
	}
}

func TestErrorsNameThePlaceAndTheAllowedValues(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"unknown key", "model: offline/digest\nlisen: x\n", `:2:1: unknown key "lisen"; allowed: listen, behind_proxy, `},
		{"rule of no tool", "tools:\n  allow:\n    - edit_file\n    - edit file\n", `:4:7: tools.allow: rule "edit file": it must begin with the name of a tool`},
		{"rule that allows too much", "tools: {allow: [run_command(sudo apt *)]}\n", `tools.allow: rule "run_command(sudo apt *)": sudo can run any program`},
		{"too many rules", "tools: {deny: [" + strings.Repeat("edit_file, ", 201) + "]}\n", `tools.deny: 201 rules exceeds the limit of 200`},
		{"unknown inner key", "log:\n  levle: debug\n", `:2:3: log: unknown key "levle"; allowed: level, format, file`},
		{"key twice", "db: a\ndb: b\n", `:2:1: mapping key "db" already defined at [1:1]`},
		{"number for text", "listen: 7717\n", `:1:9: listen: number 7717 is not an address such as 127.0.0.1:7717`},
		{"list for text", "db: [a]\n", `:1:5: db: a list is not a path`},
		{"text for list", "origins: a\n", `:1:10: origins: string "a" is not a list, each an origin`},
		{"text for section", "log: debug\n", `:1:6: log: string "debug" is not a mapping`},
		{"text for number", "limits: {requests: \"64\"}\n", `:1:20: limits.requests: string "64" is not a whole number of at least 1`},
		{"zero limit", "limits:\n  requests: 0\n", `:2:13: limits.requests: "0" is not a whole number of at least 1`},
		{"huge number", "limits: {requests: 99999999999999999999}\n", `:1:20: limits.requests: string "99999999999999999999" is not a whole`},
		{"yes", "compaction: {enabled: yes}\n", `:1:23: compaction.enabled: string "yes" is not true or false`},
		{"no value", "model:\n", `:1:8: model: an empty value is not a model named provider/model`},
		{"duration", "retention: 7d\n", `:1:12: retention: "7d" is not a duration such as 90s, 30m or 168h`},
		{"negative duration", "idle_unload: -1s\n", `:1:14: idle_unload: "-1s" is not a duration`},
		{"word", "log: {level: loud}\n", `:1:14: log.level: "loud" is not one of debug, info, warn, error`},
		{"listen", "listen: 127.0.0.1\n", `:1:9: listen: "127.0.0.1" is not an address such as`},
		{"origin item", "origins:\n- vscode-webview://*\n- \"*\"\n", `:3:3: origins: "*" is not an origin such as`},
		{"all the web", "origins: [\"https://*\"]\n", `:1:11: origins: "https://*" is not an origin`},
		{"model form", "model: gpt\n", `:1:8: model: "gpt" is not a model named provider/model`},
		{"model provider", "model: local/x\n", `:1:8: model: "local/x": provider not configured; configured: anthropic, offline, openai`},
		{"override of unknown provider", "models: {local/x: {window: 5}}\n", `models.local/x: "local/x": provider not configured`},
		{"output above window", "models: {openai/x: {window: 5, max_output: 5}}\n", `:1:44: models.openai/x.max_output: 5 leaves no room`},
		{"negative price", "models: {openai/x: {price: {input: -1}}}\n", `models.openai/x.price.input: "-1" is not a number of at least 0`},
		{"temperature", "models: {openai/x: {temperature: 0.7}}\n", `:1:34: models.openai/x.temperature: "0.7" is not auto, true or false`},
		{"tools", "models: {openai/x: {tools: maybe}}\n", `:1:28: models.openai/x.tools: string "maybe" is not auto, true or false`},
		{"output name", "models: {openai/x: {output_name: n}}\n", `models.openai/x.output_name: "n" is not one of max_tokens, max_completion_tokens`},
		{"thinking back", "models: {openai/x: {thinking_back: no}}\n", `models.openai/x.thinking_back: "no" is not one of none, turn, always`},
		{"status", "providers: {openai: {retry_statuses: [503, 200]}}\n", `:1:44: providers.openai.retry_statuses: "200" is not an HTTP status of an error`},
		{"status as text", "providers: {openai: {retry_statuses: ['503']}}\n", `retry_statuses: string "503" is not an HTTP status`},
		{"statuses", "providers: {openai: {retry_statuses: 503}}\n", `retry_statuses: number 503 is not a list, each an HTTP status`},
		{"negative bytes", "providers: {openai: {max_image_bytes: -1}}\n", `max_image_bytes: "-1" is not a whole number of at least 0`},
		{"no timeout", "timeouts: {first_byte: 0s}\n", `:1:24: timeouts.first_byte: "0s" is not a duration`},
		{"provider without kind", "providers:\n  local: {}\n", `:2:3: providers.local: kind is missing`},
		{"provider name", "providers: {A b: {kind: openai}}\n", `:1:13: providers: "A b" is not a provider's name: lower-case`},
		{"base url", "providers: {openai: {base_url: ftp://x}}\n", `providers.openai.base_url: the value is not an http or https address`},
		{"offline key", "providers: {offline: {api_key_env: KEY}}\n", `providers.offline.api_key_env: an offline provider has no key`},
		{"gap of a real provider", "providers: {openai: {delta_gap: 1s}}\n", `providers.openai.delta_gap: only an offline provider has a gap`},
		{"offline address", "providers: {offline: {base_url: http://x}}\n", `providers.offline.base_url: an offline provider has no address`},
		{"profile", "profile: chatty\n", `:1:10: profile: "chatty" is not one of chat, steps, loop, task, phased`},
		{"profile override", "profiles: {chatty: {}}\n", `:1:12: profiles: "chatty" is not one of chat,`},
		{"profile as text", "profiles: {chat: 3}\n", `:1:18: profiles.chat: number 3 is not a mapping`},
		{"tls half", "tls: {cert: a.pem}\n", `:1:13: tls.cert: tls.key is missing`},
		{"token", "token: x\n", `:1:1: token is not allowed in a file: use token_file or STRATA_TOKEN`},
		{"alias", "db: &a x\ntoken_file: *a\n", "strata.yaml:2:13: a YAML alias is not supported"},
		{"merge", "<<: {db: x}\n", `:1:1: a YAML merge key is not supported`},
		{"tag", "db: !!str x\n", `:1:5: a YAML tag is not supported`},
		{"anchor", "db: &a x\n", `:1:5: a YAML anchor is not supported`},
		{"key with a mark", "? db\n: c\n", `:1:1: a YAML key is not supported`},
		{"number as key", "7: x\n", `:1:1: unknown key "7"; allowed: listen`},
		{"infinity", "profiles: {chat: {compaction: {min_confidence: .inf}}}\n", `:1:48: a YAML inf is not supported`},
		{"fraction", "limits: {requests: 1.5}\n", `:1:20: limits.requests: "1.5" is not a whole number of at least 1`},
		{"mapping for text", "db: {a: b}\n", `:1:5: db: a YAML mapping is not a path`},
		{"two documents", "db: a\n---\ndb: b\n", `:3:1: the file contains more than one document`},
		{"a list", "- a\n", `:1:1: a list is not a mapping of keys to values`},
		{"syntax", "log: {level: [}\n", `:1:15: `},
		{"tab", "log:\n\tlevel: info\n", `:2:1: found character`},
		{"deep", "origins: " + strings.Repeat("[", 1000), `:1:42: lists and mappings nest deeper than 32`},
		{"deep dashes", strings.Repeat("- ", 1000), `:1:65: lists and mappings nest deeper than 32`},
		{"large", "#" + strings.Repeat("x", maxFileBytes), `: the file exceeds the limit of 65536 bytes`},
		{"binary", "db: \xff\n", `: the file is not UTF-8 text`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := loadText(t, test.text)
			if err == nil || !strings.Contains(err.Error(), "strata.yaml"+test.want) && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestAllProblemsAreReportedTogetherUpToABound(t *testing.T) {
	_, err := loadText(t, "lisen: 1\nlog: {level: loud}\n")
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("got %v", err)
	}
	_, err = loadText(t, "origin: 1\n"+numbered(2*maxErrors))
	if err == nil || strings.Count(err.Error(), "\n") != maxErrors-1 {
		t.Errorf("got %v", err)
	}
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("k" + strings.Repeat("x", i) + ": 1\n")
	}
	return b.String()
}

// An empty list turns retries off; it is not the same as no list.
func TestAnEmptyListIsSet(t *testing.T) {
	c, err := loadText(t, "providers: {openai: {retry_statuses: []}}\n")
	if err != nil {
		t.Fatal(err)
	}
	if statuses := c.Providers["openai"].RetryStatuses; statuses == nil || len(statuses) > 0 {
		t.Errorf("got %v", statuses)
	}
}

func TestErrorsRepeatNoSecret(t *testing.T) {
	const secret = "sk-ant-0123456789"
	for _, text := range []string{
		"providers: {openai: {api_key_env: " + secret + "}}\n",
		"providers: {openai: {headers: {Authorization: \"" + secret + "\\n\"}}}\n",
		"providers: {openai: {base_url: \"https://me:" + secret + "@x/\"}}\n",
	} {
		if _, err := loadText(t, text); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: got %v", text, err)
		}
	}
	_, err := Load(Sources{Getenv: variables(t, map[string]string{"STRATA_TOKEN": secret})})
	if err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("got %v", err)
	}
}

func TestFlagsOverrideVariablesAndVariablesOverrideTheFile(t *testing.T) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	AddFlags(fs)
	if err := fs.Parse([]string{"--model", "openai/flag", "--origins", "a://x,b://x", "--origins=c://x", "--stability-strict", "--summarize-every", "3"}); err != nil {
		t.Fatal(err)
	}
	path := writeFile(t, "model: openai/file\nlog: {level: debug}\nretention: 1h\nproviders: {local-1: {kind: openai}}\nprofiles: {chat: {compaction: {summarize_every: 9}}}\n")
	c, err := Load(Sources{File: path, Flags: fs, Getenv: variables(t, map[string]string{
		"STRATA_MODEL": "openai/env", "STRATA_LOG_LEVEL": "warn", "STRATA_STABILITY_CACHE_TTL": "1h", "STRATA_HOSTS": "a.example, b.example:1",
		"STRATA_PROVIDERS_LOCAL_1_BASE_URL": "http://127.0.0.1:1/v1", "STRATA_PROFILES_LOOP_COMPACTION_RAW_WINDOW_SIZE": "7",
		"STRATA_PROVIDERS_LOCAL_1_RETRY_STATUSES": "503, 529", "STRATA_TIMEOUTS_BETWEEN_BYTES": "30s",
	})})
	if err != nil {
		t.Fatal(err)
	}
	if c.Model != "openai/flag" || c.Log.Level != "warn" || c.Retention != time.Hour || !c.Stability.Strict || c.Stability.CacheTTL != "1h" {
		t.Errorf("got %+v", c)
	}
	if !slices.Equal(c.Origins, []string{"a://x", "b://x", "c://x"}) || !slices.Equal(c.Hosts, []string{"a.example", "b.example:1"}) {
		t.Errorf("got origins %q, hosts %q", c.Origins, c.Hosts)
	}
	if !slices.Equal(c.Providers["local-1"].RetryStatuses, []int{503, 529}) || c.Timeouts.BetweenBytes != 30*time.Second {
		t.Errorf("got %+v, %+v", c.Providers["local-1"], c.Timeouts)
	}
	if c.Providers["local-1"].BaseURL != "http://127.0.0.1:1/v1" || len(c.Profiles) != 2 ||
		c.Profiles[0].dotted() != "profiles.chat.compaction.summarize_every" || c.Profiles[0].Value != int64(3) ||
		c.Profiles[1].dotted() != "profiles.loop.compaction.raw_window_size" || c.Profiles[1].Value != int64(7) {
		t.Errorf("got %+v, %+v", c.Providers["local-1"], c.Profiles)
	}
	for key, want := range map[string]string{
		"model": "--model", "log.level": "STRATA_LOG_LEVEL", "retention": path + ":3", "listen": "default",
	} {
		if got := c.Origin(key).String(); got != want {
			t.Errorf("%s: got origin %s, want %s", key, got, want)
		}
	}
}

func TestWrongVariablesAndFlagsAreNamed(t *testing.T) {
	_, err := Load(Sources{Getenv: variables(t, map[string]string{"STRATA_LIMITS_REQUESTS": "many"})})
	if err == nil || err.Error() != `STRATA_LIMITS_REQUESTS: "many" is not a whole number of at least 1` {
		t.Errorf("got %v", err)
	}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	AddFlags(fs)
	if err := fs.Parse([]string{"--thought-level", "deep"}); err != nil {
		t.Fatal(err)
	}
	_, err = Load(Sources{Getenv: variables(t, nil), Flags: fs})
	if err == nil || err.Error() != `--thought-level: "deep" is not one of off, low, medium, high` {
		t.Errorf("got %v", err)
	}
}

func TestListeningBeyondLoopbackNamesEverythingMissing(t *testing.T) {
	const roots = "workspaces: {roots: [/src]}\n"
	for _, test := range []struct {
		text string
		want []string // parts of the error; none: it is allowed
	}{
		{"listen: 0.0.0.0:7717\n", []string{"TLS", "--behind-proxy", "workspaces.roots"}},
		{"listen: :7717\n", []string{"TLS", "workspaces.roots"}},
		{"listen: myhost:7717\nbehind_proxy: true\n", []string{"workspaces.roots"}},
		{"listen: '[::]:7717'\n" + roots, []string{"TLS", "--behind-proxy"}},
		{"listen: 0.0.0.0:7717\nbehind_proxy: true\n" + roots, nil},
		{"listen: 0.0.0.0:7717\ntls: {cert: c, key: k}\n" + roots, nil},
		{"listen: '[::1]:0'\n", nil},
		{"listen: localhost:7717\n", nil},
		{"listen: 127.1.2.3:7717\n", nil},
	} {
		_, err := loadText(t, test.text)
		if (err != nil) != (test.want != nil) {
			t.Errorf("%q: got %v", test.text, err)
			continue
		}
		for _, part := range test.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q: got %v without %s", test.text, err, part)
			}
		}
	}
}

func TestPathsAreAbsolute(t *testing.T) {
	path := writeFile(t, "db: sub/strata.db\ntoken_file: ~/token\nworkspaces: {roots: [here, /there]}\n")
	home := t.TempDir()
	c, err := Load(Sources{File: path, Getenv: variables(t, map[string]string{"HOME": home, "STRATA_LOG_FILE": "x.log"})})
	if err != nil {
		t.Fatal(err)
	}
	wd, _ := os.Getwd()
	dir := filepath.Dir(path)
	for got, want := range map[string]string{
		c.DB: filepath.Join(dir, "sub/strata.db"), c.TokenFile: filepath.Join(home, "token"), c.Log.File: filepath.Join(wd, "x.log"),
		c.Workspaces.Roots[0]: filepath.Join(dir, "here"), c.Workspaces.Roots[1]: "/there",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestANamedFileMustExist(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "no.yaml")
	_, err := Load(Sources{File: missing, Getenv: variables(t, nil)})
	if err == nil || !strings.HasPrefix(err.Error(), "--config: ") || !strings.Contains(err.Error(), missing) {
		t.Errorf("got %v", err)
	}
	_, err = Load(Sources{Getenv: variables(t, map[string]string{FileEnv: missing})})
	if err == nil || !strings.HasPrefix(err.Error(), "STRATA_CONFIG: ") {
		t.Errorf("got %v", err)
	}
}

func TestEmptySectionsAndFilesAreFine(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "log:\nproviders:\n", "\ufeffdb: x\r\nlog:\r\n  level: debug\r\n", "---\ndb: x\n"} {
		if _, err := loadText(t, text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzLoad(f *testing.F) {
	for _, seed := range []string{"", "db: x\n", "log: {level: info}\n", "profiles: {chat: {a: [1, {b: 2}], c: ~}}\n", "models: {a/b: {price: {input: 1e3}}}\n", "? a\n: b\n", "a: |\n  x\n", "&a [*a]", "db: \"\\xZZ\"\n", "- - - a\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := parseDocument("fuzz.yaml", data)
		if err != nil {
			return
		}
		l := loader{Config: Default()}
		l.readMapping(d, d.root, l.all())
		l.check()
		if err := l.problems.err(); err != nil && !strings.HasPrefix(err.Error(), "fuzz.yaml:") {
			t.Errorf("an error without its position: %v", err)
		}
	})
}
