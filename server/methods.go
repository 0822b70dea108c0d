package server

import (
	"slices"
	"strings"

	"strata/history"
	"strata/rpc"
	"strata/server/past"
	"strata/server/wire"
	"strata/session"
	"strata/session/documents"
	"strata/session/permissions"
	"strata/session/workspace"
)

// methodTable returns every method of the server, by name.
func methodTable() map[string]method {
	removed := under[bool]("removed")
	return map[string]method{
		"initialize":                on(initialize),
		"authenticate":              on(authenticate),
		"session/new":               parsed((*wire.NewSessionParams).Declaration, newSession),
		"session/load":              on(loadSession),
		"session/resume":            on(resumeSession),
		"session/list":              on(listSessions),
		"session/close":             on(closeSession),
		"session/delete":            on(deleteSession),
		"session/fork":              on(forkSession),
		"session/prompt":            parsed((*wire.PromptParams).Blocks, prompt),
		"session/cancel":            on(cancelTurn),
		"session/set_config_option": on(setConfigOption),
		"session/set_mode":          on(setMode),
		"$/cancel_request":          on(cancelRequest),

		"_strata/session/attach":       on(attach),
		"_strata/session/detach":       on(detach),
		"_strata/session/info":         on(sessionInfo),
		"_strata/session/rename":       on(rename),
		"_strata/session/undelete":     on(undelete),
		"_strata/session/purge":        on(purgeSession),
		"_strata/session/list_deleted": on(listDeleted),
		"_strata/session/fork":         on(forkAt),
		"_strata/session/export":       on(exportSession),
		"_strata/session/import":       on(importSession),

		"_strata/history/list":    parsed((*wire.HistoryParams).SeqPage, listHistory),
		"_strata/session/search":  parsed((*wire.SessionSearchParams).SessionSearch, searchSessions),
		"_strata/history/find":    parsed((*wire.PhraseParams).PhraseQuery, findInHistory),
		"_strata/history/search":  parsed((*wire.SearchParams).SearchQuery, searchHistory),
		"_strata/history/append":  parsed((*wire.AppendParams).History, appendHistory),
		"_strata/history/replace": parsed((*wire.ReplaceParams).History, replaceHistory),
		"_strata/history/clear":   query((*session.Session).Clear, wire.NewCleared),
		"_strata/history/compact": on(compactHistory),
		"_strata/history/arrange": parsed((*wire.ArrangeParams).Action, arrange),
		"_strata/history/edits":   parsed((*wire.HistoryParams).SeqPage, listEdits),

		"_strata/checkpoint/create":  inSession(createCheckpoint, nil),
		"_strata/checkpoint/list":    query((*session.Session).Checkpoints, checkpointList),
		"_strata/checkpoint/delete":  inSession(deleteCheckpoint, removed),
		"_strata/checkpoint/restore": inSession(restoreCheckpoint, wire.NewRestored),
		"_strata/checkpoint/undo":    inSession(undoEdit, wire.NewRestored),
		"_strata/turn/changes":       parsed((*wire.ChangesParams).SeqPage, turnChanges),
		"_strata/changes/revert":     inSession(revertChanges, wire.NewReverted),

		"_strata/files/add":         inSession(addFile, nil),
		"_strata/files/remove":      inSession(removeFile, removed),
		"_strata/files/clear":       inSession(clearFiles, under[int]("removed")),
		"_strata/files/list":        inSession(listFiles, under[[]workspace.FileInfo]("files")),
		"_strata/files/content":     inSession(fileContent, nil),
		"_strata/files/changed":     inSession(filesChanged, under[[]string]("changed")),
		"_strata/files/check_edit":  inSession(checkEdit, nil),
		"_strata/outline/get":       inSession(outlineOf, nil),
		"_strata/outline/search":    inSession(searchOutlines, nil),
		"_strata/workspace/find":    inSession(findPaths, under[[]workspace.FoundPath]("paths")),
		"_strata/folders/complete":  parsed((*wire.CompleteParams).Size, completeFolder),
		"_strata/documents/set":     inSession(setDocument, nil),
		"_strata/documents/remove":  inSession(removeDocument, removed),
		"_strata/documents/list":    query((*session.Session).Documents, under[[]documents.Info]("documents")),
		"_strata/context/budget":    query(budget, nil),
		"_strata/context/breakdown": query(breakdown, nil),
		"_strata/context/cache":     on(cacheTime),
		"_strata/context/report":    inSession(report, nil),
		"_strata/context/draft":     parsed((*wire.DraftParams).Blocks, draft),
		"_strata/context/find":      parsed((*wire.LocateParams).Subject, locate),
		"_strata/context/assemble":  parsed((*wire.AssembleParams).SessionTools, assemble),
		"_strata/context/commit":    parsed((*wire.CommitParams).Request, commitCall),
		"_strata/context/count":     parsed((*wire.CountParams).History, countTokens),

		"_strata/context/compaction":   query((*session.Session).Compaction, nil),
		"_strata/permissions/list":     inSession(listRules, under[[]permissions.Listed]("rules")),
		"_strata/permissions/revoke":   inSession(revokeRule, nil),
		"_strata/permissions/keep":     on(keepRule),
		"_strata/usage/list":           parsed((*wire.UsageParams).Size, listUsage),
		"_strata/usage/overview":       on(usageOverview),
		"_strata/requests/get":         parsed((*past.GetParams).Checked, getRequest),
		"_strata/requests/compare":     on(compareRequests),
		"_strata/providers/list":       on(listProviders),
		"_strata/providers/set_key":    on(setKey),
		"_strata/providers/offer_keys": on(offerKeys),
		"_strata/environment/offer":    on(offerEnvironment),
		"_strata/server/info":          on(serverInfo),
		"_strata/server/subscribe":     on(subscribeServer),
		"_strata/server/hud_code":      on(hudCode),
		"_strata/server/stop":          on(stopServer),
		"_strata/debug/quiesce":        debugOnly(on(quiesce)),
	}
}

// debugOnly returns a method that is served with --debug only.
func debugOnly(m method) method {
	m.debug = true
	return m
}

// checkpointList returns the result of _strata/checkpoint/list, whose list is never null.
func checkpointList(list []history.Checkpoint) any {
	return map[string][]history.Checkpoint{"checkpoints": append([]history.Checkpoint{}, list...)}
}

// initialize responds with the capabilities of the server and records those of the client.
func initialize(p *peer, r *rpc.Request, params wire.InitializeParams) {
	if p.initialized {
		r.Fail(&rpc.Error{Code: rpc.CodeInvalidRequest, Message: "the connection is already initialized"})
		return
	}
	p.initialized, p.can = true, params.Capabilities()
	var extensions []string
	for name, m := range p.methods {
		if strings.HasPrefix(name, "_strata/") && (p.Debug || !m.debug) {
			extensions = append(extensions, name)
		}
	}
	slices.Sort(extensions)
	r.Reply(wire.NewInitializeResult(wire.Agent{
		Version: p.Version, Methods: extensions, FrameBytes: p.FrameBytes, Auth: p.authMethods(),
	}))
}
