package server

import (
	"strata/server/wire"
	"strata/session"
	"strata/session/documents"
	"strata/session/outlines"
	"strata/session/workspace"
)

func addFile(s *session.Session, params wire.AddFileParams, reply func(workspace.FileInfo, error)) {
	s.Workspace().AddFile(params.Request(), reply)
}

func removeFile(s *session.Session, params wire.FileParams, reply func(bool, error)) {
	s.Workspace().RemoveFile(params.Path, reply)
}

func fileContent(s *session.Session, params wire.FileParams, reply func(workspace.FileText, error)) {
	s.Workspace().FileContent(params.Path, reply)
}

func filesChanged(s *session.Session, params wire.FilesChangedParams, reply func([]string, error)) {
	s.Workspace().FilesChanged(params.Paths, reply)
}

func checkEdit(s *session.Session, params wire.CheckEditParams, reply func(struct{}, error)) {
	s.Workspace().CheckEdit(workspace.EditRequest{Path: params.Path, Base: params.BaseHash, Lines: params.Lines}, reply)
}

func findPaths(s *session.Session, params wire.FindParams, reply func([]workspace.FoundPath, error)) {
	s.Workspace().FindPaths(params.Query, params.Limit, reply)
}

func clearFiles(s *session.Session, _ wire.SessionParams, reply func(int, error)) {
	s.Workspace().ClearFiles(reply)
}

func listFiles(s *session.Session, params wire.ListFilesParams, reply func([]workspace.FileInfo, error)) {
	s.Workspace().KnownFiles(workspace.Known{Outlines: params.Outlines, Read: params.Read}, reply)
}

func outlineOf(s *session.Session, params wire.FileParams, reply func(workspace.OutlineInfo, error)) {
	s.Workspace().Outline(params.Path, reply)
}

func searchOutlines(s *session.Session, params wire.FindParams, reply func(outlines.Found, error)) {
	s.Workspace().SearchOutlines(params.Query, params.Limit, reply)
}

func setDocument(s *session.Session, params wire.DocumentParams, reply func(documents.Info, error)) {
	s.SetDocument(params.Request(), reply)
}

func removeDocument(s *session.Session, params wire.DocumentName, reply func(bool, error)) {
	s.RemoveDocument(params.Name, reply)
}
