package llm

import (
	"testing"

	"strata/history"
	"strata/llm/reply"
)

// The parts that most Messages streams have in common.
const (
	msgStart  = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":1}}}`
	textStart = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	textHi    = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}`
	textYou   = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" you"}}`
	blockStop = `{"type":"content_block_stop","index":0}`
	endTurn   = `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}`
	toolsUsed = `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":2}}`
	msgStop   = `{"type":"message_stop"}`
	msgPing   = `{"type":"ping"}`
)

// usualUsage is the usage reported by msgStart and endTurn.
var usualUsage = usedTokens(10, 2, 0, 0)

// blockText returns a text delta with a JSON value as text.
func blockText(text string) string {
	return `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + text + `}}`
}

// blockStart is the start of the first block.
func blockStart(block string) string {
	return `{"type":"content_block_start","index":0,"content_block":` + block + `}`
}

// blockDelta is a delta of the first block.
func blockDelta(delta string) string {
	return `{"type":"content_block_delta","index":0,"delta":` + delta + `}`
}

// msgDelta returns the event with a JSON value as stop reason and without usage.
func msgDelta(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":` + reason + `}}`
}

// inTextMessage returns a message with one text block that contains the events, and the usual end.
func inTextMessage(events ...string) string {
	return asEvents(append(append([]string{msgStart, textStart}, events...), blockStop, endTurn, msgStop)...)
}

// inMessage returns a message of events with the usual start and end.
func inMessage(events ...string) string {
	return asEvents(append(append([]string{msgStart}, events...), endTurn, msgStop)...)
}

// inCallMessage is inMessage with tool_use as stop reason.
func inCallMessage(events ...string) string {
	return asEvents(append(append([]string{msgStart}, events...), toolsUsed, msgStop)...)
}

const (
	callStart = `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"read","input":{}}}`
	callArgs  = `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"/a\"}"}}`
)

