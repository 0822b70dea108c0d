// Package loop is the view that a profile of loops has of a session: the goal, a running summary, the newest iterations
// and the state, instead of the conversation.
//
// It must never decide what fits: it returns items, and package fit evicts them.
package loop

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"strata/history"
	"strata/session/content"
	"strata/session/fit"
	"strata/session/profile"
	"strata/stability"
	"strata/tokens"
)

// The items of a loop's view beside the system prompt, the files and the documents. Each is an item of its own whose bytes
// do not change while it stays, except the state, so that a prompt cache keeps them.
const (
	goalName         = "goal"         // document; without it goalKey shows the user's first message
	instructionsName = "instructions" // document; without it instructionsKey asks for the marks
	goalKey          = "loop:goal"
	instructionsKey  = "loop:instructions"
	recentKey        = "loop:recent" // heading of the newest iterations
	stateKey         = "loop:state"
	iterationPrefix  = "iteration:" // one of the newest iterations, by the id of its first message
	briefPrefix      = "brief:"     // an older iteration that no summary covers
)

// The limits of the lists in the state.
const (
	stateMarkers = 20
	stateFiles   = 50
)

// briefBlock is the number of iterations by which the oldest leave the view together if not all fit: the view then changes
// with every tenth iteration only.
const briefBlock = 10

// View is what a loop's view is made of. Nothing of it is changed.
type View struct {
	Profile   *profile.Loop
	Counter   *tokens.Counter
	Read      content.Reader
	Model     string
	First     *history.Head // of the user's messages since the last clear; nil for none
	Exchanges int
	Summary   history.Summary
	Room      int // counted tokens of the profile's total
}

// exchange is the items of one exchange of the working history.
type exchange struct {
	number int
	items  []fit.Item
}

// messages returns the messages of the exchange.
func (e *exchange) messages() []history.Viewed {
	var out []history.Viewed
	for i := range e.items {
		out = append(out, e.items[i].Messages...)
	}
	return out
}

// exchanges splits a conversation into finished exchanges and the newest one, which is still open.
func exchanges(talk []fit.Item) (finished []exchange, open []fit.Item) {
	for i := range talk {
		number := talk[i].Messages[0].Exchange
		if n := len(finished); n == 0 || finished[n-1].number != number {
			finished = append(finished, exchange{number: number})
		}
		last := &finished[len(finished)-1]
		last.items = append(last.items, talk[i])
	}
	if n := len(finished); n > 0 {
		return finished[:n-1], finished[n-1].items
	}
	return nil, nil
}

// Items returns the items of the view, given the items of the conversation and the others: the others but for
// the goal and the instructions, then the goal, the running summary, the older iterations that no summary covers, the
// newest iterations, the state and the instructions. open is the newest exchange, which the view shows whole; the steps after
// its prompt do not count to the profile's total. omitted are the iterations that have no room.
func (v *View) Items(ctx context.Context, others, talk []fit.Item) (items, open []fit.Item, omitted []fit.Omitted, err error) {
	finished, open := exchanges(talk)
	goal, err := v.goal(ctx, others)
	if err != nil {
		return nil, nil, nil, err
	}
	split := max(len(finished)-v.Profile.RecentIterations, 0)
	recent, done, err := v.recent(ctx, finished[split:])
	if err != nil {
		return nil, nil, nil, err
	}
	instructions := v.instructions(others)
	rest := slices.DeleteFunc(slices.Clone(others), func(it fit.Item) bool {
		return it.Key == fit.DocumentPrefix+goalName || it.Key == fit.DocumentPrefix+instructionsName
	})
	summary := v.SummaryItems()
	fixed := slices.Concat(goal, summary, recent, instructions, v.state(done), open[:min(1, len(open))])
	briefs, told, omitted, err := v.briefs(ctx, finished[:split], v.Room-fit.Size(fixed))
	if err != nil {
		return nil, nil, nil, err
	}
	state := v.state(append(told, done...))
	run := slices.Concat(goal, summary, briefs, recent, state, instructions)
	for i := range run {
		run[i].Run = true
	}
	return slices.Concat(rest, run), open, omitted, nil
}

