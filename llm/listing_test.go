package llm

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// modelCounts contains the numbers of providers, models and values in a list.
type modelCounts struct {
	providers, addresses, models                     int
	named, windows, outputs, vision, reasons, levels int
	input, output, inCached, outCached               int
}

// TestListOfModelsIsWhole reads all rows. The numbers belong to the list's version: a lost or misplaced column changes
// them. After `make models`, compare them and enter the new ones here.
func TestListOfModelsIsWhole(t *testing.T) {
	want := modelCounts{
		providers: 40, addresses: 33, models: 1506,
		named: 1380, windows: 1506, outputs: 1506, vision: 888, reasons: 1084, levels: 946,
		input: 1394, output: 1394, inCached: 411, outCached: 759,
	}
	var got modelCounts
	count := func(n *int, is bool) {
		if is {
			*n++
		}
	}
	for _, l := range parseList(modelList) {
		got.providers++
		count(&got.addresses, l.address != "")
		for _, row := range l.rows {
			m, err := parseModel(row)
			if err != nil {
				t.Errorf("%s: %v", l.id, err)
			}
			got.models++
			count(&got.named, m.name != m.id)
			count(&got.windows, m.window > 0)
			count(&got.outputs, m.maxOutput > 0)
			count(&got.vision, m.vision)
			count(&got.reasons, m.reasons)
			count(&got.levels, len(m.levels) > 0)
			count(&got.input, m.input > 0)
			count(&got.output, m.output > 0)
			count(&got.inCached, m.inCached > 0)
			count(&got.outCached, m.outCached > 0)
		}
	}
	if got != want {
		t.Errorf("the list has\n%+v, want\n%+v", got, want)
	}
}

// TestListOfModelsIsSane checks each value, and that the strict order excludes duplicates.
func TestListOfModelsIsSane(t *testing.T) {
	all := parseList(modelList)
	if !slices.IsSortedFunc(all, func(a, b listing) int { return strings.Compare(a.id, b.id) }) {
		t.Error("providers are not sorted")
	}
	known := []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
	for _, l := range all {
		if l.id == "" || l.address != "" && !strings.HasPrefix(l.address, "https://") {
			t.Errorf("provider %q has the address %q", l.id, l.address)
		}
		last := ""
		for _, row := range l.rows {
			m, _ := parseModel(row)
			if m.id <= last {
				t.Errorf("%s: %q follows %q", l.id, m.id, last)
			}
			last = m.id
			if m.name == "" || m.window <= 0 || m.maxOutput <= 0 {
				t.Errorf("%s/%s: %+v", l.id, m.id, m)
			}
			if min(m.input, m.output, m.inCached, m.outCached) < 0 || max(m.input, m.output, m.inCached, m.outCached) > 1000 {
				t.Errorf("%s/%s: prices of %+v", l.id, m.id, m)
			}
			for _, level := range m.levels {
				if !slices.Contains(known, level) || !m.reasons {
					t.Errorf("%s/%s: thinking level %q, reasons %v", l.id, m.id, level, m.reasons)
				}
			}
		}
	}
}

// TestAnthropicsPricesInTheList compares all of Anthropic's models with the factors of its price list: a write costs
// 1.25 times the input, a read a tenth of it.
func TestAnthropicsPricesInTheList(t *testing.T) {
	for _, row := range listed(t, "anthropic").rows {
		m, _ := parseModel(row)
		if p := priceOf(m); !(p.CacheRead < p.Input && p.Input < p.CacheWrite) || !near(p.CacheRead, p.Input/10) || !near(p.CacheWrite, p.Input*1.25) {
			t.Errorf("%s: %+v", m.id, p)
		}
	}
}

func TestModelsOfTheList(t *testing.T) {
	for provider, want := range map[string]listedModel{
		"anthropic": {id: "claude-sonnet-4-5-20250929", name: "Claude Sonnet 4.5", window: 200_000, maxOutput: 64_000,
			vision: true, reasons: true, input: 3, output: 15, inCached: 3.75, outCached: 0.3},
		"openai": {id: "gpt-5.5", name: "GPT-5.5", window: 1_050_000, maxOutput: 128_000, vision: true, reasons: true,
			levels: []string{"low", "medium", "high", "xhigh"}, input: 5, output: 30, inCached: 0.5},
	} {
		rows := listed(t, provider).rows
		i := slices.IndexFunc(rows, func(row string) bool { return strings.HasPrefix(row, want.id+"\t") })
		if i < 0 {
			t.Errorf("%s/%s is not listed", provider, want.id)
			continue
		}
		if got, err := parseModel(rows[i]); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\n%+v, want\n%+v", provider, err, got, want)
		}
	}
	if got := listed(t, "openrouter").address; got != "https://openrouter.ai/api/v1" {
		t.Errorf("openrouter's address is %q", got)
	}
}

func listed(t *testing.T, provider string) listing {
	t.Helper()
	all := parseList(modelList)
	i := slices.IndexFunc(all, func(l listing) bool { return l.id == provider })
	if i < 0 || len(all[i].rows) == 0 {
		t.Fatalf("%s is not listed", provider)
	}
	return all[i]
}

// A checkout can have different line ends from the repository.
func TestLineEndsOfTheList(t *testing.T) {
	if got := parseList(strings.ReplaceAll(modelList, "\n", "\r\n")); !reflect.DeepEqual(got, parseList(modelList)) {
		t.Error("other line ends give another list")
	}
}

func TestParseModelRefuses(t *testing.T) {
	good := "id\tname\t1000\t100\tvision,reasoning\tlow,high\t1\t2\t3\t0.5"
	if _, err := parseModel(good); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]string{
		"nothing":            "",
		"a field too few":    strings.TrimSuffix(good, "\t0.5"),
		"a field too many":   good + "\t1",
		"a window in words":  strings.Replace(good, "1000", "large", 1),
		"no output":          strings.Replace(good, "\t100\t", "\t\t", 1),
		"a price in words":   strings.Replace(good, "0.5", "cheap", 1),
		"an unknown feature": strings.Replace(good, "vision", "hearing", 1),
	} {
		if m, err := parseModel(row); err == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// TestListNamesItsVersion compares the list's version with that of the module used by the program in llm/renew.
func TestListNamesItsVersion(t *testing.T) {
	mod, err := os.ReadFile("renew/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	required := regexp.MustCompile(`require charm\.land/catwalk (v\S+)`).FindSubmatch(mod)
	if required == nil {
		t.Fatal("renew/go.mod does not require the list's source")
	}
	if first, _, _ := strings.Cut(modelList, "\n"); !strings.Contains(first, "charm.land/catwalk "+string(required[1])+",") {
		t.Errorf("%q does not name the version %s: run make models", first, required[1])
	}
}
