package tokens

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math"
	"strings"
	"testing"
)

func TestImageCostsByPixels(t *testing.T) {
	tests := []struct{ width, height, want int }{
		{1000, 750, 1000},
		{1, 1, minImage},
		{200, 200, minImage},
		{300, 300, 120},
		{1568, 1568, maxImage},
		{maxImage * pixelsPerToken, 1, maxImage},
		{0, 0, maxImage},
		{-5, 100, maxImage},
		{100, 0, maxImage},
		{math.MaxInt, math.MaxInt, maxImage},
	}
	for _, tt := range tests {
		if got := Image(tt.width, tt.height); got != tt.want {
			t.Errorf("Image(%d, %d) = %d, want %d", tt.width, tt.height, got, tt.want)
		}
	}
}

// pictures returns headers of images of 37 × 11 pixels, by format.
func pictures(t testing.TB) map[string][]byte {
	t.Helper()
	img := image.NewPaletted(image.Rect(0, 0, 37, 11), color.Palette{color.Black, color.White})
	var asPNG, asJPEG, asGIF bytes.Buffer
	for _, err := range []error{png.Encode(&asPNG, img), jpeg.Encode(&asJPEG, img, nil), gif.Encode(&asGIF, img, nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	riff := "RIFF\x40\x00\x00\x00WEBP"
	return map[string][]byte{
		"png":           asPNG.Bytes(),
		"jpeg":          asJPEG.Bytes(),
		"gif":           asGIF.Bytes(),
		"webp lossy":    []byte(riff + "VP8 \x20\x00\x00\x00\x30\x01\x00\x9d\x01\x2a\x25\x40\x0b\x80" + "\x00\x00\x00\x00"), // with scaling bits
		"webp lossless": []byte(riff + "VP8L\x20\x00\x00\x00\x2f\x24\x80\x02\x00" + "\x00\x00\x00\x00\x00\x00\x00"),
		"webp extended": []byte(riff + "VP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x24\x00\x00\x0a\x00\x00"),
	}
}

func TestPictureReadsHeaders(t *testing.T) {
	for name, data := range pictures(t) {
		mime, w, h, ok := Picture(data)
		if !ok || w != 37 || h != 11 || !strings.HasPrefix("image/"+name, mime) {
			t.Errorf("%s: %s, %d × %d, %v", name, mime, w, h, ok)
		}
	}
}

func TestPictureRefusesOtherData(t *testing.T) {
	for name, data := range map[string][]byte{
		"nothing":        nil,
		"text":           []byte("RIFF is a word"),
		"RIFF, no WebP":  []byte("RIFF\x40\x00\x00\x00WAVEfmt \x20\x00\x00\x00\x30\x01\x00\x9d\x01\x2a\x25\x00\x0b\x00\x00\x00\x00\x00"),
		"WebP, no VP8":   []byte("RIFF\x40\x00\x00\x00WEBPVP9 \x20\x00\x00\x00\x30\x01\x00\x9d\x01\x2a\x25\x00\x0b\x00\x00\x00\x00\x00"),
		"base64 of text": []byte(base64.StdEncoding.EncodeToString([]byte("hello"))),
	} {
		if _, w, h, ok := Picture(data); ok {
			t.Errorf("%s: %d × %d", name, w, h)
		}
	}
}

func FuzzPicture(f *testing.F) {
	for _, data := range pictures(f) {
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, w, h, ok := Picture(data)
		if ok != (w > 0 && h > 0) {
			t.Errorf("%d × %d, %v", w, h, ok)
		}
	})
}
