package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"strata/history"
	"strata/stability"
)

// What a loop's view consists of beside the system prompt, the files and the documents. Each is an item of its own
// whose bytes do not change for as long as it stays, but for the state, so that a prompt cache keeps them.
const (
	goalName         = "goal"         // document; without one goalKey shows the user's first message
	instructionsName = "instructions" // document
	goalKey          = "loop:goal"
	recentKey        = "loop:recent" // heading of the newest iterations
	stateKey         = "loop:state"
	iterationPrefix  = "iteration:" // one of the newest iterations, by the id of its first message
	briefPrefix      = "brief:"     // an older one that no summary stands for
)

// The bounds of what the state names.
const (
	stateMarkers = 20
	stateFiles   = 50
)

// briefBlock is by how many iterations at once the oldest leave the view where not all fit: it then changes with
// every tenth iteration only.
const briefBlock = 10

// exchangePieces are the pieces of one exchange of the working history.
type exchangePieces struct {
	number int
	pieces []piece
}

// messages returns the messages of the exchange.
func (e *exchangePieces) messages() []history.Viewed {
	var out []history.Viewed
	for i := range e.pieces {
		out = append(out, e.pieces[i].messages...)
	}
	return out
}

// exchanges splits a conversation into finished exchanges and the newest one, which is still open.
func exchanges(talk []piece) (finished []exchangePieces, open []piece) {
	for i := range talk {
		number := talk[i].messages[0].Exchange
		if n := len(finished); n == 0 || finished[n-1].number != number {
			finished = append(finished, exchangePieces{number: number})
		}
		last := &finished[len(finished)-1]
		last.pieces = append(last.pieces, talk[i])
	}
	if n := len(finished); n > 0 {
		return finished[:n-1], finished[n-1].pieces
	}
	return nil, nil
}

// loopView returns what a loop's request holds in the place of the conversation: the goal, the running summary, the
// newest iterations, the older ones that are in no summary, the state, the instructions, and the open exchange whole.
func (s *snapshot) loopView(ctx context.Context, b *built, pieces, notes, talk []piece) ([]piece, error) {
	finished, open := exchanges(talk)
	goal, err := s.goal(ctx, pieces)
	if err != nil {
		return nil, err
	}
	split := max(len(finished)-s.profile.Loop.RecentIterations, 0)
	recent, done, err := s.recentPieces(ctx, finished[split:])
	if err != nil {
		return nil, err
	}
	instructions := taken(pieces, documentPrefix+instructionsName)
	rest := slices.DeleteFunc(slices.Clone(pieces), func(p piece) bool {
		return p.Key == documentPrefix+goalName || p.Key == documentPrefix+instructionsName
	})
	fixed := slices.Concat(goal, s.summaryPieces(), recent, instructions, s.statePiece(done), open)
	briefs, told, err := s.briefPieces(ctx, b, finished[:split], s.capacity(s.profile.Loop.TotalTokens)-size(fixed))
	if err != nil {
		return nil, err
	}
	state := s.statePiece(append(told, done...))
	return slices.Concat(rest, goal, s.summaryPieces(), briefs, recent, state, instructions, notes, s.marked(open, s.omitted)), nil
}

// taken returns the pieces with the key.
func taken(pieces []piece, key string) []piece {
	i := slices.IndexFunc(pieces, func(p piece) bool { return p.Key == key })
	if i < 0 {
		return nil
	}
	return pieces[i : i+1]
}

// goal returns what the loop is for: the document of that name, or the user's first message.
func (s *snapshot) goal(ctx context.Context, pieces []piece) ([]piece, error) {
	if goal := taken(pieces, documentPrefix+goalName); goal != nil || s.first == nil {
		return goal, nil
	}
	messages, err := s.read(ctx, []history.Viewed{{Head: *s.first}})
	if err != nil {
		return nil, err
	}
	d := history.Document{Name: goalName, Text: messages[0].PlainText()}
	if strings.TrimSpace(d.Text) == "" {
		return nil, nil
	}
	text, _ := s.loopDocument(d)
	p := s.loopPiece(goalKey, text)
	p.pinned = true
	return []piece{p}, nil
}

// read returns messages of the view as it shows them.
func (s *snapshot) read(ctx context.Context, view []history.Viewed) ([]history.Message, error) {
	seqs := make([]int64, len(view))
	for i, v := range view {
		seqs[i] = v.Seq
	}
	stored, err := s.deps.Store.Messages(ctx, s.session, seqs)
	if err != nil {
		return nil, fmt.Errorf("read the history of session %s: %w: %w", s.session, ErrStorage, err)
	}
	messages := make([]history.Message, len(stored))
	for i := range stored {
		messages[i] = history.Patched(stored[i], view[i].Patches)
	}
	return messages, nil
}

func (s *snapshot) iteration(ctx context.Context, e *exchangePieces) (iteration, error) {
	messages, err := s.read(ctx, e.messages())
	if err != nil {
		return iteration{}, err
	}
	return iterationOf(e.number, messages, &s.profile.Loop), nil
}

// loopPiece returns a piece of a loop's view. It is no document, but is laid out like one: it may leave without
// that anything behind it has to be written anew.
func (s *snapshot) loopPiece(key, text string) piece {
	return textPiece(key, stability.Document, text, s.counter)
}

