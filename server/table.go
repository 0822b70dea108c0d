package server

import (
	"slices"
	"strings"

	"strata/rpc"
	"strata/session"
)

// method is an entry of the method table.
type method struct {
	handle func(p *peer, r *rpc.Request)
	debug  bool // only with --debug
}

// methodTable lists every method that the server knows.
func methodTable() map[string]method {
	return map[string]method{
		"initialize":                {handle: on(initialize)},
		"authenticate":              {handle: on(authenticate)},
		"session/new":               {handle: on(newSession)},
		"session/load":              {handle: on(loadSession)},
		"session/resume":            {handle: on(resumeSession)},
		"session/list":              {handle: on(listSessions)},
		"session/close":             {handle: on(closeSession)},
		"session/delete":            {handle: on(deleteSession)},
		"session/fork":              {handle: on(forkSession)},
		"session/prompt":            {handle: on(prompt)},
		"session/cancel":            {handle: on(cancelTurn)},
		"session/set_config_option": {handle: on(setConfigOption)},
		"$/cancel_request":          {handle: on(cancelRequest)},

		"_strata/session/attach":     {handle: on(attach)},
		"_strata/session/detach":     {handle: on(detach)},
		"_strata/session/info":       {handle: on(sessionDetails)},
		"_strata/session/rename":     {handle: on(rename)},
		"_strata/session/undelete":   {handle: on(undelete)},
		"_strata/session/fork":       {handle: on(forkAt)},
		"_strata/session/export":     {handle: on(exportSession)},
		"_strata/session/import":     {handle: on(importSession)},
		"_strata/history/list":       {handle: on(listHistory)},
		"_strata/history/search":     {handle: on(searchHistory)},
		"_strata/history/append":     {handle: on(appendHistory)},
		"_strata/history/clear":      {handle: on(clearHistory)},
		"_strata/files/add":          {handle: on(addFile)},
		"_strata/files/remove":       {handle: on(removeFile)},
		"_strata/files/clear":        {handle: on(clearFiles)},
		"_strata/files/list":         {handle: on(listFiles)},
		"_strata/files/content":      {handle: on(fileContent)},
		"_strata/files/changed":      {handle: on(filesChanged)},
		"_strata/files/check_edit":   {handle: on(checkEdit)},
		"_strata/workspace/find":     {handle: on(findPaths)},
		"_strata/documents/set":      {handle: on(setDocument)},
		"_strata/documents/remove":   {handle: on(removeDocument)},
		"_strata/documents/list":     {handle: on(listDocuments)},
		"_strata/context/budget":     {handle: on(budget)},
		"_strata/context/breakdown":  {handle: on(breakdown)},
		"_strata/context/report":     {handle: on(report)},
		"_strata/context/assemble":   {handle: on(assemble)},
		"_strata/context/commit":     {handle: on(commitCall)},
		"_strata/context/compaction": {handle: on(compactionStatus)},
		"session/set_mode":           {handle: on(setMode)},
		"_strata/history/replace":    {handle: on(replaceHistory)},
		"_strata/context/count":      {handle: on(countTokens)},
		"_strata/history/compact":    {handle: on(compactHistory)},
		"_strata/history/edits":      {handle: on(listEdits)},
		"_strata/checkpoint/create":  {handle: on(createCheckpoint)},
		"_strata/checkpoint/list":    {handle: on(listCheckpoints)},
		"_strata/checkpoint/delete":  {handle: on(deleteCheckpoint)},
		"_strata/checkpoint/restore": {handle: on(restoreCheckpoint)},
		"_strata/checkpoint/undo":    {handle: on(undoEdit)},
		"_strata/usage/list":         {handle: on(listUsage)},
		"_strata/providers/list":     {handle: on(listProviders)},
		"_strata/providers/set_key":  {handle: on(setKey)},
		"_strata/server/info":        {handle: on(serverInfo)},
		"_strata/server/subscribe":   {handle: on(subscribeServer)},
		"_strata/server/hud_code":    {handle: on(hudCode)},
		"_strata/server/stop":        {handle: on(stopServer)},
		"_strata/debug/quiesce":      {handle: on(quiesce), debug: true},
	}
}

// extensionMethods are the names of the methods that ACP has no word for, as initialize advertises them.
func extensionMethods(table map[string]method, debug bool) []string {
	var names []string
	for name, m := range table {
		if strings.HasPrefix(name, "_strata/") && (debug || !m.debug) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// on makes a handler of a function that takes decoded parameters.
func on[P any](handle func(p *peer, r *rpc.Request, params P)) func(*peer, *rpc.Request) {
	return func(p *peer, r *rpc.Request) {
		var params P
		if err := decode(r.Params(), &params); err != nil {
			r.Fail(err)
			return
		}
		handle(p, r, params)
	}
}

// withSession calls use with the session that a request names.
func withSession(p *peer, r *rpc.Request, id string, use func(*session.Session)) {
	s, err := p.server.sessions.open(id)
	if err != nil {
		r.Fail(err)
		return
	}
	use(s)
}

// answer returns the reply function of a session's method: the result, converted, or the error.
func answer[T any](r *rpc.Request, id string, convert func(T) any) func(T, error) {
	return func(value T, err error) {
		if err != nil {
			r.Fail(sessionError(id, err))
			return
		}
		r.Reply(convert(value))
	}
}
