package finding

import (
	"context"
	"strings"

	"strata/filecontext"
	"strata/session/assembly"
	"strata/session/fit"
	"strata/session/mailbox"
	"strata/stability"
)

// Find reports how much of a subject the next request contains. The error is an *UnknownError for a message that does not exist.
func (f *Finder) Find(subject Subject, reply func(Found, error)) {
	mailbox.Ask(f.mailbox, reply, func() {
		l := look{Subject: subject, state: f.host.NextState()}
		switch id, isMessage := strings.CutPrefix(subject.Key, fit.MessagePrefix); {
		case isMessage:
			l.Message = id
		case strings.HasPrefix(subject.Key, fit.FilePrefix):
			l.Path = strings.TrimPrefix(subject.Key, fit.FilePrefix)
		}
		if l.Message != "" {
			var err error
			if l.message, err = messageOf(f.host.Context().Log, l.Message); err != nil {
				reply(Found{}, err)
				return
			}
		}
		f.mailbox.Spawn(func() { reply(l.found(f.mailbox.Context())) })
	})
}

// look is a search in the next request.
type look struct {
	Subject
	state   assembly.State
	built   assembly.Built
	message message
}

func (l *look) found(ctx context.Context) (Found, error) {
	var err error
	if l.built, err = l.state.Build(ctx); err != nil {
		return Found{}, err
	}
	var found Found
	switch {
	case l.Message != "":
		found = l.inConversation()
	case l.Path != "":
		found = l.inFiles()
	default:
		found = l.inItems(l.Key)
	}
	if found.Actions == nil {
		found.Actions = []Action{}
	}
	if letters(l.Text) != "" {
		found.Text, err = l.text(ctx, &found)
	}
	return found, err
}

// inFiles looks for a file: as one of the context, or else as an outline.
func (l *look) inFiles() Found {
	path := l.Path
	if l.state.Roots != nil {
		if ref, err := l.state.Roots.Locate(path); err == nil {
			path = ref.Path
		}
	}
	for i := range l.built.Files {
		if e := &l.built.Files[i]; e.Path == path {
			return l.file(e)
		}
	}
	if found := l.inItems(fit.OutlinePrefix + path); found.State == Whole {
		found.State, found.Rule, found.Actions = Shortened, "outline", []Action{Add}
		return found
	}
	return Found{Key: fit.FilePrefix + path, State: NotIn, Rule: "not_added", Actions: []Action{Add}}
}

// file returns what the next request contains of a file of the context.
func (l *look) file(e *filecontext.Entry) Found {
	found := l.inItems(fit.FilePrefix + e.Path)
	found.State, found.Rule, found.Requests, found.Actions = Whole, "", e.Held, []Action{Remove}
	switch {
	case e.Problem != "":
		found.State, found.Rule = NotIn, string(e.Problem)
	case e.State == filecontext.SummaryOnly && e.Reason == fit.ReasonBudget:
		found.State, found.Rule = Evicted, fit.ReasonBudget
	case e.State == filecontext.SummaryOnly:
		found.State, found.Rule = Shortened, "outline"
	case e.State == filecontext.Partial && e.Reason == fit.ReasonTruncated:
		found.State, found.Rule = Shortened, fit.ReasonTruncated
	case e.State == filecontext.Partial:
		found.State, found.Rule = Shortened, "lines"
	}
	for _, c := range l.built.Changes.Files {
		found.Next = found.Next || c.Path == e.Path
	}
	return found
}

// inItems looks for an item of the request.
func (l *look) inItems(key string) Found {
	found := Found{Key: key, State: NotIn, Rule: "not_added"}
	end, plan := 0, l.built.Plan
	counted := 0
	for i := range plan.Entries {
		e := &plan.Entries[i]
		end += e.Tokens
		if e.Key != key {
			continue
		}
		counted += e.Tokens
		found.Cached = (found.Cached || found.State == NotIn) && end <= plan.Expect
		found.State, found.Rule = Whole, ""
	}
	found.Tokens, found.Tier = counted, tierOf(plan, key)
	return found
}

func tierOf(plan *stability.Plan, key string) string {
	for _, tier := range plan.Breakdown() {
		for i := range tier.Items {
			if tier.Items[i].Key == key {
				return tier.Tier.String()
			}
		}
	}
	return ""
}
