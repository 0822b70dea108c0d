package assembly

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"strata/filecontext"
	"strata/history"
	"strata/session/documents"
	"strata/session/fit"
	"strata/session/loop"
	"strata/session/outlines"
	"strata/session/reads"
	"strata/stability"
	"strata/tokens"
)

// collected is everything that a request should contain, before it is made to fit.
type collected struct {
	items     []fit.Item
	files     []filecontext.Entry
	told      map[string]string // availability of files, as the notes tell it
	reads     *reads.Look       // at the files that tools read
	refreshed []filecontext.Change
	omitted   []fit.Omitted // already, for whatever reason
	absent    []fit.Absent
	clusters  [][]string            // keys of the outlines of files that reference each other
	prefixes  []string              // that the outlines abbreviate
	index     *outlines.IndexStatus // nil if there is none
}

// omit notes what the request omits.
func (c *collected) omit(omitted ...fit.Omitted) { c.omitted = append(c.omitted, omitted...) }

// collect returns everything that a request should contain: tools, system prompt, documents, outlines, files, earlier units
// of work, notes and the conversation, or the view of a loop instead.
func (s *State) collect(ctx context.Context) (collected, error) {
	var c collected
	var items []fit.Item
	if len(s.Tools) > 0 {
		items = append(items, s.toolsItem())
	}
	if system := s.systemPrompt(); system != "" {
		it := fit.TextItem(fit.SystemKey, stability.System, system, s.Counter)
		it.Pinned = true
		items = append(items, it)
	}
	items = append(items, s.documentItems(ctx, &c)...)
	files, err := s.fileItems(ctx, &c)
	if err != nil {
		return collected{}, err
	}
	items = append(items, files...)
	c.omit(fit.OmittedFromView(s.Evicted, s.View)...)
	for i := range c.files {
		if omitted, ok := fit.OmittedFile(&c.files[i], func(e filecontext.Entry) int { return s.Cache.Of(e, s.Counter).Tokens }); ok {
			c.omit(omitted)
			whole, _ := fit.Whole(&c.files[i])
			it := fit.Item{Item: stability.Item{Key: omitted.Key}, Priority: omitted.Score, Since: int64(whole.Since)}
			c.absent = append(c.absent, fit.Absent{Item: it, Missing: omitted.Tokens, File: &whole})
		}
	}
	talk := s.Beginning.items.Conversation(s.View)
	said := fit.Size(talk) + fit.Size(s.summaryItems())
	outlined, err := s.outlineItems(ctx, &c, fit.Size(items)+said)
	if err != nil {
		return collected{}, err
	}
	items = append(items, outlined...)
	items = append(items, s.unitItems(&c, fit.Size(items)+said)...)
	if c.reads, err = s.look(ctx, c.files); err != nil {
		return collected{}, err
	}
	notes, told := s.notes(items, talk, c.files, c.reads, nil)
	c.told = told
	if !s.loops() {
		for _, summary := range s.summaryItems() {
			talk = fit.Summarized(talk, summary, &s.Summary)
		}
		c.items = slices.Insert(fit.Marked(talk, s.Omitted, s.Counter), 0, append(items, notes...)...)
		return c, nil
	}
	view, open, omitted, err := s.loopView().Items(ctx, items, talk)
	if err != nil {
		return collected{}, err
	}
	c.omit(omitted...)
	c.items = slices.Concat(view, notes, fit.Marked(open, s.Omitted, s.Counter))
	return c, nil
}

func (s *State) toolsItem() fit.Item {
	text, err := json.Marshal(s.Tools)
	if err != nil {
		panic(err) // tools were decoded from JSON
	}
	it := fit.TextItem(fit.ToolsKey, stability.Tools, string(text), s.Counter)
	it.Pinned = true
	return it
}

// documentItems returns the documents, the most important first, equal ones by name.
func (s *State) documentItems(ctx context.Context, c *collected) []fit.Item {
	all := append(slices.Clone(s.Documents), s.rules(ctx, c)...)
	slices.SortFunc(all, func(a, b history.Document) int {
		return cmp.Or(b.Priority-a.Priority, strings.Compare(a.Name, b.Name))
	})
	items := make([]fit.Item, 0, len(all))
	for _, d := range all {
		if strings.TrimSpace(d.Text) == "" {
			continue
		}
		if it, shown := s.shownDocument(c, d); shown {
			items = append(items, it)
		}
	}
	return items
}

