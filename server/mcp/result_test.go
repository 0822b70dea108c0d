package mcp

import (
	"encoding/base64"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"strata/history"
	"strata/session/servers"
)

// pixel is a PNG image of one pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func TestResultsBecomeTextsAndImages(t *testing.T) {
	png, err := base64.StdEncoding.DecodeString(pixel)
	must(t, err)
	text := func(s string) history.Block { return history.Block{Type: history.BlockText, Text: s} }
	image := history.Block{Type: history.BlockImage, MIME: "image/png", Data: png, Width: 1, Height: 1}
	large := `"` + strings.Repeat("A", (maxImage+3)/3*4) + `"`
	u := take(t, hostOf(t, nil), actor(t, "in-order"), servers.Place{})
	u.ready()
	for result, want := range map[string]servers.Result{
		`{}`:             {},
		`null`:           {},
		`{"content":[]}`: {},
		`{"content":[{"type":"text","text":"a"},{"type":"text","text":""},{"type":"text","text":"b"}],"isError":true}`: {Content: []history.Block{text("a"), text("b")}, IsError: true},
		`{"content":[{"type":"image","mimeType":"image/jpeg","data":"` + pixel + `"}]}`:                                {Content: []history.Block{image}},
		`{"content":[{"type":"image","mimeType":"image/svg+xml","data":"AAAA"},{"type":"image","data":""}]}`: {Content: []history.Block{
			text("[image omitted: image/svg+xml is not supported]"), text("[image omitted: it is empty]")}},
		`{"content":[` + strings.TrimSuffix(strings.Repeat(`{"type":"image","data":"`+pixel+`"},`, 5), ",") + `]}`: {Content: []history.Block{image, image, image, image, text("[image omitted: the result has more than 4]")}},
		`{"content":[{"type":"image","mimeType":"image/png","data":` + large + `}]}`:                               {Content: []history.Block{text("[image omitted: image/png, 5242881 bytes exceeds the limit of 5242880]")}},
		`{"content":[{"type":"audio","mimeType":"audio/wav","data":"AAAA"}]}`:                                      {Content: []history.Block{text("[audio omitted: audio/wav, 3 bytes]")}},
		`{"content":[{"type":"resource_link","name":"readme","uri":"file:///r"}]}`:                                 {Content: []history.Block{text("readme: file:///r")}},
		`{"content":[{"type":"resource","resource":{"uri":"file:///r","text":"abc"}}]}`:                            {Content: []history.Block{text("file:///r:\nabc")}},
		`{"content":[{"type":"resource","resource":{"uri":"file:///r","blob":"AAAA"}}]}`:                           {Content: []history.Block{text("[resource omitted: file:///r, application/octet-stream, 3 bytes]")}},
		`{"content":[{"type":"resource"}]}`:                                                                        {Content: []history.Block{text("[empty resource omitted]")}},
		`{"content":[{"type":"text","text":"a"},{"type":"hologram"},null,5,{"type":"image","data":"%%%"},{"type":"text","text":7}]}`: {Content: []history.Block{
			text("a"), text(`[content omitted: "hologram" cannot be read]`), text(`[content omitted: "unknown type" cannot be read]`), text(`[content omitted: "unknown type" cannot be read]`),
			text(`[content omitted: "image" cannot be read]`), text(`[content omitted: "text" cannot be read]`)}},
		`{"content":[{"type":"text","text":"a"}],"inputRequests":{"b":null}}`:                                                         {Content: []history.Block{text("a")}},
		`{"content":[],"resultType":"input_required","inputRequests":{"b":{"method":"elicitation/create","params":{"message":"?"}}}}`: {Content: []history.Block{text("[the MCP server asks for input, which is not supported]")}, IsError: true},
		`{"content":"text"}`:            {},
		`{"structuredContent":{"a":1}}`: {Content: []history.Block{text(`{"a":1}`)}},
		`{"content":[{"type":"text","text":"{\"a\": 17, \"b\": \"x\\ny\"}"}],"structuredContent":{"a":17,"b":"x\ny"}}`: {Content: []history.Block{text(`{"a": 17, "b": "x\ny"}`)}},
		`{"content":[{"type":"text","text":"x\ny"}],"structuredContent":{"content":"x\ny","ok":true}}`:                 {Content: []history.Block{text("x\ny")}},
		`{"content":[{"type":"text","text":"done"}],"structuredContent":{"names":["a1"]}}`:                             {Content: []history.Block{text("done"), text(`{"names":["a1"]}`)}},
		"{\"content\":[{\"type\":\"text\",\"text\":\"a\xff\\ud800b\"}]}":                                               {Content: []history.Block{text("a\uFFFD\uFFFDb")}},
	} {
		r, err := u.run(t.Context(), "result", members{"json": result}, func(string) {})
		must(t, err)
		equal(t, result[:min(len(result), 200)], r, want)
	}
}

func TestTheTextsOfAResultAreBounded(t *testing.T) {
	part := &sdk.TextContent{Text: strings.Repeat("ü", 300<<10)}
	r := resultOf(&sdk.CallToolResult{Content: []sdk.Content{part, part, part}})
	text := textOf(r.Content)
	if len(text) > maxText+100 {
		t.Errorf("%d bytes", len(text))
	}
	hasAll(t, text[len(text)-100:], "rest omitted")

	var many []sdk.Content
	for range maxParts + 10 {
		many = append(many, &sdk.TextContent{Text: "x"})
	}
	r = resultOf(&sdk.CallToolResult{Content: many})
	equal(t, "last text", r.Content[len(r.Content)-1].Text, "[10 more contents omitted]")
	equal(t, "number of texts", len(r.Content), maxParts+1)
}

func TestManyValuesAreNotLookedFor(t *testing.T) {
	var many []any
	for range maxCompared + 1 {
		many = append(many, "a")
	}
	equal(t, "all", tells("a", many[1:]), true)
	equal(t, "one more", tells("a", many), false)
}