// withKey returns the items with the key.
func withKey(items []fit.Item, key string) []fit.Item {
	i := slices.IndexFunc(items, func(it fit.Item) bool { return it.Key == key })
	if i < 0 {
		return nil
	}
	return items[i : i+1]
}

// instructions returns the instructions: the document of that name, which also asks for the marks, or that alone.
func (v *View) instructions(items []fit.Item) []fit.Item {
	if instructions := withKey(items, fit.DocumentPrefix+instructionsName); instructions != nil {
		return instructions
	}
	text, _ := Document(v.Profile, history.Document{Name: instructionsName}, v.Counter)
	it := v.item(instructionsKey, text)
	it.Pinned = true
	return []fit.Item{it}
}

// goal returns the goal of the loop: the document of that name, or the user's first message.
func (v *View) goal(ctx context.Context, items []fit.Item) ([]fit.Item, error) {
	if goal := withKey(items, fit.DocumentPrefix+goalName); goal != nil || v.First == nil {
		return goal, nil
	}
	messages, err := v.Read.View(ctx, []history.Viewed{{Head: *v.First}})
	if err != nil {
		return nil, err
	}
	d := history.Document{Name: goalName, Text: messages[0].PlainText()}
	if strings.TrimSpace(d.Text) == "" {
		return nil, nil
	}
	text, _ := Document(v.Profile, d, v.Counter)
	it := v.item(goalKey, text)
	it.Pinned = true
	return []fit.Item{it}, nil
}

func (v *View) iteration(ctx context.Context, e *exchange) (iteration, error) {
	messages, err := v.Read.View(ctx, e.messages())
	if err != nil {
		return iteration{}, err
	}
	return iterationOf(e.number, messages, v.Profile), nil
}

// item returns an item of the view.
func (v *View) item(key, text string) fit.Item {
	return fit.TextItem(key, stability.Document, text, v.Counter)
}

// exchangeItem returns an item that shows an exchange, whose messages leave the view with the item.
func (v *View) exchangeItem(prefix, text string, e *exchange) fit.Item {
	messages := e.messages()
	if all, most := v.Counter.Count(text), v.Profile.IterationTokens; all > most {
		text = fit.Truncate(text, all, most, v.Counter)
	}
	it := v.item(prefix+messages[0].ID, text+"\n")
	it.Shows, it.Priority, it.Since = messages, e.items[0].Priority, int64(e.number)
	return it
}

// recent returns the newest iterations under their heading.
func (v *View) recent(ctx context.Context, newest []exchange) (items []fit.Item, done []iteration, err error) {
	if len(newest) == 0 {
		return nil, nil, nil
	}
	heading := v.item(recentKey, "# Recent Iterations\n")
	heading.Pinned = true
	items = append(items, heading)
	for i := range newest {
		n, err := v.iteration(ctx, &newest[i])
		if err != nil {
			return nil, nil, err
		}
		done = append(done, n)
		it := v.exchangeItem(iterationPrefix, n.recent(v.Profile.RecentChars), &newest[i])
		it.Priority = fit.PriorityMessage - fit.MessageStep*(len(newest)-i)
		items = append(items, it)
	}
	return items, done, nil
}

// briefs returns a paragraph for each older iteration, for as many of the newest as have room. The others are omitted;
// they stay in the view, and the next summary that succeeds covers them.
func (v *View) briefs(ctx context.Context, older []exchange, room int) (items []fit.Item, done []iteration, left []fit.Omitted, err error) {
	first := len(older)
	for first > 0 {
		n, err := v.iteration(ctx, &older[first-1])
		if err != nil {
			return nil, nil, nil, err
		}
		it := v.exchangeItem(briefPrefix, n.brief(v.Profile.BriefChars), &older[first-1])
		it.Priority = fit.MessageLeast
		if room -= it.Size() + v.inState(&n); room < 0 {
			break
		}
		items, done = append(items, it), append(done, n)
		first--
	}
	slices.Reverse(items)
	slices.Reverse(done)
	if first > 0 {
		skip := 0
		for skip < len(items) && (older[first+skip].number-1)%briefBlock != 0 {
			skip++
		}
		items, done, first = items[skip:], done[skip:], first+skip
	}
	return items, done, omitted(older[:first]), nil
}

