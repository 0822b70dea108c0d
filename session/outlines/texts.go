package outlines

import (
	"context"

	"strata/filecontext"
	"strata/filecontext/index"
	"strata/filecontext/outline"
	"strata/filecontext/outline/text"
	"strata/tokens"
)

// What is remembered of texts is limited.
const (
	maxParsed = 256
	maxSizes  = 20_000
)

// parsedKey names a version of a file.
type parsedKey struct{ path, hash string }

// of returns the outline of a file of the context. The caller holds the lock.
func (s *Source) of(ctx context.Context, h *index.Handle, e *filecontext.Entry) (*outline.Outline, error) {
	var indexed *outline.Outline
	if h != nil {
		f, o, _ := h.Outline(e.Path)
		if f.Hash == e.Hash || e.Text == "" {
			return o, nil
		}
		indexed = o
	}
	if outline.LanguageOf(e.Path) == "" || e.Text == "" {
		return nil, nil
	}
	key := parsedKey{e.Path, e.Hash}
	o, known := s.parsed[key]
	if !known {
		var err error
		if o, err = s.parse(ctx, key, e.Text); err != nil {
			return nil, err
		}
	}
	if o == nil {
		return indexed, nil // an older outline is better than none
	}
	return o, nil
}

// parse parses a text, and remembers that it has no outline too: a text that takes too long delays one request only. The
// error is that of ctx. The caller holds the lock.
func (s *Source) parse(ctx context.Context, key parsedKey, text string) (*outline.Outline, error) {
	o, err := s.services.parser.Parse(ctx, key.path, text)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		o = nil
	}
	if s.parsed == nil || len(s.parsed) >= maxParsed {
		s.parsed = make(map[parsedKey]*outline.Outline)
	}
	s.parsed[key] = o
	return o, nil
}

// Text returns an outline as a request contains it, without abbreviations.
func Text(path string, o *outline.Outline) string {
	return text.Block(text.File{Path: path, Outline: o}, text.Aliases{})
}

// sizes are the tokens of texts by one counter.
type sizes struct {
	counter *tokens.Counter
	known   map[string]int
}

// counting returns a function that counts tokens and remembers the counts. The caller holds the lock while it is called.
func (s *Source) counting(counter *tokens.Counter) func(string) int {
	return func(text string) int {
		z := &s.sizes
		if z.counter != counter || len(z.known) >= maxSizes {
			*z = sizes{counter, make(map[string]int)}
		}
		n, known := z.known[text]
		if !known {
			n = counter.Count(text)
			z.known[text] = n
		}
		return n
	}
}
