package assembly

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/llm"
)

func TestContextRefusals(t *testing.T) {
	const (
		smaller = "The model's context is smaller than expected; the request was shortened."
		denser  = "The provider counts more tokens than expected; the request was shortened."
	)
	type request struct{ counted, expected, answer, window int }
	usual := request{counted: 4_000, expected: 4_000, answer: 1_000, window: 128_000}
	for name, tc := range map[string]struct {
		told    llm.Error
		request request
		want    Refusal
	}{
		"limit and size":                          {llm.Error{Limit: 8_192, Counted: 8_800}, usual, Refusal{Window: 8_192, Counted: 8_800, Notice: "The model's context is 8,192 tokens; the request was shortened."}},
		"limit":                                   {llm.Error{Limit: 1_234_567}, request{1, 1, 1, 2_000_000}, Refusal{Window: 1_234_567, Notice: "The model's context is 1,234,567 tokens; the request was shortened."}},
		"size":                                    {llm.Error{Counted: 8_800}, usual, Refusal{Counted: 8_800, Notice: denser}},
		"the limit that is known, denser tokens":  {llm.Error{Limit: 8_192}, request{4_000, 4_000, 1_000, 8_192}, Refusal{Counted: 8_192, Notice: denser}},
		"the limit that is known, twice":          {llm.Error{Limit: 8_192, Counted: 8_000}, request{4_000, 8_000, 1_000, 8_192}, Refusal{Counted: 8_192, Notice: denser}},
		"a size that cannot be":                   {llm.Error{Counted: 900}, usual, Refusal{Window: 2_500, Notice: smaller}},
		"nothing":                                 {llm.Error{}, usual, Refusal{Window: 2_500, Notice: smaller}},
		"nothing, of a large request":             {llm.Error{}, request{90_000, 100_000, 4_000, 100_000}, Refusal{Window: 50_000, Notice: smaller}},
		"nothing, of a small request":             {llm.Error{}, request{100, 100, 100, 128_000}, Refusal{Window: leastWindow, Notice: smaller}},
		"a limit below what the request was sent": {llm.Error{Limit: 3_000}, request{4_000, 4_000, 1_000, 2_900}, Refusal{Window: leastWindow, Notice: smaller}},
	} {
		r := tc.request
		got := ContextRefusal(&tc.told, r.counted, r.expected, r.answer, r.window)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