// exchangePiece returns a piece that shows an exchange, which leaves the view with it.
func (s *snapshot) exchangePiece(prefix, text string, e *exchangePieces) piece {
	messages := e.messages()
	if all, most := s.counter.Count(text), s.profile.Loop.IterationTokens; all > most {
		text = cutText(text, all, most, s.counter)
	}
	p := s.loopPiece(prefix+messages[0].ID, text+"\n")
	p.shows, p.priority, p.since = messages, e.pieces[0].priority, int64(e.number)
	return p
}

// recentPieces returns the newest iterations under their heading.
func (s *snapshot) recentPieces(ctx context.Context, newest []exchangePieces) (pieces []piece, done []iteration, err error) {
	if len(newest) == 0 {
		return nil, nil, nil
	}
	heading := s.loopPiece(recentKey, "# Recent Iterations\n")
	heading.pinned = true
	pieces = append(pieces, heading)
	for i := range newest {
		it, err := s.iteration(ctx, &newest[i])
		if err != nil {
			return nil, nil, err
		}
		done = append(done, it)
		p := s.exchangePiece(iterationPrefix, it.recent(s.profile.Loop.RecentChars), &newest[i])
		p.priority = priorityMessage - messageStep*(len(newest)-i)
		pieces = append(pieces, p)
	}
	return pieces, done, nil
}

// briefPieces returns a paragraph for each older iteration, as many of the newest as fit room. The others are named
// among what is left out; they stay in the view, and the next summary that succeeds stands for them.
func (s *snapshot) briefPieces(ctx context.Context, b *built, older []exchangePieces, room int) (pieces []piece, done []iteration, err error) {
	first := len(older)
	for first > 0 {
		it, err := s.iteration(ctx, &older[first-1])
		if err != nil {
			return nil, nil, err
		}
		p := s.exchangePiece(briefPrefix, it.brief(s.profile.Loop.BriefChars), &older[first-1])
		p.priority = messageLeast
		if room -= p.size() + s.inState(&it); room < 0 {
			break
		}
		pieces, done = append(pieces, p), append(done, it)
		first--
	}
	slices.Reverse(pieces)
	slices.Reverse(done)
	if first > 0 {
		skip := 0
		for skip < len(pieces) && (older[first+skip].number-1)%briefBlock != 0 {
			skip++
		}
		pieces, done, first = pieces[skip:], done[skip:], first+skip
	}
	b.leaveOutExchanges(older[:first])
	return pieces, done, nil
}

// leaveOutExchanges names exchanges that the request does not hold.
func (b *built) leaveOutExchanges(left []exchangePieces) {
	if len(left) == 0 {
		return
	}
	out := LeftOut{Key: left[0].pieces[0].Key, Reason: reasonBudget, Score: messageLeast}
	for i := range left {
		out.Tokens += size(left[i].pieces)
		out.Count += len(left[i].messages())
	}
	b.leftOut = append(b.leftOut, out)
}

// loopSummary is the running summary.
func (s *snapshot) loopSummary() piece {
	text := fmt.Sprintf("# Progress Summary (iterations 1-%d)\n\n%s\n", s.summary.Through, strings.TrimSpace(s.summary.Text))
	p := s.loopPiece("summary:"+s.summary.Edit, text)
	p.priority, p.pinned = prioritySummary, true
	return p
}

// statePiece says where the loop stands. It is the one piece that changes with each iteration.
func (s *snapshot) statePiece(shown []iteration) []piece {
	if s.exchanges < 2 {
		return nil
	}
	var markers, files []string
	for i := range shown {
		markers, files = append(markers, shown[i].markers...), append(files, shown[i].files...)
	}
	lines := []string{fmt.Sprintf("# Current State (after iteration %d)\n", s.exchanges-1), fmt.Sprintf("- Iterations: %d", s.exchanges-1), "- Model: " + s.model.Name}
	lines = append(lines, newestOf("- Progress markers: ", markers, stateMarkers, "; ")...)
	lines = append(lines, newestOf("- Files changed: ", files, stateFiles, ", ")...)
	p := s.loopPiece(stateKey, strings.Join(lines, "\n")+"\n")
	p.pinned = true
	return []piece{p}
}

// inState returns about how many tokens the state says of an iteration.
func (s *snapshot) inState(it *iteration) int {
	return s.counter.Count(strings.Join(it.markers, "; ")) + s.counter.Count(strings.Join(it.files, ", ")) + 2
}

// newestOf returns a line that names the newest of all, each once; none where there are none.
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

// loopDocument returns a document as the loop shows it; ok is false for one that it shows like any other profile.
func (s *snapshot) loopDocument(d history.Document) (text string, ok bool) {
	heading, most := "", 0
	switch {
	case !s.loops():
		return "", false
	case d.Name == goalName:
		heading, most = "# Goal\n\n", s.profile.Loop.GoalTokens
	case d.Name == instructionsName:
		heading, most = "# Instructions\n\n", s.profile.Loop.InstructionsTokens
	default:
		return "", false
	}
	body := strings.TrimRight(d.Text, "\n")
	if all := s.counter.Count(body); all > most {
		body = cutText(body, all, most, s.counter)
	}
	return heading + body + "\n", true
}

// loops reports whether the profile composes a loop's view.
func (s *snapshot) loops() bool { return !s.profile.Loop.Zero() }
