// Package mcpcheck lets the real program use MCP servers, over stdio and over HTTP, with a client as editors have it. It kills
// the program at random moments and checks that no process of an MCP server is left.
//
// It contains only tests. They must never end a process that neither they nor their programs have started.
package mcpcheck
