package content

import (
	"errors"
	"fmt"

	"strata/history"
	"strata/llm"
	"strata/tokens"
)

// Check returns an error for a measured message that no request to the model can hold: a picture that is broken or too
// large, or content beyond the size of a request. For a model without vision a picture only has to be one.
func Check(blocks []history.Block, model *llm.Model) error {
	n := 0
	if err := checkPictures(blocks, model, &n); err != nil {
		return err
	}
	if limit := RequestBytes(model); limit > 0 && Bytes(blocks) > limit {
		return fmt.Errorf("%d bytes exceeds the limit of %d for a request to %s; send less at a time", Bytes(blocks), limit, model.Name)
	}
	return nil
}

// checkPictures checks the pictures in blocks. n is how many pictures came before them in the message.
func checkPictures(blocks []history.Block, model *llm.Model, n *int) error {
	for i := range blocks {
		b := &blocks[i]
		if b.Type == history.BlockImage {
			*n++
			if err := checkPicture(b, model); err != nil {
				return fmt.Errorf("picture %d: %w", *n, err)
			}
		}
		if err := checkPictures(b.Content, model, n); err != nil {
			return err
		}
	}
	return nil
}

func checkPicture(b *history.Block, model *llm.Model) error {
	_, width, height, ok := tokens.Picture(b.Data)
	limit := model.Pictures
	switch {
	case !ok:
		return errors.New("not a PNG, JPEG, GIF or WebP, or damaged; send it in one of these formats")
	case !model.Vision:
	case limit.Bytes > 0 && len(b.Data) > limit.Bytes:
		return fmt.Errorf("%d bytes exceeds the limit of %d for %s; send a smaller one", len(b.Data), limit.Bytes, model.Name)
	case limit.Pixels > 0 && max(width, height) > limit.Pixels:
		return fmt.Errorf("%d x %d pixels exceeds the limit of %d along a side for %s; send a smaller one", width, height, limit.Pixels, model.Name)
	}
	return nil
}

// bytesUsed is the share of a request's size that content may have, in percent. The rest is for the framing and for
// JSON's escapes.
const bytesUsed = 90

// RequestBytes returns how many bytes of content a request to the model may hold, as Bytes counts; 0 for no limit.
func RequestBytes(model *llm.Model) int { return int(int64(model.MaxBytes) * bytesUsed / 100) }
