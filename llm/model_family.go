package llm

import "strings"

// families are the makers' names for their models, as they stand in ids. The first that is found is taken.
var families = []string{"claude", "gemini", "gemma", "deepseek", "qwen", "kimi", "glm", "minimax", "mistral", "magistral",
	"devstral", "codestral", "grok", "llama", "gpt", "command", "nova", "phi"}

// family returns the family of a model by its name, provider/model. Thinking that one family signed is of no use to
// another. A model of no known family is one by itself.
func family(name string) string {
	_, id, _ := strings.Cut(strings.ToLower(name), "/")
	for _, f := range families {
		if strings.Contains(id, f) {
			return f
		}
	}
	return strings.ToLower(name)
}

// providerOf returns the provider of a model by its name, provider/model.
func providerOf(name string) string {
	provider, _, _ := strings.Cut(name, "/")
	return provider
}
