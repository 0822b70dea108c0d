package session

import (
	"strata/session/asking"
	"strata/session/clients"
	"strata/session/events"
	"strata/session/following"
)

// followers are the ways to follow a session. The alias keeps the embedded field from being exported.
type followers = following.Following

// subscriptions are those that follow the session, and the clients among them that serve its requests. They belong to the
// mailbox.
type subscriptions struct {
	*core
	*followers
	clients clients.Choice
	asking  *asking.Asking
	held    func() // called when a client has joined that has the session's files
}

// Join makes a client that is about to subscribe serve the session's requests, until Unsubscribe.
func (s *subscriptions) Join(client clients.Client) {
	s.tell(func() {
		s.clients.Add(client)
	})
}

// Hold makes a client that has joined serve the requests for the session's files, if a client has them, and if id is that of
// the files with which the session was created.
func (s *subscriptions) Hold(client clients.Client, id string) {
	s.tell(func() {
		if s.choices.Record.Config.WorkspaceID == id && s.clients.Has(client) {
			if s.workspace.Join(client) {
				s.held()
			}
		}
	})
}

// ask asks clients that have subscribed the open question, behind the events that they receive.
func (s *subscriptions) ask() {
	for _, client := range s.clients.All(clients.Permissions) {
		s.asking.Subscribed(client)
	}
}

// Unsubscribe ends c's subscription, which is that of a client.
func (s *subscriptions) Unsubscribe(c *events.Cursor, client clients.Client) {
	s.tell(func() {
		s.events.Unsubscribe(c)
		s.clients.Remove(client)
		s.workspace.Leave(client)
		s.asking.Left(client)
		s.used()
	})
}
