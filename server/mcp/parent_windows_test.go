package mcp

func actParent() {}

func (a *actorServer) child(m message) { a.text(m, "") }
