package server

import (
	"strata/rpc"
	"strata/session"
)

type addFileParams struct {
	sessionParams
	Path        string             `json:"path"`
	Content     *string            `json:"content"`
	State       string             `json:"state"`
	Range       *session.FileRange `json:"range"`
	Once        bool               `json:"once"`
	LineNumbers bool               `json:"lineNumbers"`
}

func addFile(p *peer, r *rpc.Request, params addFileParams) {
	switch {
	case params.Path == "":
		r.Fail(invalidParams("path is missing"))
		return
	case params.State != "" && params.State != "full" && params.State != "summary":
		r.Fail(invalidParams("state: full or summary is wanted"))
		return
	}
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.AddFile(session.FileRequest{
			Path: params.Path, Content: params.Content, Summary: params.State == "summary", Range: params.Range,
			Once: params.Once, LineNumbers: params.LineNumbers,
		}, answer(r, s.ID(), func(f session.FileInfo) any { return f }))
	})
}

type fileParams struct {
	sessionParams
	Path string `json:"path"`
}

func removeFile(p *peer, r *rpc.Request, params fileParams) {
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.RemoveFile(params.Path, answer(r, s.ID(), func(removed bool) any { return map[string]bool{"removed": removed} }))
	})
}

func clearFiles(p *peer, r *rpc.Request, params sessionParams) {
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.ClearFiles(answer(r, s.ID(), func(removed int) any { return map[string]int{"removed": removed} }))
	})
}

func listFiles(p *peer, r *rpc.Request, params sessionParams) {
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.Files(answer(r, s.ID(), func(files []session.FileInfo) any { return map[string][]session.FileInfo{"files": files} }))
	})
}

func fileContent(p *peer, r *rpc.Request, params fileParams) {
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.FileContent(params.Path, answer(r, s.ID(), func(c session.FileText) any { return c }))
	})
}

type filesChangedParams struct {
	sessionParams
	Paths []string `json:"paths"`
}

func filesChanged(p *peer, r *rpc.Request, params filesChangedParams) {
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.FilesChanged(params.Paths, answer(r, s.ID(), func(changed []string) any { return map[string][]string{"changed": changed} }))
	})
}
