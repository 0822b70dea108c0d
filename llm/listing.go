package llm

import (
	_ "embed" // for modelList
	"fmt"
	"strconv"
	"strings"
)

// modelList is what llm/renew writes: a line for each provider, and below it one for each of its models, which begins
// with a tab. Fields have tabs between them. It is plain text, since unpacking it would cost more memory than it saves.
//
//go:embed models.tsv
var modelList string

// A listing is one provider of the list.
type listing struct {
	id      string
	address string   // of its API; empty where it is not listed
	rows    []string // its models, each still to be read by parseModel
}

// A listedModel is one model of a listing.
type listedModel struct {
	id, name  string
	window    int // tokens; 0: unknown
	maxOutput int // tokens, by default; 0: unknown
	vision    bool
	reasons   bool
	levels    []string // of thinking, in the provider's words

	// US dollars per million tokens. Which of the two cache prices is that of a read differs: see priceOf.
	input, output, inCached, outCached float64
}

// parseList returns the providers of a list, in its order.
func parseList(list string) []listing {
	var all []listing
	for line := range strings.Lines(list) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case line == "" || line[0] == '#':
		case line[0] != '\t':
			id, address, _ := strings.Cut(line, "\t")
			all = append(all, listing{id: id, address: address})
		case len(all) > 0:
			last := &all[len(all)-1]
			last.rows = append(last.rows, line[1:])
		}
	}
	return all
}

const modelFields = 10

// parseModel reads one row of a listing.
func parseModel(row string) (listedModel, error) {
	f := strings.Split(row, "\t")
	if len(f) != modelFields {
		return listedModel{}, fmt.Errorf("model %q: %d fields, want %d", f[0], len(f), modelFields)
	}
	m := listedModel{id: f[0], name: f[1]}
	if f[5] != "" {
		m.levels = strings.Split(f[5], ",")
	}
	for feature := range strings.SplitSeq(f[4], ",") {
		switch feature {
		case "":
		case "vision":
			m.vision = true
		case "reasoning":
			m.reasons = true
		default:
			return listedModel{}, fmt.Errorf("model %q: unknown feature %q", m.id, feature)
		}
	}
	for i, to := range []*int{&m.window, &m.maxOutput} {
		n, err := strconv.Atoi(f[2+i])
		if err != nil {
			return listedModel{}, fmt.Errorf("model %q: %w", m.id, err)
		}
		*to = n
	}
	for i, to := range []*float64{&m.input, &m.output, &m.inCached, &m.outCached} {
		x, err := strconv.ParseFloat(f[6+i], 64)
		if err != nil {
			return listedModel{}, fmt.Errorf("model %q: %w", m.id, err)
		}
		*to = x
	}
	return m, nil
}
