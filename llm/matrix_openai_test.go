package llm

import (
	"testing"

	"strata/history"
	"strata/llm/reply"
)

// The parts that most chat completion streams have in common.
const (
	sayHi       = `{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}`
	sayYou      = `{"choices":[{"index":0,"delta":{"content":" you"},"finish_reason":null}]}`
	saidAll     = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	calledTools = `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`
	theEnd      = `[DONE]`
)

// withDelta returns a chunk whose delta is a JSON value.
func withDelta(delta string) string {
	return `{"choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}`
}

// withReason returns a chunk with a JSON value as finish reason.
func withReason(reason string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":` + reason + `}]}`
}

// withUsage returns a separate chunk with a JSON value as usage.
func withUsage(usage string) string { return `{"choices":[],"usage":` + usage + `}` }

// endedChat returns a stream of chunks with a regular end.
func endedChat(chunks ...string) string { return asData(append(chunks, saidAll, theEnd)...) }

// endedByCalls is endedChat with tool_calls as finish reason.
func endedByCalls(chunks ...string) string { return asData(append(chunks, calledTools, theEnd)...) }

// openAIDialects are complete streams of real servers.
var openAIDialects = []variant{
	{ // OpenAI
		name: "OpenAI",
		body: asData(
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1730000000,"model":"gpt-4o-2024-08-06","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"x7"}`,
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1730000000,"model":"gpt-4o-2024-08-06","choices":[{"index":0,"delta":{"content":"Grüße, "},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"a"}`,
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1730000000,"model":"gpt-4o-2024-08-06","choices":[{"index":0,"delta":{"content":"世界 😀"},"logprobs":null,"finish_reason":null}],"usage":null}`,
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1730000000,"model":"gpt-4o-2024-08-06","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null}`,
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1730000000,"model":"gpt-4o-2024-08-06","choices":[],"usage":{"prompt_tokens":1200,"completion_tokens":9,"total_tokens":1209,"prompt_tokens_details":{"cached_tokens":1024,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}}`,
			theEnd),
		text: "Grüße, 世界 😀", usage: usedTokens(176, 9, 1024, 0),
	},
	{ // Azure: the verdict on the prompt comes first, one on the text with each chunk or in a chunk without a delta
		name: "Azure with content filter results",
		body: asData(
			`{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}]}`,
			`{"choices":[{"content_filter_results":{},"delta":{"content":"","refusal":null,"role":"assistant"},"finish_reason":null,"index":0,"logprobs":null}],"id":"chatcmpl-1"}`,
			`{"choices":[{"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}},"delta":{"content":"Hi"},"finish_reason":null,"index":0,"logprobs":null}],"id":"chatcmpl-1"}`,
			`{"choices":[{"content_filter_offsets":{"check_offset":10,"start_offset":10,"end_offset":12},"content_filter_results":{"violence":{"filtered":false,"severity":"safe"}},"finish_reason":null,"index":0}],"id":""}`,
			`{"choices":[{"content_filter_results":{},"delta":{},"finish_reason":"stop","index":0,"logprobs":null}],"id":"chatcmpl-1"}`,
			theEnd),
		text: "Hi",
	},
	{ // Mistral: usage with the finish, padding in p
		name: "Mistral",
		body: asData(
			`{"id":"a1","object":"chat.completion.chunk","created":1,"model":"mistral-small-latest","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"p":"abcdefghijk"}`,
			`{"id":"a1","object":"chat.completion.chunk","created":1,"model":"mistral-small-latest","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}],"p":"abc"}`,
			`{"id":"a1","object":"chat.completion.chunk","created":1,"model":"mistral-small-latest","choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"total_tokens":7,"completion_tokens":2},"p":"a"}`,
			theEnd),
		text: "Hi", usage: usedTokens(5, 2, 0, 0),
	},
	{ // Mistral, magistral models
		name: "Mistral with thinking parts",
		body: asData(
			`{"id":"a1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`,
			`{"id":"a1","choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"The user "}]}]},"finish_reason":null}]}`,
			`{"id":"a1","choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"greets."}],"closed":true}]},"finish_reason":null}]}`,
			`{"id":"a1","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}`,
			`{"id":"a1","choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":9,"total_tokens":14,"prompt_audio_seconds":null}}`,
			theEnd),
		thinking: "The user greets.", text: "Hi", usage: usedTokens(5, 9, 0, 0),
	},
	{ // Gemini's endpoint: usage in every chunk, the finish reason with the last text
		name: "Gemini",
		body: asData(
			`{"choices":[{"delta":{"content":"Hi","role":"assistant"},"index":0}],"created":1,"id":"g1","model":"gemini-2.5-flash","object":"chat.completion.chunk","usage":{"completion_tokens":1,"prompt_tokens":8,"total_tokens":9}}`,
			`{"choices":[{"delta":{"content":" you","role":"assistant"},"finish_reason":"stop","index":0}],"created":1,"id":"g1","model":"gemini-2.5-flash","object":"chat.completion.chunk","usage":{"completion_tokens":2,"prompt_tokens":8,"total_tokens":40}}`,
			theEnd),
		text: "Hi you", usage: usedTokens(8, 2, 0, 0),
	},
	{ // Gemini's endpoint in its first months
		name: "Gemini with a finish reason in every chunk",
		body: asData(
			`{"choices":[{"delta":{"content":"Hi","role":"assistant"},"finish_reason":"stop","index":0}],"object":"chat.completion.chunk"}`,
			`{"choices":[{"delta":{"content":" you","role":"assistant"},"finish_reason":"stop","index":0}],"object":"chat.completion.chunk"}`,
			theEnd),
		text: "Hi you",
	},
	{ // Gemini's endpoint: the thought signature of a call must be sent back with it
		name: "Gemini with a call and its signature", tools: true,
		body: asData(
			`{"choices":[{"delta":{"role":"assistant","tool_calls":[{"extra_content":{"google":{"thought_signature":"CiQB/+=="}},"function":{"arguments":"{\"path\":\"/a\"}","name":"read"},"id":"function-call-77","type":"function"}]},"finish_reason":"tool_calls","index":0}],"object":"chat.completion.chunk"}`,
			theEnd),
		blocks: []history.Block{wantCall("function-call-77", "read", `{"path":"/a"}`, `{"extra_content":{"google":{"thought_signature":"CiQB/+=="}}}`)},
		stop:   reply.StopToolUse,
	},
	{ // vLLM with a reasoning parser; stop_reason is the token that ended it
		name: "vLLM",
		body: asData(
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"Qwen/Qwen3-8B","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"prompt_token_ids":null}`,
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"Qwen/Qwen3-8B","choices":[{"index":0,"delta":{"reasoning_content":"hm"},"logprobs":null,"finish_reason":null,"token_ids":null}]}`,
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"Qwen/Qwen3-8B","choices":[{"index":0,"delta":{"content":"Hi"},"logprobs":null,"finish_reason":null,"token_ids":null}]}`,
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"Qwen/Qwen3-8B","choices":[{"index":0,"delta":{"content":""},"logprobs":null,"finish_reason":"stop","stop_reason":151645,"token_ids":null}]}`,
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"Qwen/Qwen3-8B","choices":[],"usage":{"prompt_tokens":11,"total_tokens":15,"completion_tokens":4}}`,
			theEnd),
		thinking: "hm", text: "Hi", usage: usedTokens(11, 4, 0, 0),
	},
	{ // vLLM since it renamed the field: both are sent
		name: "vLLM with both names of thinking",
		body: endedChat(
			`{"choices":[{"index":0,"delta":{"reasoning":"h","reasoning_content":"h"},"finish_reason":null}]}`,
			`{"choices":[{"index":0,"delta":{"reasoning":"m","reasoning_content":"m"},"finish_reason":null}]}`,
			sayHi),
		thinking: "hm", text: "Hi",
	},
	{ // llama.cpp: additional timings, null content first
		name: "llama.cpp",
		body: asData(
			`{"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"created":1,"id":"chatcmpl-1","model":"q","system_fingerprint":"b6000","object":"chat.completion.chunk"}`,
			`{"choices":[{"finish_reason":null,"index":0,"delta":{"content":"Hi"}}],"created":1,"id":"chatcmpl-1","object":"chat.completion.chunk"}`,
			`{"choices":[{"finish_reason":"stop","index":0,"delta":{}}],"created":1,"id":"chatcmpl-1","object":"chat.completion.chunk"}`,
			`{"choices":[],"created":1,"id":"chatcmpl-1","object":"chat.completion.chunk","usage":{"completion_tokens":3,"prompt_tokens":20,"total_tokens":23},"timings":{"cache_n":0,"prompt_n":20,"prompt_ms":101.5,"predicted_n":3}}`,
			theEnd),
		text: "Hi", usage: usedTokens(20, 3, 0, 0),
	},
	{ // Ollama
		name: "Ollama",
		body: asData(
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"qwen3","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"hm"},"finish_reason":null}]}`,
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"qwen3","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"},"finish_reason":null}]}`,
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"qwen3","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop"}]}`,
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"qwen3","system_fingerprint":"fp_ollama","choices":[],"usage":{"prompt_tokens":12,"completion_tokens":5,"total_tokens":17}}`,
			theEnd),
		thinking: "hm", text: "Hi", usage: usedTokens(12, 5, 0, 0),
	},
	{ // Ollama: a call is whole, with an index
		name: "Ollama with a call", tools: true,
		body: endedByCalls(
			`{"id":"chatcmpl-1","model":"qwen3","choices":[{"index":0,"delta":{"role":"assistant","content":"","tool_calls":[{"id":"call_8","index":0,"type":"function","function":{"name":"read","arguments":"{\"path\":\"/a\"}"}}]},"finish_reason":null}]}`),
		blocks: []history.Block{wantCall("call_8", "read", `{"path":"/a"}`)}, stop: reply.StopToolUse,
	},
	{ // LM Studio: digits as ids
		name: "LM Studio with a call", tools: true,
		body: endedByCalls(
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"365174485","type":"function","function":{"name":"read","arguments":""}}]},"logprobs":null,"finish_reason":null}]}`,
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"type":"function","function":{"name":"","arguments":"{\"path\":"}}]},"logprobs":null,"finish_reason":null}]}`,
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"type":"function","function":{"name":"","arguments":"\"/a\"}"}}]},"logprobs":null,"finish_reason":null}]}`),
		blocks: []history.Block{wantCall("365174485", "read", `{"path":"/a"}`)}, stop: reply.StopToolUse,
	},
	{ // OpenRouter: comments while the provider is silent, details of the reasoning in addition, usage with a delta
		name: "OpenRouter",
		body: ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n" + asData(
			`{"id":"gen-1","provider":"Anthropic","model":"anthropic/claude-sonnet-4.5","object":"chat.completion.chunk","created":1,"choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm","format":"anthropic-claude-v1","index":0}]},"finish_reason":null,"native_finish_reason":null,"logprobs":null}]}`,
			`{"id":"gen-1","provider":"Anthropic","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":null,"reasoning_details":[{"type":"reasoning.text","signature":"c2VhbA==","format":"anthropic-claude-v1","index":0}]},"finish_reason":null,"native_finish_reason":null}]}`,
			`{"id":"gen-1","provider":"Anthropic","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi","reasoning":null,"reasoning_details":[]},"finish_reason":null,"native_finish_reason":null}]}`,
			`{"id":"gen-1","provider":"Anthropic","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop","native_finish_reason":"end_turn"}]}`,
			`{"id":"gen-1","provider":"Anthropic","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null,"native_finish_reason":null}],"usage":{"prompt_tokens":100,"completion_tokens":6,"total_tokens":106,"cost":0.00042,"is_byok":false,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30,"audio_tokens":0},"cost_details":{"upstream_inference_cost":null},"completion_tokens_details":{"reasoning_tokens":3}}}`,
			theEnd),
		thinking: "hm", text: "Hi", usage: usedTokens(10, 6, 60, 30),
	},
	{ // DeepSeek: both fields in each delta, cache hits and misses under other names
		name: "DeepSeek",
		body: ": keep-alive\n\n" + asData(
			`{"id":"d1","object":"chat.completion.chunk","created":1,"model":"deepseek-reasoner","choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning_content":""},"logprobs":null,"finish_reason":null}]}`,
			`{"id":"d1","choices":[{"index":0,"delta":{"content":null,"reasoning_content":"hm"},"logprobs":null,"finish_reason":null}]}`,
			`{"id":"d1","choices":[{"index":0,"delta":{"content":"Hi","reasoning_content":null},"logprobs":null,"finish_reason":null}]}`,
			`{"id":"d1","choices":[{"index":0,"delta":{"content":"","reasoning_content":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":7,"total_tokens":107,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36,"completion_tokens_details":{"reasoning_tokens":3}}}`,
			theEnd),
		thinking: "hm", text: "Hi", usage: usedTokens(36, 7, 64, 0),
	},
	{ // Groq: usage within x_groq only
		name: "Groq",
		body: asData(
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"x_groq":{"id":"req_1"}}`,
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hi"},"logprobs":null,"finish_reason":null}]}`,
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"x_groq":{"id":"req_1","usage":{"queue_time":0.02,"prompt_tokens":30,"prompt_time":0.001,"completion_tokens":4,"completion_time":0.01,"total_tokens":34,"total_time":0.011}}}`,
			theEnd),
		text: "Hi", usage: usedTokens(30, 4, 0, 0),
	},
	{ // Together: the text is also in the choice
		name: "Together",
		body: asData(
			`{"id":"t1","object":"chat.completion.chunk","created":1,"choices":[{"index":0,"text":"Hi","logprobs":null,"finish_reason":null,"seed":null,"delta":{"token_id":9906,"role":"assistant","content":"Hi","tool_calls":null}}],"model":"m","usage":null}`,
			`{"id":"t1","object":"chat.completion.chunk","created":1,"choices":[{"index":0,"text":"","logprobs":null,"finish_reason":"eos","seed":17,"delta":{"token_id":128009,"role":"assistant","content":"","tool_calls":null}}],"model":"m","usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,"cached_tokens":4}}`,
			theEnd),
		text: "Hi", usage: usedTokens(6, 2, 4, 0),
	},
	{ // Fireworks: usage with the finish
		name: "Fireworks",
		body: asData(
			`{"id":"f1","object":"chat.completion.chunk","created":1,"model":"accounts/fireworks/models/m","choices":[{"index":0,"delta":{"role":"assistant"},"finish_reason":null}],"usage":null}`,
			`{"id":"f1","object":"chat.completion.chunk","created":1,"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}],"usage":null}`,
			`{"id":"f1","object":"chat.completion.chunk","created":1,"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"total_tokens":11,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`,
			theEnd),
		text: "Hi", usage: usedTokens(9, 2, 0, 0),
	},
	{ // LiteLLM: null in every field that it knows
		name: "LiteLLM",
		body: asData(
			`{"id":"chatcmpl-1","created":1,"model":"m","object":"chat.completion.chunk","choices":[{"finish_reason":null,"index":0,"delta":{"provider_specific_fields":null,"refusal":null,"content":"Hi","role":"assistant","function_call":null,"tool_calls":null,"audio":null},"logprobs":null}],"provider_specific_fields":null,"stream_options":{"include_usage":true},"citations":null}`,
			`{"id":"chatcmpl-1","created":1,"model":"m","object":"chat.completion.chunk","choices":[{"finish_reason":"stop","index":0,"delta":{"provider_specific_fields":null,"refusal":null,"content":null,"role":null,"function_call":null,"tool_calls":null,"audio":null},"logprobs":null}],"provider_specific_fields":null}`,
			`{"id":"chatcmpl-1","created":1,"model":"m","object":"chat.completion.chunk","choices":[{"finish_reason":null,"index":0,"delta":{"content":null,"role":null},"logprobs":null}],"usage":{"completion_tokens":3,"prompt_tokens":40,"total_tokens":43,"completion_tokens_details":null,"prompt_tokens_details":{"audio_tokens":null,"cached_tokens":16,"text_tokens":null,"image_tokens":null},"cache_creation_input_tokens":0,"cache_read_input_tokens":16}}`,
			theEnd),
		text: "Hi", usage: usedTokens(24, 3, 16, 0),
	},
	{ // SGLang
		name: "SGLang",
		body: asData(
			`{"id":"s1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}`,
			`{"id":"s1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":null,"content":"Hi","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}`,
			`{"id":"s1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":null,"content":null,"reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":"stop","matched_stop":2}],"usage":null}`,
			`{"id":"s1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":17,"total_tokens":19,"completion_tokens":2,"prompt_tokens_details":null,"reasoning_tokens":0}}`,
			theEnd),
		text: "Hi", usage: usedTokens(17, 2, 0, 0),
	},
	{ // TGI: no space after the colon, no [DONE] in old releases
		name: "TGI",
		body: `data:{"object":"chat.completion.chunk","id":"","created":1,"model":"tgi","system_fingerprint":"2.0.1-native","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"},"logprobs":null,"finish_reason":null}]}` + "\n\n" +
			`data:{"object":"chat.completion.chunk","id":"","created":1,"model":"tgi","system_fingerprint":"2.0.1-native","choices":[{"index":0,"delta":{"role":"assistant","content":"</s>"},"logprobs":null,"finish_reason":"eos_token"}]}` + "\n\n",
		text: "Hi</s>",
	},
	{ // TGI 2: one call as an object with arguments as an object
		name: "TGI with a call", tools: true,
		body: `data:{"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":{"index":0,"id":"","type":"function","function":{"name":"read","arguments":{"path": "/a"}}}},"finish_reason":null}]}` + "\n\n" +
			`data:{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"eos_token"}]}` + "\n\n",
		blocks: []history.Block{wantCall("", "read", `{"path":"/a"}`)}, stop: reply.StopToolUse, // open: eos_token after a call
	},
	{ // Cerebras
		name: "Cerebras",
		body: asData(
			`{"id":"chatcmpl-1","choices":[{"delta":{"role":"assistant"},"index":0}],"created":1,"model":"m","system_fingerprint":"fp","object":"chat.completion.chunk"}`,
			`{"id":"chatcmpl-1","choices":[{"delta":{"content":"Hi"},"index":0}],"created":1,"model":"m","object":"chat.completion.chunk"}`,
			`{"id":"chatcmpl-1","choices":[{"delta":{},"finish_reason":"stop","index":0}],"created":1,"model":"m","object":"chat.completion.chunk","usage":{"total_tokens":14,"completion_tokens":2,"prompt_tokens":12},"time_info":{"queue_time":0.0001,"prompt_time":0.001,"completion_time":0.002,"total_time":0.005,"created":1730000000.5}}`,
			theEnd),
		text: "Hi", usage: usedTokens(12, 2, 0, 0),
	},
	{ // xAI: cumulative usage in every chunk, reasoning tokens apart
		name: "xAI",
		body: asData(
			`{"id":"x1","object":"chat.completion.chunk","created":1,"model":"grok-3-mini","choices":[{"index":0,"delta":{"role":"assistant","reasoning_content":"hm"}}],"usage":{"prompt_tokens":20,"completion_tokens":0,"total_tokens":20,"prompt_tokens_details":{"text_tokens":20,"audio_tokens":0,"image_tokens":0,"cached_tokens":8}},"system_fingerprint":"fp"}`,
			`{"id":"x1","object":"chat.completion.chunk","created":1,"model":"grok-3-mini","choices":[{"index":0,"delta":{"content":"Hi"}}],"usage":{"prompt_tokens":20,"completion_tokens":1,"total_tokens":30,"prompt_tokens_details":{"text_tokens":20,"cached_tokens":8}}}`,
			`{"id":"x1","object":"chat.completion.chunk","created":1,"model":"grok-3-mini","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":2,"total_tokens":31,"num_sources_used":0,"prompt_tokens_details":{"text_tokens":20,"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":9}}}`,
			theEnd),
		thinking: "hm", text: "Hi", usage: usedTokens(12, 11, 8, 0), // thinking is billed as output and counted apart
	},
	{ // Moonshot: the usage at the finish is in the choice
		name: "Moonshot with usage in the choice",
		body: asData(
			`{"id":"m1","object":"chat.completion.chunk","created":1,"model":"kimi-k2","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"system_fingerprint":"fpv0"}`,
			`{"id":"m1","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}`,
			`{"id":"m1","choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":19,"completion_tokens":2,"total_tokens":21}}]}`,
			theEnd),
		text: "Hi", usage: usedTokens(19, 2, 0, 0), // open: usage within a choice
	},
	{ // Moonshot
		name: "Moonshot with cached tokens at the top of usage",
		body: endedChat(sayHi, withUsage(`{"prompt_tokens":100,"completion_tokens":2,"total_tokens":102,"cached_tokens":80}`)),
		text: "Hi", usage: usedTokens(20, 2, 80, 0),
	},
	{ // Z.ai
		name: "Z.ai",
		body: asData(
			`{"id":"z1","created":1,"model":"glm-4.6","choices":[{"index":0,"delta":{"role":"assistant","reasoning_content":"hm"}}]}`,
			`{"id":"z1","created":1,"model":"glm-4.6","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"}}]}`,
			`{"id":"z1","created":1,"model":"glm-4.6","choices":[{"index":0,"finish_reason":"stop","delta":{"role":"assistant","content":""}}],"usage":{"prompt_tokens":8,"completion_tokens":12,"total_tokens":20,"prompt_tokens_details":{"cached_tokens":2}}}`,
			theEnd),
		thinking: "hm", text: "Hi", usage: usedTokens(6, 12, 2, 0),
	},
	{ // MiniMax: a state with each chunk, the whole message again at the end
		name: "MiniMax",
		body: asData(
			`{"id":"mm1","choices":[{"index":0,"delta":{"content":"Hi","role":"assistant","name":"MM","audio_content":""}}],"created":1,"model":"MiniMax-M1","object":"chat.completion.chunk","usage":null,"input_sensitive":false,"output_sensitive":false,"input_sensitive_type":0,"output_sensitive_type":0,"output_sensitive_int":0}`,
			`{"id":"mm1","choices":[{"finish_reason":"stop","index":0,"delta":{"content":" you","role":"assistant"}}],"created":1,"object":"chat.completion.chunk","usage":null}`,
			`{"id":"mm1","choices":[{"finish_reason":"stop","index":0,"message":{"content":"Hi you","role":"assistant"}}],"created":1,"object":"chat.completion","usage":{"total_tokens":12,"total_characters":0,"prompt_tokens":10,"completion_tokens":2},"base_resp":{"status_code":0,"status_msg":""}}`,
			theEnd),
		text: "Hi you", usage: usedTokens(10, 2, 0, 0), // open: a whole message after its deltas adds nothing
	},
	{ // Perplexity: each delta is accompanied by the text so far
		name: "Perplexity",
		body: asData(
			`{"id":"p1","model":"sonar","created":1,"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6,"search_context_size":"low"},"citations":["https://example.org/a"],"object":"chat.completion.chunk","choices":[{"index":0,"finish_reason":null,"message":{"role":"assistant","content":"Hi"},"delta":{"role":"assistant","content":"Hi"}}]}`,
			`{"id":"p1","model":"sonar","created":1,"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7},"citations":["https://example.org/a"],"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hi you"},"delta":{"role":"assistant","content":" you"}}]}`),
		text: "Hi you", usage: usedTokens(5, 2, 0, 0),
	},
	{ // DashScope
		name: "DashScope",
		body: asData(
			`{"choices":[{"delta":{"content":"","role":"assistant"},"index":0,"logprobs":null,"finish_reason":null}],"object":"chat.completion.chunk","usage":null,"created":1,"system_fingerprint":null,"model":"qwen-plus","id":"q1"}`,
			`{"choices":[{"delta":{"content":null,"reasoning_content":"hm"},"index":0,"logprobs":null,"finish_reason":null}],"usage":null}`,
			`{"choices":[{"delta":{"content":"Hi","reasoning_content":null},"index":0,"logprobs":null,"finish_reason":null}],"usage":null}`,
			`{"choices":[{"finish_reason":"stop","delta":{"content":"","reasoning_content":null},"index":0,"logprobs":null}],"usage":null}`,
			`{"choices":[],"object":"chat.completion.chunk","usage":{"prompt_tokens":22,"completion_tokens":17,"total_tokens":39,"completion_tokens_details":{"reasoning_tokens":5},"prompt_tokens_details":{"cached_tokens":0}},"id":"q1"}`,
			theEnd),
		thinking: "hm", text: "Hi", usage: usedTokens(22, 17, 0, 0),
	},
	{ // the server of mlx-lm: progress of the prompt in comments
		name: "mlx-lm",
		body: ": keepalive 512/2048\n\n: keepalive 2048/2048\n\n" + endedChat(
			`{"id":"chatcmpl-1","system_fingerprint":"0.26-mlx","object":"chat.completion","model":"m","created":1,"choices":[{"index":0,"finish_reason":null,"delta":{"role":"assistant","content":"Hi","reasoning":"","tool_calls":[]}}]}`),
		text: "Hi",
	},
	{ // Cloudflare's Workers AI: legacy fields in addition to the choices
		name: "Workers AI",
		body: asData(
			`{"response":"Hi","p":"abc","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi","tool_calls":[]},"finish_reason":null}]}`,
			`{"response":"","tool_calls":[],"choices":[{"index":0,"delta":{"content":"","tool_calls":[]},"finish_reason":"stop"}],"usage":{"prompt_tokens":14,"completion_tokens":2,"total_tokens":16}}`,
			theEnd),
		text: "Hi", usage: usedTokens(14, 2, 0, 0),
	},
	{ // KoboldCpp: events are named
		name: "KoboldCpp",
		body: "event: message\ndata: " + `{"id":"koboldcpp","object":"chat.completion.chunk","created":1,"model":"koboldcpp/m","choices":[{"index":0,"finish_reason":null,"delta":{"role":"assistant","content":"Hi"}}]}` + "\n\n" +
			"event: message\ndata: " + `{"id":"koboldcpp","object":"chat.completion.chunk","created":1,"model":"koboldcpp/m","choices":[{"index":0,"finish_reason":"length","delta":{"role":"assistant","content":""}}]}` + "\n\n" +
			"event: message\ndata: [DONE]\n\n",
		text: "Hi", stop: reply.StopMaxTokens,
	},
	{ // Qianfan
		name: "Qianfan",
		body: asData(
			`{"id":"as-1","object":"chat.completion.chunk","created":1,"model":"ernie-4.5","choices":[{"index":0,"delta":{"content":"Hi","role":"assistant"},"flag":0}]}`,
			`{"id":"as-1","object":"chat.completion.chunk","created":1,"model":"ernie-4.5","choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop","flag":0}],"usage":{"prompt_tokens":4,"completion_tokens":2,"total_tokens":6}}`,
			theEnd),
		text: "Hi", usage: usedTokens(4, 2, 0, 0),
	},
	{ // OpenAI models with access to the refusal field
		name: "OpenAI with a refusal",
		body: endedChat(
			`{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"refusal":""},"finish_reason":null}]}`,
			`{"choices":[{"index":0,"delta":{"refusal":"I can't "},"finish_reason":null}]}`,
			`{"choices":[{"index":0,"delta":{"refusal":"do that."},"finish_reason":null}]}`),
		text: "I can't do that.",
	},
	{ // OpenAI
		name: "OpenAI with parallel calls", tools: true,
		body: endedByCalls(
			`{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"read","arguments":""}}],"refusal":null},"finish_reason":null}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":\"ä\\\"\"}"}}]},"finish_reason":null}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_2","type":"function","function":{"name":"list","arguments":""}}]},"finish_reason":null}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]},"finish_reason":null}]}`),
		blocks: []history.Block{wantCall("call_1", "read", `{"path":"ä\""}`), wantCall("call_2", "list", "{}")}, stop: reply.StopToolUse,
	},
}

