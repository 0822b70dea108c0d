package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// key is one name in the configuration: a setting, a section of keys, or a table whose names the user chooses.
type key struct {
	name    string
	doc     string // one sentence for help and documentation, with the unit
	value   value  // of a setting
	section []key  // of a section
	table   *table // of a table
	secret  bool   // listings mask the value
	path    bool   // a relative path in a file is relative to the file's folder
	envOnly bool   // no file and no flag can hold it
}

// table is a mapping from names that the user chooses to keys of one shape.
type table struct {
	entry func(name string) (key, error) // makes the entry if there is none yet
	names func() []string
}

// keys is the one list of all there is to configure, bound to the fields of c. The file's strict reader, the
// environment's names, the flags, --print-config and the table in docs/configuration.md all follow from it.
func (c *Config) keys() []key {
	return []key{
		{name: "listen", doc: "Address to listen on; port 0 picks a free one.", value: text(&c.Listen, "an address such as 127.0.0.1:7717, [::1]:7717 or :7717", isListen)},
		{name: "behind_proxy", doc: "A reverse proxy in front ends TLS.", value: boolean(&c.BehindProxy)},
		{name: "tls", section: []key{
			{name: "cert", doc: "Certificate chain, a PEM file.", value: anyText(&c.TLS.Cert, "a path"), path: true},
			{name: "key", doc: "Its private key, a PEM file.", value: anyText(&c.TLS.Key, "a path"), path: true},
		}},
		{name: "token", doc: "Token that clients must show; without it the token file's.", value: tokenValue(&c.Token), secret: true, envOnly: true},
		{name: "token_file", doc: "File that holds the token; made when missing. Default: in the user's state folder.", value: anyText(&c.TokenFile, "a path"), path: true},
		{name: "origins", doc: "Further allowed origins of web pages and editor views.", value: list{&c.Origins, "an origin such as https://editor.example:8443, a pattern such as https://*.example.org, or all of an editor's own scheme such as vscode-webview://*", isOrigin}},
		{name: "hosts", doc: "Further allowed Host values.", value: list{&c.Hosts, "a host such as strata.example or strata.example:8443", isHost}},
		{name: "workspaces", section: []key{
			{name: "roots", doc: "Folders that sessions must lie in. Empty: anywhere.", value: list{&c.Workspaces.Roots, "a folder's path", notBlank}, path: true},
		}},
		{name: "db", doc: "The database. Default: in the user's data folder.", value: anyText(&c.DB, "a path"), path: true},
		{name: "log", section: []key{
			{name: "level", doc: "What is logged.", value: oneOf(&c.Log.Level, "debug", "info", "warn", "error")},
			{name: "format", doc: "auto is text on a terminal and json otherwise.", value: oneOf(&c.Log.Format, "auto", "text", "json")},
			{name: "file", doc: "File to log to. Empty: standard error.", value: anyText(&c.Log.File, "a path"), path: true},
		}},
		{name: "retention", doc: "How long deleted sessions can be brought back.", value: duration(&c.Retention, time.Second)},
		{name: "idle_unload", doc: "When a session that nobody uses leaves memory.", value: duration(&c.IdleUnload, time.Second)},
		{name: "model", doc: "Model of new sessions.", value: text(&c.Model, modelWanted, isModel)},
		{name: "detection_model", doc: "Model that finds where topics change. Empty: by the words used, without a model.", value: text(&c.DetectionModel, modelWanted, emptyOr(isModel))},
		{name: "summary_model", doc: "Model that writes summaries. Empty: detection_model.", value: text(&c.SummaryModel, modelWanted, emptyOr(isModel))},
		{name: "thought_level", doc: "How much models think before they answer.", value: oneOf(&c.ThoughtLevel, "off", "low", "medium", "high")},
		{name: "system_prompt", doc: "System prompt of new sessions. Empty: the profile's.", value: anyText(&c.SystemPrompt, "text")},
		{name: "providers", table: &table{c.providerKey, func() []string { return sortedKeys(c.Providers) }}},
		{name: "models", table: &table{c.modelKey, func() []string { return sortedKeys(c.Models) }}},
		{name: "profile", doc: "Context rules of new sessions.", value: oneOf(&c.Profile, ProfileNames...)},
		{name: "profiles", table: &table{c.profileKey, func() []string { return sortedKeys(c.Profiles) }}},
		c.stabilityKey(),
		{name: "compaction", section: []key{
			{name: "enabled", doc: "Histories are compacted by themselves.", value: boolean(&c.Compaction.Enabled)},
			{name: "workers", doc: "How many compactions run at once.", value: integer(&c.Compaction.Workers, 1)},
		}},
		{name: "timeouts", section: []key{
			{name: "first_byte", doc: "Longest wait for the first byte of a provider's answer. Providers on loopback have no limit.", value: duration(&c.Timeouts.FirstByte, time.Millisecond)},
			{name: "between_bytes", doc: "Longest silence of a provider within an answer.", value: duration(&c.Timeouts.BetweenBytes, time.Millisecond)},
		}},
		{name: "limits", section: []key{
			{name: "frame_bytes", doc: "Largest frame of a client, in bytes.", value: integer(&c.Limits.FrameBytes, 1)},
			{name: "connections", doc: "Most connections at once.", value: integer(&c.Limits.Connections, 1)},
			{name: "requests", doc: "Most requests in flight on one connection.", value: integer(&c.Limits.Requests, 1)},
			{name: "file_bytes", doc: "Largest file that a session takes, in bytes.", value: integer(&c.Limits.FileBytes, 1)},
		}},
	}
}

