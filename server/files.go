package server

import (
	"strata/server/wire"
	"strata/session"
	"strata/session/documents"
	"strata/session/workspace"
)

func addFile(s *session.Session, params wire.AddFileParams, reply func(workspace.FileInfo, error)) {
	s.AddFile(params.Request(), reply)
}

func removeFile(s *session.Session, params wire.FileParams, reply func(bool, error)) {
	s.RemoveFile(params.Path, reply)
}

func fileContent(s *session.Session, params wire.FileParams, reply func(workspace.FileText, error)) {
	s.FileContent(params.Path, reply)
}

func filesChanged(s *session.Session, params wire.FilesChangedParams, reply func([]string, error)) {
	s.FilesChanged(params.Paths, reply)
}

func checkEdit(s *session.Session, params wire.CheckEditParams, reply func(struct{}, error)) {
	s.CheckEdit(params.Path, params.BaseHash, reply)
}

func findPaths(s *session.Session, params wire.FindParams, reply func([]workspace.FoundPath, error)) {
	s.FindPaths(params.Query, params.Limit, reply)
}

func setDocument(s *session.Session, params wire.DocumentParams, reply func(documents.Info, error)) {
	s.SetDocument(params.Request(), reply)
}

func removeDocument(s *session.Session, params wire.DocumentName, reply func(bool, error)) {
	s.RemoveDocument(params.Name, reply)
}
