package upstream

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// unit is one block of a request to Anthropic, in the order in which it is cached: tools, system, messages.
type unit struct {
	block  int    // index among the blocks, all tools as one
	sum    int    // tokens up to and with it
	prefix digest // of all bytes up to and including it, without breakpoints
	ttl    string // of its breakpoint; empty: none
}

// units returns the blocks of a request with the bytes that were sent: a different order of keys makes a different
// block.
func (c *Cache) units(req *Request) []unit {
	var units []unit
	chain, sum := sha256.Sum256([]byte(req.Model)), 0
	add := func(place string, block int, raw json.RawMessage) {
		content, ttl := unmarked(raw)
		chain = sha256.Sum256(fmt.Appendf(nil, "%x %s %d %s", chain, place, len(content), content))
		sum += c.tokensOf(content)
		units = append(units, unit{block: block, sum: sum, prefix: chain, ttl: ttl})
	}
	block := 0
	for _, tool := range req.rawTools {
		add("tool", block, tool)
	}
	block += min(1, len(req.rawTools))
	for _, raw := range req.rawSystem {
		add("system", block, raw)
		block++
	}
	// The thinking parameters change the cached prefix from the messages on.
	chain = sha256.Sum256(fmt.Appendf(nil, "%x %s", chain, req.rawThinking))
	for i, m := range req.rawBlocks {
		for _, raw := range m {
			add(req.Messages[i].Role, block, raw)
			block++
		}
	}
	return units
}

// unmarked returns the bytes of a block without its breakpoint, and the lifetime that the breakpoint requests.
func unmarked(raw json.RawMessage) (content []byte, ttl string) {
	in := json.NewDecoder(bytes.NewReader(raw))
	if start, err := in.Token(); err != nil || start != json.Delim('{') {
		return raw, ""
	}
	for in.More() {
		key, err := in.Token()
		var value json.RawMessage
		if err != nil || in.Decode(&value) != nil {
			return raw, "" // it was decoded before, so this is not reached
		}
		if key == "cache_control" {
			ttl = ttlOf(value)
			continue
		}
		content = fmt.Appendf(content, "%q:%s,", key, value)
	}
	return content, ttl
}

// ttlOf returns the lifetime that a cache_control requests, by default 5 minutes.
func ttlOf(raw json.RawMessage) string {
	var mark struct {
		TTL string `json:"ttl"`
	}
	if bytes.Equal(raw, []byte("null")) || json.Unmarshal(raw, &mark) != nil {
		return ""
	}
	if mark.TTL == "" {
		return "5m"
	}
	return mark.TTL
}

// tokensOf counts the tokens of a block.
func (c *Cache) tokensOf(content []byte) int {
	key := sha256.Sum256(content)
	n, known := c.counts[key]
	if !known {
		if len(c.counts) >= countsBound {
			clear(c.counts)
		}
		n = c.countBlock(content)
		c.counts[key] = n
	}
	return n
}

// countBlock counts the text of a block, or its bytes if it has no text.
func (c *Cache) countBlock(content []byte) int {
	var block struct {
		Type, Text string
	}
	fields := append(append([]byte("{"), bytes.TrimSuffix(content, []byte(","))...), '}')
	if json.Unmarshal(fields, &block) != nil {
		return c.opt.Count(string(content))
	}
	switch block.Type {
	case "text":
		return c.opt.Count(block.Text)
	case "image":
		return imageTokens
	}
	return c.opt.Count(string(content))
}