func (c *Config) stabilityKey() key {
	return key{name: "stability", section: []key{
		{name: "layout", doc: "How requests are laid out for prompt caches.", value: oneOf(&c.Stability.Layout, "log", "ripple")},
		{name: "strict", doc: "A file that is taken out leaves the request at once, whatever that costs.", value: boolean(&c.Stability.Strict)},
		{name: "cache_ttl", doc: "Lifetime of cache marks.", value: oneOf(&c.Stability.CacheTTL, "auto", "5m", "1h")},
		{name: "cache_target_tokens", doc: "Size that a tier must have to be worth a mark, in tokens; 0 turns this off.", value: integer(&c.Stability.CacheTargetTokens, 0)},
	}}
}

func (c *Config) providerKey(name string) (key, error) {
	if !isProvider(name) {
		return key{}, errors.New("a provider's name is made of lower-case letters, digits, '.', '-' and '_'")
	}
	p := c.Providers[name]
	if p == nil {
		p = newProvider("", "")
		c.Providers[name] = p
	}
	return key{name: name, section: []key{
		{name: "kind", doc: "Protocol that the provider speaks.", value: oneOf(&p.Kind, "offline", "anthropic", "openai")},
		{name: "base_url", doc: "Address of its API. Empty: the service's own.", value: hidden(text(&p.BaseURL, "an http or https address without user, query and fragment", emptyOr(isBaseURL)))},
		{name: "api_key_env", doc: "Name of the environment variable that holds the API key. Empty: no key is sent.", value: hidden(text(&p.APIKeyEnv, "the name of an environment variable such as ANTHROPIC_API_KEY (never the key itself)", emptyOr(isVariable)))},
		{name: "headers", table: &table{p.headerKey, func() []string { return sortedKeys(p.Headers) }}},
		{name: "retry_statuses", doc: "HTTP statuses after which a request is sent again.", value: numbers{&p.RetryStatuses, "an HTTP status of an error, 400 to 599", isErrorStatus}},
		{name: "max_request_bytes", doc: "Largest request, in bytes. 0: the limit of its kind.", value: integer(&p.MaxRequestBytes, 0)},
		{name: "max_image_bytes", doc: "Largest picture, in bytes before base64. 0: the limit of its kind.", value: integer(&p.MaxImageBytes, 0)},
		{name: "delta_gap", doc: "Pause between the deltas of an offline answer.", value: duration(&p.DeltaGap, 0)},
	}}, nil
}

