package permissions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"strata/history"
	"strata/session/approval"
	"strata/session/choices"
	"strata/session/events"
	"strata/session/mailbox"
)

func ruleOf(t testing.TB, text string) approval.Rule {
	t.Helper()
	rule, err := approval.ParseAllow(text)
	if err != nil {
		t.Fatal(err)
	}
	return rule
}

func rulesOf(t testing.TB, texts ...string) approval.Rules {
	t.Helper()
	rules, err := approval.ParseRules(texts, approval.ParseAllow)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// desk is Permissions on a mailbox. Its methods return when all that they cause has happened.
type desk struct {
	*Permissions
	t            *testing.T
	mailbox      *mailbox.Mailbox
	choices      choices.Choices
	stored       []history.Session
	events       []events.Event
	reconsidered int
	full         bool // the disk
	log          bytes.Buffer
}

// restored returns the permissions of a session that is stored with rules.
func restored(t *testing.T, configured *Configured, texts ...string) *desk {
	d := &desk{t: t}
	log := slog.New(slog.NewTextHandler(&d.log, nil))
	d.mailbox = mailbox.New("session", log, func() {})
	over := make(chan struct{})
	d.choices.Record.Config.Rules = texts
	d.Permissions = New(d.mailbox, Services{
		Session: "sess_1", Configured: configured, Choices: func() *choices.Choices { return &d.choices },
		Emit:       func(e events.Event) uint64 { d.events = append(d.events, e); return 0 },
		Reconsider: func() { d.reconsidered++ },
		Now:        func() time.Time { return time.Unix(7, 0) },
		Log:        log,
		Store: func(_ string, change history.Change, then func()) mailbox.Work {
			return func(context.Context) (mailbox.Step, error) {
				if d.full {
					return nil, errors.New("the disk is full")
				}
				d.stored = append(d.stored, *change.Update)
				return mailbox.Done(then), nil
			}
		},
	})
	d.Restore()
	d.mailbox.Start(func() { close(over) })
	d.mailbox.Tell(d.mailbox.Open, nil)
	t.Cleanup(func() {
		d.mailbox.Tell(func() { d.mailbox.End(mailbox.ErrClosed) }, nil)
		<-over
	})
	return d
}

func (d *desk) verdict(tool string) (v approval.Verdict) {
	d.mailbox.Wait(func() { v = d.Decide(&approval.Call{Tool: tool}).Verdict })
	synctest.Wait()
	return v
}

func (d *desk) grant(text string) {
	d.Grant(d.t.Context(), ruleOf(d.t, text))
	synctest.Wait()
}

func (d *desk) revoke(text string) (err error) {
	d.Revoke(text, func(_ struct{}, e error) { err = e })
	synctest.Wait()
	return err
}

func (d *desk) list() (all []string) {
	d.List(func(listed []Listed, err error) {
		for _, one := range listed {
			all = append(all, fmt.Sprintf("%s %s %s %s %q", one.Effect, one.Scope, one.Rule, one.Tool, one.Command))
		}
	})
	synctest.Wait()
	return all
}

func (d *desk) told() (kinds []events.Kind) {
	for _, e := range d.events {
		kinds = append(kinds, e.Kind)
	}
	d.events = nil
	return kinds
}

func TestARuleIsStoredBeforeItHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := restored(t, nil)
		d.Grant(t.Context(), approval.Rule{})
		if d.verdict("zoom") != approval.Asks || len(d.stored) > 0 {
			t.Errorf("without a rule: %v", d.stored)
		}
		d.grant("zoom")
		d.grant("run_command(go test *)")
		if d.verdict("zoom") != approval.Allowed || len(d.stored) != 2 || !slices.Equal(d.stored[1].Config.Rules, []string{"zoom", "run_command(go test *)"}) {
			t.Errorf("stored are %+v", d.stored)
		}
		if r := d.choices.Record; !slices.Equal(r.Config.Rules, d.stored[1].Config.Rules) || !r.UpdatedAt.Equal(time.Unix(7, 0)) {
			t.Errorf("the record is %+v", r)
		}
		if got := d.told(); !slices.Equal(got, []events.Kind{events.PermissionsChanged, events.PermissionsChanged}) {
			t.Errorf("told was %v", got)
		}
	})
}

