package serve

import (
	"context"

	"strata/cmd/strata/internal/config"
	"strata/filecontext"
	"strata/internal/patience"
	"strata/session/choices"
	"strata/session/profile"
	"strata/stability"
)

// Rules returns the rules of sessions, which share no memory with earlier ones. The error for an override that its profile
// refuses names the place of the override.
func Rules(c *config.Config) (choices.Rules, error) {
	profiles, err := profile.All()
	if err != nil {
		return choices.Rules{}, err
	}
	for _, o := range c.Profiles {
		if profiles[o.Profile], err = profiles[o.Profile].With(o.Path, o.Value); err != nil {
			return choices.Rules{}, o.Errorf("%w", err)
		}
	}
	if !c.Compaction.Enabled {
		for name, p := range profiles {
			p.Compaction.Enabled = false
			profiles[name] = p
		}
	}
	return choices.Rules{
		Profile: c.Profile, SystemPrompt: c.SystemPrompt, Profiles: profiles,
		Stability: stability.Options{
			Layout: c.Stability.Layout, Lifetime: c.Stability.CacheTTL, Strict: c.Stability.Strict, Target: c.Stability.CacheTargetTokens,
		},
	}, nil
}

// workspaces implements choices.Workspaces: a folder can have settings of its own.
type workspaces struct {
	*config.Config
	rules choices.Rules      // of folders without settings; sessions share them
	guard *filecontext.Guard // of the folders of sessions
}

// Rules returns the rules of the sessions in a folder: those of the server if the folder has no settings of its own.
func (w workspaces) Rules(ctx context.Context, folder string) (choices.Rules, error) {
	own, err := patience.Do(ctx, patience.Files, folder, folder, func() (*config.Config, error) { return w.ForWorkspace(folder, w.guard.OpenFolder) })
	switch {
	case err != nil:
		return choices.Rules{}, err
	case own == w.Config:
		return w.rules, nil
	}
	return Rules(own)
}
