package compaction

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"strata/internal/clip"
)

// notes returns the model's notes on a part of the conversation, for a summary with the given budget. Notes of more than most
// tokens, or that reach the limit of the reply, are asked for once more with fewer words. If they are too long again, or that
// call fails, the shorter ones are returned. A reply as long as the messages of r repeats them: a model that does so is not
// asked again.
func (s *Summarizer) notes(ctx context.Context, p part, budget, most int, r Request) (string, error) {
	c := s.call(p, budget, wordsFor(budget))
	text, err := s.ask(ctx, c)
	tokens := s.counter.Count(text)
	truncated := errors.Is(err, ErrTruncated) && text != ""
	if !truncated && (err != nil || tokens <= most || s.check(text, r) != nil) {
		return text, err
	}
	if truncated {
		tokens = max(tokens, c.MaxTokens)
	}
	c = s.call(p, budget, fewerWords(wordsFor(budget), text, tokens, most))
	c.Prompt += tooLong
	shorter, err := s.ask(ctx, c)
	switch {
	case truncated || ctx.Err() != nil:
		return shorter, err
	case err != nil || s.counter.Count(shorter) >= tokens:
		return text, nil
	}
	return shorter, nil
}

// ask returns the text of the model's reply. With ErrTruncated the text is its beginning.
func (s *Summarizer) ask(ctx context.Context, c Call) (string, error) {
	reply, err := s.model.Complete(ctx, c)
	if err != nil {
		return "", fmt.Errorf("summarise: %w", err)
	}
	text := unfenced(reply.Text)
	switch {
	case reply.Truncated:
		return text, ErrTruncated
	case text == "":
		return "", ErrEmpty
	}
	return text, nil
}

// unfenced returns text without surrounding white space and without an enclosing code fence.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	inner, fenced := strings.CutPrefix(text, "```")
	inner, closed := strings.CutSuffix(inner, "```")
	if _, body, ok := strings.Cut(inner, "\n"); fenced && closed && ok && !strings.Contains(body, "```") {
		return strings.TrimSpace(body)
	}
	return text
}

// cut returns the beginning of a text, in at most most tokens: whole lines or sentences, and a marker with the number of
// omitted characters. The error is ErrEmpty if there is no room for any text in addition to the marker.
func (s *Summarizer) cut(text string, most int) (string, error) {
	if s.counter.Count(text) <= most {
		return text, nil
	}
	cut, over := "", len(text)
	for fits := 0; over-fits > 1; {
		n := (fits + over) / 2
		if shown := beginning(text, n); s.counter.Count(shown) <= most {
			cut, fits = shown, n
		} else {
			over = n
		}
	}
	if cut == "" {
		return "", ErrEmpty
	}
	return cut, nil
}

// beginning returns the whole lines or sentences among the first n bytes of text, and a marker with the number of omitted
// characters; "" if there is no text among them.
func beginning(text string, n int) string {
	kept := complete(clip.Bytes(text, n))
	if kept == "" {
		return ""
	}
	return fmt.Sprintf("%s\n[%d characters omitted]", kept, utf8.RuneCountInString(text[len(kept):]))
}

// complete returns text up to its last complete line or sentence, unless that is less than half of it: then up to its last
// whole word, or all of it.
func complete(text string) string {
	word := len(text)
	for at := len(text); at > len(text)/2; {
		r, size := utf8.DecodeLastRuneInString(text[:at])
		end := at
		at -= size
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		switch {
		case strings.ContainsRune("。！？", r):
			return text[:end]
		case r == '\n', unicode.IsSpace(r) && strings.ContainsRune(".!?…", before):
			return strings.TrimRightFunc(text[:at], unicode.IsSpace)
		case unicode.IsSpace(r) && word == len(text):
			word = at
		}
	}
	return strings.TrimRightFunc(text[:word], unicode.IsSpace)
}
