package main

import (
	"context"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpServer is an MCP server for scripts. With an argument it says that and fails instead; with "hang" it does nothing until
// its input ends.
func mcpServer() {
	switch arg := len(os.Args) > 1; {
	case arg && os.Args[1] == "hang":
		for b := make([]byte, 1); ; {
			if _, err := os.Stdin.Read(b); err != nil {
				return
			}
		}
	case arg:
		fmt.Fprintln(os.Stderr, os.Args[1])
		os.Exit(3)
	}
	folder, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	for name, about := range map[string]string{
		"greet":  "Greets.\nAt length.",
		"where":  "Works in " + folder + " in the zone " + os.Getenv("TZ") + ".",
		"secret": "Has " + os.Getenv("TOKEN") + ", and no " + os.Getenv("UNRELATED") + ".",
	} {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: about}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{}, nil, nil
		})
	}
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
