package replay

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
)

// request parses the minutes since the last request, followed by words "hash:tokens", with "|" at the end of a block, "^"
// for a mark and "L" for a long one.
func request(t *testing.T, gap float64, words string) Request {
	t.Helper()
	req := Request{Gap: gap}
	for word := range strings.FieldsSeq(words) {
		h, rest, _ := strings.Cut(word, ":")
		n := strings.TrimRight(rest, "|^L")
		tokens, err := strconv.Atoi(n)
		if err != nil {
			t.Fatal(err)
		}
		flags := rest[len(n):]
		req.Items = append(req.Items, Item{h, tokens, strings.Contains(flags, "|"), strings.ContainsAny(flags, "^L"), strings.Contains(flags, "L"), 0})
	}
	return req
}

func TestBillingRules(t *testing.T) {
	type step struct {
		gap   float64
		words string
		read  int
		cost  float64
	}
	tests := []struct {
		rule  string
		steps []step
	}{
		{"full price without marks", []step{
			{0, "a:2000|", 0, 2000}, {1, "a:2000|", 0, 2000}}},
		{"write 1.25, read 0.1, the rest at full price", []step{
			{0, "a:2000|^ b:100|", 0, 2500 + 100}, {1, "a:2000|^ b:100|", 2000, 200 + 100}}},
		{"what lies between the longest hit and the last mark is written", []step{
			{0, "a:2000|^", 0, 2500}, {1, "a:2000|^ b:100| c:100|^ d:7|", 2000, 200 + 250 + 7}}},
		{"five minutes' lifetime, refreshed by use", []step{
			{0, "a:2000|^", 0, 2500}, {5, "a:2000|^", 2000, 200}, {5, "a:2000|^", 2000, 200}, {5.1, "a:2000|^", 0, 2500}}},
		{"one hour's lifetime at 2.0, refreshed by use", []step{
			{0, "a:2000|L", 0, 4000}, {60, "a:2000|L", 2000, 200}, {60, "a:2000|L", 2000, 200}, {60.1, "a:2000|L", 0, 4000}}},
		{"use does not make a short lifetime long", []step{
			{0, "a:2000|^", 0, 2500}, {5, "a:2000|L", 2000, 200}, {6, "a:2000|L", 0, 4000}}},
		{"a prefix below 1,024 tokens is not cached", []step{
			{0, "a:1023|^", 0, 1023}, {1, "a:1023|^", 0, 1023}, {1, "a:1023|^ b:1|^", 0, 1280}, {1, "a:1023|^ b:1|^", 1024, 102.4}}},
		{"the bytes before a position must be the same", []step{
			{0, "x:5| a:2000|^", 0, 2506.25}, {1, "y:5| a:2000|^", 0, 2506.25}}},
		{"block boundaries are bytes too", []step{
			{0, "x:5| a:2000|^", 0, 2506.25}, {1, "x:5 a:2000|^", 0, 2506.25}}},
		{"only marked positions hit", []step{
			{0, "a:2000| b:100|^", 0, 2625}, {1, "a:2000|^ c:100|", 0, 2500 + 100}}},
		{"a hit lies within the 20 blocks that end at a mark", []step{
			{0, "a:2000|^", 0, 2500}, {1, "a:2000|" + blocks(19, "^"), 2000, 200 + 19*1.25}}},
		{"beyond the 20 blocks it does not", []step{
			{0, "a:2000|^", 0, 2500}, {1, "a:2000|" + blocks(20, "^"), 0, 2020 * 1.25}}},
		{"items of one block count once", []step{
			{0, "a:2000|^", 0, 2500}, {1, "a:2000| b:1 c:1 d:1 e:1" + blocks(18, "^"), 2000, 200 + 22*1.25}}},
		{"each mark looks back", []step{
			{0, "a:2000|^", 0, 2500}, {1, "a:2000|^" + blocks(40, "^"), 2000, 200 + 40*1.25}}},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.rule, " ", "_"), func(t *testing.T) {
			b := biller{cache: map[prefix]cached{}}
			for i, s := range tt.steps {
				before := b.Bill
				req := request(t, s.gap, s.words)
				b.bill(&req)
				if read, cost := b.Read-before.Read, b.Cost-before.Cost; read != s.read || math.Abs(cost-s.cost) > 1e-6 {
					t.Errorf("request %d: read %d for %g, want %d for %g", i+1, read, cost, s.read, s.cost)
				}
			}
		})
	}
}

// An item of several blocks takes as many of the twenty that a mark looks back.
func TestItemsOfSeveralBlocks(t *testing.T) {
	for blocks, read := range map[int]int{19: 2000, 20: 0} {
		b := biller{cache: map[prefix]cached{}}
		first := Item{Hash: "a", Tokens: 2000, End: true, Mark: true}
		b.bill(&Request{Items: []Item{first}})
		first.Mark = false
		b.bill(&Request{Items: []Item{first, {Hash: "b", Tokens: 500, End: true, Mark: true, Blocks: blocks}}})
		if b.Read != read {
			t.Errorf("before %d blocks %d tokens were read, want %d", blocks, b.Read, read)
		}
	}
}

// blocks returns n blocks of one token, the last of them marked.
func blocks(n int, mark string) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, " n%d:1|", i)
	}
	return out.String() + mark
}

func TestBillRefuses(t *testing.T) {
	five := `{"gap":0,"items":[` + strings.Repeat(`{"h":"a","tok":1,"end":true,"bp":true},`, 4) + `{"h":"a","tok":1,"end":true,"bp":true}]}`
	for _, tt := range []struct{ text, want string }{
		{"{", "bill request 1"},
		{"{}\n[]", "bill request 2"},
		{`{"gap":-1}`, "pause"},
		{`{"gap":1e99}`, "pause"},
		{`{"gap":0,"items":[{"h":"a","tok":-1}]}`, "-1 tokens"},
		{`{"gap":0,"items":[{"h":"a","tok":1,"blocks":-1}]}`, "-1 blocks"},
		{five, "5 marks"},
	} {
		if _, err := BillRequests(strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.text, err, tt.want)
		}
	}
	bill, err := BillRequests(strings.NewReader(""))
	if err != nil || bill.Relative() != 0 || bill.ReadShare() != 0 {
		t.Errorf("no requests cost %+v, %v", bill, err)
	}
}
