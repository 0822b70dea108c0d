package fit

import (
	"strata/history"
	"strata/stability"
)

// answersOf returns the answers of prompts, as indices of items by those of the prompts. An answer is the reply that ends
// the exchange of a prompt, without tool calls. A prompt never stays without its answer: the model would carry it out again.
func answersOf(items []Item) map[int]int {
	answers := make(map[int]int)
	last := make(map[int]int) // item by exchange, of which parts of others can be left
	for i := range items {
		if items[i].Kind == stability.Message {
			last[items[i].Messages[0].Exchange] = i
		}
	}
	for i := range items {
		if !items[i].User {
			continue
		}
		if end := last[items[i].Messages[0].Exchange]; isAnswer(&items[end]) {
			answers[i] = end
		}
	}
	return answers
}

func isAnswer(it *Item) bool {
	return len(it.Messages) == 1 && it.Messages[0].Role == history.RoleAssistant && !it.Messages[0].HasCalls
}

// withPrompts adds the prompts of the answers among the given indices to them.
func withPrompts(items []Item, gone map[int]bool) {
	for prompt, answer := range answersOf(items) {
		if gone[answer] {
			gone[prompt] = true
		}
	}
}