// openAIFrames are ways to frame the events.
var openAIFrames = []variant{
	{name: "no space after the colon", body: "data:" + sayHi + "\n\ndata:" + saidAll + "\n\ndata:[DONE]\n\n", text: "Hi"},
	{name: "two spaces after the colon", body: "data:  " + sayHi + "\n\ndata:  " + saidAll + "\n\ndata:  [DONE]\n\n", text: "Hi"},
	{name: "blanks behind the data", body: "data: " + sayHi + "  \n\ndata: " + saidAll + "\t\n\ndata: [DONE] \n\n", text: "Hi"},
	{name: "CR as line end", body: "data: " + sayHi + "\r\rdata: " + saidAll + "\r\rdata: [DONE]\r\r", text: "Hi"}, // open: allowed by the standard, no known server sends it
	{name: "empty data first", body: "data: \n\n" + endedChat(sayHi), text: "Hi"},                                  // F01, LM Studio
	{name: "empty data without a space", body: "data:\n\n" + endedChat(sayHi), text: "Hi"},
	{name: "data field without a colon", body: "data\n\n" + endedChat(sayHi), text: "Hi"},
	{name: "empty data in mid-answer", body: asData(sayHi) + "data: \n\n" + endedChat(sayYou), text: "Hi you"}, // F01
	{name: "empty data before the end", body: asData(sayHi, saidAll, "", theEnd), text: "Hi"},
	{name: "blank data", body: asData(sayHi, "   ", saidAll, theEnd), text: "Hi"},
	{name: "comments before and between", body: ": ok\n\n" + asData(sayHi) + ":\n\n:\n: more\n\n" + endedChat(sayYou), text: "Hi you"}, // OpenRouter
	{name: "a comment within an event", body: ": before\ndata: " + sayHi + "\n: after\n\n" + endedChat(), text: "Hi"},
	{name: "a named ping", body: "event: ping\ndata: {}\n\n" + endedChat(sayHi), text: "Hi"},
	{name: "a ping with a time", body: `event: ping` + "\n" + `data: {"type":"ping","time":"2026-01-01T00:00:00Z"}` + "\n\n" + endedChat(sayHi), text: "Hi"},
	{name: "ids and retry times", body: "retry: 3000\nid: 1\ndata: " + sayHi + "\n\nid: 2\n\nid: 3\n" + endedChat(sayYou), text: "Hi you"},
	{name: "unknown fields", body: "x-trace: 12\n\nfoo\n\n" + endedChat(sayHi), text: "Hi"},
	{name: "byte order mark", body: "\uFEFF" + endedChat(sayHi), text: "Hi"},
	{name: "many blank lines", body: "\n\n\n\ndata: " + sayHi + "\n\n\n\n\n" + endedChat(), text: "Hi"},
	{name: "no blank line at the end", body: asData(sayHi) + "data: " + saidAll + "\n", text: "Hi"},
	{name: "no line end at the end", body: asData(sayHi) + "data: " + saidAll, text: "Hi"},
	{name: "DONE without a line end", body: asData(sayHi, saidAll) + "data: [DONE]", text: "Hi"},
	{name: "an event over several lines", body: "data: {\"choices\":[{\ndata: \"delta\":{\"content\":\ndata: \"Hi\"}}]\ndata: }\n\n" + endedChat(), text: "Hi"},
	{name: "pretty JSON", body: "data: {\ndata:   \"choices\": [\ndata:     {\"delta\": {\"content\": \"Hi\"}, \"index\": 0}\ndata:   ]\ndata: }\n\n" + endedChat(), text: "Hi"},
	{name: "data after DONE", body: endedChat(sayHi) + asData(sayYou, `{"error":"boom"}`, "garbage"), text: "Hi"},
	{name: "DONE twice", body: endedChat(sayHi) + asData(theEnd), text: "Hi"}, // LiteLLM in front of a server
	{name: "null as event", body: asData("null") + endedChat(sayHi), text: "Hi"},
	{name: "a number as event", body: asData("1") + endedChat(sayHi), text: "Hi"},
	{name: "an empty list as event", body: asData("[]") + endedChat(sayHi), text: "Hi"},
	{name: "a list of nothing as event", body: asData("[null, {}]") + endedChat(sayHi), text: "Hi"}, // open
	{name: "an empty object as event", body: asData("{}") + endedChat(sayHi), text: "Hi"},
	{name: "content type JSON", typ: "application/json", body: endedChat(sayHi), text: "Hi"},
	{name: "content type JSON, comment first", typ: "application/json; charset=utf-8", body: ": hello\n\n" + endedChat(sayHi), text: "Hi"},
	{name: "content type text", typ: "text/plain; charset=utf-8", body: endedChat(sayHi), text: "Hi"},
	{name: "no content type", typ: noType, body: endedChat(sayHi), text: "Hi"},
	{name: "content type with a charset", typ: "text/event-stream;charset=UTF-8", body: endedChat(sayHi), text: "Hi"},
	{name: "content type in capitals", typ: "Text/Event-Stream", body: endedChat(sayHi), text: "Hi"},
	{name: "content type octets", typ: "application/octet-stream", body: endedChat(sayHi), text: "Hi"},
	{name: "content type that cannot be parsed", typ: "text/event-stream; charset", body: endedChat(sayHi, sayYou), text: "Hi you"},
	{name: "nothing", body: "", fails: failsAlways(KindTruncated, 0, "")},
	{name: "only comments", body: ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n", fails: failsAlways(KindTruncated, 0, "")},
	{name: "only empty data", body: "data: \n\ndata: \n\n", fails: failsAlways(KindTruncated, 0, "")},
	{name: "a broken event first", body: "data: {\"choices\":[{\"delta\":{\"con\n\n", fails: failsAlways(KindTruncated, 0, "")},
	{name: "a broken event, then an answer", body: "data: {\"choices\":[{\"delta\":{\"con", later: &variant{body: endedChat(sayHi)}, text: "Hi", tries: 2},
	{name: "a broken event in mid-answer", body: asData(sayHi, `{"choices":[{"delta":{"content":"x"}]`, saidAll), text: "Hi", fails: failsLate(KindTruncated, 0, "")},
	{name: "a broken list in mid-answer", body: asData(sayHi, `[{"choices":`, saidAll), text: "Hi", fails: failsLate(KindTruncated, 0, "")},
	{name: "a broken event after the finish", body: asData(sayHi, saidAll, `{"usage":{"prompt_tokens":`), text: "Hi"},
	{name: "two objects in one event", body: asData(sayHi, sayYou+saidAll), text: "Hi", fails: failsLate(KindTruncated, 0, "")}, // open
}

// openAITexts are forms of text and thinking.
var openAITexts = []variant{
	{name: "null as content", body: endedChat(withDelta(`{"content":null}`), sayHi), text: "Hi"},
	{name: "no content at all", body: endedChat(withDelta(`{"role":"assistant"}`))},
	{name: "empty content", body: endedChat(withDelta(`{"role":"assistant","content":""}`), withDelta(`{"content":""}`))},
	{name: "blank content", body: endedChat(withDelta(`{"content":"\n\n"}`)), text: "\n\n"},
	{name: "all in the finish chunk", body: asData(`{"choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}`, theEnd), text: "Hi"},
	{name: "a text part", body: endedChat(withDelta(`{"content":[{"type":"text","text":"Hi"}]}`)), text: "Hi"}, // Mistral, Databricks
	{name: "two text parts", body: endedChat(withDelta(`{"content":[{"type":"text","text":"Hi"},{"type":"text","text":" you"}]}`)), text: "Hi you"},
	{name: "an output_text part", body: endedChat(withDelta(`{"content":[{"type":"output_text","text":"Hi","annotations":[]}]}`)), text: "Hi"},
	{name: "strings as parts", body: endedChat(withDelta(`{"content":["Hi"," you"]}`)), text: "Hi you"},
	{name: "a part without a type", body: endedChat(withDelta(`{"content":[{"text":"Hi"}]}`)), text: "Hi"},
	{name: "no parts", body: endedChat(withDelta(`{"content":[]}`), sayHi), text: "Hi"},
	{name: "a null part", body: endedChat(withDelta(`{"content":[null,{"type":"text","text":null},{"type":"text","text":"Hi"}]}`)), text: "Hi"},
	{name: "a reference part", body: endedChat(withDelta(`{"content":[{"type":"text","text":"Hi"},{"type":"reference","reference_ids":[1,2]},{"type":"text","text":" you"}]}`)), text: "Hi you"}, // Mistral
	{name: "a picture part", body: endedChat(withDelta(`{"content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},{"type":"text","text":"Hi"}]}`)), text: "Hi"},
	{name: "an object with text", body: endedChat(withDelta(`{"content":{"type":"text","text":"Hi"}}`)), text: "Hi"},
	{name: "an object without text", body: endedChat(withDelta(`{"content":{}}`), sayHi), text: "Hi"},
	{name: "a number as content", body: endedChat(withDelta(`{"content":42}`)), text: "42"},
	{name: "a fraction as content", body: endedChat(withDelta(`{"content":1.50}`)), text: "1.50"},
	{name: "true as content", body: endedChat(withDelta(`{"content":true}`), sayHi), text: "Hi"},
	{name: "false as content", body: endedChat(withDelta(`{"content":false}`), withDelta(`{"content":" "}`)), text: " "},
	{name: "null as delta", body: endedChat(withDelta(`null`), sayHi), text: "Hi"},
	{name: "a list as delta", body: endedChat(withDelta(`[]`), sayHi), text: "Hi"},
	{name: "a string as delta", body: endedChat(withDelta(`""`), sayHi), text: "Hi"},
	{name: "no delta", body: asData(sayHi, `{"choices":[{"index":0,"finish_reason":"stop"}]}`, theEnd), text: "Hi"}, // Azure
	{name: "null as choice", body: endedChat(`{"choices":[null]}`, sayHi), text: "Hi"},
	{name: "null as choices", body: endedChat(`{"choices":null}`, sayHi), text: "Hi"},
	{name: "a string as choices", body: endedChat(`{"choices":""}`, sayHi), text: "Hi"},
	{name: "a string as index", body: asData(`{"choices":[{"index":"0","delta":{"content":"Hi"}}]}`, `{"choices":[{"index":"0","delta":{},"finish_reason":"stop"}]}`, theEnd), text: "Hi"},
	{name: "no index", body: asData(`{"choices":[{"delta":{"content":"Hi"}}]}`, `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, theEnd), text: "Hi"},
	{name: "side fields of other types", body: endedChat(`{"id":7,"object":null,"created":"now","model":["m"],"system_fingerprint":{},"choices":[{"index":0,"delta":{"role":["assistant"],"content":"Hi"},"logprobs":"","finish_reason":null}]}`), text: "Hi"},
	{name: "another choice", body: asData(sayHi, `{"choices":[{"index":1,"delta":{"content":"Ho"},"finish_reason":null}]}`, saidAll, `{"choices":[{"index":1,"delta":{},"finish_reason":"length"}]}`, theEnd), text: "Hi"}, // open: only the first choice is the reply
	{name: "a message for a delta", body: asData(`{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}`, theEnd), text: "Hi"},
	{name: "a message for a delta, without the end", body: asData(`{"choices":[{"message":{"role":"assistant","content":[{"type":"text","text":"Hi"}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`), text: "Hi", usage: usedTokens(3, 1, 0, 0)},
	{name: "escapes", body: endedChat(withDelta(`{"content":"a\u0022\\\n\u00e4\/\t"}`)), text: "a\"\\\nä/\t"},
	{name: "a pair in one delta", body: endedChat(withDelta(`{"content":"\ud83d\ude00"}`)), text: "😀"},
	{name: "a pair split over two deltas", body: endedChat(withDelta(`{"content":"a\ud83d"}`), withDelta(`{"content":"\ude00b"}`)), text: "a😀b"}, // servers in JavaScript
	{name: "a pair split with an empty delta between", body: endedChat(withDelta(`{"content":"\ud83d"}`), withDelta(`{"content":""}`), withDelta(`{}`), withDelta(`{"content":"\ude00"}`)), text: "😀"},
	{name: "a lone half at the end", body: endedChat(withDelta(`{"content":"a\ud83d"}`)), text: "a\uFFFD"},
	{name: "a lone half in the middle", body: endedChat(withDelta(`{"content":"a\ud83db"}`)), text: "a\uFFFDb"},
	{name: "a second half first", body: endedChat(withDelta(`{"content":"\ude00a"}`)), text: "\uFFFDa"},
	{name: "a half before thinking", body: endedChat(withDelta(`{"content":"a\ud83d"}`), withDelta(`{"reasoning_content":"hm"}`)), blocks: []history.Block{text("a\uFFFD"), wantThought("hm", "")}},
	{name: "a pair split in parts", body: endedChat(withDelta(`{"content":[{"type":"text","text":"\ud83d"},{"type":"text","text":"\ude00"}]}`)), text: "😀"},
	{name: "a character in raw bytes", body: endedChat(withDelta(`{"content":"é漢😀"}`)), text: "é漢😀"},
	{name: "invalid UTF-8", body: endedChat(withDelta("{\"content\":\"a\xffb\"}")), text: "a\uFFFDb"},
	{name: "a NUL character", body: endedChat(withDelta(`{"content":"a\u0000b"}`)), text: "a\x00b"}, // open
	{name: "think tags are text", body: endedChat(withDelta(`{"content":"<think>hm</think>"}`), sayHi), text: "<think>hm</think>Hi"},
	{name: "a refusal beside content", body: endedChat(withDelta(`{"content":"Hi","refusal":" no"}`)), text: "Hi no"},
	{name: "a refusal of another type", body: endedChat(withDelta(`{"content":"Hi","refusal":false}`)), text: "Hi"},
	{name: "reasoning_content", body: endedChat(withDelta(`{"reasoning_content":"h"}`), withDelta(`{"reasoning_content":"m"}`), sayHi), thinking: "hm", text: "Hi"},
	{name: "reasoning", body: endedChat(withDelta(`{"reasoning":"h"}`), withDelta(`{"reasoning":"m"}`), sayHi), thinking: "hm", text: "Hi"},
	{name: "thinking and text in one delta", body: endedChat(withDelta(`{"reasoning_content":"hm","content":"Hi"}`)), thinking: "hm", text: "Hi"},
	{name: "empty reasoning_content beside reasoning", body: endedChat(withDelta(`{"reasoning_content":"","reasoning":"hm"}`), sayHi), thinking: "hm", text: "Hi"},
	{name: "null reasoning_content beside reasoning", body: endedChat(withDelta(`{"reasoning_content":null,"reasoning":"hm","content":""}`), sayHi), thinking: "hm", text: "Hi"},
	{name: "an object as reasoning", body: endedChat(withDelta(`{"reasoning":{"effort":"low"},"content":"Hi"}`)), text: "Hi"},
	{name: "false as reasoning_content", body: endedChat(withDelta(`{"reasoning_content":false,"content":"Hi"}`)), text: "Hi"},
	{name: "details of reasoning beside it", body: endedChat(withDelta(`{"reasoning":"hm","reasoning_details":[{"type":"reasoning.encrypted","data":"AA=="}]}`), sayHi), thinking: "hm", text: "Hi"}, // OpenRouter
	{name: "thinking after text", body: endedChat(sayHi, withDelta(`{"reasoning_content":"hm"}`), sayYou), blocks: []history.Block{text("Hi"), wantThought("hm", ""), text(" you")}},
	{name: "only thinking", body: endedChat(withDelta(`{"reasoning_content":"hm"}`)), thinking: "hm"},
	{name: "a thinking part with a string", body: endedChat(withDelta(`{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"Hi"}]}`)), thinking: "hm", text: "Hi"},
	{name: "a thinking part with parts", body: endedChat(withDelta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"h"},{"type":"text","text":"m"}]},{"type":"text","text":"hi"}]}`)), thinking: "hm", text: "hi"}, // F02
	{name: "parts in their order", body: endedChat(withDelta(`{"content":[{"type":"thinking","thinking":"a"},{"type":"text","text":"b"},{"type":"thinking","thinking":"c"}]}`)), blocks: []history.Block{wantThought("a", ""), text("b"), wantThought("c", "")}},
	{name: "a thinking part without thinking", body: endedChat(withDelta(`{"content":[{"type":"thinking","thinking":[]},{"type":"thinking"},{"type":"text","text":"Hi"}]}`)), text: "Hi"},
	{name: "a split pair in thinking", body: endedChat(withDelta(`{"reasoning":"\ud83d"}`), withDelta(`{"reasoning":"\ude00"}`), sayHi), thinking: "😀", text: "Hi"},
	{name: "a text of 300 kB in one event", body: endedChat(withDelta(`{"content":"` + largeText + `"}`)), text: largeText},
}

// openAICalls are forms of calls, in a request with tools unless stated otherwise.
var openAICalls = []variant{
	{name: "a whole call", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"read","arguments":"{\"path\":\"/a\"}"}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{"path":"/a"}`)}, stop: reply.StopToolUse},
	{name: "a call without tools in the request", body: endedByCalls(withDelta(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{}`)}},
	{name: "stop with calls", tools: true, body: endedChat(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}}]}`)), // Ollama, llama.cpp, old vLLM
		blocks: []history.Block{wantCall("c1", "read", `{}`)}, stop: reply.StopToolUse},
	{name: "stop with calls without tools in the request", body: endedChat(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{}`)}},
	{name: "text, then a call", tools: true, body: endedByCalls(sayHi, withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}}]}`)),
		blocks: []history.Block{text("Hi"), wantCall("c1", "read", `{}`)}, stop: reply.StopToolUse},
	{name: "text and a call in one delta", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}}],"content":"Hi"}`)),
		blocks: []history.Block{text("Hi"), wantCall("c1", "read", `{}`)}, stop: reply.StopToolUse},
	{name: "text after a call", tools: true, body: endedByCalls(sayHi, withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}}]}`), sayYou),
		blocks: []history.Block{text("Hi"), wantCall("c1", "read", `{}`), text(" you")}, stop: reply.StopToolUse},
	{name: "two calls in one delta", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}},{"index":1,"id":"c2","function":{"name":"list","arguments":"{\"x\":1}"}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{}`), wantCall("c2", "list", `{"x":1}`)}, stop: reply.StopToolUse},
	{name: "two calls in one delta, no index", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[{"id":"c1","function":{"name":"read","arguments":"{}"}},{"id":"c2","function":{"name":"list","arguments":"{}"}}]}`)), // Gemini
		blocks: []history.Block{wantCall("c1", "read", `{}`), wantCall("c2", "list", `{}`)}, stop: reply.StopToolUse},
	{name: "two calls in one delta, all with index 0", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}},{"index":0,"id":"c2","function":{"name":"list","arguments":"{}"}}]}`)), // Gemini, Ollama
		blocks: []history.Block{wantCall("c1", "read", `{}`), wantCall("c2", "list", `{}`)}, stop: reply.StopToolUse},
	{name: "two calls in two deltas, all with index 0", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}}]}`), withDelta(`{"tool_calls":[{"index":0,"id":"c2","function":{"name":"list","arguments":"{}"}}]}`)), // Ollama
		blocks: []history.Block{wantCall("c1", "read", `{}`), wantCall("c2", "list", `{}`)}, stop: reply.StopToolUse},
	{name: "two calls with interleaved arguments", tools: true, body: endedByCalls(
		withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"a\":"}},{"index":1,"id":"c2","function":{"name":"list","arguments":"{\"b\":"}}]}`),
		withDelta(`{"tool_calls":[{"index":1,"function":{"arguments":"2}"}},{"index":0,"function":{"arguments":"1}"}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{"a":1}`), wantCall("c2", "list", `{"b":2}`)}, stop: reply.StopToolUse},
	{name: "indices from 1", tools: true, body: endedByCalls(
		withDelta(`{"tool_calls":[{"index":1,"id":"c1","function":{"name":"read","arguments":"{\"a\":"}}]}`), withDelta(`{"tool_calls":[{"index":1,"function":{"arguments":"1}"}}]}`),
		withDelta(`{"tool_calls":[{"index":2,"id":"c2","function":{"name":"list","arguments":"{}"}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{"a":1}`), wantCall("c2", "list", `{}`)}, stop: reply.StopToolUse},
	{name: "indices as strings", tools: true, body: endedByCalls(
		withDelta(`{"tool_calls":[{"index":"0","id":"c1","function":{"name":"read","arguments":"{\"a\":"}}]}`), withDelta(`{"tool_calls":[{"index":"1","id":"c2","function":{"name":"list","arguments":"{}"}}]}`),
		withDelta(`{"tool_calls":[{"index":"0","function":{"arguments":"1}"}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{"a":1}`), wantCall("c2", "list", `{}`)}, stop: reply.StopToolUse},
	{name: "an index of null", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[{"index":null,"id":"c1","function":{"name":"read","arguments":"{\"a\":"}}]}`), withDelta(`{"tool_calls":[{"index":null,"function":{"arguments":"1}"}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{"a":1}`)}, stop: reply.StopToolUse},
	{name: "the id in each delta", tools: true, body: endedByCalls(
		withDelta(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"read","arguments":"{\"a\":"}}]}`),
		withDelta(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"arguments":"1}"}}]}`)), // Azure proxies, Qwen
		blocks: []history.Block{wantCall("c1", "read", `{"a":1}`)}, stop: reply.StopToolUse},
	{name: "the id and the name in each delta", tools: true, body: endedByCalls(
		withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"a\":"}}]}`),
		withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"1}"}}]}`)), // SGLang, vLLM with some parsers
		blocks: []history.Block{wantCall("c1", "read", `{"a":1}`)}, stop: reply.StopToolUse},
	{name: "the name in each delta, without ids", tools: true, body: endedByCalls(
		withDelta(`{"tool_calls":[{"index":0,"function":{"name":"read","arguments":"{\"a\":"}}]}`),
		withDelta(`{"tool_calls":[{"index":0,"function":{"name":"read","arguments":"1}"}}]}`)),
		blocks: []history.Block{wantCall("", "read", `{"a":1}`)}, stop: reply.StopToolUse},
	{name: "the name after the id", tools: true, body: endedByCalls(
		withDelta(`{"tool_calls":[{"index":0,"id":"c1","type":"function"}]}`), withDelta(`{"tool_calls":[{"index":0,"function":{"name":"read"}}]}`),
		withDelta(`{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{}`)}, stop: reply.StopToolUse},
	{name: "an empty name first", tools: true, body: endedByCalls(
		withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"","arguments":""}}]}`), withDelta(`{"tool_calls":[{"index":0,"id":"","function":{"name":"read","arguments":"{}"}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{}`)}, stop: reply.StopToolUse},
	{name: "the id after the name", tools: true, body: endedByCalls(
		withDelta(`{"tool_calls":[{"index":0,"function":{"name":"read","arguments":""}}]}`), withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"arguments":"{}"}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{}`)}, stop: reply.StopToolUse}, // open: an id for a call without an id does not start a new call
	{name: "a null name and a null id in later deltas", tools: true, body: endedByCalls(
		withDelta(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"read","arguments":null}}]}`), withDelta(`{"tool_calls":[{"index":0,"id":null,"type":null,"function":{"name":null,"arguments":"{\"a\":1}"}}]}`)), // SGLang, LiteLLM
		blocks: []history.Block{wantCall("c1", "read", `{"a":1}`)}, stop: reply.StopToolUse},
	{name: "no id", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[{"index":0,"function":{"name":"read","arguments":"{}"}}]}`)), // llama.cpp, old
		blocks: []history.Block{wantCall("", "read", `{}`)}, stop: reply.StopToolUse},
	{name: "an empty id", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[{"index":0,"id":"","type":"function","function":{"name":"read","arguments":"{}"}}]}`)), // Gemini in its first months
		blocks: []history.Block{wantCall("", "read", `{}`)}, stop: reply.StopToolUse},
	{name: "a number as id", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[{"index":0,"id":17,"function":{"name":"read","arguments":"{}"}}]}`)), // TGI: the id is 0
		blocks: []history.Block{wantCall("17", "read", `{}`)}, stop: reply.StopToolUse}, // open: literally, as for text
	{name: "the same id for two calls", tools: true, body: endedByCalls(
		withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}},{"index":1,"id":"c1","function":{"name":"list","arguments":"{}"}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{}`), wantCall("c1", "list", `{}`)}, stop: reply.StopToolUse},
	{name: "no ids and no indices, two calls in two deltas", tools: true, body: endedByCalls(
		withDelta(`{"tool_calls":[{"function":{"name":"read","arguments":"{\"a\":1}"}}]}`), withDelta(`{"tool_calls":[{"function":{"name":"list","arguments":"{}"}}]}`)),
		blocks: []history.Block{wantCall("", "read", `{"a":1}`), wantCall("", "list", `{}`)}, stop: reply.StopToolUse},
	{name: "no ids and no indices, the same tool twice", tools: true, body: endedByCalls(
		withDelta(`{"tool_calls":[{"function":{"name":"read","arguments":"{\"a\":1}"}}]}`), withDelta(`{"tool_calls":[{"function":{"name":"read","arguments":"{\"a\":2}"}}]}`)),
		blocks: []history.Block{wantCall("", "read", `{"a":1}`), wantCall("", "read", `{"a":2}`)}, stop: reply.StopToolUse},
	{name: "no ids, index 0 twice", tools: true, body: endedByCalls(
		withDelta(`{"tool_calls":[{"index":0,"id":"","function":{"name":"read","arguments":"{}"}}]}`), withDelta(`{"tool_calls":[{"index":0,"id":"","function":{"name":"list","arguments":"{}"}}]}`)),
		blocks: []history.Block{wantCall("", "read", `{}`), wantCall("", "list", `{}`)}, stop: reply.StopToolUse}, // open: as without indices
	{name: "no ids and no indices, arguments in pieces", tools: true, body: endedByCalls(
		withDelta(`{"tool_calls":[{"function":{"name":"read","arguments":"{\"a\""}}]}`), withDelta(`{"tool_calls":[{"function":{"arguments":":1}"}}]}`)),
		blocks: []history.Block{wantCall("", "read", `{"a":1}`)}, stop: reply.StopToolUse},
	{name: "an object as arguments", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":{ "path" : "/a", "n": [1, 2] }}}]}`)), // Ollama's own format through proxies
		blocks: []history.Block{wantCall("c1", "read", `{"path":"/a","n":[1,2]}`)}, stop: reply.StopToolUse},
	{name: "invalid UTF-8 in an object as arguments", tools: true, body: endedByCalls(withDelta("{\"tool_calls\":[{\"index\":0,\"id\":\"c\xff1\",\"x\":\"a\xffb\",\"function\":{\"name\":\"read\",\"arguments\":{\"a\xff\":1}}}]}")),
		blocks: []history.Block{wantCall("c\uFFFD1", "read", "{\"a\uFFFD\":1}", `{"x":"a\ufffdb"}`)}, stop: reply.StopToolUse},
	{name: "an empty object as arguments", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":{}}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{}`)}, stop: reply.StopToolUse},
	{name: "null as arguments", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":null}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{}`)}, stop: reply.StopToolUse},
	{name: "empty arguments", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":""}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{}`)}, stop: reply.StopToolUse},
	{name: "no arguments", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read"}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{}`)}, stop: reply.StopToolUse},
	{name: "null in words as arguments", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"nu"}}]}`), withDelta(`{"tool_calls":[{"index":0,"function":{"arguments":"ll"}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{}`)}, stop: reply.StopToolUse}, // Qwen
	{name: "blank arguments", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":" \n"}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{}`)}, stop: reply.StopToolUse},
	{name: "blanks around the arguments", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"\n {\"a\": 1} "}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", "\n {\"a\": 1} ")}, stop: reply.StopToolUse},
	{name: "a list as arguments", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"[1]"}}]}`)),
		blocks: []history.Block{wantCut("c1", "read", `[1]`)}, stop: reply.StopToolUse},
	{name: "a string as arguments", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"\"{}\""}}]}`)),
		blocks: []history.Block{wantCut("c1", "read", `"{}"`)}, stop: reply.StopToolUse}, // open: a model that encodes twice is told so
	{name: "two objects as arguments", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{}{}"}}]}`)),
		blocks: []history.Block{wantCut("c1", "read", `{}{}`)}, stop: reply.StopToolUse},
	{name: "arguments byte by byte", tools: true, body: endedByCalls(append(
		[]string{withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":""}}]}`)}, argsByteByByte("{\"p\": [1, {\"\u00e4\": \"a b\"}]}", func(arg string) string {
			return withDelta(`{"tool_calls":[{"index":0,"function":{"arguments":` + arg + `}}]}`)
		})...)...),
		blocks: []history.Block{wantCall("c1", "read", "{\"p\": [1, {\"\u00e4\": \"a b\"}]}")}, stop: reply.StopToolUse},
	{name: "parallel calls byte by byte, each with the id and the name", tools: true, body: endedByCalls(argsByteByByte(`{"a":{"b":{}}}`, func(arg string) string {
		return withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":` + arg + `}},{"index":1,"id":"c1","function":{"name":"read","arguments":` + arg + `}}]}`)
	})...),
		blocks: []history.Block{wantCall("c1", "read", `{"a":{"b":{}}}`), wantCall("c1", "read", `{"a":{"b":{}}}`)}, stop: reply.StopToolUse},
	{name: "the same id and index for two whole calls", tools: true, body: endedByCalls(
		withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"a\":1}"}},{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"a\":2}"}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{"a":1}`), wantCall("c1", "read", `{"a":2}`)}, stop: reply.StopToolUse},
	{name: "the same id and index for calls of two tools", tools: true, body: endedByCalls(
		withDelta(`{"tool_calls":[{"index":0,"id":"0","function":{"name":"read","arguments":"{}"}}]}`), withDelta(`{"tool_calls":[{"index":0,"id":"0","function":{"name":"list","arguments":"{}"}}]}`)),
		blocks: []history.Block{wantCall("0", "read", `{}`), wantCall("0", "list", `{}`)}, stop: reply.StopToolUse},
	{name: "a call that is repeated whole", tools: true, body: endedByCalls(
		withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"a\":"}}]}`), withDelta(`{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}`),
		withDelta(`{"tool_calls":[{"index":0,"id":"c1","extra_content":{"x":1},"function":{"name":"read","arguments":"{\"a\":1}"}}]}`)), // open: proxies that add up the deltas
		blocks: []history.Block{wantCall("c1", "read", `{"a":1}`, `{"extra_content":{"x":1}}`)}, stop: reply.StopToolUse},
	{name: "the id and the name once more without arguments", tools: true, body: endedByCalls(
		withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}}]}`), withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":""}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{}`)}, stop: reply.StopToolUse},
	{name: "an object within the arguments as a delta", tools: true, body: endedByCalls(
		withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"a\":"}}]}`), withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"b\":1}"}}]}`), withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"}"}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{"a":{"b":1}}`)}, stop: reply.StopToolUse},
	{name: "half a call, then text", tools: true, body: endedChat(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"a"}}]}`), sayHi),
		blocks: []history.Block{wantCut("c1", "read", `{"a`), text("Hi")}, stop: reply.StopToolUse},
	{name: "calls on both sides of text", tools: true, body: endedChat(
		withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}}]}`), sayHi, withDelta(`{"tool_calls":[{"index":1,"id":"c2","function":{"name":"list","arguments":"{}"}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{}`), text("Hi"), wantCall("c2", "list", `{}`)}, stop: reply.StopToolUse},
	{name: "an error within a call", tools: true, body: asData(
		withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}},{"index":1,"id":"c2","function":{"name":"list","arguments":"{\"a"}}]}`), `{"error":{"message":"boom","code":503}}`),
		blocks: []history.Block{wantCall("c1", "read", `{}`), wantCut("c2", "list", `{"a`)}, fails: failsLate(KindOverloaded, 503, "boom")},
	{name: "a call in a broken stream, and text before it", tools: true, broken: true, body: asData(sayHi, withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"a"}}]}`)),
		blocks: []history.Block{text("Hi"), wantCut("c1", "read", `{"a`)}, fails: failsLate(KindNetwork, 0, "")},
	{name: "the reason for calls without a call", tools: true, body: endedByCalls(sayHi), text: "Hi"}, // calls decide
	{name: "the reason for calls after a call without a name", tools: true, body: endedByCalls(sayHi, withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"arguments":"{}"}}]}`)), text: "Hi"},
	{name: "a filter after a whole call", tools: true, body: asData(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}}]}`), withReason(`"content_filter"`), theEnd),
		blocks: []history.Block{wantCall("c1", "read", `{}`)}, stop: reply.StopRefusal},
	{name: "Mistral with calls", tools: true, body: asData( // whole calls with ids of nine letters, an index, and the finish in the same chunk
		`{"id":"a1","object":"chat.completion.chunk","created":1,"model":"mistral-small-latest","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`,
		`{"id":"a1","object":"chat.completion.chunk","created":1,"model":"mistral-small-latest","choices":[{"index":0,"delta":{"tool_calls":[{"id":"D681PevKs","function":{"name":"read","arguments":"{\"path\": \"/a\"}"},"index":0},{"id":"9vnlV1Fzs","function":{"name":"list","arguments":"{}"},"index":1}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":94,"total_tokens":116,"completion_tokens":22}}`,
		theEnd),
		blocks: []history.Block{wantCall("D681PevKs", "read", `{"path": "/a"}`), wantCall("9vnlV1Fzs", "list", `{}`)}, stop: reply.StopToolUse, usage: usedTokens(94, 22, 0, 0)},
	{name: "arguments split in mid-escape", tools: true, body: endedByCalls(
		withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"a\":\"x\\"}}]}`), withDelta(`{"tool_calls":[{"index":0,"function":{"arguments":"n\\u00"}}]}`), withDelta(`{"tool_calls":[{"index":0,"function":{"arguments":"e4\"}"}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{"a":"x\n\u00e4"}`)}, stop: reply.StopToolUse},
	{name: "a pair split in arguments", tools: true, body: endedByCalls(
		withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"a\":\"\ud83d"}}]}`), withDelta(`{"tool_calls":[{"index":0,"function":{"arguments":"\ude00\"}"}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{"a":"😀"}`)}, stop: reply.StopToolUse},
	{name: "arguments that are no JSON", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"a\":"}}]}`)), // routers report tool_calls although the limit ended the call
		blocks: []history.Block{wantCut("c1", "read", `{"a":`)}, stop: reply.StopToolUse},
	{name: "a call cut by the limit", tools: true, body: asData(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"path\":\"/a"}}]}`), withReason(`"length"`), theEnd),
		blocks: []history.Block{wantCut("c1", "read", `{"path":"/a`)}, stop: reply.StopMaxTokens},
	{name: "a call cut before its arguments", tools: true, body: asData(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":""}}]}`), withReason(`"length"`), theEnd),
		blocks: []history.Block{wantCut("c1", "read", ``)}, stop: reply.StopMaxTokens},
	{name: "the second call cut by the limit", tools: true, body: asData(
		withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}}]}`), withDelta(`{"tool_calls":[{"index":1,"id":"c2","function":{"name":"list","arguments":"{\"x"}}]}`), withReason(`"length"`), theEnd),
		blocks: []history.Block{wantCall("c1", "read", `{}`), wantCut("c2", "list", `{"x`)}, stop: reply.StopMaxTokens},
	{name: "a call in a stream without its end", tools: true, body: asData(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"a\":1"}}]}`)),
		blocks: []history.Block{wantCut("c1", "read", `{"a":1`)}, fails: failsLate(KindTruncated, 0, "")},
	{name: "a whole call in a stream without its end", tools: true, body: asData(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"a\":1}"}}]}`)),
		blocks: []history.Block{wantCut("c1", "read", `{"a":1}`)}, fails: failsLate(KindTruncated, 0, "")},
	{name: "two calls in a broken stream", tools: true, broken: true, body: asData(
		withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}}]}`), withDelta(`{"tool_calls":[{"index":1,"id":"c2","function":{"name":"list","arguments":"{}"}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{}`), wantCut("c2", "list", `{}`)}, fails: failsLate(KindNetwork, 0, "")},
	{name: "an error after a call", tools: true, body: asData(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}}]}`), `{"error":{"message":"boom","code":503}}`),
		blocks: []history.Block{wantCut("c1", "read", `{}`)}, fails: failsLate(KindOverloaded, 503, "boom")},
	{name: "calls and DONE without a finish reason", tools: true, body: asData(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}}]}`), theEnd),
		blocks: []history.Block{wantCall("c1", "read", `{}`)}, stop: reply.StopToolUse},
	{name: "a single object as calls", tools: true, body: endedByCalls(withDelta(`{"tool_calls":{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}}}`)), // TGI
		blocks: []history.Block{wantCall("c1", "read", `{}`)}, stop: reply.StopToolUse},
	{name: "null and empty calls", tools: true, body: endedChat(withDelta(`{"tool_calls":null,"content":"Hi"}`), withDelta(`{"tool_calls":[]}`), withDelta(`{"tool_calls":{}}`), withDelta(`{"tool_calls":""}`)), text: "Hi"},
	{name: "null among calls", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[null,{"id":"c1","index":0,"function":{"name":"read","arguments":"{}"}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{}`)}, stop: reply.StopToolUse},
	{name: "calls in a message", tools: true, body: asData(`{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"list","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, theEnd),
		blocks: []history.Block{wantCall("c1", "read", `{}`), wantCall("c2", "list", `{}`)}, stop: reply.StopToolUse},
	{name: "the legacy function_call", tools: true, body: asData(withDelta(`{"role":"assistant","content":null,"function_call":{"name":"read","arguments":""}}`), withDelta(`{"function_call":{"arguments":"{\"a\":"}}`), withDelta(`{"function_call":{"arguments":"1}"}}`), withReason(`"function_call"`), theEnd),
		blocks: []history.Block{wantCall("", "read", `{"a":1}`)}, stop: reply.StopToolUse},
	{name: "the legacy function_call with an object", tools: true, body: asData(withDelta(`{"function_call":{"name":"read","arguments":{"a":1}}}`), withReason(`"stop"`), theEnd),
		blocks: []history.Block{wantCall("", "read", `{"a":1}`)}, stop: reply.StopToolUse},
	{name: "an unknown member of the function", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"read","arguments":"{}","thought_signature":"c2lnbg=="}}]}`)), // Gemini through proxies
		blocks: []history.Block{wantCall("c1", "read", `{}`, `{"function":{"thought_signature":"c2lnbg=="}}`)}, stop: reply.StopToolUse},
	{name: "unknown members of both", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[{"index":0,"id":"c1","thought_signature":"a","function":{"name":"read","arguments":"{}","x":[1]}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{}`, `{"thought_signature":"a","function":{"x":[1]}}`)}, stop: reply.StopToolUse},
	{name: "an unknown member in a later delta", tools: true, body: endedByCalls(
		withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":""}}]}`), withDelta(`{"tool_calls":[{"index":0,"extra_content":{"google":{"thought_signature":"s"}},"function":{"arguments":"{}"}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{}`, `{"extra_content":{"google":{"thought_signature":"s"}}}`)}, stop: reply.StopToolUse},
	{name: "unknown members in a delta of their own", tools: true, body: endedByCalls(
		withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}}]}`), withDelta(`{"tool_calls":[{"index":0,"extra_content":{"google":{"thought_signature":"s"}}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{}`, `{"extra_content":{"google":{"thought_signature":"s"}}}`)}, stop: reply.StopToolUse},
	{name: "unknown members before the call", tools: true, body: endedByCalls(
		withDelta(`{"tool_calls":[{"index":0,"extra_content":{"google":{"thought_signature":"s"}}}]}`), withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{}`, `{"extra_content":{"google":{"thought_signature":"s"}}}`)}, stop: reply.StopToolUse},
	{name: "unknown members without a call", tools: true, body: endedChat(sayHi, withDelta(`{"tool_calls":[{"index":0,"extra_content":{"x":1}}]}`)), text: "Hi"},
	{name: "unknown members in parts", tools: true, body: endedByCalls(
		withDelta(`{"tool_calls":[{"index":0,"id":"c1","extra_content":{"google":{"a":1,"b":[1]}},"function":{"name":"read","x":1}}]}`),
		withDelta(`{"tool_calls":[{"index":0,"extra_content":{"google":{"b":[2]},"other":"o"},"function":{"y":2,"arguments":"{}"}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{}`, `{"extra_content":{"google":{"a":1,"b":[2]},"other":"o"},"function":{"x":1,"y":2}}`)}, stop: reply.StopToolUse},
	{name: "a signature on the first of two calls", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[{"index":0,"id":"c1","extra_content":{"google":{"thought_signature":"s"}},"function":{"name":"read","arguments":"{}"}},{"index":1,"id":"c2","function":{"name":"list","arguments":"{}"}}]}`)), // Gemini 3
		blocks: []history.Block{wantCall("c1", "read", `{}`, `{"extra_content":{"google":{"thought_signature":"s"}}}`), wantCall("c2", "list", `{}`)}, stop: reply.StopToolUse},
	{name: "thinking, text and a call", tools: true, body: endedByCalls(withDelta(`{"reasoning_content":"hm"}`), sayHi, withDelta(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}]}`)),
		blocks: []history.Block{wantThought("hm", ""), text("Hi"), wantCall("c1", "read", `{}`)}, stop: reply.StopToolUse},
	{name: "empty text deltas between the pieces of a call", tools: true, body: endedByCalls(
		withDelta(`{"content":"","tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"a\":"}}]}`), withDelta(`{"content":""}`), withDelta(`{"content":null,"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}`)),
		blocks: []history.Block{wantCall("c1", "read", `{"a":1}`)}, stop: reply.StopToolUse},
	{name: "a call for a tool that was not declared", tools: true, body: endedByCalls(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"rm","arguments":"{}"}}]}`)),
		blocks: []history.Block{wantCall("c1", "rm", `{}`)}, stop: reply.StopToolUse},
	{name: "a call without a name", tools: true, body: endedChat(sayHi, withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"arguments":"{}"}}]}`)), text: "Hi"}, // open: not a call, as in Anthropic streams
}

