package tokens

import (
	"bytes"
	"encoding/binary"
	"image"
	_ "image/gif"  // header of GIF
	_ "image/jpeg" // header of JPEG
	_ "image/png"  // header of PNG
)

// The cost of an image according to Anthropic's vision guide: width × height / 750 tokens. The provider scales large
// images down, to about 1,600 tokens. OpenAI's tiles cost between 85 and about 1,500.
const (
	pixelsPerToken = 750
	minImage       = 85
	maxImage       = 1600
)

// Image returns the estimated tokens of an image with a size in pixels. An unknown size (0) counts as the maximum.
func Image(width, height int) int {
	if width <= 0 || height <= 0 || width > maxImage*pixelsPerToken/height {
		return maxImage
	}
	return max(minImage, (width*height+pixelsPerToken-1)/pixelsPerToken)
}

// Picture returns the MIME type and the size in pixels of a PNG, JPEG, GIF or WebP from its first bytes, without decoding
// the image. ok is false for other data and for a damaged header.
func Picture(data []byte) (mime string, width, height int, ok bool) {
	if bytes.HasPrefix(data, []byte("RIFF")) {
		mime = "image/webp"
		width, height = webpSize(data)
	} else if config, format, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
		mime = "image/" + format
		width, height = config.Width, config.Height
	}
	return mime, width, height, width > 0 && height > 0
}

// webpSize returns the size from the first chunk of a WebP: lossy (RFC 6386, 9.1), lossless or extended (RFC 9649, 2.5
// to 2.7). It returns zeros for anything else.
func webpSize(data []byte) (width, height int) {
	if len(data) < 30 || string(data[8:12]) != "WEBP" {
		return 0, 0
	}
	body := data[20:]
	switch string(data[12:16]) {
	case "VP8 ":
		if body[3] != 0x9d || body[4] != 0x01 || body[5] != 0x2a {
			return 0, 0
		}
		return uint14(body[6:]), uint14(body[8:])
	case "VP8L":
		if body[0] != 0x2f {
			return 0, 0
		}
		bits := binary.LittleEndian.Uint32(body[1:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1
	case "VP8X":
		return uint24(body[4:]) + 1, uint24(body[7:]) + 1
	}
	return 0, 0
}

func uint14(b []byte) int { return int(binary.LittleEndian.Uint16(b) & 0x3fff) }

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