// rules returns the rules files of the workspace as documents, unless the session has documents of these names or rules files
// are turned off: of the session's folder, and in a request with tools of the folders with files of the session or that tools
// read. Files that cannot be read are omitted.
func (s *State) rules(ctx context.Context, c *collected) (all []history.Document) {
	if !s.RulesFile || s.Roots == nil {
		return nil
	}
	folders := []string{""}
	if len(s.Tools) > 0 {
		folders = append(folders, touchedFolders(s.Roots, s.Layout.entries(), s.Files, s.Reads.Files())...)
	}
	ofFolders := 0
	for _, folder := range folders {
		name := rulesName(folder)
		if ofFolders == maxFolderRules || documents.Find(s.Documents, name) >= 0 {
			continue
		}
		d, err := rulesIn(ctx, s.Roots, folder)
		switch reason := filecontext.ReasonOf(err); {
		case err == nil:
			all = append(all, d)
			if folder != "" {
				ofFolders++
			}
		case reason != filecontext.ReasonMissing && ctx.Err() == nil:
			c.omit(fit.Omitted{Key: fit.DocumentPrefix + name, Reason: string(reason)})
		}
	}
	return all
}

// shownDocument returns a document as far as an earlier request could contain it; shown is false if that is not at all.
func (s *State) shownDocument(c *collected, d history.Document) (it fit.Item, shown bool) {
	it = s.Item(d, len(s.Body(&d)))
	cut, was := s.Truncated[d.Name]
	if !was || cut.Version != fit.DocumentVersion(&d) || cut.Keep >= len(s.Body(&d)) {
		return it, true
	}
	whole, omitted := it, fit.Omitted{Key: it.Key, Tokens: it.Tokens, Reason: fit.ReasonBudget, Score: d.Priority}
	if cut.Keep > 0 {
		part := s.Item(d, min(cut.Keep, len(s.Body(&d))))
		omitted.Tokens, omitted.Reason, it = it.Tokens-part.Tokens, fit.ReasonTruncated, part
	}
	c.omit(omitted)
	c.absent = append(c.absent, fit.Absent{Item: whole, Missing: omitted.Tokens, Document: history.DocumentCut{Name: d.Name, Version: cut.Version, Keep: len(s.Body(&d))}})
	return it, cut.Keep > 0
}

// Body implements fit.Documents: of a unit a phase shows the implementation.
func (s *State) Body(d *history.Document) string {
	if s.showsUnit(d) {
		return d.Implementation
	}
	return d.Text
}

func (s *State) showsUnit(d *history.Document) bool { return s.Phase != nil && documents.IsUnit(d) }

// Item implements fit.Documents.
func (s *State) Item(d history.Document, keep int) fit.Item {
	shown := d
	shown.Text = fit.WithMarker(s.Body(&d), keep)
	if s.showsUnit(&d) {
		shown.Text = strings.TrimPrefix(filecontext.Fence("", shown.Text), "\n")
	}
	text, needed := loop.Document(&s.Profile.Loop, shown, s.Counter)
	if !needed {
		text = documents.Render(&shown)
	}
	it := fit.TextItem(fit.DocumentPrefix+d.Name, stability.Document, text, s.Counter)
	it.Priority, it.Document, it.Whole = d.Priority, &d, fit.Untrimmed(&s.Profile.Budget, d.Name)
	it.Pinned = d.Pinned || needed || it.Whole
	it.Required = s.Phase != nil && slices.Contains(s.Phase.Required, d.Name)
	it.Unit = s.showsUnit(&d)
	return it
}

// fileItems returns the files that are shown as they are on the disk now, by path.
func (s *State) fileItems(ctx context.Context, c *collected) ([]fit.Item, error) {
	if err := s.refresh(ctx, c); err != nil {
		return nil, err
	}
	var items []fit.Item
	for i := range c.files {
		e := &c.files[i]
		state, _ := e.Availability()
		if state != filecontext.Full && state != filecontext.Partial {
			continue
		}
		shows := s.Cache.Of(*e, s.Counter)
		if state == filecontext.Partial || e.Unsaved {
			shows.Version = "" // results of tools do not tell of what is shown
		}
		items = append(items, fit.Item{
			Item: stability.Item{
				Key: fit.FilePrefix + e.Path, Kind: stability.File, Hash: shows.Hash, Tokens: shows.Tokens,
				Rev: shows.Rev, Version: shows.Version, Partial: state == filecontext.Partial,
			},
			Priority: fit.FilePriority(e), Pinned: e.Pinned, Since: int64(e.Since), File: e,
		})
	}
	return items, nil
}

// refresh notes the files as they are on the disk now, and what changed.
func (s *State) refresh(ctx context.Context, c *collected) error {
	if s.Roots == nil || len(s.Files) == 0 {
		c.files = s.Files
		return nil
	}
	changes, err := s.Roots.Refresh(ctx, s.Files)
	if err != nil {
		return fmt.Errorf("look at the files: %w", err)
	}
	c.refreshed = changes
	changed := make(map[string]filecontext.Change, len(changes))
	for _, change := range changes {
		changed[change.Path] = change
	}
	for _, e := range s.Files {
		change, found := changed[e.Path]
		switch {
		case !found && e.Problem != "":
			c.omit(fit.Omitted{Key: fit.FilePrefix + e.Path, Reason: string(filecontext.Unreadable)})
		case !found:
		case change.Kind == filecontext.Deleted || change.Kind == filecontext.Unreadable:
			c.omit(fit.Omitted{Key: fit.FilePrefix + e.Path, Reason: string(change.Kind)})
			continue
		default:
			e = change.On(e)
		}
		c.files = append(c.files, e)
	}
	return nil
}

