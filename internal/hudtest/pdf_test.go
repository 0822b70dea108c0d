package hudtest

import (
	"compress/zlib"
	"context"
	"encoding/hex"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/chromedp/cdproto/cdp"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// pdf prints the page.
func (p *Page) pdf() []byte {
	p.t.Helper()
	var file []byte
	p.Run(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		result, err := cdp.Call(ctx, target, cdpage.PrintToPDF, cdpage.PrintToPDFParams{})
		file = result.Data
		return err
	}))
	return file
}

var (
	pdfObject  = regexp.MustCompile(`(?s)(?:^|\n)(\d+) 0 obj\s(.*?)endobj`)
	pdfStream  = regexp.MustCompile(`(?s)stream\r?\n(.*)\r?\nendstream`)
	pdfUnicode = regexp.MustCompile(`/ToUnicode (\d+) 0 R`)
	pdfChar    = regexp.MustCompile(`<([0-9A-Fa-f]+)>\s*<([0-9A-Fa-f]+)>`)
	pdfRange   = regexp.MustCompile(`<([0-9A-Fa-f]+)>\s*<([0-9A-Fa-f]+)>\s*<([0-9A-Fa-f]+)>`)
	pdfShown   = regexp.MustCompile(`/F(\d+) [\d.]+ Tf|<([0-9A-Fa-f]+)>|\bT[jJ]\b`)
)

// pdfText returns the text of a PDF file as Chromium writes it, without the spaces between lines.
func pdfText(t *testing.T, file []byte) string {
	t.Helper()
	objects, content := map[string]string{}, []string{}
	for _, m := range pdfObject.FindAllSubmatch(file, -1) {
		body := string(m[2])
		if stream := pdfStream.FindStringSubmatch(body); stream != nil && strings.Contains(body, "/FlateDecode") {
			z, err := zlib.NewReader(strings.NewReader(stream[1]))
			if err != nil {
				continue
			}
			plain, _ := io.ReadAll(z)
			body = string(plain)
			if strings.Contains(body, " Tf") {
				content = append(content, body)
			}
		}
		objects[string(m[1])] = body
	}
	var text strings.Builder
	for _, page := range content {
		glyphs := map[string]string{}
		for _, m := range pdfShown.FindAllStringSubmatch(page, -1) {
			switch {
			case m[1] != "":
				glyphs = unicodeOf(objects, objects[m[1]])
			case m[2] != "":
				for i := 0; i+4 <= len(m[2]); i += 4 {
					text.WriteString(glyphs[strings.ToLower(m[2][i:i+4])])
				}
			}
		}
	}
	return text.String()
}

// unicodeOf returns the text of each glyph of a font, by its number in hex.
func unicodeOf(objects map[string]string, font string) map[string]string {
	glyphs := map[string]string{}
	ref := pdfUnicode.FindStringSubmatch(font)
	if ref == nil {
		return glyphs
	}
	for _, part := range strings.SplitAfter(objects[ref[1]], "endbf") {
		if _, ranges, ok := strings.Cut(part, "beginbfrange"); ok {
			for _, m := range pdfRange.FindAllStringSubmatch(ranges, -1) {
				for n := range number(m[2]) - number(m[1]) + 1 {
					glyphs[hex4(number(m[1])+n)] = utf16Text(m[3], n)
				}
			}
		} else if _, chars, ok := strings.Cut(part, "beginbfchar"); ok {
			for _, m := range pdfChar.FindAllStringSubmatch(chars, -1) {
				glyphs[hex4(number(m[1]))] = utf16Text(m[2], 0)
			}
		}
	}
	return glyphs
}

func number(digits string) (n int) {
	raw, _ := hex.DecodeString(digits)
	for _, b := range raw {
		n = n<<8 | int(b)
	}
	return n
}

func hex4(n int) string { return hex.EncodeToString([]byte{byte(n >> 8), byte(n)}) }

// utf16Text returns UTF-16 in hex as text, with its last unit increased by n.
func utf16Text(digits string, n int) string {
	raw, _ := hex.DecodeString(digits)
	var units []uint16
	for i := 0; i+2 <= len(raw); i += 2 {
		units = append(units, uint16(raw[i])<<8|uint16(raw[i+1]))
	}
	if len(units) > 0 {
		units[len(units)-1] += uint16(n)
	}
	return string(utf16.Decode(units))
}