// anthropicDialects are complete streams of real servers.
var anthropicDialects = []variant{
	{ // Anthropic
		name: "Anthropic",
		body: asEvents(
			`{"type":"message_start","message":{"model":"claude-sonnet-4-5-20250929","id":"msg_01","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"cache_creation_input_tokens":100,"cache_read_input_tokens":2000,"cache_creation":{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":0},"output_tokens":1,"service_tier":"standard","inference_geo":"not_available"}}}`,
			textStart, `{"type": "ping"}`,
			blockText(`"Grüße, "`), blockText(`"世界 😀"`), blockStop,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":25,"cache_creation_input_tokens":100,"cache_read_input_tokens":2000,"output_tokens":12}}`,
			msgStop),
		text: "Grüße, 世界 😀", usage: usedTokens(25, 12, 2000, 100),
	},
	{ // Anthropic
		name: "Anthropic with thinking and a call", tools: true,
		body: asEvents(msgStart,
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me "}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"see."}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQBCgIYAhIM"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"I'll read it."}}`,
			`{"type":"content_block_stop","index":1}`,
			`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_01","name":"read","input":{}}}`,
			`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}`,
			`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"/ä"}}`,
			`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\"}"}}`,
			`{"type":"content_block_stop","index":2}`,
			toolsUsed, msgStop),
		blocks: []history.Block{wantThought("Let me see.", "EqQBCgIYAhIM"), text("I'll read it."), wantCall("toolu_01", "read", `{"path": "/ä"}`)},
		stop:   reply.StopToolUse, usage: usualUsage,
	},
	{ // Anthropic since Claude 4.5: a call names its caller
		name: "Anthropic with a caller", tools: true,
		body: inCallMessage(
			blockStart(`{"type":"tool_use","id":"toolu_1","name":"read","input":{},"caller":{"type":"direct"}}`), callArgs, blockStop),
		blocks: []history.Block{wantCall("toolu_1", "read", `{"path":"/a"}`, `{"caller":{"type":"direct"}}`)}, stop: reply.StopToolUse, usage: usualUsage,
	},
	{ // Anthropic, models that encrypt all of their thinking
		name: "Anthropic with redacted thinking",
		body: inMessage(
			blockStart(`{"type":"redacted_thinking","data":"EmwKAhgBEgy3va3pzix"}`), blockStop,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}`, `{"type":"content_block_stop","index":1}`),
		blocks: []history.Block{{Type: history.BlockThinking, Data: []byte("EmwKAhgBEgy3va3pzix")}, text("Hi")}, usage: usualUsage,
	},
	{ // Anthropic, thinking that is not displayed: a signature without text
		name: "Anthropic with thinking left out",
		body: inMessage(
			blockStart(`{"type":"thinking","thinking":"","signature":""}`), blockDelta(`{"type":"signature_delta","signature":"seal"}`), blockStop,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}`, `{"type":"content_block_stop","index":1}`),
		blocks: []history.Block{wantThought("", "seal"), text("Hi")}, usage: usualUsage,
	},
	{ // Anthropic with its own tools
		name: "Anthropic with a web search",
		body: inMessage(
			blockStart(`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`), blockDelta(`{"type":"input_json_delta","partial_json":"{\"query\":\"x\"}"}`), blockStop,
			`{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","title":"t","url":"https://example.org","encrypted_content":"e"}]}}`, `{"type":"content_block_stop","index":1}`,
			`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"","citations":[]}}`,
			`{"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"type":"web_search_result_location","cited_text":"c","url":"https://example.org"}}}`,
			`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Hi"}}`, `{"type":"content_block_stop","index":2}`),
		text: "Hi", usage: usualUsage,
	},
	{ // Bedrock through a gateway: metrics of the invocation in the last event
		name: "Bedrock gateway",
		body: asEvents(msgStart, textStart, textHi, blockStop, endTurn,
			`{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":10,"outputTokenCount":2,"invocationLatency":900,"firstByteLatency":300}}`),
		text: "Hi", usage: usualUsage,
	},
	{ // Vertex through a gateway: an event of its own first
		name: "Vertex gateway",
		body: "event: vertex_event\ndata: {\"type\":\"vertex_event\"}\n\n" + inTextMessage(textHi),
		text: "Hi", usage: usualUsage,
	},
	{ // DeepSeek's Anthropic endpoint: thinking with an id as its signature
		name: "DeepSeek",
		body: asEvents(
			`{"type":"message_start","message":{"id":"1f2e","type":"message","role":"assistant","model":"deepseek-reasoner","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":36,"cache_creation_input_tokens":0,"cache_read_input_tokens":64,"output_tokens":0,"service_tier":"standard"}}}`,
			blockStart(`{"type":"thinking","thinking":"","signature":"1f2e"}`), msgPing, blockDelta(`{"type":"thinking_delta","thinking":"hm"}`), blockStop,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}`, `{"type":"content_block_stop","index":1}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":36,"cache_creation_input_tokens":0,"cache_read_input_tokens":64,"output_tokens":7}}`, msgStop),
		blocks: []history.Block{wantThought("hm", "1f2e"), text("Hi")}, usage: usedTokens(36, 7, 64, 0),
	},
	{ // Moonshot's Anthropic endpoint: the input is reported at the end
		name: "Moonshot",
		body: asEvents(
			`{"type":"message_start","message":{"id":"chatcmpl-1","type":"message","role":"assistant","content":[],"model":"kimi-k2","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0}}}`,
			textStart, textHi, blockStop,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":30,"output_tokens":2,"cache_read_input_tokens":8}}`, msgStop),
		text: "Hi", usage: usedTokens(30, 2, 8, 0),
	},
	{ // Z.ai's Anthropic endpoint
		name: "Z.ai",
		body: asEvents(
			`{"type":"message_start","message":{"id":"2025","type":"message","role":"assistant","model":"glm-4.6","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0}}}`,
			msgPing, textStart, textHi, blockStop,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":14,"output_tokens":2,"cache_read_input_tokens":0,"server_tool_use":{"web_search_requests":0},"service_tier":"standard"}}`, msgStop),
		text: "Hi", usage: usedTokens(14, 2, 0, 0),
	},
	{ // MiniMax's Anthropic endpoint: an additional state
		name: "MiniMax",
		body: asEvents(
			`{"type":"message_start","message":{"id":"05","type":"message","role":"assistant","content":[],"model":"MiniMax-M2","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0},"service_tier":"standard"}}`,
			msgPing, blockStart(`{"type":"thinking","thinking":""}`), blockDelta(`{"type":"thinking_delta","thinking":"hm"}`), blockDelta(`{"type":"signature_delta","signature":"abc"}`), blockStop,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}`, `{"type":"content_block_stop","index":1}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":44,"output_tokens":9}}`, msgStop),
		blocks: []history.Block{wantThought("hm", "abc"), text("Hi")}, usage: usedTokens(44, 9, 0, 0),
	},
	{ // LiteLLM's /v1/messages
		name: "LiteLLM",
		body: asEvents(
			`{"type":"message_start","message":{"id":"msg_a","type":"message","role":"assistant","content":[],"model":"gpt-4o","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}}}`,
			textStart, textHi, blockStop,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":21,"output_tokens":3}}`, msgStop),
		text: "Hi", usage: usedTokens(21, 3, 0, 0),
	},
	{ // OpenRouter's /v1/messages: comments, and the cost in addition
		name: "OpenRouter",
		body: ": OPENROUTER PROCESSING\n\n" + asEvents(
			`{"type":"message_start","message":{"id":"gen-1","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0},"provider":"X"}}`,
			textStart, textHi, blockStop,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":10,"output_tokens":2,"cache_read_input_tokens":null,"cache_creation_input_tokens":null,"cost":0.0001}}`, msgStop) + "event: data\ndata: [DONE]\n\n",
		text: "Hi", usage: usedTokens(10, 2, 0, 0),
	},
	{ // vLLM's /v1/messages: no start event for a block, DONE at the end
		name: "vLLM",
		body: asEvents(
			`{"type":"message_start","message":{"id":"chatcmpl-1","content":[],"model":"m","usage":{"input_tokens":15,"output_tokens":0}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, textHi, `{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":15,"output_tokens":2}}`, msgStop, theEnd),
		text: "Hi", usage: usedTokens(15, 2, 0, 0),
	},
	{ // llama.cpp's /v1/messages
		name: "llama.cpp",
		body: asEvents(
			`{"type":"message_start","message":{"id":"chatcmpl-1","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"stop_sequence":null,"usage":{"cache_read_input_tokens":4,"input_tokens":16,"output_tokens":0}}}`,
			blockStart(`{"type":"thinking","thinking":""}`), blockDelta(`{"type":"thinking_delta","thinking":"hm"}`), blockDelta(`{"type":"signature_delta","signature":""}`), blockStop,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}`, `{"type":"content_block_stop","index":1}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":5}}`, msgStop),
		thinking: "hm", text: "Hi", usage: usedTokens(16, 5, 4, 0),
	},
	{ // Ollama's /v1/messages: a whole call in one delta
		name: "Ollama with a call", tools: true,
		body: asEvents(
			`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"qwen3","content":[],"usage":{"input_tokens":0,"output_tokens":0}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"call_1","name":"read","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"/a\"}"}}`, blockStop,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"input_tokens":12,"output_tokens":8}}`, msgStop),
		blocks: []history.Block{wantCall("call_1", "read", `{"path":"/a"}`)}, stop: reply.StopToolUse, usage: usedTokens(12, 8, 0, 0),
	},
	{ // routers that translate chat completions: the stop reason is in a message_delta without usage, all blocks have index 0
		name: "a router with one index", tools: true,
		body: asEvents(
			msgStart, textStart, textHi, blockStop,
			blockStart(`{"type":"tool_use","id":"call_1","name":"read"}`), callArgs, blockStop,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null}}`, msgStop),
		blocks: []history.Block{text("Hi"), wantCall("call_1", "read", `{"path":"/a"}`)}, stop: reply.StopToolUse, usage: usedTokens(10, 1, 0, 0),
	},
	{ // one-api and similar proxies: data without event names, [DONE] at the end
		name: "data without names",
		body: asData(msgStart, textStart, textHi, blockStop, endTurn, msgStop, theEnd),
		text: "Hi", usage: usualUsage,
	},
	{ // proxies that name each event "message"
		name: "wrong names of events",
		body: "event: message\ndata: " + msgStart + "\n\nevent: message\ndata: " + textStart + "\n\nevent: message\ndata: " + textHi + "\n\nevent: message\ndata: " + endTurn + "\n\nevent: message\ndata: " + msgStop + "\n\n",
		text: "Hi", usage: usualUsage,
	},
	{ // proxies that translate from OpenAI and omit half of the events
		name: "deltas and a stop only",
		body: asEvents(blockText(`"Hi"`), blockText(`" you"`), `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`),
		text: "Hi you",
	},
	{ // Anthropic with edits of the context during the request
		name: "Anthropic with context management",
		body: asEvents(msgStart, textStart, textHi, blockStop,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null,"container":null},"usage":{"output_tokens":2,"iterations":[{"input_tokens":10}]},"context_management":{"applied_edits":[]}}`, msgStop),
		text: "Hi", usage: usualUsage,
	},
}

// anthropicFrames are ways to frame the events.
var anthropicFrames = []variant{
	{name: "no space after the colons", body: "event:message_start\ndata:" + msgStart + "\n\nevent:content_block_delta\ndata:" + textHi + "\n\nevent:message_delta\ndata:" + endTurn + "\n\n", text: "Hi", usage: usualUsage},
	{name: "type in the event field only", body: "event: content_block_delta\ndata: {\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\nevent: message_delta\ndata: {\"delta\":{\"stop_reason\":\"max_tokens\"}}\n\nevent: message_stop\ndata: {}\n\n", text: "Hi", stop: reply.StopMaxTokens},
	{name: "data before the event field", body: "data: {\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\nevent: content_block_delta\n\n" + asEvents(endTurn, msgStop), text: "Hi", usage: usedTokens(0, 2, 0, 0)},
	{name: "type in data against the event field", body: "event: content_block_start\ndata: " + textHi + "\n\n" + asEvents(endTurn, msgStop), text: "Hi", usage: usedTokens(0, 2, 0, 0)}, // open: data wins
	{name: "type of another type", body: "event: content_block_delta\ndata: {\"type\":null,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n" + asEvents(msgDelta(`"end_turn"`), msgStop), text: "Hi"},
	{name: "CR as line end", body: "event: content_block_delta\rdata: " + textHi + "\r\revent: message_delta\rdata: " + msgDelta(`"end_turn"`) + "\r\r", text: "Hi"}, // open: allowed by the standard, no known server sends it
	{name: "pings everywhere", body: asEvents(msgPing, msgStart, msgPing, textStart, msgPing, textHi, msgPing, blockStop, msgPing, endTurn, msgPing, msgStop, msgPing), text: "Hi", usage: usualUsage},
	{name: "a ping without a type", body: "event: ping\ndata: {}\n\n" + inTextMessage(textHi), text: "Hi", usage: usualUsage},
	{name: "a ping with empty data", body: "event: ping\ndata: \n\n" + inTextMessage(textHi), text: "Hi", usage: usualUsage}, // F01
	{name: "a ping with null", body: "event: ping\ndata: null\n\n" + inTextMessage(textHi), text: "Hi", usage: usualUsage},
	{name: "comments", body: ": ok\n\n" + asEvents(msgStart, textStart) + ":\n\n" + asEvents(textHi, blockStop, endTurn, msgStop), text: "Hi", usage: usualUsage},
	{name: "empty data first", body: "data: \n\n" + inTextMessage(textHi), text: "Hi", usage: usualUsage}, // F01
	{name: "empty data in mid-answer", body: asEvents(msgStart, textStart, textHi) + "data:\n\n" + asEvents(textYou, endTurn, msgStop), text: "Hi you", usage: usualUsage},
	{name: "an event without data", body: "event: message_start\n\n" + inTextMessage(textHi), text: "Hi", usage: usualUsage},
	{name: "the name of an event without data does not stick", body: "event: error\n\ndata: " + textHi + "\n\n" + asData(endTurn, msgStop), text: "Hi", usage: usedTokens(0, 2, 0, 0)},
	{name: "ids and retry times", body: "id: 0\nretry: 500\n" + inTextMessage(textHi), text: "Hi", usage: usualUsage},
	{name: "byte order mark", body: "\uFEFF" + inTextMessage(textHi), text: "Hi", usage: usualUsage},
	{name: "no blank line at the end", body: asEvents(msgStart, textStart, textHi) + "event: message_delta\ndata: " + endTurn + "\n", text: "Hi", usage: usualUsage},
	{name: "no line end at the end", body: asEvents(msgStart, textStart, textHi) + "event: message_delta\ndata: " + endTurn, text: "Hi", usage: usualUsage},
	{name: "an event over several lines", body: "event: content_block_delta\ndata: {\"index\":0,\ndata: \"delta\":{\"type\":\"text_delta\",\ndata: \"text\":\"Hi\"}}\n\n" + asEvents(msgDelta(`"end_turn"`), msgStop), text: "Hi"},
	{name: "DONE without message_stop", body: asEvents(msgStart, textStart, textHi, blockStop, endTurn, theEnd), text: "Hi", usage: usualUsage},
	{name: "DONE without a stop reason", body: asEvents(msgStart, textStart, textHi, blockStop, theEnd), text: "Hi", usage: usedTokens(10, 1, 0, 0)}, // as in chat completions
	{name: "DONE with spaces", body: asEvents(msgStart, textStart, textHi, endTurn) + "data:  [DONE]  \n\n", text: "Hi", usage: usualUsage},
	{name: "events after message_stop", body: inTextMessage(textHi) + asEvents(textYou, `{"type":"error","error":{"type":"api_error","message":"boom"}}`), text: "Hi", usage: usualUsage},
	{name: "events after DONE", body: asEvents(msgStart, textStart, textHi, endTurn, theEnd, textYou), text: "Hi", usage: usualUsage},
	{name: "an unknown event", body: inMessage(`{"type":"content_block_progress","index":0,"delta":{"text":"x"}}`, textStart, textHi, blockStop), text: "Hi", usage: usualUsage},
	{name: "an event without any type", body: asData(`{"foo":1}`) + inTextMessage(textHi), text: "Hi", usage: usualUsage},
	{name: "null, a number and lists as events", body: asData("null", "3", "[]", "{}") + inTextMessage(textHi), text: "Hi", usage: usualUsage},
	{name: "content type JSON", typ: "application/json", body: inTextMessage(textHi), text: "Hi", usage: usualUsage},
	{name: "content type text", typ: "text/plain", body: inTextMessage(textHi), text: "Hi", usage: usualUsage},
	{name: "no content type", typ: noType, body: inTextMessage(textHi), text: "Hi", usage: usualUsage},
	{name: "content type with a charset", typ: "text/event-stream; charset=utf-8", body: inTextMessage(textHi), text: "Hi", usage: usualUsage},
	{name: "nothing", body: "", fails: failsAlways(KindTruncated, 0, "")},
	{name: "only pings", body: asEvents(msgPing, msgPing, msgPing), fails: failsAlways(KindTruncated, 0, "")},
	{name: "a broken event first", body: "event: message_start\ndata: {\"type\":\"message_start\",\"mess\n\n", fails: failsAlways(KindTruncated, 0, "")},
	{name: "a broken event, then an answer", body: "event: message_start\ndata: {\"type\":\"mess", later: &variant{body: inTextMessage(textHi)}, text: "Hi", usage: usualUsage, tries: 2},
	{name: "a broken event in mid-answer", body: asEvents(msgStart, textStart, textHi, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x}}`), text: "Hi", usage: usedTokens(10, 1, 0, 0), fails: failsLate(KindTruncated, 0, "")},
	{name: "a broken event after the stop reason", body: asEvents(msgStart, textStart, textHi, endTurn, `{"type":"message_st`), text: "Hi", usage: usualUsage},
}

// anthropicTexts are forms of text and thinking.
var anthropicTexts = []variant{
	{name: "text in the start", body: inMessage(blockStart(`{"type":"text","text":"Hi"}`), blockStop), text: "Hi", usage: usualUsage},
	{name: "text in the start and in deltas", body: inMessage(blockStart(`{"type":"text","text":"Hi"}`), textYou, blockStop), text: "Hi you", usage: usualUsage},
	{name: "no text in the start", body: inMessage(blockStart(`{"type":"text"}`), textHi, blockStop), text: "Hi", usage: usualUsage},
	{name: "null as text", body: inMessage(blockStart(`{"type":"text","text":null}`), blockText("null"), textHi, blockStop), text: "Hi", usage: usualUsage},
	{name: "an empty text delta", body: inTextMessage(blockText(`""`), textHi, blockText(`""`)), text: "Hi", usage: usualUsage},
	{name: "a list of parts as text", body: inTextMessage(blockText(`[{"type":"text","text":"Hi"},{"type":"text","text":" you"}]`)), text: "Hi you", usage: usualUsage},
	{name: "an object as text", body: inTextMessage(blockText(`{"text":"Hi"}`)), text: "Hi", usage: usualUsage},
	{name: "a number as text", body: inTextMessage(blockText(`42`)), text: "42", usage: usualUsage},
	{name: "false as text", body: inTextMessage(blockText(`false`), textHi), text: "Hi", usage: usualUsage},
	{name: "no text", body: inMessage(textStart, blockStop), usage: usualUsage},
	{name: "no block", body: inMessage(), usage: usualUsage},
	{name: "blank text", body: inTextMessage(blockText(`"\n"`)), text: "\n", usage: usualUsage},
	{name: "no start of the block", body: inMessage(textHi, textYou, blockStop), text: "Hi you", usage: usualUsage},
	{name: "no start of the message", body: asEvents(textStart, textHi, blockStop, endTurn, msgStop), text: "Hi", usage: usedTokens(0, 2, 0, 0)},
	{name: "no stop of the block", body: inMessage(textStart, textHi), text: "Hi", usage: usualUsage},
	{name: "a delta after the stop of its block", body: inMessage(textStart, textHi, blockStop, textYou), text: "Hi you", usage: usualUsage}, // adjacent text is one block
	{name: "a thinking delta after the stop of a text block", body: inMessage(textStart, textHi, blockStop, blockDelta(`{"type":"thinking_delta","thinking":"hm"}`)), blocks: []history.Block{text("Hi"), wantThought("hm", "")}, usage: usualUsage},
	{name: "two text blocks", body: inMessage(textStart, textHi, blockStop, `{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":" you"}}`, `{"type":"content_block_stop","index":1}`), text: "Hi you", usage: usualUsage}, // open: adjacent text is one block here too
	{name: "no index", body: inMessage(`{"type":"content_block_start","content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","delta":{"type":"text_delta","text":"Hi"}}`, `{"type":"content_block_stop"}`), text: "Hi", usage: usualUsage},
	{name: "a string as index", body: inMessage(`{"type":"content_block_start","index":"0","content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":"0","delta":{"type":"text_delta","text":"Hi"}}`, `{"type":"content_block_stop","index":"0"}`), text: "Hi", usage: usualUsage},
	{name: "an index that was never started", body: inMessage(textStart, `{"type":"content_block_delta","index":5,"delta":{"type":"text_delta","text":"Hi"}}`), text: "Hi", usage: usualUsage},
	{name: "a stop of a block that was never started", body: inMessage(`{"type":"content_block_stop","index":7}`, textStart, textHi, blockStop), text: "Hi", usage: usualUsage},
	{name: "no type of the delta", body: inMessage(textStart, blockDelta(`{"text":"Hi"}`), blockStop), text: "Hi", usage: usualUsage},                                                                                                       // open: the block has a type
	{name: "no type of delta and block", body: inMessage(blockDelta(`{"text":"Hi"}`), blockStop), text: "Hi", usage: usualUsage},                                                                                                            // open: its members determine its type
	{name: "a delta of another type than its block", body: inMessage(textStart, blockDelta(`{"type":"thinking_delta","thinking":"hm"}`), textHi, blockStop), blocks: []history.Block{wantThought("hm", ""), text("Hi")}, usage: usualUsage}, // open: the type of the delta determines that of the block
	{name: "a start of the same index again", body: inMessage(textStart, textHi, textStart, textYou, blockStop), text: "Hi you", usage: usualUsage},
	{name: "null as delta", body: inMessage(textStart, blockDelta(`null`), textHi, blockStop), text: "Hi", usage: usualUsage},
	{name: "a string as delta", body: inMessage(textStart, blockDelta(`""`), textHi, blockStop), text: "Hi", usage: usualUsage},
	{name: "a list as delta", body: inMessage(textStart, blockDelta(`[]`), textHi, blockStop), text: "Hi", usage: usualUsage},
	{name: "null as block", body: inMessage(blockStart(`null`), textHi, blockStop), text: "Hi", usage: usualUsage},
	{name: "a string as block", body: inMessage(blockStart(`"text"`), textHi, blockStop), text: "Hi", usage: usualUsage}, // open: the deltas start a block
	{name: "an unknown delta", body: inMessage(textStart, blockDelta(`{"type":"sparkle_delta","sparkle":"x"}`), textHi, blockStop), text: "Hi", usage: usualUsage},
	{name: "an unknown block", body: inMessage(blockStart(`{"type":"sparkle","sparkle":"x"}`), blockDelta(`{"type":"sparkle_delta","sparkle":"x"}`), blockStop, textStart, textHi, blockStop), text: "Hi", usage: usualUsage},
	{name: "citations beside text", body: inMessage(blockStart(`{"type":"text","text":"","citations":null}`), blockDelta(`{"type":"citations_delta","citation":{"type":"char_location","cited_text":"x"}}`), textHi, blockStop), text: "Hi", usage: usualUsage},
	{name: "side fields of other types", body: asEvents(`{"type":"message_start","message":{"id":1,"model":[],"content":null,"role":false,"usage":{"input_tokens":10,"output_tokens":1}}}`, textStart, textHi, blockStop, `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":7},"usage":{"output_tokens":2}}`, msgStop), text: "Hi", usage: usualUsage},
	{name: "a string as message", body: asEvents(`{"type":"message_start","message":"msg_1"}`, textStart, textHi, blockStop, msgDelta(`"end_turn"`), msgStop), text: "Hi"},
	{name: "content in the start of the message", body: asEvents(`{"type":"message_start","message":{"role":"assistant","content":[{"type":"text","text":"Hi"}]}}`, msgDelta(`"end_turn"`), msgStop), text: "Hi"}, // open: a proxy that has the complete reply
	{name: "escapes", body: inTextMessage(blockText(`"a\u0022\\\n\u00e4\/"`)), text: "a\"\\\nä/", usage: usualUsage},
	{name: "a pair in one delta", body: inTextMessage(blockText(`"\ud83d\ude00"`)), text: "😀", usage: usualUsage},
	{name: "a pair split over two deltas", body: inTextMessage(blockText(`"a\ud83d"`), blockText(`"\ude00b"`)), text: "a😀b", usage: usualUsage},
	{name: "a pair split with a ping between", body: inTextMessage(blockText(`"\ud83d"`), msgPing, blockText(`""`), blockText(`"\ude00"`)), text: "😀", usage: usualUsage},
	{name: "a lone half at the end", body: inTextMessage(blockText(`"a\ud83d"`)), text: "a\uFFFD", usage: usualUsage},
	{name: "a lone half in the middle", body: inTextMessage(blockText(`"a\ud83db"`)), text: "a\uFFFDb", usage: usualUsage},
	{name: "a second half first", body: inTextMessage(blockText(`"\ude00a"`)), text: "\uFFFDa", usage: usualUsage},
	{name: "a character in raw bytes", body: inTextMessage(blockText(`"é漢😀"`)), text: "é漢😀", usage: usualUsage},
	{name: "invalid UTF-8", body: inTextMessage(blockText("\"a\xffb\"")), text: "a\uFFFDb", usage: usualUsage},
	{name: "a text of 300 kB in one event", body: inTextMessage(blockText(`"` + largeText + `"`)), text: largeText, usage: usualUsage},
	{name: "thinking in the start", body: inMessage(blockStart(`{"type":"thinking","thinking":"hm","signature":"seal"}`), blockStop), blocks: []history.Block{wantThought("hm", "seal")}, usage: usualUsage},
	{name: "thinking without a seal", body: inMessage(blockStart(`{"type":"thinking"}`), blockDelta(`{"type":"thinking_delta","thinking":"hm"}`), blockStop, `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}`), thinking: "hm", text: "Hi", usage: usualUsage}, // Ollama, routers
	{name: "thinking without a start", body: inMessage(blockDelta(`{"type":"thinking_delta","thinking":"h"}`), blockDelta(`{"type":"thinking_delta","thinking":"m"}`), blockDelta(`{"type":"signature_delta","signature":"seal"}`), `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}`), blocks: []history.Block{wantThought("hm", "seal"), text("Hi")}, usage: usualUsage},
	{name: "a seal without thinking", body: inMessage(blockDelta(`{"type":"signature_delta","signature":"seal"}`), `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}`), blocks: []history.Block{wantThought("", "seal"), text("Hi")}, usage: usualUsage},
	{name: "a seal in two deltas", body: inMessage(blockStart(`{"type":"thinking","thinking":""}`), blockDelta(`{"type":"thinking_delta","thinking":"hm"}`), blockDelta(`{"type":"signature_delta","signature":"se"}`), blockDelta(`{"type":"signature_delta","signature":"al"}`), blockStop), blocks: []history.Block{wantThought("hm", "seal")}, usage: usualUsage},
	{name: "a seal before the words", body: inMessage(blockStart(`{"type":"thinking","thinking":""}`), blockDelta(`{"type":"signature_delta","signature":"seal"}`), blockDelta(`{"type":"thinking_delta","thinking":"hm"}`), blockStop), blocks: []history.Block{wantThought("hm", "seal")}, usage: usualUsage},
	{name: "a seal of another type", body: inMessage(blockStart(`{"type":"thinking","thinking":"","signature":null}`), blockDelta(`{"type":"thinking_delta","thinking":"hm"}`), blockDelta(`{"type":"signature_delta","signature":null}`), blockStop), thinking: "hm", usage: usualUsage},
	{name: "parts as thinking", body: inMessage(blockStart(`{"type":"thinking","thinking":[]}`), blockDelta(`{"type":"thinking_delta","thinking":[{"type":"text","text":"hm"}]}`), blockStop), thinking: "hm", usage: usualUsage},
	{name: "a split pair in thinking", body: inMessage(blockDelta(`{"type":"thinking_delta","thinking":"\ud83d"}`), blockDelta(`{"type":"thinking_delta","thinking":"\ude00"}`)), thinking: "😀", usage: usualUsage},
	{name: "two sealed thoughts", body: inMessage(
		blockStart(`{"type":"thinking","thinking":"a","signature":"s1"}`), blockStop,
		`{"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":"b","signature":"s2"}}`, `{"type":"content_block_stop","index":1}`),
		blocks: []history.Block{wantThought("a", "s1"), wantThought("b", "s2")}, usage: usualUsage}, // open: signatures separate blocks, although they are adjacent and of the same type
	{name: "thinking between calls and text", tools: true, body: inCallMessage(
		blockDelta(`{"type":"thinking_delta","thinking":"a"}`), blockStop,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"read","input":{}}}`, `{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"thinking_delta","thinking":"b"}}`, `{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"Hi"}}`),
		blocks: []history.Block{wantThought("a", ""), wantCall("toolu_1", "read", "{}"), wantThought("b", ""), text("Hi")}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "redacted data of another type", body: inMessage(blockStart(`{"type":"redacted_thinking","data":null}`), blockStop, `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}`), text: "Hi", usage: usualUsage}, // open: an empty signature is not a block
	{name: "a refusal in words", body: asEvents(msgStart, textStart, blockText(`"I can't."`), blockStop, `{"type":"message_delta","delta":{"stop_reason":"refusal","stop_sequence":null,"stop_details":{"type":"refusal","category":"cyber","explanation":"x"}},"usage":{"output_tokens":2}}`, msgStop), text: "I can't.", stop: reply.StopRefusal, usage: usualUsage},
}

// anthropicCalls are forms of calls.
var anthropicCalls = []variant{
	{name: "a call", tools: true, body: inCallMessage(callStart, callArgs, blockStop), blocks: []history.Block{wantCall("toolu_1", "read", `{"path":"/a"}`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "a call without tools in the request", body: inCallMessage(callStart, callArgs, blockStop), blocks: []history.Block{wantCall("toolu_1", "read", `{"path":"/a"}`)}, usage: usualUsage},
	{name: "end_turn with a call", tools: true, body: inMessage(callStart, callArgs, blockStop), blocks: []history.Block{wantCall("toolu_1", "read", `{"path":"/a"}`)}, stop: reply.StopToolUse, usage: usualUsage}, // routers; open: like stop
	{name: "a call without arguments", tools: true, body: inCallMessage(callStart, blockStop), blocks: []history.Block{wantCall("toolu_1", "read", `{}`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "empty deltas of arguments", tools: true, body: inCallMessage(callStart, blockDelta(`{"type":"input_json_delta","partial_json":""}`), blockDelta(`{"type":"input_json_delta","partial_json":""}`), blockStop), blocks: []history.Block{wantCall("toolu_1", "read", `{}`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "arguments in the start", tools: true, body: inCallMessage(blockStart(`{"type":"tool_use","id":"toolu_1","name":"read","input":{ "path": "/a" }}`), blockStop), blocks: []history.Block{wantCall("toolu_1", "read", `{"path":"/a"}`)}, stop: reply.StopToolUse, usage: usualUsage}, // routers, Z.ai
	{name: "invalid UTF-8 in the start", tools: true, body: inCallMessage(blockStart("{\"type\":\"tool_use\",\"id\":\"t\xff\",\"name\":\"read\",\"input\":{\"a\xff\":1},\"x\":\"\xff\"}"), blockStop), blocks: []history.Block{wantCall("t\uFFFD", "read", "{\"a\uFFFD\":1}", `{"x":"\ufffd"}`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "arguments in the start and in deltas", tools: true, body: inCallMessage(blockStart(`{"type":"tool_use","id":"toolu_1","name":"read","input":{"path":"/b"}}`), callArgs, blockStop), blocks: []history.Block{wantCall("toolu_1", "read", `{"path":"/a"}`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "arguments in the start and empty deltas", tools: true, body: inCallMessage(blockStart(`{"type":"tool_use","id":"toolu_1","name":"read","input":{"path":"/b"}}`), blockDelta(`{"type":"input_json_delta","partial_json":""}`), blockStop), blocks: []history.Block{wantCall("toolu_1", "read", `{"path":"/b"}`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "arguments in the start as a string", tools: true, body: inCallMessage(blockStart(`{"type":"tool_use","id":"toolu_1","name":"read","input":"{\"path\":\"/a\"}"}`), blockStop), blocks: []history.Block{wantCall("toolu_1", "read", `{"path":"/a"}`)}, stop: reply.StopToolUse, usage: usualUsage}, // open: as in chat completions
	{name: "an empty string as input", tools: true, body: inCallMessage(blockStart(`{"type":"tool_use","id":"toolu_1","name":"read","input":""}`), callArgs, blockStop), blocks: []history.Block{wantCall("toolu_1", "read", `{"path":"/a"}`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "null as input", tools: true, body: inCallMessage(blockStart(`{"type":"tool_use","id":"toolu_1","name":"read","input":null}`), blockStop), blocks: []history.Block{wantCall("toolu_1", "read", `{}`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "no input", tools: true, body: inCallMessage(blockStart(`{"type":"tool_use","id":"toolu_1","name":"read"}`), callArgs, blockStop), blocks: []history.Block{wantCall("toolu_1", "read", `{"path":"/a"}`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "arguments in the start, no stop of the block", tools: true, body: inCallMessage(blockStart(`{"type":"tool_use","id":"toolu_1","name":"read","input":{"path":"/a"}}`)), blocks: []history.Block{wantCall("toolu_1", "read", `{"path":"/a"}`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "an object as partial_json", tools: true, body: inCallMessage(callStart, blockDelta(`{"type":"input_json_delta","partial_json":{"path":"/a"}}`), blockStop), blocks: []history.Block{wantCall("toolu_1", "read", `{"path":"/a"}`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "null as partial_json", tools: true, body: inCallMessage(callStart, blockDelta(`{"type":"input_json_delta","partial_json":null}`), callArgs, blockStop), blocks: []history.Block{wantCall("toolu_1", "read", `{"path":"/a"}`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "null in words as arguments", tools: true, body: inCallMessage(callStart, blockDelta(`{"type":"input_json_delta","partial_json":"null"}`), blockStop), blocks: []history.Block{wantCall("toolu_1", "read", `{}`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "a list as arguments", tools: true, body: inCallMessage(callStart, blockDelta(`{"type":"input_json_delta","partial_json":"[1]"}`), blockStop), blocks: []history.Block{wantCut("toolu_1", "read", `[1]`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "blank arguments", tools: true, body: inCallMessage(callStart, blockDelta(`{"type":"input_json_delta","partial_json":" \n"}`), blockStop), blocks: []history.Block{wantCall("toolu_1", "read", `{}`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "blanks around the arguments", tools: true, body: inCallMessage(callStart, blockDelta(`{"type":"input_json_delta","partial_json":"\n {\"a\": 1} "}`), blockStop), blocks: []history.Block{wantCall("toolu_1", "read", "\n {\"a\": 1} ")}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "two objects as arguments", tools: true, body: inCallMessage(callStart, blockDelta(`{"type":"input_json_delta","partial_json":"{}{}"}`), blockStop), blocks: []history.Block{wantCut("toolu_1", "read", `{}{}`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "arguments byte by byte", tools: true, body: inCallMessage(append(append([]string{callStart}, argsByteByByte(`{"p": [1, {"ä": "a b"}]}`, func(arg string) string {
		return blockDelta(`{"type":"input_json_delta","partial_json":` + arg + `}`)
	})...), blockStop)...), blocks: []history.Block{wantCall("toolu_1", "read", `{"p": [1, {"ä": "a b"}]}`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "an error within a call", tools: true, body: asEvents(msgStart, callStart, blockDelta(`{"type":"input_json_delta","partial_json":"{\"a"}`), `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), blocks: []history.Block{wantCut("toolu_1", "read", `{"a`)}, usage: usedTokens(10, 1, 0, 0), fails: failsLate(KindOverloaded, 529, "Overloaded")},
	{name: "the reason for calls without a call", tools: true, body: inCallMessage(textStart, textHi, blockStop), text: "Hi", usage: usualUsage}, // calls decide
	{name: "a refusal after a whole call", tools: true, body: asEvents(msgStart, callStart, callArgs, blockStop, msgDelta(`"refusal"`), msgStop), blocks: []history.Block{wantCall("toolu_1", "read", `{"path":"/a"}`)}, stop: reply.StopRefusal, usage: usedTokens(10, 1, 0, 0)},
	{name: "arguments split in mid-escape", tools: true, body: inCallMessage(callStart, blockDelta(`{"type":"input_json_delta","partial_json":"{\"a\":\"x\\"}`), blockDelta(`{"type":"input_json_delta","partial_json":"n\\u00"}`), blockDelta(`{"type":"input_json_delta","partial_json":"e4\"}"}`), blockStop), blocks: []history.Block{wantCall("toolu_1", "read", `{"a":"x\n\u00e4"}`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "a pair split in arguments", tools: true, body: inCallMessage(callStart, blockDelta(`{"type":"input_json_delta","partial_json":"{\"a\":\"\ud83d"}`), blockDelta(`{"type":"input_json_delta","partial_json":"\ude00\"}"}`), blockStop), blocks: []history.Block{wantCall("toolu_1", "read", `{"a":"😀"}`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "arguments that are no JSON", tools: true, body: inCallMessage(callStart, blockDelta(`{"type":"input_json_delta","partial_json":"{\"a\":"}`), blockStop), blocks: []history.Block{wantCut("toolu_1", "read", `{"a":`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "a call cut by the limit", tools: true, body: asEvents(msgStart, callStart, blockDelta(`{"type":"input_json_delta","partial_json":"{\"path\":\"/a"}`), blockStop, msgDelta(`"max_tokens"`), msgStop), blocks: []history.Block{wantCut("toolu_1", "read", `{"path":"/a`)}, stop: reply.StopMaxTokens, usage: usedTokens(10, 1, 0, 0)},
	{name: "a call cut by the window", tools: true, body: asEvents(msgStart, callStart, blockDelta(`{"type":"input_json_delta","partial_json":"{\"path"}`), msgDelta(`"model_context_window_exceeded"`), msgStop), blocks: []history.Block{wantCut("toolu_1", "read", `{"path`)}, stop: reply.StopMaxTokens, usage: usedTokens(10, 1, 0, 0)},
	{name: "a call cut before its arguments", tools: true, body: asEvents(msgStart, callStart, blockStop, msgDelta(`"max_tokens"`), msgStop), blocks: []history.Block{wantCut("toolu_1", "read", ``)}, stop: reply.StopMaxTokens, usage: usedTokens(10, 1, 0, 0)},
	{name: "the second call cut by the limit", tools: true, body: asEvents(msgStart, callStart, callArgs, blockStop,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_2","name":"list","input":{}}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"x"}}`, msgDelta(`"max_tokens"`), msgStop),
		blocks: []history.Block{wantCall("toolu_1", "read", `{"path":"/a"}`), wantCut("toolu_2", "list", `{"x`)}, stop: reply.StopMaxTokens, usage: usedTokens(10, 1, 0, 0)},
	{name: "a call in a stream without its end", tools: true, body: asEvents(msgStart, callStart, callArgs), blocks: []history.Block{wantCut("toolu_1", "read", `{"path":"/a"}`)}, usage: usedTokens(10, 1, 0, 0), fails: failsLate(KindTruncated, 0, "")},
	{name: "a call in a broken stream", tools: true, broken: true, body: asEvents(msgStart, callStart, callArgs), blocks: []history.Block{wantCut("toolu_1", "read", `{"path":"/a"}`)}, usage: usedTokens(10, 1, 0, 0), fails: failsLate(KindNetwork, 0, "")},
	{name: "an error after a call", tools: true, body: asEvents(msgStart, callStart, callArgs, blockStop, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), blocks: []history.Block{wantCut("toolu_1", "read", `{"path":"/a"}`)}, usage: usedTokens(10, 1, 0, 0), fails: failsLate(KindOverloaded, 529, "Overloaded")},
	{name: "two calls", tools: true, body: inCallMessage(callStart, callArgs, blockStop,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_2","name":"list","input":{}}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"x\":1}"}}`, `{"type":"content_block_stop","index":1}`),
		blocks: []history.Block{wantCall("toolu_1", "read", `{"path":"/a"}`), wantCall("toolu_2", "list", `{"x":1}`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "two calls at once", tools: true, body: inCallMessage(callStart,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_2","name":"list","input":{}}}`,
		blockDelta(`{"type":"input_json_delta","partial_json":"{\"a\":"}`), `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"b\":"}}`,
		blockDelta(`{"type":"input_json_delta","partial_json":"1}"}`), `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"2}"}}`, blockStop, `{"type":"content_block_stop","index":1}`),
		blocks: []history.Block{wantCall("toolu_1", "read", `{"a":1}`), wantCall("toolu_2", "list", `{"b":2}`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "two calls with one index", tools: true, body: inCallMessage(callStart, callArgs, blockStop, blockStart(`{"type":"tool_use","id":"toolu_2","name":"list","input":{}}`), blockStop),
		blocks: []history.Block{wantCall("toolu_1", "read", `{"path":"/a"}`), wantCall("toolu_2", "list", `{}`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "two calls with one index and no stop between", tools: true, body: inCallMessage(callStart, callArgs, blockStart(`{"type":"tool_use","id":"toolu_2","name":"list","input":{}}`), blockStop),
		blocks: []history.Block{wantCall("toolu_1", "read", `{"path":"/a"}`), wantCall("toolu_2", "list", `{}`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "the same id for two calls", tools: true, body: inCallMessage(callStart, callArgs, blockStop, `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"list","input":{}}}`, `{"type":"content_block_stop","index":1}`),
		blocks: []history.Block{wantCall("toolu_1", "read", `{"path":"/a"}`), wantCall("toolu_1", "list", `{}`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "no id", tools: true, body: inCallMessage(blockStart(`{"type":"tool_use","name":"read","input":{}}`), callArgs, blockStop), blocks: []history.Block{wantCall("", "read", `{"path":"/a"}`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "a null id", tools: true, body: inCallMessage(blockStart(`{"type":"tool_use","id":null,"name":"read","input":{}}`), callArgs, blockStop), blocks: []history.Block{wantCall("", "read", `{"path":"/a"}`)}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "a call without a name", tools: true, body: inMessage(textStart, textHi, blockStop, `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","input":{}}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}`), text: "Hi", usage: usualUsage},
	{name: "a delta of a call that was not started", tools: true, body: inMessage(textStart, textHi, blockStop, `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}`), text: "Hi", usage: usualUsage},
	{name: "a delta of a call that names it", tools: true, body: inCallMessage(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","id":"toolu_1","name":"read","partial_json":"{}"}}`), blocks: []history.Block{wantCall("toolu_1", "read", "{}")}, stop: reply.StopToolUse, usage: usualUsage}, // open: in the place of the name
	{name: "arguments in a text block", tools: true, body: inMessage(textStart, textHi, blockDelta(`{"type":"input_json_delta","partial_json":"{}"}`), blockStop), text: "Hi", usage: usualUsage},
	{name: "text in a call's block", tools: true, body: inCallMessage(callStart, textHi, callArgs, blockStop), blocks: []history.Block{wantCall("toolu_1", "read", `{"path":"/a"}`), text("Hi")}, stop: reply.StopToolUse, usage: usualUsage},                                                                                                           // open: the type of the delta determines that of the block
	{name: "an unknown member", tools: true, body: inCallMessage(blockStart(`{"type":"tool_use","id":"toolu_1","name":"read","input":{},"thought_signature":"c2lnbg=="}`), callArgs, blockStop), blocks: []history.Block{wantCall("toolu_1", "read", `{"path":"/a"}`, `{"thought_signature":"c2lnbg=="}`)}, stop: reply.StopToolUse, usage: usualUsage}, // routers in front of Gemini
	{name: "text, a call and text", tools: true, body: inCallMessage(textStart, textHi, blockStop,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"read","input":{}}}`, `{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":" you"}}`, `{"type":"content_block_stop","index":2}`),
		blocks: []history.Block{text("Hi"), wantCall("toolu_1", "read", `{}`), text(" you")}, stop: reply.StopToolUse, usage: usualUsage},
	{name: "tools of others are no calls", tools: true, body: inMessage(
		blockStart(`{"type":"mcp_tool_use","id":"mcptoolu_1","name":"echo","server_name":"s","input":{"x":1}}`), blockDelta(`{"type":"input_json_delta","partial_json":"{}"}`), blockStop,
		`{"type":"content_block_start","index":1,"content_block":{"type":"mcp_tool_result","tool_use_id":"mcptoolu_1","is_error":false,"content":[{"type":"text","text":"no"}]}}`, `{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Hi"}}`), text: "Hi", usage: usualUsage},
	{name: "a call for a tool that was not declared", tools: true, body: inCallMessage(blockStart(`{"type":"tool_use","id":"toolu_1","name":"rm","input":{}}`), blockStop), blocks: []history.Block{wantCall("toolu_1", "rm", `{}`)}, stop: reply.StopToolUse, usage: usualUsage},
}

// startUsage and endUsage return message_start and message_delta with a JSON value as usage.
func startUsage(usage string) string {
	return `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"usage":` + usage + `}}`
}

func endUsage(usage string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":` + usage + `}`
}

// anthropicUsages are forms of usage.
var anthropicUsages = []variant{
	{name: "usage in the start only", body: asEvents(startUsage(`{"input_tokens":10,"output_tokens":3}`), textHi, msgDelta(`"end_turn"`), msgStop), text: "Hi", usage: usedTokens(10, 3, 0, 0)},
	{name: "usage at the end only", body: asEvents(textHi, endUsage(`{"input_tokens":10,"output_tokens":3}`), msgStop), text: "Hi", usage: usedTokens(10, 3, 0, 0)},
	{name: "no usage", body: asEvents(textHi, msgDelta(`"end_turn"`), msgStop), text: "Hi"},
	{name: "null as usage", body: asEvents(startUsage(`null`), textHi, endUsage(`null`), msgStop), text: "Hi"},
	{name: "a string as usage", body: asEvents(startUsage(`""`), textHi, endUsage(`"none"`), msgStop), text: "Hi"}, // F02
	{name: "a list as usage", body: asEvents(startUsage(`[]`), textHi, endUsage(`[]`), msgStop), text: "Hi"},       // F02
	{name: "a list as usage at the end", body: asEvents(startUsage(`{"input_tokens":10,"output_tokens":1}`), textHi, endUsage(`[]`), msgStop), text: "Hi", usage: usedTokens(10, 1, 0, 0)},
	{name: "only zeros", body: asEvents(startUsage(`{"input_tokens":0,"output_tokens":0}`), textHi, endUsage(`{"input_tokens":0,"output_tokens":0}`), msgStop), text: "Hi"},
	{name: "zeros at the end", body: asEvents(startUsage(`{"input_tokens":10,"output_tokens":1,"cache_read_input_tokens":7}`), textHi, endUsage(`{"input_tokens":0,"output_tokens":2,"cache_read_input_tokens":0,"cache_creation_input_tokens":0}`), msgStop), text: "Hi", usage: usedTokens(10, 2, 7, 0)},
	{name: "null at the end", body: asEvents(startUsage(`{"input_tokens":10,"output_tokens":1}`), textHi, endUsage(`{"input_tokens":null,"output_tokens":2,"cache_read_input_tokens":null}`), msgStop), text: "Hi", usage: usedTokens(10, 2, 0, 0)},
	{name: "larger input at the end", body: asEvents(startUsage(`{"input_tokens":10,"output_tokens":1}`), textHi, endUsage(`{"input_tokens":12,"output_tokens":2}`), msgStop), text: "Hi", usage: usedTokens(12, 2, 0, 0)},
	{name: "smaller input at the end", body: asEvents(startUsage(`{"input_tokens":1000,"output_tokens":1}`), textHi, endUsage(`{"input_tokens":100,"cache_read_input_tokens":900,"output_tokens":2}`), msgStop), text: "Hi", usage: usedTokens(100, 2, 900, 0)}, // an estimate that the real count replaces
	{name: "strings as numbers", body: asEvents(startUsage(`{"input_tokens":"10","output_tokens":"1"}`), textHi, endUsage(`{"output_tokens":"2"}`), msgStop), text: "Hi", usage: usedTokens(10, 2, 0, 0)},
	{name: "fractions", body: asEvents(startUsage(`{"input_tokens":10.0,"output_tokens":1}`), textHi, endUsage(`{"output_tokens":2.9}`), msgStop), text: "Hi", usage: usedTokens(10, 2, 0, 0)},
	{name: "a negative number", body: asEvents(startUsage(`{"input_tokens":10,"output_tokens":-1}`), textHi, endUsage(`{"output_tokens":-1}`), msgStop), text: "Hi", usage: usedTokens(10, 0, 0, 0)},
	{name: "words as a number", body: asEvents(startUsage(`{"input_tokens":10,"output_tokens":"one"}`), textHi, endUsage(`{"output_tokens":{}}`), msgStop), text: "Hi", usage: usedTokens(10, 0, 0, 0)},
	{name: "cache writes of both lives", body: asEvents(startUsage(`{"input_tokens":10,"cache_creation_input_tokens":300,"cache_read_input_tokens":50,"cache_creation":{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":200},"output_tokens":1}`), textHi, endUsage(`{"output_tokens":2}`), msgStop), text: "Hi", usage: usedTokens(10, 2, 50, 300)},
	{name: "lives of another type", body: asEvents(startUsage(`{"input_tokens":10,"cache_creation_input_tokens":300,"cache_creation":[],"output_tokens":1}`), textHi, endUsage(`{"output_tokens":2}`), msgStop), text: "Hi", usage: usedTokens(10, 2, 0, 300)},
	{name: "usage in two deltas of the message", body: asEvents(msgStart, textHi, `{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":2}}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}`, msgStop), text: "Hi", usage: usedTokens(10, 5, 0, 0)},
	{name: "usage with message_stop", body: asEvents(textHi, msgDelta(`"end_turn"`), `{"type":"message_stop","usage":{"input_tokens":10,"output_tokens":2}}`), text: "Hi", usage: usedTokens(10, 2, 0, 0)},                                    // open: at any position
	{name: "usage within the delta of the message", body: asEvents(textHi, `{"type":"message_delta","delta":{"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":2}}}`, msgStop), text: "Hi", usage: usedTokens(10, 2, 0, 0)}, // open: likewise
	{name: "usage of an answer that fails", body: asEvents(startUsage(`{"input_tokens":10,"output_tokens":1}`), textHi, `{"type":"error","error":{"type":"api_error","message":"boom"}}`), text: "Hi", usage: usedTokens(10, 1, 0, 0), fails: failsLate(KindOverloaded, 500, "boom")},
}

// anthropicEndings are ways to end.
var anthropicEndings = []variant{
	{name: "a null stop reason", body: asEvents(msgStart, textHi, msgDelta("null"), msgStop), text: "Hi", usage: usedTokens(10, 1, 0, 0)}, // F05
	{name: "a null stop reason at once", body: asEvents(msgDelta("null"), msgStop)},                                                       // F05
	{name: "an empty stop reason", body: asEvents(msgStart, textHi, msgDelta(`""`), msgStop), text: "Hi", usage: usedTokens(10, 1, 0, 0)},
	{name: "no delta of the message", body: asEvents(msgStart, textHi, msgStop), text: "Hi", usage: usedTokens(10, 1, 0, 0)},
	{name: "no delta of the message behind a call", tools: true, body: asEvents(msgStart, callStart, callArgs, blockStop, msgStop), blocks: []history.Block{wantCall("toolu_1", "read", `{"path":"/a"}`)}, stop: reply.StopToolUse, usage: usedTokens(10, 1, 0, 0)}, // open: like DONE in chat completions
	{name: "null after a stop reason", body: asEvents(msgStart, textHi, msgDelta(`"max_tokens"`), msgDelta("null"), msgStop), text: "Hi", stop: reply.StopMaxTokens, usage: usedTokens(10, 1, 0, 0)},
	{name: "an empty one after a stop reason", body: asEvents(msgStart, textHi, msgDelta(`"refusal"`), msgDelta(`""`), msgStop), text: "Hi", stop: reply.StopRefusal, usage: usedTokens(10, 1, 0, 0)},
	{name: "another one after a stop reason", body: asEvents(msgStart, textHi, msgDelta(`"end_turn"`), msgDelta(`"max_tokens"`), msgStop), text: "Hi", stop: reply.StopMaxTokens, usage: usedTokens(10, 1, 0, 0)},
	{name: "a list as stop reason", body: asEvents(msgStart, textHi, msgDelta(`[]`), msgStop), text: "Hi", usage: usedTokens(10, 1, 0, 0)},
	{name: "null as delta of the message", body: asEvents(msgStart, textHi, `{"type":"message_delta","delta":null,"usage":{"output_tokens":2}}`, msgStop), text: "Hi", usage: usualUsage},
	{name: "a stop reason beside the delta", body: asEvents(msgStart, textHi, `{"type":"message_delta","stop_reason":"max_tokens","usage":{"output_tokens":2}}`, msgStop), text: "Hi", stop: reply.StopMaxTokens, usage: usualUsage},                                             // open: a proxy that forgot the delta
	{name: "a stop reason in the start", body: asEvents(`{"type":"message_start","message":{"content":[],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":1}}}`, textHi), text: "Hi", usage: usedTokens(10, 1, 0, 0), fails: failsLate(KindTruncated, 0, "")}, // open: before the reply, it ends nothing
	{name: "a stop reason without message_stop", body: asEvents(msgStart, textStart, textHi, blockStop, endTurn), text: "Hi", usage: usualUsage},                                                                                                                                 // F06
	{name: "a stop reason, then the connection breaks", broken: true, body: asEvents(msgStart, textStart, textHi, blockStop, endTurn), text: "Hi", usage: usualUsage},
	{name: "message_stop, then the connection breaks", broken: true, body: inTextMessage(textHi), text: "Hi", usage: usualUsage},
	{name: "a stop reason, then half an event", broken: true, body: asEvents(msgStart, textHi, endTurn) + "event: message_stop\ndata: {\"ty", text: "Hi", usage: usualUsage},
	{name: "a stop reason, then an error", body: asEvents(msgStart, textHi, endTurn, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), text: "Hi", usage: usualUsage},
	{name: "a stop reason, then words", body: asEvents(msgStart, textHi, endTurn, "Internal Server Error"), text: "Hi", usage: usualUsage},
	{name: "a stop reason, then a page", body: asEvents(msgStart, textHi, endTurn) + "<html><body>502 Bad Gateway</body></html>\n", text: "Hi", usage: usualUsage},
	{name: "a stop sequence", body: asEvents(msgStart, textHi, `{"type":"message_delta","delta":{"stop_reason":"stop_sequence","stop_sequence":"END"},"usage":{"output_tokens":2}}`, msgStop), text: "Hi", usage: usualUsage},
	{name: "no end", body: asEvents(msgStart, textStart, textHi, blockStop), text: "Hi", usage: usedTokens(10, 1, 0, 0), fails: failsLate(KindTruncated, 0, "")},
	{name: "no end after thinking", body: asEvents(msgStart, blockDelta(`{"type":"thinking_delta","thinking":"hm"}`)), thinking: "hm", usage: usedTokens(10, 1, 0, 0), fails: failsLate(KindTruncated, 0, "")},
	{name: "no end and no text", body: asEvents(msgStart, textStart), usage: usedTokens(10, 1, 0, 0), blocks: nil, fails: failsAlways(KindTruncated, 0, "")},
	{name: "no end and no text, then an answer", body: asEvents(msgStart), later: &variant{body: inTextMessage(textHi)}, text: "Hi", usage: usualUsage, tries: 2},
	{name: "the connection breaks in mid-answer", broken: true, body: asEvents(msgStart, textStart, textHi, textYou), text: "Hi you", usage: usedTokens(10, 1, 0, 0), fails: failsLate(KindNetwork, 0, "")},
	{name: "the connection breaks within an event", broken: true, body: asEvents(msgStart, textStart, textHi) + "event: content_block_delta\ndata: {\"type\":\"content_bl", text: "Hi", usage: usedTokens(10, 1, 0, 0), fails: failsLate(KindNetwork, 0, "")},
	{name: "the connection breaks at once", broken: true, body: "", fails: failsAlways(KindNetwork, 0, "")},
	{name: "the connection breaks before the text, then an answer", broken: true, body: asEvents(msgStart, msgPing), later: &variant{body: inTextMessage(textHi)}, text: "Hi", usage: usualUsage, tries: 2},
	{name: "max_tokens before any text", body: asEvents(msgStart, msgDelta(`"max_tokens"`), msgStop), stop: reply.StopMaxTokens, usage: usedTokens(10, 1, 0, 0)},
	{name: "a refusal without text", body: asEvents(msgStart, msgDelta(`"refusal"`), msgStop), stop: reply.StopRefusal, usage: usedTokens(10, 1, 0, 0)},
	{name: "only message_stop", body: asEvents(msgStop)}, // open: an empty reply, as with an empty text block
}

// anthropicErrorsInStreams are errors that come with status 200.
var anthropicErrorsInStreams = []variant{
	{name: "an error event", body: asEvents(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`), fails: failsAlways(KindOverloaded, 529, "Overloaded")},
	{name: "an error event in mid-answer", body: asEvents(msgStart, textStart, textHi, `{"type":"error","error":{"details":null,"type":"overloaded_error","message":"Overloaded"}}`), text: "Hi", usage: usedTokens(10, 1, 0, 0), fails: failsLate(KindOverloaded, 529, "Overloaded")},
	{name: "an error event, then an answer", body: asEvents(msgStart, `{"type":"error","error":{"type":"api_error","message":"boom"}}`), later: &variant{body: inTextMessage(textHi)}, text: "Hi", usage: usualUsage, tries: 2},
	{name: "an error without a name", body: asData(`{"type":"error","error":{"type":"api_error","message":"boom"}}`), fails: failsAlways(KindOverloaded, 500, "boom")},
	{name: "an error without a type around", body: "event: error\ndata: {\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow down\"}}\n\n", fails: failsAlways(KindRate, 429, "slow down")},
	{name: "an error without type and name", body: asData(`{"error":{"type":"not_found_error","message":"no such model"}}`), fails: failsOnce(KindInvalid, 404, "no such model")},
	{name: "api_error", body: asEvents(`{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`), fails: failsAlways(KindOverloaded, 500, "Internal server error")},
	{name: "timeout_error", body: asEvents(`{"type":"error","error":{"type":"timeout_error","message":"took too long"}}`), fails: failsAlways(KindOverloaded, 504, "took too long")},
	{name: "authentication_error", body: asEvents(`{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`), fails: failsOnce(KindAuth, 401, "invalid x-api-key")},
	{name: "permission_error", body: asEvents(`{"type":"error","error":{"type":"permission_error","message":"boom"}}`), fails: failsOnce(KindAuth, 403, "boom")},
	{name: "billing_error", body: asEvents(`{"type":"error","error":{"type":"billing_error","message":"boom"}}`), fails: failsOnce(KindQuota, 402, "boom")},
	{name: "invalid_request_error", body: asEvents(`{"type":"error","error":{"type":"invalid_request_error","message":"boom"}}`), fails: failsOnce(KindInvalid, 400, "boom")},
	{name: "request_too_large", body: asEvents(`{"type":"error","error":{"type":"request_too_large","message":"boom"}}`), fails: failsOnce(KindInvalid, 413, "boom")}, // open: Anthropic's name of 413
	{name: "an unknown type", body: asEvents(`{"type":"error","error":{"type":"sparkle_error","message":"boom"}}`), fails: failsAlways(KindOverloaded, 500, "boom")},
	{name: "a string as error", body: asEvents(`{"type":"error","error":"boom"}`), fails: failsAlways(KindOverloaded, 500, "boom")}, // F03
	{name: "a string as error without a type", body: asData(`{"error":"boom"}`), fails: failsAlways(KindOverloaded, 500, "boom")},   // F03
	{name: "a list as error", body: asEvents(`{"type":"error","error":[{"message":"boom"}]}`), fails: failsAlways(KindOverloaded, 500, "boom")},
	{name: "a list around the error", body: asData(`[{"error":{"code":503,"message":"boom"}}]`), fails: failsAlways(KindOverloaded, 503, "boom")},
	{name: "a message in the error event", body: asEvents(`{"type":"error","message":"boom"}`), fails: failsAlways(KindOverloaded, 500, "boom")},
	{name: "an exception of Bedrock", body: "event: exception\ndata: {\"message\":\"Too many requests, please wait before trying again.\"}\n\n", fails: failsAlways(KindOverloaded, 500, "Too many requests")}, // gateways; open: no status is reported
	{name: "an error event with words", body: "event: error\ndata: boom\n\n", fails: failsAlways(KindOverloaded, 500, "boom")},
	{name: "an error event with a string", body: "event: error\ndata: \"boom\"\n\n", fails: failsAlways(KindOverloaded, 500, "boom")},
	{name: "an error event without words", body: "event: error\ndata: {}\n\n", fails: failsAlways(KindOverloaded, 500, "")}, // open: its name identifies it as an error
	{name: "a detail", body: asData(`{"detail":"boom"}`), fails: failsAlways(KindOverloaded, 500, "boom")},
	{name: "a detail in the error event", body: "event: error\ndata: {\"detail\":[{\"loc\":[\"body\"],\"msg\":\"field required\",\"type\":\"missing\"}]}\n\n", fails: failsAlways(KindOverloaded, 500, "field required")},
	{name: "an object error", body: asData(`{"object":"error","message":"boom","type":"BadRequestError","code":400}`), fails: failsOnce(KindInvalid, 400, "boom")}, // vLLM
	{name: "a status as code", body: asEvents(`{"type":"error","error":{"code":503,"message":"boom"}}`), fails: failsAlways(KindOverloaded, 503, "boom")},
	{name: "a status as code in a string", body: asEvents(`{"type":"error","error":{"type":"error","code":"429","message":"boom"}}`), fails: failsAlways(KindRate, 429, "boom")},
	{name: "an error within an error", body: asEvents(`{"type":"error","error":{"message":{"error":{"message":"boom"}}}}`), fails: failsAlways(KindOverloaded, 500, "boom")},
	{name: "a msg", body: asData(`{"code":500,"msg":"boom","success":false}`), fails: failsAlways(KindOverloaded, 500, "boom")}, // Z.ai's gateway
	{name: "words", body: asData("upstream request timeout"), fails: failsAlways(KindOverloaded, 500, "upstream request timeout")},
	{name: "words in mid-answer", body: asEvents(msgStart, textHi, "Internal Server Error"), text: "Hi", usage: usedTokens(10, 1, 0, 0), fails: failsLate(KindOverloaded, 500, "Internal Server Error")},
	{name: "a JSON string in mid-answer", body: asEvents(msgStart, textHi, `"boom"`), text: "Hi", usage: usedTokens(10, 1, 0, 0), fails: failsLate(KindOverloaded, 500, "boom")},
	{name: "null as error beside text", body: inMessage(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"},"error":null}`), text: "Hi", usage: usualUsage},
	{name: "an empty error beside text", body: inMessage(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"},"error":{}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" you"},"error":""}`), text: "Hi you", usage: usualUsage},
	{name: "a control character as event", body: asData("\x0f"), fails: failsAlways(KindOverloaded, 500, "")},
	{name: "an error without words", body: asEvents(`{"type":"error","error":{"type":"overloaded_error"}}`), fails: failsAlways(KindOverloaded, 529, "")},
	{name: "null as error in the error event", body: asEvents(`{"type":"error","error":null}`), fails: failsAlways(KindOverloaded, 500, "")}, // open: the type of the event identifies it as an error
	{name: "a context error", body: asEvents(`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}`), fails: tooLong(400, 200000, 208310, "prompt is too long")},
	{name: "a JSON error as event stream", body: `{"type":"error","error":{"type":"invalid_request_error","message":"boom"}}`, fails: failsOnce(KindInvalid, 400, "boom")}, // F03
	{name: "a JSON error as event stream over lines", body: "{\n  \"type\": \"error\",\n  \"error\": {\n    \"type\": \"rate_limit_error\",\n    \"message\": \"boom\"\n  }\n}\n", fails: failsAlways(KindRate, 429, "boom")},
	{name: "words as event stream", body: "no healthy upstream", fails: failsAlways(KindOverloaded, 500, "no healthy upstream")}, // open: a line that is not a field
}

// anthropicBodies are JSON and other bodies with status 200.
var anthropicBodies = []variant{
	{name: "a whole message", typ: "application/json", body: `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":10,"cache_read_input_tokens":4,"output_tokens":2}}`, text: "Hi", usage: usedTokens(10, 2, 4, 0)}, // F07
	{name: "a whole message with thinking and a call", typ: "application/json; charset=utf-8", tools: true, body: `{"type":"message","content":[{"type":"thinking","thinking":"hm","signature":"seal"},{"type":"redacted_thinking","data":"opaque"},{"type":"text","text":"Hi"},{"type":"tool_use","id":"toolu_1","name":"read","input":{ "path": "/a" },"caller":{"type":"direct"}}],"stop_reason":"tool_use","usage":{"input_tokens":10,"output_tokens":2}}`,
		blocks: []history.Block{wantThought("hm", "seal"), {Type: history.BlockThinking, Data: []byte("opaque")}, text("Hi"), wantCall("toolu_1", "read", `{"path":"/a"}`, `{"caller":{"type":"direct"}}`)}, stop: reply.StopToolUse, usage: usedTokens(10, 2, 0, 0)},
	{name: "a whole message with invalid UTF-8", typ: "application/json", tools: true, body: "{\"type\":\"message\",\"content\":[{\"type\":\"text\",\"text\":\"a\xffb\"},{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"read\",\"input\":{\"a\xff\":1},\"x\":\"\xff\"}],\"stop_reason\":\"tool_use\"}",
		blocks: []history.Block{text("a\uFFFDb"), wantCall("t1", "read", "{\"a\uFFFD\":1}", `{"x":"\ufffd"}`)}, stop: reply.StopToolUse},
	{name: "a whole message cut by the limit", typ: "application/json", body: "{\n  \"type\": \"message\",\n  \"content\": [\n    {\"type\": \"text\", \"text\": \"Hi\"}\n  ],\n  \"stop_reason\": \"max_tokens\"\n}\n", text: "Hi", stop: reply.StopMaxTokens},
	{name: "a whole message without a reason", typ: "application/json", body: `{"type":"message","content":[{"type":"text","text":"Hi"}],"stop_reason":null}`, text: "Hi"}, // open: the object is complete
	{name: "a whole message without a type", typ: "application/json", body: `{"role":"assistant","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn"}`, text: "Hi"},
	{name: "a whole message with a string as content", typ: "application/json", body: `{"type":"message","role":"assistant","content":"Hi","stop_reason":"end_turn"}`, text: "Hi"}, // open
	{name: "a whole message with nothing in it", typ: "application/json", body: `{"type":"message","role":"assistant","content":[],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":2}}`, usage: usedTokens(10, 2, 0, 0)},
	{name: "a whole message as event stream", body: `{"type":"message","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn"}`, text: "Hi"},                                                                                      // open
	{name: "a whole message as one event", body: asEvents(`{"type":"message","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":2}}`), text: "Hi", usage: usedTokens(10, 2, 0, 0)}, // open: as a message for a delta in chat completions
	{name: "a JSON error with status 200", typ: "application/json", body: `{"type":"error","error":{"type":"invalid_request_error","message":"boom"}}`, fails: failsOnce(KindInvalid, 400, "boom")},                                         // F07
	{name: "a JSON error without a type", typ: "application/json", body: `{"error":{"message":"boom"}}`, fails: failsAlways(KindOverloaded, 500, "boom")},
	{name: "a JSON error of a gateway", typ: "application/json", body: `{"code":401,"msg":"token expired or incorrect","success":false}`, fails: failsOnce(KindAuth, 401, "token expired")}, // Z.ai
	{name: "a JSON detail with status 200", typ: "application/json", body: `{"detail":"boom"}`, fails: failsAlways(KindOverloaded, 500, "boom")},
	{name: "a JSON error with status 200, then an answer", typ: "application/json", body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, later: &variant{body: inTextMessage(textHi)}, text: "Hi", usage: usualUsage, tries: 2},
	{name: "a page with status 200", typ: "text/html; charset=utf-8", body: "<!DOCTYPE html>\n<html><head><title>Sign in to the network</title></head><body><p>" + secretWords + "</p></body></html>", fails: failsOnce(KindInvalid, anyStatus, "Sign in to the network")},
	{name: "half a JSON body", typ: "application/json", body: `{"type":"message","content":[{"type":"text","te`, fails: failsAlways(KindTruncated, 0, "")}, // open: like half an event
}

// anthropicErrorBodies are bodies with an error status.
var anthropicErrorBodies = []variant{
	{name: "400 of Anthropic", status: 400, typ: "application/json", body: `{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content: text must not be blank"},"request_id":"req_1"}`, fails: failsOnce(KindInvalid, 400, "text must not be blank")},
	{name: "401 of Anthropic", status: 401, typ: "application/json", body: `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, fails: failsOnce(KindAuth, 401, "invalid x-api-key")},
	{name: "403 of Anthropic", status: 403, typ: "application/json", body: `{"type":"error","error":{"type":"permission_error","message":"may not use this model"}}`, fails: failsOnce(KindAuth, 403, "may not use this model")},
	{name: "404 of Anthropic", status: 404, typ: "application/json", body: `{"type":"error","error":{"type":"not_found_error","message":"model: claude-x"}}`, fails: failsOnce(KindInvalid, 404, "model: claude-x")},
	{name: "413 of Anthropic", status: 413, typ: "application/json", body: `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, fails: failsOnce(KindInvalid, 413, "Request exceeds the maximum size")},
	{name: "429 of Anthropic", status: 429, typ: "application/json", body: `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 40,000 input tokens per minute"}}`, fails: failsAlways(KindRate, 429, "would exceed your organization's rate limit")},
	{name: "500 of Anthropic", status: 500, typ: "application/json", body: `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, fails: failsAlways(KindOverloaded, 500, "Internal server error")},
	{name: "529 of Anthropic", status: 529, typ: "application/json", body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, fails: failsAlways(KindOverloaded, 529, "Overloaded")},
	{name: "529 of Anthropic, then an answer", status: 529, typ: "application/json", body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, later: &variant{body: inTextMessage(textHi)}, text: "Hi", usage: usualUsage, tries: 2},
	{name: "400 of Bedrock", status: 400, typ: "application/json", body: `{"message":"The provided model identifier is invalid."}`, fails: failsOnce(KindInvalid, 400, "model identifier is invalid")},
	{name: "400 of Bedrock in a capital", status: 400, typ: "application/json", body: `{"Message":"User is not authorized"}`, fails: failsOnce(KindInvalid, 400, "User is not authorized")},                                                                // open: AWS writes both
	{name: "400 of Vertex", status: 400, typ: "application/json; charset=UTF-8", body: `[{"error":{"code":400,"message":"Precondition check failed.","status":"FAILED_PRECONDITION"}}]`, fails: failsOnce(KindInvalid, 400, "Precondition check failed.")}, // F03
	{name: "400 with a string as error", status: 400, typ: "application/json", body: `{"error":"boom"}`, fails: failsOnce(KindInvalid, 400, "boom")},
	{name: "400 with a string as typed error", status: 400, typ: "application/json", body: `{"type":"error","error":"boom"}`, fails: failsOnce(KindInvalid, 400, "boom")},
	{name: "400 with an object error", status: 400, typ: "application/json", body: `{"object":"error","message":"boom","type":"BadRequestError","param":null,"code":400}`, fails: failsOnce(KindInvalid, 400, "boom")},
	{name: "400 with a detail", status: 400, typ: "application/json", body: `{"detail":"boom"}`, fails: failsOnce(KindInvalid, 400, "boom")},
	{name: "400 with words", status: 400, typ: "text/plain", body: "boom", fails: failsOnce(KindInvalid, 400, "boom")},
	{name: "400 as an error event", status: 400, body: asEvents(`{"type":"error","error":{"type":"invalid_request_error","message":"boom"}}`), fails: failsOnce(KindInvalid, 400, "boom")},
	{name: "400 without a body", status: 400, typ: noType, body: "", fails: failsOnce(KindInvalid, 400, "Bad Request")},
	{name: "402 of a proxy", status: 402, typ: "application/json", body: `{"type":"error","error":{"type":"billing_error","message":"no credit"}}`, fails: failsOnce(KindQuota, 402, "no credit")},
	{name: "404 of FastAPI", status: 404, typ: "application/json", body: `{"detail":"Not Found"}`, fails: failsOnce(KindInvalid, 404, "Not Found")},                                                                                             // a server that has no /v1/messages
	{name: "404 with a page", status: 404, typ: "text/html; charset=utf-8", body: "<!DOCTYPE html><html><head><title>Error</title></head><body><pre>Cannot POST /v1/messages</pre></body></html>", fails: failsOnce(KindInvalid, 404, "Error")}, // Express
	{name: "422 of FastAPI", status: 422, typ: "application/json", body: `{"detail":[{"type":"missing","loc":["body","max_output"],"msg":"Field required","input":{}}]}`, fails: failsOnce(KindInvalid, 422, "Field required")},
	{name: "429 with no quota", status: 429, typ: "application/json", body: `{"error":{"message":"no quota","type":"insufficient_quota","code":"insufficient_quota"}}`, fails: failsOnce(KindQuota, 429, "no quota")},
	{name: "500 of a framework", status: 500, typ: "text/plain; charset=utf-8", body: "Internal Server Error", fails: failsAlways(KindOverloaded, 500, "Internal Server Error")},
	{name: "502 of nginx", status: 502, typ: "text/html", body: "<html>\n<head><title>502 Bad Gateway</title></head>\n<body><center><h1>502 Bad Gateway</h1></center><p>" + secretWords + "</p></body>\n</html>\n", fails: failsAlways(KindOverloaded, 502, "502 Bad Gateway")},
	{name: "503 of Envoy", status: 503, typ: "text/plain", body: "no healthy upstream", fails: failsAlways(KindOverloaded, 503, "no healthy upstream")},
	{name: "520 with words", status: 520, typ: "text/plain", body: "error code: 520", fails: failsAlways(KindOverloaded, 520, "error code: 520")},
	{name: "500 with words of 100 kB", status: 500, typ: "text/plain", body: "boom " + largeText, fails: failsAlways(KindOverloaded, 500, "boom")},
}

// anthropicVariants are all handwritten variants of the kind.
func anthropicVariants() (out []variant) {
	for _, group := range [][]variant{anthropicDialects, anthropicFrames, anthropicTexts, anthropicCalls, anthropicUsages, anthropicEndings,
		anthropicErrorsInStreams, anthropicBodies, anthropicErrorBodies, contextErrors} {
		out = append(out, group...)
	}
	return out
}

func anthropicReasons() []variant {
	return reasonVariants(
		func(reason string) string {
			return asEvents(textStart, textHi, blockStop, msgDelta(reason), msgStop)
		},
		func(reason string) string { return asEvents(msgDelta(reason), msgStop) },
		func(reason string) string {
			return asEvents(blockStart(`{"type":"tool_use","id":"c1","name":"read","input":{}}`), blockStop, msgDelta(reason), msgStop)
		})
}

func TestAnthropicStreams(t *testing.T) {
	variants := anthropicVariants()
	checkMatrixIsLarge(t, variants, 250)
	checkMatrix(t, Anthropic, variants)
}

func TestAnthropicStopReasons(t *testing.T) { checkMatrix(t, Anthropic, anthropicReasons()) }

func TestAnthropicStatuses(t *testing.T) {
	checkMatrix(t, Anthropic, statusVariants(asEvents(textHi, msgDelta(`"end_turn"`), msgStop)))
}

func TestAnthropicStreamsByteByByte(t *testing.T) {
	checkMatrixByteByByte(t, Anthropic, anthropicVariants())
}

func TestAnthropicStreamsInAllWritings(t *testing.T) {
	checkMatrixInAllWritings(t, Anthropic, anthropicVariants())
}

func FuzzAnthropicStream(f *testing.F) { fuzzStream(f, Anthropic, anthropicVariants()) }