// A rule that cannot be stored does not hold, and the user is told. The turn goes on.
func TestARuleThatIsNotStoredDoesNotHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := restored(t, nil)
		d.full = true
		d.grant("zoom")
		if d.verdict("zoom") != approval.Asks || len(d.choices.Record.Config.Rules) > 0 {
			t.Error("the rule holds")
		}
		if len(d.events) != 1 || d.events[0].Kind != events.Notice || !strings.Contains(d.events[0].Text, "The rule zoom was not stored") {
			t.Errorf("told was %+v", d.events)
		}
		d.grant("run_command(deploy --token hunter2)")
		if log := d.log.String(); !strings.Contains(log, "tool=run_command") || strings.Contains(log, "hunter2") {
			t.Errorf("the log is %s", log)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		d.Grant(ended, ruleOf(t, "zoom")) // returns
	})
}

// A revoked rule allows nothing any more, also not the call that waits, and the configuration's rules are not revoked.
func TestRevokedRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := restored(t, NewConfigured(rulesOf(t, "pan"), rulesOf(t, "deploy"), nil), "zoom", "run_command(go test *)")
		if d.verdict("zoom") != approval.Allowed {
			t.Error("the stored rule does not hold")
		}
		for text, want := range map[string]string{
			"":       "the session has no such rule",
			"zoo":    "the session has no such rule",
			"pan":    "belongs to the configuration",
			"deploy": "belongs to the configuration",
		} {
			if err := d.revoke(text); !errors.Is(err, mailbox.ErrInvalid) || !strings.Contains(err.Error(), want) {
				t.Errorf("revoking %q: %v", text, err)
			}
		}
		if d.reconsidered > 0 || len(d.told()) > 0 {
			t.Error("a rule that was not revoked has an effect")
		}
		if err := d.revoke("zoom"); err != nil {
			t.Fatal(err)
		}
		if d.reconsidered != 1 {
			t.Errorf("the newest call was decided anew %d times", d.reconsidered)
		}
		if d.verdict("zoom") != approval.Asks || !slices.Equal(d.stored[0].Config.Rules, []string{"run_command(go test *)"}) {
			t.Errorf("stored is %+v", d.stored)
		}
		if err := d.revoke("run_command(go test *)"); err != nil {
			t.Fatal(err)
		}
		if d.reconsidered != 1 || d.stored[1].Config.Rules != nil {
			t.Errorf("decided anew %d times, stored is %+v", d.reconsidered, d.stored[1])
		}
		d.full = true
		d.grant("zoom")
		if err := d.revoke("zoom"); err == nil {
			t.Error("a rule that the session lacks was revoked")
		}
	})
}

// A rule that cannot be read allows nothing, and is gone with the next change.
func TestDamagedRulesAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := restored(t, nil, "", "*", "run_command", "run_command(sh *)", "run_command(git -c *)", "zoom\x00", "pan", strings.Repeat("x", 5000))
		if got := d.list(); !slices.Equal(got, []string{`allow session pan pan ""`}) {
			t.Errorf("the rules are %v", got)
		}
		if !strings.Contains(d.log.String(), "rules of the session dropped") || !strings.Contains(d.log.String(), "count=7") || strings.Contains(d.log.String(), "git -c") {
			t.Errorf("the log is %s", d.log.String())
		}
		d.grant("zoom")
		if !slices.Equal(d.stored[0].Config.Rules, []string{"pan", "zoom"}) {
			t.Errorf("stored are %q", d.stored[0].Config.Rules)
		}
	})
}

func TestTheListHasAllRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deny, err := approval.ParseRules([]string{"run_command(git push *)", "run_command"}, approval.ParseDeny)
		if err != nil {
			t.Fatal(err)
		}
		d := restored(t, NewConfigured(rulesOf(t, "edit_file", "zoom"), deny, nil), "zoom", "run_command(go test *)", `run_command("go test *")`)
		if got, want := d.list(), []string{
			`allow session zoom zoom ""`, `allow session run_command(go test *) run_command "go test *"`,
			`allow session run_command("go test *") run_command "go test *"`,
			`allow config edit_file edit_file ""`, `allow config zoom zoom ""`,
			`deny config run_command(git push *) run_command "git push *"`, `deny config run_command run_command ""`,
		}; !slices.Equal(got, want) {
			t.Errorf("got\n%s", strings.Join(got, "\n"))
		}
		if d = restored(t, nil); d.list() != nil {
			t.Errorf("got %v", d.list())
		}
	})
}

// A kept rule holds for all sessions, also for a call that waits. It holds only if it was kept.
func TestAKeptRuleHoldsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failure error
		kept := 0
		configured := NewConfigured(nil, nil, func(context.Context, approval.Rule) error { kept++; return failure })
		d, other := restored(t, configured, "zoom"), restored(t, configured)
		keep := func() error {
			err := configured.Keep(t.Context(), ruleOf(t, "zoom"))
			other.ConfigurationChanged()
			synctest.Wait()
			return err
		}
		if other.verdict("zoom") != approval.Asks {
			t.Fatal("the rule holds for another session")
		}
		failure = errors.New("strata.yaml: read-only")
		if err := keep(); !errors.Is(err, mailbox.ErrInvalid) || !strings.Contains(err.Error(), `rule "zoom" was not added to the configuration: strata.yaml: read-only`) || other.reconsidered > 0 {
			t.Errorf("%v, decided anew %d times", err, other.reconsidered)
		}
		failure = nil
		for range 2 {
			if err := keep(); err != nil {
				t.Fatal(err)
			}
		}
		if other.reconsidered != 2 || other.verdict("zoom") != approval.Allowed {
			t.Errorf("decided anew %d times", other.reconsidered)
		}
		if allow, _ := configured.Rules(); len(allow) != 1 || kept != 3 {
			t.Errorf("the rules are %v, kept %d times", allow, kept)
		}
		if err := d.revoke("zoom"); err != nil || d.verdict("zoom") != approval.Allowed {
			t.Errorf("the configuration's rule went with the session's, %v", err)
		}
	})
}

func TestRulesThatCannotBeKept(t *testing.T) {
	full := make([]string, approval.MaxRules)
	for i := range full {
		full[i] = fmt.Sprint("tool", i)
	}
	keeper := func(context.Context, approval.Rule) error { return nil }
	for want, c := range map[string]*Configured{
		"this server has no configuration file":  NewConfigured(nil, nil, nil),
		"this server has no configuration file ": nil,
		"tools.allow has 200 rules, the maximum": NewConfigured(rulesOf(t, full...), nil, keeper),
	} {
		if err := c.Keep(t.Context(), ruleOf(t, "zoom")); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := NewConfigured(rulesOf(t, full...), nil, keeper).Keep(t.Context(), ruleOf(t, "tool7")); err != nil {
		t.Error(err)
	}
}

// Rules are kept one after the other, while sessions read them.
func TestRulesAreKeptOneAtATime(t *testing.T) {
	var inside, most int
	c := NewConfigured(nil, nil, func(context.Context, approval.Rule) error {
		inside++
		most = max(most, inside)
		inside--
		return nil
	})
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := c.Keep(t.Context(), ruleOf(t, fmt.Sprint("tool", i%10))); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			allow, _ := c.Rules()
			_ = allow.Texts()
		})
	}
	all.Wait()
	if allow, _ := c.Rules(); len(allow) != 10 || most != 1 {
		t.Errorf("%d rules, %d were kept at a time", len(allow), most)
	}
}
