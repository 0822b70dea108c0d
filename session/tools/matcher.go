package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// The bounds of a pattern. The time of a search grows with the size of the text times that of the pattern, since the
// expressions are those of RE2, so both bound the work between two checks of the context.
const (
	maxPattern     = 2000    // bytes
	maxExpression  = 10_000  // instructions
	maxMatchWork   = 200_000 // product of bytes and instructions between two checks, a few milliseconds
	literalPattern = 1       // instructions that a text counts as
)

// matcher finds the lines that a pattern matches.
type matcher struct {
	literal    string         // if expression is nil
	expression *regexp.Regexp // ^ and $ match at line ends
	size       int            // instructions of the expression
	linewise   bool           // the expression matches a line, and not the line among others: it has \A or \z
}

// newMatcher returns the matcher of a text or an expression. The error is a sentence for the model.
func newMatcher(pattern string, isExpression bool) (*matcher, error) {
	switch {
	case pattern == "":
		return nil, errors.New("pattern is empty")
	case len(pattern) > maxPattern:
		return nil, fmt.Errorf("pattern has %d bytes, the limit is %d", len(pattern), maxPattern)
	case strings.ContainsAny(pattern, "\r\n"):
		return nil, errLines
	case !isExpression:
		return &matcher{literal: pattern, size: literalPattern}, nil
	}
	tree, err := syntax.Parse(pattern, syntax.Perl&^syntax.OneLine)
	if err != nil {
		return nil, invalid(err)
	}
	m := &matcher{size: size(tree), linewise: contains(tree, syntax.OpBeginText) || contains(tree, syntax.OpEndText)}
	switch {
	case m.size > maxExpression:
		return nil, fmt.Errorf("pattern is too large: its repetitions come to %d instructions, the limit is %d", m.size, maxExpression)
	case hasLineBreak(tree):
		return nil, errLines
	}
	if m.expression, err = regexp.Compile("(?m)" + pattern); err != nil {
		return nil, invalid(err)
	}
	return m, nil
}

var errLines = errors.New("pattern contains a line break; search looks at each line alone, so search for one of the lines")

// invalid explains why an expression is invalid.
func invalid(err error) error {
	var wrong *syntax.Error
	if !errors.As(err, &wrong) {
		return fmt.Errorf("pattern is not a valid regular expression: %w", err)
	}
	help := "the syntax is RE2; without regex the pattern is taken as it is written"
	if wrong.Code == syntax.ErrInvalidPerlOp {
		help = "the syntax is RE2, which has no lookaround"
	} else if wrong.Code == syntax.ErrInvalidEscape {
		help = "the syntax is RE2, which has no backreferences"
	}
	return fmt.Errorf("pattern is not a valid regular expression: %s: %q; %s", wrong.Code, wrong.Expr, help)
}

// size returns about how many instructions an expression has. It stops counting well above the limit.
func size(e *syntax.Regexp) int {
	const enough = 1 << 20
	n := 1
	if e.Op == syntax.OpLiteral {
		n = len(e.Rune)
	}
	for _, part := range e.Sub {
		n = min(n+size(part), enough)
	}
	if e.Op == syntax.OpRepeat {
		n *= max(e.Min, e.Max, 1)
	}
	return min(n, enough)
}

func contains(e *syntax.Regexp, op syntax.Op) bool {
	return e.Op == op || slices.ContainsFunc(e.Sub, func(part *syntax.Regexp) bool { return contains(part, op) })
}

// hasLineBreak reports whether an expression asks for a line break itself, and not for a class of characters with it.
func hasLineBreak(e *syntax.Regexp) bool {
	return e.Op == syntax.OpLiteral && slices.Contains(e.Rune, '\n') || slices.ContainsFunc(e.Sub, hasLineBreak)
}

// each calls found for each line of a text that matches, with its number, where it is, and where the first match in it begins.
// The line ends of the text are LF. The error is that of ctx.
func (m *matcher) each(ctx context.Context, text string, found func(line, start, end, at int)) error {
	line := 1
	for start := 0; start < len(text); {
		if err := ctx.Err(); err != nil {
			return err
		}
		stop := chunkEnd(text, start, max(maxMatchWork/m.size, 1))
		may, err := m.may(ctx, text[start:stop])
		if err != nil {
			return err
		}
		if !may {
			line += strings.Count(text[start:stop], "\n")
			start = stop
			continue
		}
		for start < stop {
			end := lineEnd(text, start)
			at, err := m.find(ctx, text[start:end])
			if err != nil {
				return err
			}
			if at >= 0 {
				found(line, start, end, start+at)
			}
			start = end + 1
			line++
		}
	}
	return nil
}

// chunkEnd returns the end of whole lines from start on that have at most so many bytes, but of one line at least.
func chunkEnd(text string, start, bytes int) int {
	if len(text)-start <= bytes {
		return len(text)
	}
	if at := strings.LastIndexByte(text[start:start+bytes], '\n'); at >= 0 {
		return start + at + 1
	}
	return min(lineEnd(text, start)+1, len(text))
}

func lineEnd(text string, start int) int {
	if at := strings.IndexByte(text[start:], '\n'); at >= 0 {
		return start + at
	}
	return len(text)
}

// may reports whether a line of a chunk can match: a match of a line alone is also one among others.
func (m *matcher) may(ctx context.Context, chunk string) (bool, error) {
	if one := lineEnd(chunk, 0) >= len(chunk)-1; one || m.linewise {
		return true, nil
	}
	at, err := m.find(ctx, chunk)
	return at >= 0, err
}

// find returns where the first match begins, -1 for none. The error is that of ctx.
func (m *matcher) find(ctx context.Context, text string) (int, error) {
	switch {
	case m.expression == nil:
		return m.findLiteral(ctx, text)
	case len(text)*m.size <= maxMatchWork:
		if at := m.expression.FindStringIndex(text); at != nil {
			return at[0], nil
		}
		return -1, nil
	}
	at := m.expression.FindReaderIndex(&runes{ctx: ctx, text: text, step: max(maxMatchWork/m.size, 1)})
	switch {
	case ctx.Err() != nil:
		return -1, ctx.Err()
	case at == nil:
		return -1, nil
	}
	return at[0], nil
}

func (m *matcher) findLiteral(ctx context.Context, text string) (int, error) {
	for start := 0; ; start += maxMatchWork {
		end := min(start+maxMatchWork+len(m.literal)-1, len(text))
		if at := strings.Index(text[start:end], m.literal); at >= 0 {
			return start + at, nil
		}
		if end == len(text) {
			return -1, nil
		}
		if err := ctx.Err(); err != nil {
			return -1, err
		}
	}
}

// runes reads a text for a match. It ends with the context, which it checks after each step of so many bytes.
type runes struct {
	ctx      context.Context
	text     string
	step     int
	at, next int // position, and that of the next check
}

// ReadRune implements io.RuneReader.
func (r *runes) ReadRune() (c rune, size int, err error) {
	if r.at >= r.next {
		if r.ctx.Err() != nil {
			return 0, 0, io.EOF
		}
		r.next = r.at + r.step
	}
	if r.at == len(r.text) {
		return 0, 0, io.EOF
	}
	c, size = utf8.DecodeRuneInString(r.text[r.at:])
	r.at += size
	return c, size, nil
}
