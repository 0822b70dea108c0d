package compaction

import (
	"strata/compaction/digest"
)

// byWords returns a digest of a request, without a model.
func (s *Summarizer) byWords(r Request) string {
	budget := min(r.Budget, s.counter.Count(r.Previous)+size(r.Messages)/2)
	c := digest.Conversation{Previous: r.Previous, Later: r.Later, Messages: make([]digest.Message, len(r.Messages))}
	for i := range r.Messages {
		c.Messages[i] = forDigest(&r.Messages[i])
	}
	return digest.Of(&c, s.counter, budget)
}

func forDigest(m *Message) digest.Message {
	return digest.Message{Role: m.Role, Text: m.Text, Calls: m.Calls, Failed: m.Failed}
}

// written returns what a person or the model wrote in a message.
func written(m *Message) string {
	of := forDigest(m)
	return digest.Written(&of)
}