func (p *Provider) headerKey(name string) (key, error) {
	if !isHeader(name) {
		return key{}, errors.New("a header's name is made of letters, digits and '-'")
	}
	return key{name: name, doc: "A header of each request.", secret: true,
		value: mapEntry{p.Headers, name, "text of one line", isOneLine}}, nil
}

func (c *Config) modelKey(name string) (key, error) {
	if !isModel(name) {
		return key{}, fmt.Errorf("%s is not %s", quote(name), modelWanted)
	}
	m := c.Models[name]
	if m == nil {
		m = &Model{}
		c.Models[name] = m
	}
	return key{name: name, section: []key{
		{name: "window", doc: "Context window, in tokens.", value: optional(&m.Window, integer(new(int), 1))},
		{name: "max_output", doc: "Longest answer, in tokens.", value: optional(&m.MaxOutput, integer(new(int), 1))},
		{name: "encoding", doc: "Tokenizer that counts for it.", value: optional(&m.Encoding, oneOf(nil, "o200k_base", "cl100k_base"))},
		{name: "vision", doc: "It can see pictures.", value: optional(&m.Vision, boolean(nil))},
		{name: "min_cache_tokens", doc: "Shortest prefix that its provider caches, in tokens.", value: optional(&m.MinCacheTokens, integer(new(int), 0))},
		{name: "price", section: []key{
			{name: "input", doc: "US dollars per million tokens of input.", value: optional(&m.Price.Input, amount(nil))},
			{name: "output", doc: "US dollars per million tokens of output.", value: optional(&m.Price.Output, amount(nil))},
			{name: "cache_read", doc: "US dollars per million tokens read from the cache.", value: optional(&m.Price.CacheRead, amount(nil))},
			{name: "cache_write", doc: "US dollars per million tokens written to the cache.", value: optional(&m.Price.CacheWrite, amount(nil))},
		}},
		{name: "output_name", doc: "Parameter that limits its output. Empty: the one that its API takes.", value: text(&m.OutputName, "one of max_tokens, max_completion_tokens", emptyOr(isWord("max_tokens", "max_completion_tokens")))},
		{name: "temperature", doc: "Whether it takes a temperature.", value: autoBoolean(&m.Temperature)},
		{name: "stream_options", doc: "Whether it takes stream options, which ask for usage.", value: autoBoolean(&m.StreamOptions)},
		{name: "tools", doc: "Whether it takes tools.", value: autoBoolean(&m.Tools)},
		{name: "reasoning_effort", doc: "Whether it takes a reasoning effort.", value: autoBoolean(&m.ReasoningEffort)},
		{name: "thinking_back", doc: "Thinking that is sent back to it: none, that of the running turn, or all. Empty: what its kind wants.", value: text(&m.ThinkingBack, "one of none, turn, always", emptyOr(isWord("none", "turn", "always")))},
		{name: "user_after_tool", doc: "Whether it takes a user message right after a tool result.", value: optional(&m.UserAfterTool, boolean(nil))},
	}}, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// setting is a key that holds a value, with its dotted name.
type setting struct {
	key
	dotted string
}

// settings flattens keys, with the entries that tables have now.
func settings(keys []key, prefix string) []setting {
	var all []setting
	for _, k := range keys {
		dotted := prefix + k.name
		switch {
		case k.value != nil:
			all = append(all, setting{k, dotted})
		case k.table != nil:
			all = append(all, settings(k.table.entries(), dotted+".")...)
		default:
			all = append(all, settings(k.section, dotted+".")...)
		}
	}
	return all
}

func (t *table) entries() []key {
	var entries []key
	for _, name := range t.names() {
		if k, err := t.entry(name); err == nil {
			entries = append(entries, k)
		}
	}
	return entries
}

// env gives the environment variable of a setting: STRATA_ and the dotted name in capitals, joined by "_".
func (s setting) env() string {
	return "STRATA_" + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z' || r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, s.dotted)
}

// flag gives the name of the setting's flag, without dashes.
func (s setting) flag() string { return strings.NewReplacer(".", "-", "_", "-").Replace(s.dotted) }