// look looks at the files of which the view shows lines that tools read.
func (s *State) look(ctx context.Context, files []filecontext.Entry) (*reads.Look, error) {
	return s.Reads.Look(ctx, &reads.Source{Roots: s.Roots, Files: files, Read: s.read, Count: s.Counter.Count}, s.verbatim())
}

// verbatim returns the messages of the view that a request shows as they are: in the view of a loop, those of the newest
// exchange.
func (s *State) verbatim() []history.Viewed {
	if !s.loops() || len(s.View) == 0 {
		return s.View
	}
	newest := s.View[len(s.View)-1].Exchange
	return s.View[slices.IndexFunc(s.View, func(v history.Viewed) bool { return v.Exchange == newest }):]
}

// outlineItems returns the tree of the workspace and the outlines of files that are not shown whole. others are the tokens
// of the other items: outlines that were not shown before come only if there is room for them below the goal of an
// eviction, so that those that were evicted do not come back with the next request.
func (s *State) outlineItems(ctx context.Context, c *collected, others int) ([]fit.Item, error) {
	if s.Outlines == nil {
		return nil, nil
	}
	b, kept := &s.Profile.Budget, s.Kept()
	if len(s.Layout.entries()) == 0 {
		kept = s.Capacity(s.Room())
	}
	share := s.Capacity(s.Model.Window) * b.OutlineShare / 100
	if b.OutlineTokens > 0 {
		share = min(share, b.OutlineTokens)
	}
	choice, err := s.Outlines.Choose(ctx, outlines.Request{
		Files: c.files, Shown: s.Layout.Outlined(), Prefixes: s.Layout.prefixes(), Share: share, Room: kept - others,
		Tree: b.StructureTokens, Counter: s.Counter,
	})
	if err != nil {
		return nil, fmt.Errorf("outlines: %w", err)
	}
	c.clusters, c.prefixes, c.index = choice.Clusters, choice.Prefixes, choice.Index
	if documents.Find(s.AllDocuments, fit.DocumentStructure) >= 0 {
		return slices.DeleteFunc(slices.Clone(choice.Items), func(it fit.Item) bool { return it.Kind == stability.Document }), nil
	}
	if choice.Tree == "" {
		return choice.Items, nil
	}
	tree, shown := s.shownDocument(c, history.Document{Name: fit.DocumentStructure, Text: choice.Tree, Priority: fit.PriorityOutline})
	if !shown {
		return choice.Items, nil
	}
	return append([]fit.Item{tree}, choice.Items...), nil
}

// unitShare is the part of the remaining room that earlier units may have: a half.
const unitShare = 2

// unitItems returns the earlier units of work, as many of the newest as have room in their share of what the other items
// leave. A unit that was sent stays, whatever was added since: it is evicted when the window is full.
func (s *State) unitItems(c *collected, others int) []fit.Item {
	if s.Phase == nil {
		return nil
	}
	room := (s.Capacity(s.Room()) - others) / unitShare
	sent := make(map[string]string)
	entries := s.Layout.entries()
	for i := range entries {
		if e := &entries[i]; fit.IsDocument(e.Kind, e.Key) && !e.Dead {
			sent[e.Key] = e.Blob
		}
	}
	var items []fit.Item
	for _, d := range documents.EarlierUnits(s.AllDocuments, s.Phase) {
		it, shown := s.shownDocument(c, d)
		switch {
		case !shown:
		case sent[it.Key] == it.Hash, it.Size() <= room:
			room -= it.Size()
			it.Since = int64(d.Order)
			items = append(items, it)
		default:
			c.omit(fit.Omitted{Key: it.Key, Tokens: it.Tokens, Reason: fit.ReasonBudget, Score: it.Priority})
		}
	}
	slices.Reverse(items)
	return items
}

// summaryItems returns the summary, if there is one.
func (s *State) summaryItems() []fit.Item {
	switch {
	case s.Summary.Text == "":
		return nil
	case s.loops():
		return s.loopView().SummaryItems()
	}
	return []fit.Item{summaryItem(s.Summary, s.Counter)}
}

// summaryItem returns the summary of the compacted part of the history: background, not a request.
func summaryItem(summary history.Summary, counter *tokens.Counter) fit.Item {
	text := fmt.Sprintf("# Background: summary of %d earlier messages\n\nThis is what happened before; nothing in it is a request.\n\n%s\n\n# End of the summary\n",
		summary.Messages, strings.TrimSpace(summary.Text))
	it := fit.TextItem(fit.SummaryPrefix+summary.Edit, stability.Summary, text, counter)
	it.Priority, it.Pinned, it.Alone = fit.PrioritySummary, true, true // short, and all that is left of those messages
	return it
}
