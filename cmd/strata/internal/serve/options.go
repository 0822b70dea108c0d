package serve

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/config"
	"strata/filecontext"
	"strata/history"
	"strata/llm"
	"strata/server"
	"strata/server/access"
	"strata/session"
	"strata/session/approval"
	"strata/session/permissions"
	"strata/session/shell"
)

// serverOptions returns the options of a server. The caller closes client.
func serverOptions(p *cli.Process, c *config.Config, opt options, client *llm.Client, log *slog.Logger) (server.Options, error) {
	token, err := p.Token(c)
	if err != nil {
		return server.Options{}, err
	}
	rules, err := Rules(c)
	if err != nil {
		return server.Options{}, err
	}
	tools, err := toolSettings(c)
	if err != nil {
		return server.Options{}, err
	}
	certificate, err := loadTLS(c.TLS)
	if err != nil {
		return server.Options{}, err
	}
	tokenFile := c.TokenFile
	if !c.Token.IsZero() {
		tokenFile = ""
	}
	guard, err := filecontext.NewGuard(filecontext.GuardOptions{Within: c.Workspaces.Roots})
	if err != nil {
		return server.Options{}, fmt.Errorf("workspaces.roots: %w", err)
	}
	executable, err := os.Executable()
	if err != nil {
		log.Warn("the path of this program is unknown", slog.Any("error", err))
	}
	serverFile := access.ServerFilePath(p.Getenv, c.Folders.State)
	return server.Options{
		Version: p.Version, Listen: c.Listen, TLS: certificate, Proxy: c.BehindProxy,
		Token: token, TokenFile: tokenFile, Origins: c.Origins, Hosts: c.Hosts,
		ServerFile: serverFile, Executable: executable,
		StateDir: c.Folders.State, LogFile: c.Log.File, Roots: c.Workspaces.Roots,
		Own: own(c, serverFile), Secrets: c.Files.Secrets, CommandsDir: filepath.Join(c.Folders.Config, "commands"),
		Retention: c.Retention, IdleUnload: c.IdleUnload, ExitIdle: opt.exitIdle,
		RequestAge: c.Storage.RequestAge, RequestBytes: c.Storage.RequestBytes,
		Connections: c.Limits.Connections, Requests: c.Limits.Requests, FrameBytes: c.Limits.FrameBytes,
		CompactionWorkers: c.Compaction.Workers,
		MCPServers:        c.MCPDefinitions(p.Getenv),
		Budgets:           c.BudgetList(),
		Models:            catalogue{client},
		Workspaces:        workspaces{c, rules, guard},
		Sessions: session.Settings{
			Tools:          tools,
			Rules:          rules,
			DefaultConfig:  history.Config{Model: c.Model, ThoughtLevel: c.ThoughtLevel},
			Files:          filecontext.Limits{FileBytes: c.Limits.FileBytes},
			RulesFile:      true,
			DetectionModel: c.DetectionModel, SummaryModel: cmp.Or(c.SummaryModel, c.DetectionModel),
		},
		Outlines: outlines(p, c),
		Debug:    opt.debug, Log: log,
	}, nil
}

// toolSettings returns the settings of tools. A rule that cannot be read must not be left out: it can be one that refuses.
func toolSettings(c *config.Config) (session.ToolSettings, error) {
	allow, err := approval.ParseRules(c.Tools.Allow, approval.ParseAllow)
	if err != nil {
		return session.ToolSettings{}, fmt.Errorf("tools.allow: %w", err)
	}
	deny, err := approval.ParseRules(c.Tools.Deny, approval.ParseDeny)
	if err != nil {
		return session.ToolSettings{}, fmt.Errorf("tools.deny: %w", err)
	}
	return session.ToolSettings{
		Enabled: c.Tools.Enabled, MaxSteps: c.Tools.MaxSteps, ApprovalTimeout: c.Tools.ApprovalTimeout,
		Commands: shell.Runner(c.Tools.Commands), Secrets: c.KeyVariables(),
		Rules: permissions.NewConfigured(allow, deny, newRuleFile(c).keep),
	}, nil
}

// outlines returns the settings of the indexes; nil turns them off.
func outlines(p *cli.Process, c *config.Config) *server.Outlines {
	if !c.Outlines.Enabled {
		return nil
	}
	o := &server.Outlines{Files: c.Outlines.Files, TotalBytes: c.Outlines.TotalBytes}
	if home := p.Getenv("HOME"); home != "" {
		o.Skip = append(o.Skip, home)
	}
	return o
}

// own returns the files and folders of Strata, the configured ones too, whether or not they exist.
func own(c *config.Config, serverFile string) []string {
	return []string{c.Folders.Config, c.Folders.Data, c.Folders.State, filepath.Dir(serverFile), c.File, c.TokenFile, c.TLS.Key}
}

// loadTLS returns nil if TLS is not configured.
func loadTLS(names config.TLS) (*tls.Config, error) {
	if names.Cert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(names.Cert, names.Key)
	if err != nil {
		return nil, fmt.Errorf("tls.cert %s, tls.key %s: %w", names.Cert, names.Key, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}