// openAIUsages are forms of usage.
var openAIUsages = []variant{
	{name: "usage in a chunk of its own", body: asData(sayHi, saidAll, withUsage(`{"prompt_tokens":10,"completion_tokens":2}`), theEnd), text: "Hi", usage: usedTokens(10, 2, 0, 0)},
	{name: "usage with null choices", body: asData(sayHi, saidAll, `{"choices":null,"usage":{"prompt_tokens":10,"completion_tokens":2}}`, theEnd), text: "Hi", usage: usedTokens(10, 2, 0, 0)},
	{name: "usage without choices", body: asData(sayHi, saidAll, `{"usage":{"prompt_tokens":10,"completion_tokens":2}}`, theEnd), text: "Hi", usage: usedTokens(10, 2, 0, 0)},
	{name: "usage with the finish", body: asData(sayHi, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`), text: "Hi", usage: usedTokens(10, 2, 0, 0)},
	{name: "usage before the text", body: endedChat(withUsage(`{"prompt_tokens":10,"completion_tokens":2}`), sayHi), text: "Hi", usage: usedTokens(10, 2, 0, 0)},
	{name: "usage in every chunk", body: asData(
		`{"choices":[{"index":0,"delta":{"content":"Hi"}}],"usage":{"prompt_tokens":10,"completion_tokens":1}}`,
		`{"choices":[{"index":0,"delta":{"content":" you"}}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`,
		`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":3}}`, theEnd), text: "Hi you", usage: usedTokens(10, 3, 0, 0)}, // vLLM with continuous_usage_stats
	{name: "null usage after usage", body: endedChat(withUsage(`{"prompt_tokens":10,"completion_tokens":2}`), `{"choices":[{"index":0,"delta":{"content":"Hi"}}],"usage":null}`), text: "Hi", usage: usedTokens(10, 2, 0, 0)},
	{name: "usage without an end", body: asData(sayHi, saidAll, withUsage(`{"prompt_tokens":10,"completion_tokens":2}`)), text: "Hi", usage: usedTokens(10, 2, 0, 0)},
	{name: "usage after DONE", body: asData(sayHi, saidAll, theEnd, withUsage(`{"prompt_tokens":10,"completion_tokens":2}`)), text: "Hi"},
	{name: "a string as usage", body: asData(sayHi, saidAll, withUsage(`""`), theEnd), text: "Hi"}, // F02
	{name: "a list as usage", body: asData(sayHi, saidAll, withUsage(`[]`), theEnd), text: "Hi"},   // F02, servers in PHP
	{name: "a number as usage", body: asData(sayHi, saidAll, withUsage(`12`), theEnd), text: "Hi"},
	{name: "a string as usage beside text", body: endedChat(`{"choices":[{"index":0,"delta":{"content":"Hi"}}],"usage":"none"}`), text: "Hi"},
	{name: "a list as details", body: asData(sayHi, saidAll, withUsage(`{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":[],"completion_tokens_details":[]}`), theEnd), text: "Hi", usage: usedTokens(10, 2, 0, 0)}, // F02
	{name: "null as details", body: asData(sayHi, saidAll, withUsage(`{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":null}`), theEnd), text: "Hi", usage: usedTokens(10, 2, 0, 0)},
	{name: "a string as details", body: asData(sayHi, saidAll, withUsage(`{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":""}`), theEnd), text: "Hi", usage: usedTokens(10, 2, 0, 0)},
	{name: "null in details", body: asData(sayHi, saidAll, withUsage(`{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":null,"audio_tokens":null}}`), theEnd), text: "Hi", usage: usedTokens(10, 2, 0, 0)},
	{name: "strings as numbers", body: asData(sayHi, saidAll, withUsage(`{"prompt_tokens":"10","completion_tokens":"2","prompt_tokens_details":{"cached_tokens":"4"}}`), theEnd), text: "Hi", usage: usedTokens(6, 2, 4, 0)},
	{name: "fractions", body: asData(sayHi, saidAll, withUsage(`{"prompt_tokens":10.0,"completion_tokens":2.9}`), theEnd), text: "Hi", usage: usedTokens(10, 2, 0, 0)},
	{name: "exponents", body: asData(sayHi, saidAll, withUsage(`{"prompt_tokens":1.2e3,"completion_tokens":2E0}`), theEnd), text: "Hi", usage: usedTokens(1200, 2, 0, 0)},
	{name: "a fraction in a string", body: asData(sayHi, saidAll, withUsage(`{"prompt_tokens":"10.7","completion_tokens":" 2"}`), theEnd), text: "Hi", usage: usedTokens(10, 2, 0, 0)}, // open: blanks around a number
	{name: "a negative number", body: asData(sayHi, saidAll, withUsage(`{"prompt_tokens":10,"completion_tokens":-1}`), theEnd), text: "Hi", usage: usedTokens(10, 0, 0, 0)},
	{name: "a null number", body: asData(sayHi, saidAll, withUsage(`{"prompt_tokens":10,"completion_tokens":null}`), theEnd), text: "Hi", usage: usedTokens(10, 0, 0, 0)},
	{name: "words as a number", body: asData(sayHi, saidAll, withUsage(`{"prompt_tokens":10,"completion_tokens":"two","total_tokens":{}}`), theEnd), text: "Hi", usage: usedTokens(10, 0, 0, 0)},
	{name: "true as a number", body: asData(sayHi, saidAll, withUsage(`{"prompt_tokens":10,"completion_tokens":true}`), theEnd), text: "Hi", usage: usedTokens(10, 0, 0, 0)},
	{name: "only zeros", body: asData(sayHi, saidAll, withUsage(`{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`), theEnd), text: "Hi"}, // open: a request always has tokens, so nothing was reported
	{name: "an empty usage", body: asData(sayHi, saidAll, withUsage(`{}`), theEnd), text: "Hi"},                                                     // open: likewise
	{name: "all of the prompt cached", body: asData(sayHi, saidAll, withUsage(`{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":10}}`), theEnd), text: "Hi", usage: usedTokens(0, 2, 10, 0)},
	{name: "more cached than sent", body: asData(sayHi, saidAll, withUsage(`{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":50}}`), theEnd), text: "Hi", usage: usedTokens(0, 2, 10, 0)},                                                                     // open: the prompt is the bound
	{name: "written to the cache", body: asData(sayHi, saidAll, withUsage(`{"prompt_tokens":100,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":30,"cache_write_tokens":50}}`), theEnd), text: "Hi", usage: usedTokens(20, 2, 30, 50)},                                           // OpenRouter
	{name: "hits of the cache", body: asData(sayHi, saidAll, withUsage(`{"prompt_tokens":100,"completion_tokens":2,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}`), theEnd), text: "Hi", usage: usedTokens(36, 2, 64, 0)},                                                         // DeepSeek
	{name: "hits and details of the same", body: asData(sayHi, saidAll, withUsage(`{"prompt_tokens":100,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":64},"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}`), theEnd), text: "Hi", usage: usedTokens(36, 2, 64, 0)}, // DeepSeek
	{name: "zero in details beside hits", body: asData(sayHi, saidAll, withUsage(`{"prompt_tokens":100,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0},"prompt_cache_hit_tokens":64}`), theEnd), text: "Hi", usage: usedTokens(36, 2, 64, 0)},                                 // open: the largest counts
	{name: "usage in x_groq with the finish", body: asData(sayHi, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"r","usage":{"prompt_tokens":10,"completion_tokens":2}}}`, theEnd), text: "Hi", usage: usedTokens(10, 2, 0, 0)},
	{name: "x_groq of another type", body: endedChat(`{"choices":[{"index":0,"delta":{"content":"Hi"}}],"x_groq":"req_1"}`), text: "Hi"},
	{name: "usage of an answer that fails", body: asData(withUsage(`{"prompt_tokens":10,"completion_tokens":1}`), sayHi, `{"error":{"message":"boom","code":502}}`), text: "Hi", usage: usedTokens(10, 1, 0, 0), fails: failsLate(KindOverloaded, 502, "boom")},
	{name: "a number beyond all bounds", body: asData(sayHi, saidAll, withUsage(`{"prompt_tokens":1e300,"completion_tokens":2}`), theEnd), text: "Hi", usage: usedTokens(1<<40, 2, 0, 0)}, // open: bounded as before
}

// openAIEndings are ways to end.
var openAIEndings = []variant{
	{name: "a finish and DONE", body: asData(sayHi, withReason(`"stop"`), theEnd), text: "Hi"},
	{name: "a finish without DONE", body: asData(sayHi, withReason(`"stop"`)), text: "Hi"},
	{name: "a finish, then the connection breaks", broken: true, body: asData(sayHi, withReason(`"stop"`)), text: "Hi"},
	{name: "DONE, then the connection breaks", broken: true, body: asData(sayHi, withReason(`"length"`), theEnd), text: "Hi", stop: reply.StopMaxTokens},
	{name: "a finish, then half an event", broken: true, body: asData(sayHi, withReason(`"stop"`)) + `data: {"choices":[],"us`, text: "Hi"},
	{name: "a finish, then an error", body: asData(sayHi, withReason(`"stop"`), `{"error":{"message":"boom"}}`), text: "Hi"},
	{name: "a finish, then words", body: asData(sayHi, withReason(`"stop"`), "Internal Server Error"), text: "Hi"},
	{name: "a finish, then a page", body: asData(sayHi, withReason(`"stop"`)) + "<html><body>502 Bad Gateway</body></html>\n", text: "Hi"},
	{name: "DONE without a finish", body: asData(sayHi, theEnd), text: "Hi"},
	{name: "DONE without a finish after thinking", body: asData(withDelta(`{"reasoning":"hm"}`), theEnd), thinking: "hm"},
	{name: "only DONE", body: asData(theEnd), fails: failsAlways(KindTruncated, 0, "")},                                                              // open: no text was sent, so a retry may help
	{name: "DONE after a delta with a role only", body: asData(withDelta(`{"role":"assistant"}`), theEnd), fails: failsAlways(KindTruncated, 0, "")}, // open: likewise
	{name: "no end", body: asData(sayHi, sayYou), text: "Hi you", fails: failsLate(KindTruncated, 0, "")},
	{name: "no end after thinking", body: asData(withDelta(`{"reasoning_content":"hm"}`)), thinking: "hm", fails: failsLate(KindTruncated, 0, "")},
	{name: "no end and no text", body: asData(withDelta(`{"role":"assistant","content":""}`)), fails: failsAlways(KindTruncated, 0, "")},
	{name: "no end and no text, then an answer", body: asData(withDelta(`{"role":"assistant","content":""}`)), later: &variant{body: endedChat(sayHi)}, text: "Hi", tries: 2},
	{name: "the connection breaks in mid-answer", broken: true, body: asData(sayHi, sayYou), text: "Hi you", fails: failsLate(KindNetwork, 0, "")},
	{name: "the connection breaks within an event", broken: true, body: asData(sayHi) + `data: {"choices":[{"delta":{"content":" yo`, text: "Hi", fails: failsLate(KindNetwork, 0, "")},
	{name: "the connection breaks at once", broken: true, body: "", fails: failsAlways(KindNetwork, 0, "")},
	{name: "the connection breaks before the text, then an answer", broken: true, body: asData(withDelta(`{"role":"assistant"}`)), later: &variant{body: endedChat(sayHi)}, text: "Hi", tries: 2},
	{name: "an empty finish reason in each chunk", body: asData(`{"choices":[{"delta":{"content":"Hi"},"finish_reason":""}]}`, `{"choices":[{"delta":{"content":" you"},"finish_reason":""}]}`, `{"choices":[{"delta":{},"finish_reason":"length"}]}`, theEnd), text: "Hi you", stop: reply.StopMaxTokens},
	{name: "an empty finish reason only", body: asData(`{"choices":[{"delta":{"content":"Hi"},"finish_reason":""}]}`), text: "Hi", fails: failsLate(KindTruncated, 0, "")},
	{name: "null after a finish reason", body: asData(sayHi, withReason(`"length"`), withReason("null"), theEnd), text: "Hi", stop: reply.StopMaxTokens},
	{name: "an empty one after a finish reason", body: asData(sayHi, withReason(`"content_filter"`), withReason(`""`), theEnd), text: "Hi", stop: reply.StopRefusal},
	{name: "another one after a finish reason", body: asData(sayHi, withReason(`"stop"`), withReason(`"length"`), theEnd), text: "Hi", stop: reply.StopMaxTokens},
	{name: "the word null as finish reason at first", body: asData(`{"choices":[{"delta":{"content":"Hi"},"finish_reason":"null"}]}`, withReason(`"length"`), theEnd), text: "Hi", stop: reply.StopMaxTokens}, // DashScope's own format
	{name: "a list as finish reason", body: asData(sayHi, withReason(`[]`), saidAll, theEnd), text: "Hi"},
	{name: "false as finish reason", body: asData(`{"choices":[{"delta":{"content":"Hi"},"finish_reason":false}]}`, withReason(`"length"`), theEnd), text: "Hi", stop: reply.StopMaxTokens},
	{name: "length before any text", body: asData(withDelta(`{"role":"assistant"}`), withReason(`"length"`), theEnd), stop: reply.StopMaxTokens},                                                                                           // a reasoning model that used its limit for hidden thinking
	{name: "a filtered answer without text", body: asData(`{"choices":[{"index":0,"finish_reason":"content_filter","delta":{},"content_filter_results":{"hate":{"filtered":true,"severity":"high"}}}]}`, theEnd), stop: reply.StopRefusal}, // Azure
	{name: "tool_calls with stop behind", tools: true, body: asData(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}}]}`), calledTools, saidAll, theEnd), blocks: []history.Block{wantCall("c1", "read", "{}")}, stop: reply.StopToolUse},
	{name: "a native finish reason beside", body: asData(sayHi, `{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop","native_finish_reason":"MAX_TOKENS"}]}`, theEnd), text: "Hi"}, // OpenRouter; open: the translated one counts
}

// openAIErrorsInStreams are errors that come with status 200.
var openAIErrorsInStreams = []variant{
	{name: "a string as error", body: asData(`{"error":"boom"}`), fails: failsAlways(KindOverloaded, 500, "boom")},                                // F03, Ollama
	{name: "a string as error in mid-answer", body: asData(sayHi, `{"error":"boom"}`), text: "Hi", fails: failsLate(KindOverloaded, 500, "boom")}, // F03
	{name: "a string as error, then an answer", body: asData(`{"error":"boom"}`), later: &variant{body: endedChat(sayHi)}, text: "Hi", tries: 2},
	{name: "an error object", body: asData(`{"error":{"message":"boom","type":"server_error","param":null,"code":null}}`), fails: failsAlways(KindOverloaded, 500, "boom")}, // OpenAI
	{name: "an error object and DONE", body: asData(`{"error":{"message":"boom","type":"server_error"}}`, theEnd), fails: failsAlways(KindOverloaded, 500, "boom")},
	{name: "an error event", body: "event: error\ndata: {\"error\":{\"message\":\"boom\",\"code\":400}}\n\n", fails: failsOnce(KindInvalid, 400, "boom")}, // Groq
	{name: "an error event with a message alone", body: "event: error\ndata: {\"message\":\"boom\"}\n\n", fails: failsAlways(KindOverloaded, 500, "boom")},
	{name: "an error event with words", body: "event: error\ndata: boom\n\n", fails: failsAlways(KindOverloaded, 500, "boom")},
	{name: "an error event in mid-answer", body: asData(sayHi) + "event: error\ndata: {\"detail\":\"boom\"}\n\n", text: "Hi", fails: failsLate(KindOverloaded, 500, "boom")},
	{name: "a status as code", body: asData(`{"error":{"code":502,"message":"boom"}}`), fails: failsAlways(KindOverloaded, 502, "boom")}, // OpenRouter
	{name: "a status as code in a string", body: asData(`{"error":{"code":"429","message":"slow down"}}`), fails: failsAlways(KindRate, 429, "slow down")},
	{name: "an error beside choices", body: asData(sayHi, `{"id":"gen-1","provider":"X","error":{"code":502,"message":"Provider disconnected"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","native_finish_reason":"error"}]}`), text: "Hi", fails: failsLate(KindOverloaded, 502, "Provider disconnected")}, // OpenRouter
	{name: "an error of the provider behind", body: asData(`{"error":{"code":429,"message":"Provider returned error","metadata":{"raw":"{\"message\":\"upstream is full\"}","provider_name":"X"}}}`), fails: failsAlways(KindRate, 429, "Provider returned error")},                                                                  // OpenRouter
	{name: "an error only in the raw words", body: asData(`{"error":{"code":429,"metadata":{"raw":"upstream is full"}}}`), fails: failsAlways(KindRate, 429, "upstream is full")},
	{name: "a list as error", body: asData(`[{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]`), fails: failsAlways(KindOverloaded, 503, "The model is overloaded.")}, // Gemini
	{name: "a list within error", body: asData(`{"error":[{"message":"boom"}]}`), fails: failsAlways(KindOverloaded, 500, "boom")},
	{name: "errors", body: asData(`{"errors":[{"message":"boom","code":7003}],"success":false}`), fails: failsAlways(KindOverloaded, 500, "boom")}, // Cloudflare
	{name: "errors as strings", body: asData(`{"errors":["boom"]}`), fails: failsAlways(KindOverloaded, 500, "boom")},
	{name: "an object error", body: asData(`{"object":"error","message":"boom","type":"BadRequestError","param":null,"code":400}`), fails: failsOnce(KindInvalid, 400, "boom")},                           // vLLM, SGLang
	{name: "an object error within", body: asData(`{"error":{"object":"error","message":"boom","type":"InternalServerError","param":null,"code":500}}`), fails: failsAlways(KindOverloaded, 500, "boom")}, // vLLM
	{name: "an object error without a code", body: asData(sayHi, `{"object":"error","message":"boom"}`), text: "Hi", fails: failsLate(KindOverloaded, 500, "boom")},
	{name: "a detail", body: asData(`{"detail":"boom"}`), fails: failsAlways(KindOverloaded, 500, "boom")}, // FastAPI
	{name: "details of a validation", body: asData(`{"detail":[{"loc":["body","messages",0,"role"],"msg":"field required","type":"value_error.missing"}]}`), fails: failsAlways(KindOverloaded, 500, "field required")},
	{name: "a msg", body: asData(`{"code":500,"msg":"boom","success":false}`), fails: failsAlways(KindOverloaded, 500, "boom")},  // Z.ai's gateway
	{name: "a message and a status", body: asData(`{"message":"boom","status":429}`), fails: failsAlways(KindRate, 429, "boom")}, // open: status as a code
	{name: "a message within a message", body: asData(`{"error":{"message":{"detail":"boom"}}}`), fails: failsAlways(KindOverloaded, 500, "boom")},
	{name: "an error with a type", body: asData(`{"error":"Request failed during generation: out of memory","error_type":"generation"}`), fails: failsAlways(KindOverloaded, 500, "out of memory")}, // TGI
	{name: "words", body: asData("upstream connect error or disconnect/reset before headers"), fails: failsAlways(KindOverloaded, 500, "upstream connect error")},                                   // Envoy
	{name: "words in mid-answer", body: asData(sayHi, "Internal Server Error"), text: "Hi", fails: failsLate(KindOverloaded, 500, "Internal Server Error")},
	{name: "a JSON string", body: asData(`"boom"`), fails: failsAlways(KindOverloaded, 500, "boom")},
	{name: "a JSON string in mid-answer", body: asData(sayHi, `"boom"`), text: "Hi", fails: failsLate(KindOverloaded, 500, "boom")},
	{name: "an error field", body: asData(sayHi) + `error: {"code":500,"message":"boom","type":"server_error"}` + "\n\n", text: "Hi", fails: failsLate(KindOverloaded, 500, "boom")},                                                                                                                             // llama.cpp before 2025; open: no field of the standard
	{name: "an error field and DONE", body: `error: {"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"invalid_request_error"}` + "\n\n" + asData(theEnd), fails: tooLong(400, 0, 0, "exceeds the available context size")}, // llama.cpp before its error events
	{name: "an error event with the message twice", body: "event: error\ndata: {\"error\":{\"message\":\"Compute error.\"},\"message\":\"Compute error.\"}\n\n", fails: failsAlways(KindOverloaded, 500, "Compute error.")},                                                                                      // LM Studio
	{name: "a control character as event", body: asData("\x01"), fails: failsAlways(KindOverloaded, 500, "")},
	{name: "a control character after the finish", body: asData(sayHi, saidAll, "\x01"), text: "Hi"},
	{name: "a wrong key", body: asData(`{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}`), fails: failsOnce(KindAuth, 401, "Incorrect API key provided")},
	{name: "no money", body: asData(`{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`), fails: failsOnce(KindQuota, anyStatus, "You exceeded your current quota")},
	{name: "a rate limit", body: asData(`{"error":{"message":"Rate limit reached","type":"tokens","code":"rate_limit_exceeded"}}`), fails: failsAlways(KindRate, 429, "Rate limit reached")},
	{name: "a rate limit by its type", body: asData(`{"error":{"message":"Rate limit reached","type":"requests","code":null}}`), fails: failsAlways(KindRate, 429, "Rate limit reached")},
	{name: "an unknown model", body: asData(`{"error":{"message":"The model does not exist","type":"invalid_request_error","code":"model_not_found"}}`), fails: failsOnce(KindInvalid, 404, "The model does not exist")},
	{name: "an invalid request", body: asData(`{"error":{"message":"boom","type":"invalid_request_error","code":null}}`), fails: failsOnce(KindInvalid, 400, "boom")},
	{name: "a code of its own", body: asData(`{"error":{"code":"1302","message":"boom"}}`), fails: failsAlways(KindOverloaded, 500, "boom")}, // Z.ai: no HTTP status
	{name: "an error without words", body: asData(`{"error":{"code":503}}`), fails: failsAlways(KindOverloaded, 503, "")},
	{name: "an error of MiniMax", body: asData(`{"id":"1","choices":null,"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`), fails: failsAlways(KindOverloaded, 500, "insufficient balance")}, // open: a form that only MiniMax has
	{name: "null as error", body: endedChat(`{"error":null,"choices":[{"index":0,"delta":{"content":"Hi"}}]}`), text: "Hi"},
	{name: "an empty object as error", body: endedChat(`{"error":{},"choices":[{"index":0,"delta":{"content":"Hi"}}]}`), text: "Hi"},
	{name: "an empty string as error", body: endedChat(`{"error":"","choices":[{"index":0,"delta":{"content":"Hi"}}]}`), text: "Hi"},
	{name: "false as error", body: endedChat(`{"error":false,"choices":[{"index":0,"delta":{"content":"Hi"}}]}`), text: "Hi"},
	{name: "null as detail and message", body: endedChat(`{"detail":null,"message":null,"msg":"","errors":[],"choices":[{"index":0,"delta":{"content":"Hi"}}]}`), text: "Hi"},
	{name: "a message beside choices", body: endedChat(`{"message":"ok","code":0,"choices":[{"index":0,"delta":{"content":"Hi"}}]}`), text: "Hi"}, // open: because of its choices, it is not an error
	{name: "an error after text and usage", body: asData(sayHi, withUsage(`{"prompt_tokens":3,"completion_tokens":1}`), `{"error":{"message":"boom","type":"overloaded_error"}}`), text: "Hi", usage: usedTokens(3, 1, 0, 0), fails: failsLate(KindOverloaded, 529, "boom")},
	{name: "a context error in the stream", body: asData(`{"error":{"code":"context_length_exceeded","message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.","type":"invalid_request_error"}}`), fails: tooLong(400, 8192, 9000, "maximum context length")},
	{name: "a JSON error as event stream", body: `{"error":{"message":"boom","type":"invalid_request_error"}}`, fails: failsOnce(KindInvalid, 400, "boom")}, // F03
	{name: "a JSON error as event stream over lines", body: "{\n  \"error\": {\n    \"message\": \"boom\",\n    \"code\": 503\n  }\n}\n", fails: failsAlways(KindOverloaded, 503, "boom")},
	{name: "words as event stream", body: "no healthy upstream", fails: failsAlways(KindOverloaded, 500, "no healthy upstream")}, // Envoy; open: a line that is not a field
}

// openAIBodies are JSON and other bodies with status 200.
var openAIBodies = []variant{
	{name: "a whole completion", typ: "application/json", body: `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,"prompt_tokens_details":{"cached_tokens":4}}}`, text: "Hi", usage: usedTokens(6, 2, 4, 0)}, // proxies that do not stream, F07
	{name: "a whole completion with thinking and calls", typ: "application/json; charset=utf-8", tools: true, body: `{"object":"chat.completion","choices":[{"message":{"role":"assistant","reasoning_content":"hm","content":"Hi","tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"a\":1}"}}]},"finish_reason":"tool_calls"}]}`,
		blocks: []history.Block{wantThought("hm", ""), text("Hi"), wantCall("c1", "read", `{"a":1}`)}, stop: reply.StopToolUse},
	{name: "a whole completion with invalid UTF-8", typ: "application/json", tools: true, body: "{\"object\":\"chat.completion\",\"choices\":[{\"message\":{\"content\":\"a\xffb\",\"tool_calls\":[{\"id\":\"c1\",\"x\":\"\xff\",\"function\":{\"name\":\"read\",\"arguments\":{\"a\xff\":1}}}]},\"finish_reason\":\"tool_calls\"}]}",
		blocks: []history.Block{text("a\uFFFDb"), wantCall("c1", "read", "{\"a\uFFFD\":1}", `{"x":"\ufffd"}`)}, stop: reply.StopToolUse},
	{name: "a whole completion cut by the limit", typ: "application/json", body: "{\n  \"object\": \"chat.completion\",\n  \"choices\": [\n    {\"message\": {\"content\": \"Hi\"}, \"finish_reason\": \"length\"}\n  ]\n}\n", text: "Hi", stop: reply.StopMaxTokens},
	{name: "a whole completion with parts", typ: "application/json", body: `{"object":"chat.completion","choices":[{"message":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"Hi"}]},"finish_reason":"stop"}]}`, thinking: "hm", text: "Hi"},
	{name: "a whole completion without a reason", typ: "application/json", body: `{"object":"chat.completion","choices":[{"message":{"content":"Hi"},"finish_reason":null}]}`, text: "Hi"},                                                                    // open: the object is complete
	{name: "a whole completion as event stream", body: `{"object":"chat.completion","choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`, text: "Hi", usage: usedTokens(3, 1, 0, 0)}, // open
	{name: "a whole completion that was aborted", typ: "application/json", body: `{"object":"chat.completion","choices":[{"message":{"content":""},"finish_reason":"abort"}]}`, fails: failsAlways(kindBroken, anyStatus, "")},
	{name: "a JSON error with status 200", typ: "application/json", body: `{"error":{"message":"boom","type":"invalid_request_error","code":null}}`, fails: failsOnce(KindInvalid, 400, "boom")}, // F07
	{name: "a JSON error without a type", typ: "application/json", body: `{"error":{"message":"boom"}}`, fails: failsAlways(KindOverloaded, 500, "boom")},
	{name: "a JSON error with a status within", typ: "application/json", body: `{"error":{"message":"No endpoints found","code":404},"user_id":"u"}`, fails: failsOnce(KindInvalid, 404, "No endpoints found")}, // OpenRouter
	{name: "a JSON error as a string", typ: "application/json", body: `{"error":"boom"}`, fails: failsAlways(KindOverloaded, 500, "boom")},
	{name: "a JSON detail with status 200", typ: "application/json", body: `{"detail":"boom"}`, fails: failsAlways(KindOverloaded, 500, "boom")},
	{name: "a JSON error with status 200, then an answer", typ: "application/json", body: `{"error":{"message":"busy","code":503}}`, later: &variant{body: endedChat(sayHi)}, text: "Hi", tries: 2},
	{name: "a page with status 200", typ: "text/html; charset=utf-8", body: "<!DOCTYPE html>\n<html><head><title>Sign in to the network</title></head><body><p>" + secretWords + "</p></body></html>", fails: failsOnce(KindInvalid, anyStatus, "Sign in to the network")},
	{name: "a page without a title", typ: "text/html", body: "<html><body><h1>Hello</h1></body></html>", fails: failsOnce(KindInvalid, anyStatus, "")},
	{name: "half a JSON body", typ: "application/json", body: `{"object":"chat.completion","choices":[{"message":{"content":"Hi`, fails: failsAlways(KindTruncated, 0, "")}, // open: like half an event
	{name: "an empty JSON body", typ: "application/json", body: "", fails: failsAlways(KindTruncated, 0, "")},                                                               // open
}

// secretWords must never appear in an error.
const secretWords = "all that the page says"

// openAIErrorBodies are bodies with an error status.
var openAIErrorBodies = []variant{
	{name: "400 with an error object", status: 400, typ: "application/json", body: `{"error":{"message":"Invalid value: 'x'","type":"invalid_request_error","param":"messages[0].role","code":"invalid_value"}}`, fails: failsOnce(KindInvalid, 400, "Invalid value: 'x'")},
	{name: "400 with a list", status: 400, typ: "application/json; charset=UTF-8", body: `[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo"}]}}]`, fails: failsOnce(KindInvalid, 400, "API key not valid.")}, // Gemini, F03
	{name: "400 with a string as error", status: 400, typ: "application/json", body: `{"error":"boom"}`, fails: failsOnce(KindInvalid, 400, "boom")},
	{name: "400 with an object error", status: 400, typ: "application/json", body: `{"object":"error","message":"boom","type":"BadRequestError","param":null,"code":400}`, fails: failsOnce(KindInvalid, 400, "boom")}, // vLLM, F03
	{name: "400 with a detail", status: 400, typ: "application/json", body: `{"detail":"boom"}`, fails: failsOnce(KindInvalid, 400, "boom")},                                                                           // F03
	{name: "400 with words", status: 400, typ: "text/plain", body: "boom\n", fails: failsOnce(KindInvalid, 400, "boom")},                                                                                               // F03
	{name: "400 with a JSON string", status: 400, typ: "application/json", body: `"boom"`, fails: failsOnce(KindInvalid, 400, "boom")},
	{name: "400 with a message", status: 400, typ: "application/json", body: `{"message":"boom","request_id":"r"}`, fails: failsOnce(KindInvalid, 400, "boom")},
	{name: "400 as an event", status: 400, body: asData(`{"error":{"message":"boom"}}`), fails: failsOnce(KindInvalid, 400, "boom")},
	{name: "400 as an error event", status: 400, body: "event: error\ndata: {\"error\":{\"message\":\"boom\"}}\n\n", fails: failsOnce(KindInvalid, 400, "boom")},
	{name: "400 without a content type", status: 400, typ: noType, body: `{"error":{"message":"boom"}}`, fails: failsOnce(KindInvalid, 400, "boom")},
	{name: "400 with JSON as HTML", status: 400, typ: "text/html", body: `{"error":{"message":"boom"}}`, fails: failsOnce(KindInvalid, 400, "boom")},
	{name: "400 with a string in metadata", status: 400, typ: "application/json", body: `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"type\":\"error\"}","provider_name":"X"}}}`, fails: failsOnce(KindInvalid, 400, "Provider returned error")}, // OpenRouter
	{name: "400 of LiteLLM", status: 400, typ: "application/json", body: `{"error":{"message":"litellm.BadRequestError: boom. Received Model Group=m","type":null,"param":null,"code":"400"}}`, fails: failsOnce(KindInvalid, 400, "litellm.BadRequestError: boom")},
	{name: "400 with null as error", status: 400, typ: "application/json", body: `{"error":null,"message":"boom"}`, fails: failsOnce(KindInvalid, 400, "boom")},
	{name: "400 with an empty object", status: 400, typ: "application/json", body: `{}`, fails: failsOnce(KindInvalid, 400, "Bad Request")},
	{name: "401 with words", status: 401, typ: "text/plain", body: "Unauthorized: no valid token", fails: failsOnce(KindAuth, 401, "no valid token")},
	{name: "401 with a detail", status: 401, typ: "application/json", body: `{"detail":"Invalid token"}`, fails: failsOnce(KindAuth, 401, "Invalid token")},
	{name: "402 with money gone", status: 402, typ: "application/json", body: `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`, fails: failsOnce(KindQuota, 402, "Insufficient Balance")}, // DeepSeek
	{name: "403 with a msg", status: 403, typ: "application/json", body: `{"code":403,"msg":"region not supported"}`, fails: failsOnce(KindAuth, 403, "region not supported")},
	{name: "404 of Azure", status: 404, typ: "application/json", body: `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`, fails: failsOnce(KindInvalid, 404, "deployment for this resource")},
	{name: "404 of Ollama", status: 404, typ: "application/json", body: `{"error":{"message":"model \"x\" not found, try pulling it first","type":"api_error","param":null,"code":null}}`, fails: failsOnce(KindInvalid, 404, `model "x" not found`)},
	{name: "422 of FastAPI", status: 422, typ: "application/json", body: `{"detail":[{"type":"missing","loc":["body","model"],"msg":"Field required","input":{}}]}`, fails: failsOnce(KindInvalid, 422, "Field required")}, // Mistral too
	{name: "422 of Mistral", status: 422, typ: "application/json", body: `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","foo"],"msg":"Extra inputs are not permitted"}]},"type":"invalid_request_error","param":null,"code":null}`, fails: failsOnce(KindInvalid, 422, "Extra inputs are not permitted")},
	{name: "429 with no quota", status: 429, typ: "application/json", body: `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, fails: failsOnce(KindQuota, 429, "You exceeded your current quota")},
	{name: "429 with no quota in the type", status: 429, typ: "application/json", body: `{"error":{"message":"no quota","type":"insufficient_quota"}}`, fails: failsOnce(KindQuota, 429, "no quota")},
	{name: "429 of Gemini", status: 429, typ: "application/json", body: `[{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}]`, fails: failsAlways(KindRate, 429, "Resource has been exhausted")},
	{name: "429 of Mistral", status: 429, typ: "application/json", body: `{"object":"error","message":"Service tier capacity exceeded for this model.","type":"service_tier_capacity_exceeded","param":null,"code":"3505"}`, fails: failsAlways(KindRate, 429, "capacity exceeded")},
	{name: "429 with words, then an answer", status: 429, typ: "text/plain", body: "slow down", later: &variant{body: endedChat(sayHi)}, text: "Hi", tries: 2},
	{name: "413 of Groq", status: 413, typ: "application/json", body: `{"error":{"message":"Request too large for model m on tokens per minute (TPM): Limit 6000, Requested 7500","type":"tokens","code":"rate_limit_exceeded"}}`, fails: failsOnce(KindInvalid, 413, "Request too large")}, // open: not a limit of the model's context
	{name: "413 of a proxy", status: 413, typ: "text/html", body: "<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body>\r\n<center><h1>413 Request Entity Too Large</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n", fails: failsOnce(KindInvalid, 413, "413 Request Entity Too Large")},
	{name: "500 of Ollama", status: 500, typ: "application/json", body: `{"error":{"message":"llama runner process has terminated: exit status 2","type":"api_error","param":null,"code":null}}`, fails: failsAlways(KindOverloaded, 500, "llama runner process has terminated")},
	{name: "500 of a framework", status: 500, typ: "text/plain; charset=utf-8", body: "Internal Server Error", fails: failsAlways(KindOverloaded, 500, "Internal Server Error")},
	{name: "502 of nginx", status: 502, typ: "text/html", body: "<html>\n<head><title>502 Bad Gateway</title></head>\n<body><center><h1>502 Bad Gateway</h1></center><p>" + secretWords + "</p></body>\n</html>\n", fails: failsAlways(KindOverloaded, 502, "502 Bad Gateway")},
	{name: "502 with a page without a title", status: 502, typ: "text/html", body: "<HTML><BODY>" + secretWords + "</BODY></HTML>", fails: failsAlways(KindOverloaded, 502, "Bad Gateway")},
	{name: "502 with a page as octets", status: 502, typ: "application/octet-stream", body: "<!DOCTYPE html><html><head><TITLE>\n Oops &amp; sorry \n</TITLE></head><body>" + secretWords + "</body></html>", fails: failsAlways(KindOverloaded, 502, "Oops & sorry")}, // open: found by its start
	{name: "503 of Envoy", status: 503, typ: "text/plain", body: "upstream connect error or disconnect/reset before headers. reset reason: connection termination", fails: failsAlways(KindOverloaded, 503, "reset reason: connection termination")},
	{name: "503 of llama.cpp", status: 503, typ: "application/json; charset=utf-8", body: `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, fails: failsAlways(KindOverloaded, 503, "Loading model")},
	{name: "503 of llama.cpp, then an answer", status: 503, typ: "application/json; charset=utf-8", body: `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, later: &variant{body: endedChat(sayHi)}, text: "Hi", tries: 2},
	{name: "503 with errors", status: 503, typ: "application/json", body: `{"result":null,"success":false,"errors":[{"code":3040,"message":"Capacity temporarily exceeded"}],"messages":[]}`, fails: failsAlways(KindOverloaded, 503, "Capacity temporarily exceeded")}, // Workers AI
	{name: "524 of Cloudflare", status: 524, typ: "text/html; charset=UTF-8", body: "<!DOCTYPE html>\n<!--[if lt IE 7]> <html class=\"no-js ie6 oldie\"> <![endif]-->\n<head>\n<title>example.org | 524: A timeout occurred</title>\n</head><body>" + secretWords + "</body></html>", fails: failsAlways(KindOverloaded, 524, "524: A timeout occurred")},
	{name: "520 with words", status: 520, typ: "text/plain", body: "error code: 520", fails: failsAlways(KindOverloaded, 520, "error code: 520")}, // Cloudflare
	{name: "a redirect", status: 302, typ: "text/html", body: "<a href=\"/login\">Found</a>.", fails: failsOnce(KindInvalid, 302, "")},            // a login page of a proxy
	{name: "500 with words of 100 kB", status: 500, typ: "text/plain", body: "boom " + largeText, fails: failsAlways(KindOverloaded, 500, "boom")},
	{name: "500 with bytes that are no text", status: 500, typ: "application/octet-stream", body: "bo\x00o\xff\xfem", fails: failsAlways(KindOverloaded, 500, "")},
}

// contextErrors are errors for a request that is too long, in the forms of all providers, because proxies pass them on.
var contextErrors = []variant{
	{name: "context of OpenAI", status: 400, typ: "application/json", body: `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`,
		fails: tooLong(400, 8192, 9000, "maximum context length is 8192 tokens")},
	{name: "context by its code alone", status: 400, typ: "application/json", body: `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`, // OpenAI
		fails: tooLong(400, 0, 0, "exceeds the context window")},
	{name: "context of vLLM", status: 400, typ: "application/json", body: `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages, Please reduce the length of the messages.","type":"BadRequestError","param":null,"code":400}`,
		fails: tooLong(400, 4096, 5000, "maximum context length is 4096 tokens")},
	{name: "context of DeepSeek", status: 400, typ: "application/json", body: `{"error":{"message":"This model's maximum context length is 65536 tokens. However, you requested 70000 tokens (66000 in the messages, 4000 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`,
		fails: tooLong(400, 65536, 66000, "maximum context length")}, // open: the request alone, without the reserve for its reply
	{name: "context of llama.cpp", status: 400, typ: "application/json", body: `{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}`,
		fails: tooLong(400, 8192, 9000, "exceeds the available context size")},
	{name: "context of llama.cpp in numbers only", status: 400, typ: "application/json", body: `{"error":{"code":400,"message":"the request is too large","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}`,
		fails: tooLong(400, 8192, 9000, "the request is too large")},
	{name: "context of llama.cpp, old", status: 500, typ: "application/json", body: `{"error":{"code":500,"message":"the request exceeds the available context size (8192 tokens). try increasing the context size or enable context shift","type":"server_error"}}`,
		fails: tooLong(500, 8192, 0, "exceeds the available context size")},
	{name: "context of Anthropic", status: 400, typ: "application/json", body: `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"},"request_id":"req_1"}`,
		fails: tooLong(400, 200000, 208310, "prompt is too long")},
	{name: "context of Anthropic with the output", status: 400, typ: "application/json", body: `{"type":"error","error":{"type":"invalid_request_error","message":"input length and ` + "`max_tokens`" + ` exceed context limit: 180000 + 32000 > 200000, decrease input length or ` + "`max_tokens`" + ` and try again"}}`,
		fails: tooLong(400, 200000, 180000, "exceed context limit")},
	{name: "context of Gemini", status: 400, typ: "application/json", body: `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`,
		fails: tooLong(400, 1048576, 1200000, "exceeds the maximum number of tokens allowed")},
	{name: "context of xAI", status: 400, typ: "application/json", body: `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 150000 tokens."}`,
		fails: tooLong(400, 131072, 150000, "maximum prompt length is 131072")},
	{name: "context of Mistral", status: 400, typ: "application/json", body: `{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt","param":null,"code":"3051"}`,
		fails: tooLong(400, 32768, 40000, "32768 maximum context length")},
	{name: "context of TGI", status: 422, typ: "application/json", body: `{"error":"Input validation error: ` + "`inputs` tokens + `max_new_tokens`" + ` must be <= 8193. Given: 9000 ` + "`inputs` tokens and 512 `max_new_tokens`" + `","error_type":"validation"}`,
		fails: tooLong(422, 8193, 9000, "must be <= 8193")}, // Together too
	{name: "context of Bedrock", status: 400, typ: "application/json", body: `{"message":"Input is too long for requested model."}`,
		fails: tooLong(400, 0, 0, "Input is too long for requested model")},
	{name: "context of LM Studio", status: 400, typ: "application/json", body: `{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input"}`,
		fails: tooLong(400, 4096, 5000, "context length of only 4096 tokens")}, // open: the first number of tokens is that of the request
	{name: "context of LiteLLM", status: 400, typ: "application/json", body: `{"error":{"message":"litellm.ContextWindowExceededError: litellm.BadRequestError: OpenAIException - This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.","type":null,"param":null,"code":"400"}}`,
		fails: tooLong(400, 8192, 9000, "ContextWindowExceededError")},
	{name: "context with separators", status: 400, typ: "application/json", body: `{"error":{"message":"prompt is too long: 208,310 tokens > 200,000 maximum"}}`,
		fails: tooLong(400, 200000, 208310, "prompt is too long")}, // open: digits with separators
	{name: "context in plain words", status: 400, typ: "text/plain", body: "This model's maximum context length is 8192 tokens", fails: tooLong(400, 8192, 0, "8192")},
	{name: "413 with a context error", status: 413, typ: "application/json", body: `{"error":{"message":"prompt is too long: 1001 tokens > 1000 maximum","type":"request_too_large"}}`, fails: tooLong(413, 1000, 1001, "prompt is too long")},
}

// openAIVariants are all handwritten variants of the kind.
func openAIVariants() (out []variant) {
	for _, group := range [][]variant{openAIDialects, openAIFrames, openAITexts, openAICalls, openAIUsages, openAIEndings,
		openAIErrorsInStreams, openAIBodies, openAIErrorBodies, contextErrors} {
		out = append(out, group...)
	}
	return out
}

func openAIReasons() []variant {
	return reasonVariants(
		func(reason string) string { return asData(sayHi, withReason(reason), theEnd) },
		func(reason string) string {
			return asData(withDelta(`{"role":"assistant","content":""}`), withReason(reason), theEnd)
		},
		func(reason string) string {
			return asData(withDelta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}}]}`), withReason(reason), theEnd)
		})
}

func TestOpenAIStreams(t *testing.T) {
	variants := openAIVariants()
	checkMatrixIsLarge(t, variants, 300)
	checkMatrix(t, OpenAI, variants)
}

func TestOpenAIFinishReasons(t *testing.T) { checkMatrix(t, OpenAI, openAIReasons()) }

func TestOpenAIStatuses(t *testing.T) { checkMatrix(t, OpenAI, statusVariants(endedChat(sayHi))) }

func TestOpenAIStreamsByteByByte(t *testing.T) { checkMatrixByteByByte(t, OpenAI, openAIVariants()) }

func TestOpenAIStreamsInAllWritings(t *testing.T) {
	checkMatrixInAllWritings(t, OpenAI, openAIVariants())
}

func FuzzOpenAIStream(f *testing.F) { fuzzStream(f, OpenAI, openAIVariants()) }
