package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	_ "image/gif" // for the sizes of images
	_ "image/jpeg"
	_ "image/png"
	"net/http"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"strata/history"
	"strata/internal/clip"
	"strata/internal/plural"
	"strata/session/servers"
)

// The bounds of a result.
const (
	maxText   = 1 << 20 // bytes of all texts together
	maxImages = 4
	maxImage  = 5 << 20 // bytes
	maxParts  = 1000    // contents
)

// resultOf returns the texts and images of a result. A text names what cannot be shown.
func resultOf(r *sdk.CallToolResult) servers.Result {
	if r == nil {
		return servers.Result{}
	}
	var b builder
	for _, content := range r.Content[:min(len(r.Content), maxParts)] {
		b.add(content)
	}
	if extra := len(r.Content) - maxParts; extra > 0 {
		b.note("%d more contents omitted", extra)
	}
	if r.StructuredContent != nil && !tells(b.joined(), r.StructuredContent) {
		b.structured(r.StructuredContent)
	}
	if r.NeedsInput() {
		b.note("the MCP server asks for input, which is not supported")
	}
	return servers.Result{Content: b.blocks, IsError: r.IsError || r.NeedsInput()}
}

// imageTypes are the types of images that models can see.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// builder makes the blocks of a result.
type builder struct {
	blocks []history.Block
	size   int  // of the texts, in bytes
	full   bool // a text did not fit
	images int
}

// joined returns all texts.
func (b *builder) joined() string {
	var all strings.Builder
	for _, block := range b.blocks {
		all.WriteString(block.Text)
		all.WriteByte('\n')
	}
	return all.String()
}

func (b *builder) add(content sdk.Content) {
	switch c := content.(type) {
	case *sdk.TextContent:
		b.text(c.Text)
	case *sdk.ImageContent:
		b.image(c)
	case *sdk.AudioContent:
		b.note("audio omitted: %s, %s", kind(c.MIMEType), plural.Of(len(c.Data), "byte"))
	case *sdk.ResourceLink:
		b.text(c.Name + ": " + c.URI)
	case *sdk.EmbeddedResource:
		b.resource(c.Resource)
	default:
		b.note("content of an unknown type omitted")
	}
}

// text adds a text as far as it fits.
func (b *builder) text(text string) {
	if b.full || text == "" {
		return
	}
	text = valid(text)
	if room := maxText - b.size; len(text) > room {
		b.full = true
		text = clip.Bytes(text, room) + "\n[rest omitted: the texts exceed 1 MiB]"
	}
	b.size += len(text)
	b.blocks = append(b.blocks, history.Block{Type: history.BlockText, Text: text})
}

func (b *builder) note(format string, args ...any) { b.text("[" + fmt.Sprintf(format, args...) + "]") }

func (b *builder) image(c *sdk.ImageContent) {
	switch {
	case len(c.Data) == 0:
		b.note("image omitted: it is empty")
	case len(c.Data) > maxImage:
		b.note("image omitted: %s, %d bytes exceeds the limit of %d", kind(c.MIMEType), len(c.Data), maxImage)
	case b.images == maxImages:
		b.note("image omitted: the result has more than %d", maxImages)
	case !slices.Contains(imageTypes, http.DetectContentType(c.Data)):
		b.note("image omitted: %s is not supported", kind(c.MIMEType))
	default:
		b.images++
		b.blocks = append(b.blocks, picture(c.Data))
	}
}

// picture returns the block of an image, whose type is that of its bytes.
func picture(data []byte) history.Block {
	size, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		size = image.Config{}
	}
	return history.Block{
		Type: history.BlockImage, MIME: http.DetectContentType(data), Data: data, Width: size.Width, Height: size.Height,
	}
}

func (b *builder) resource(r *sdk.ResourceContents) {
	switch {
	case r == nil:
		b.note("empty resource omitted")
	case r.Blob != nil:
		b.note("resource omitted: %s, %s, %s", clip.Line(valid(r.URI), 1000), kind(r.MIMEType), plural.Of(len(r.Blob), "byte"))
	default:
		b.text(r.URI + ":\n" + r.Text)
	}
}

// structured adds the structured content of a result as JSON.
func (b *builder) structured(content any) {
	if data, err := json.Marshal(content); err == nil {
		b.text(string(data))
	}
}

// kind returns a server's MIME type, truncated.
func kind(mime string) string {
	if mime == "" {
		return "application/octet-stream"
	}
	return clip.Line(valid(mime), 100)
}
