package permissions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"strata/internal/clip"
	"strata/session/approval"
	"strata/session/mailbox"
)

// Keeper adds an allow rule to the user's configuration, unless the configuration contains it. The text of an error is for the
// user.
type Keeper func(ctx context.Context, rule approval.Rule) error

// Configured are the rules of the user's configuration, which all sessions of a server share. A nil *Configured has none.
// Safe for concurrent use.
type Configured struct {
	keeper  Keeper
	keeping sync.Mutex // held while the configuration is written

	mu          sync.Mutex
	allow, deny approval.Rules // replaced, never changed
}

// NewConfigured returns the rules of the configuration. Without a keeper, Keep fails.
func NewConfigured(allow, deny approval.Rules, keeper Keeper) *Configured {
	return &Configured{allow: allow, deny: deny, keeper: keeper}
}

// Rules returns the rules of the configuration. The caller must not change them.
func (c *Configured) Rules() (allow, deny approval.Rules) {
	if c == nil {
		return nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.allow, c.deny
}

// Keep adds an allow rule to the user's configuration, and then to Rules. It blocks. An error wraps mailbox.ErrInvalid; its
// text is for the user.
func (c *Configured) Keep(ctx context.Context, rule approval.Rule) error {
	if c == nil || c.keeper == nil {
		return notKept(rule, errors.New("this server has no configuration file"))
	}
	c.keeping.Lock()
	defer c.keeping.Unlock()
	if allow, _ := c.Rules(); len(allow) >= approval.MaxRules && !slices.Contains(allow, rule) {
		return notKept(rule, fmt.Errorf("tools.allow has %d rules, the maximum; remove one", len(allow)))
	}
	if err := c.keeper(ctx, rule); err != nil {
		return notKept(rule, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.allow, rule) {
		c.allow = append(slices.Clip(c.allow), rule)
	}
	return nil
}

func notKept(rule approval.Rule, err error) error {
	return fmt.Errorf("%w: rule %q was not added to the configuration: %w", mailbox.ErrInvalid, clip.Name(rule.String()), err)
}
