package content

import (
	"errors"
	"fmt"
	"strings"

	"strata/history"
)

// The bounds of the pictures in the output of a tool.
const (
	maxPictures = 4
	maxPicture  = 5 << 20 // bytes
)

// noOutput is the text of a result without content: providers refuse a result that says nothing.
const noOutput = "(no output)"

// Output returns the result of a tool outside of Strata in the form for the model: texts and images. The error names a block
// that is neither, or an image that cannot be used.
func Output(blocks []history.Block) (output []history.Block, err error) {
	pictures := 0
	for i := range blocks {
		switch b := blocks[i]; b.Type {
		case history.BlockText:
			if strings.TrimSpace(b.Text) != "" {
				output = append(output, history.Block{Type: history.BlockText, Text: b.Text})
			}
		case history.BlockImage:
			if pictures++; pictures > maxPictures {
				return nil, fmt.Errorf("more than %d images", maxPictures)
			}
			picture, err := Identified(&b)
			if err != nil {
				return nil, fmt.Errorf("content[%d]: %w", i, err)
			}
			output = append(output, picture)
		default:
			return nil, fmt.Errorf("content[%d] is neither text nor an image", i)
		}
	}
	if len(output) == 0 {
		output = []history.Block{{Type: history.BlockText, Text: noOutput}}
	}
	return output, nil
}

// Identified returns an image with its type and size by its bytes, or why it cannot be used.
func Identified(b *history.Block) (history.Block, error) {
	if len(b.Data) > maxPicture {
		return history.Block{}, fmt.Errorf("%d bytes exceeds the limit of %d", len(b.Data), maxPicture)
	}
	one := []history.Block{{Type: history.BlockImage, Data: b.Data}}
	if Identify(one); one[0].MIME == "" {
		return history.Block{}, errors.New("not a PNG, JPEG, GIF or WebP, or damaged")
	}
	return one[0], nil
}
