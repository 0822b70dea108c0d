package config

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

func TestPrintShowsOriginsAndMasksSecrets(t *testing.T) {
	path := writeFile(t, "system_prompt: \"a\\nb\"\nproviders: {openai: {headers: {Authorization: \"Bearer secret-1\"}}}\nprofiles: {chat: {compaction: {summarize_every: 3}}}\n")
	c, err := Load(Sources{File: path, Getenv: variables(t, map[string]string{"STRATA_TOKEN": "secret" + strings.Repeat("A", 37)})})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := c.Print(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "secret-1") || strings.Contains(b.String(), "secretA") {
		t.Errorf("a secret is shown:\n%s", &b)
	}
	for _, want := range []string{
		`listen: +127.0.0.1:7717 +# default`,
		`system_prompt: +"a\\nb" +# ` + regexp.QuoteMeta(path) + `:1`,
		`token: +\*{8} +# STRATA_TOKEN`,
		`providers.openai.headers.Authorization: +\*{8} +# ` + regexp.QuoteMeta(path) + `:2`,
		`providers.openai.api_key_env: +OPENAI_API_KEY +# default`,
		`profiles.chat.compaction.summarize_every: +3 +# ` + regexp.QuoteMeta(path) + `:3`,
		`db: +/.*strata.db +# default`,
	} {
		if !regexp.MustCompile(`(?m)^` + want + `$`).MatchString(b.String()) {
			t.Errorf("no line %s in\n%s", want, &b)
		}
	}
}

// A secret that is not set is shown as such, not as one that is.
func TestAnUnsetSecretIsNotMasked(t *testing.T) {
	c, err := Load(Sources{Getenv: variables(t, nil)})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := c.Print(&b); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^token: +"" +# default$`).MatchString(b.String()) {
		t.Errorf("no empty token in\n%s", &b)
	}
}

func TestSomeSettingsArePrinted(t *testing.T) {
	c, err := Load(Sources{Getenv: variables(t, nil)})
	if err != nil {
		t.Fatal(err)
	}
	for keys, want := range map[string]bool{"log log.file": true, "log.file log": true, "log lo": false, "log.file.x": false} {
		var b bytes.Buffer
		err := c.Print(&b, strings.Fields(keys)...)
		if (err == nil) != want || want && (!strings.Contains(b.String(), "log.level:") || strings.Contains(b.String(), "model:")) {
			t.Errorf("%s: error %v\n%s", keys, err, &b)
		}
	}
}

// Text that is no decimal number stays text: an infinity or a NaN would pass every limit.
func TestScalarsOfTheCommandLine(t *testing.T) {
	for text, want := range map[string]any{
		"true": true, "false": false, "7": int64(7), "-7": int64(-7), "0.5": 0.5, "1e3": 1000.0, "topic": "topic", "": "",
		"inf": "inf", "-Inf": "-Inf", "NaN": "NaN", "1e999": "1e999",
	} {
		if got := scalar(text); got != want {
			t.Errorf("%q becomes %T %v, want %T %v", text, got, got, want, want)
		}
	}
}