// omitted names exchanges that have no room, as one run.
func omitted(left []exchange) []fit.Omitted {
	if len(left) == 0 {
		return nil
	}
	out := fit.Omitted{Key: left[0].items[0].Key, Reason: fit.ReasonBudget, Score: fit.MessageLeast}
	for i := range left {
		out.Tokens += fit.Size(left[i].items)
		out.Count += len(left[i].messages())
	}
	return []fit.Omitted{out}
}

// SummaryItems returns the running summary, if there is one.
func (v *View) SummaryItems() []fit.Item {
	if v.Summary.Text == "" {
		return nil
	}
	text := fmt.Sprintf("# Progress Summary (iterations 1-%d)\n\n%s\n", v.Summary.Through, strings.TrimSpace(v.Summary.Text))
	it := v.item(fit.SummaryPrefix+v.Summary.Edit, text)
	it.Priority, it.Pinned, it.Alone = fit.PrioritySummary, true, true
	return []fit.Item{it}
}

// state returns the state of the loop. It is the only item that changes with each iteration.
func (v *View) state(shown []iteration) []fit.Item {
	if v.Exchanges < 2 {
		return nil
	}
	var markers, files []string
	for i := range shown {
		markers, files = append(markers, shown[i].markers...), append(files, shown[i].files...)
	}
	lines := []string{fmt.Sprintf("# Current State (after iteration %d)\n", v.Exchanges-1), fmt.Sprintf("- Iterations: %d", v.Exchanges-1), "- Model: " + v.Model}
	lines = append(lines, newestOf("- Progress markers: ", markers, stateMarkers, "; ")...)
	lines = append(lines, newestOf("- Files changed: ", files, stateFiles, ", ")...)
	it := v.item(stateKey, strings.Join(lines, "\n")+"\n")
	it.Pinned = true
	return []fit.Item{it}
}

// inState returns about how many tokens of the state are about an iteration.
func (v *View) inState(n *iteration) int {
	return v.Counter.Count(strings.Join(n.markers, "; ")) + v.Counter.Count(strings.Join(n.files, ", ")) + 2
}

// newestOf returns a line with the newest of all, each once; nothing if there are none.
func newestOf(label string, all []string, most int, separator string) []string {
	slices.Reverse(all)
	all = distinct(all)
	all = all[:min(len(all), most)]
	slices.Reverse(all)
	if len(all) == 0 {
		return nil
	}
	return []string{label + strings.Join(all, separator)}
}

// Document returns a document as a loop shows it; ok is false for a document that a loop shows like any other profile. The
// instructions end with a request for the marks.
func Document(l *profile.Loop, d history.Document, counter *tokens.Counter) (text string, ok bool) {
	switch {
	case l.Zero():
		return "", false
	case d.Name == goalName:
		return "# Goal\n\n" + bounded(d.Text, l.GoalTokens, counter) + "\n", true
	case d.Name == instructionsName:
		own := bounded(d.Text, max(l.InstructionsTokens-counter.Count(asksForMarks), 0), counter)
		return "# Instructions\n\n" + paragraphs([]string{own, asksForMarks}) + "\n", true
	}
	return "", false
}

// bounded returns a text of at most so many tokens, truncated if it has more.
func bounded(text string, most int, counter *tokens.Counter) string {
	text = strings.TrimRight(text, "\n")
	if all := counter.Count(text); all > most {
		return fit.Truncate(text, all, most, counter)
	}
	return text
}
