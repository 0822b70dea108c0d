package mcpcheck

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// shopVariable makes the test program an MCP server over stdio that behaves as the words in its value say. Its children have
// the variable, too.
const shopVariable = "STRATA_TEST_MCP_SHOP"

// The words.
const (
	orderly  = "orderly"  // ends with its stdin
	stubborn = "stubborn" // ignores SIGTERM and the end of its stdin, as does a child of it
	lazy     = "lazy"     // takes some time to start
)

// lateness is how long a lazy shop takes to start.
const lateness = 200 * time.Millisecond

// picture is a PNG with one pixel.
var picture = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" +
	"\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\xad\xc7\xb5\xd7\x00\x00\x00\x00IEND\xaeB`\x82")

// openShop serves over stdio until stdin ends.
func openShop(words string) {
	isStubborn := strings.Contains(words, stubborn)
	if isStubborn {
		signal.Ignore(syscall.SIGTERM)
		keepChild()
	}
	if strings.Contains(words, lazy) {
		time.Sleep(lateness)
	}
	_ = newShop().Run(context.Background(), &sdk.StdioTransport{}) // ends with stdin
	for isStubborn {
		time.Sleep(time.Hour)
	}
}

// keepChild starts a process that does not end by itself.
func keepChild() {
	child := exec.Command("/bin/sh", "-c", `trap "" TERM INT HUP; while :; do sleep 1000; done`)
	if err := child.Start(); err != nil {
		panic(err)
	}
}

// order is the input of all tools.
type order struct {
	Steps int    `json:"steps,omitempty"`
	File  string `json:"file,omitempty"`
}

// shop has the tools of an MCP server.
type shop struct{ *sdk.Server }

func newShop() shop {
	s := shop{sdk.NewServer(&sdk.Implementation{Name: "shop", Version: "1"}, nil)}
	s.sell("where", s.where)
	s.sell("count", s.count)
	s.sell("paint", s.paint)
	s.sell("grow", s.grow)
	s.sell("await", s.await)
	s.sell("die", s.die)
	return s
}

func (s shop) sell(name string, run func(context.Context, *sdk.CallToolRequest, order) (sdk.Content, error)) {
	tool := &sdk.Tool{Name: name, Title: "Shop: " + name, Description: "does " + name}
	sdk.AddTool(s.Server, tool, func(ctx context.Context, req *sdk.CallToolRequest, o order) (*sdk.CallToolResult, any, error) {
		content, err := run(ctx, req, o)
		if err != nil {
			return nil, nil, err
		}
		return &sdk.CallToolResult{Content: []sdk.Content{content}}, nil, nil
	})
}

// place is the result of where.
type place struct {
	PID    int
	Folder string
	Roots  []string // URIs
	Zone   string   // the variable TZ
	Token  string   // the variable SHOP_TOKEN
}

// where returns the process of the server, and what its client tells about itself.
func (s shop) where(ctx context.Context, req *sdk.CallToolRequest, _ order) (sdk.Content, error) {
	p := place{PID: os.Getpid(), Zone: os.Getenv("TZ"), Token: os.Getenv("SHOP_TOKEN")}
	p.Folder, _ = os.Getwd()
	roots, err := req.Session.ListRoots(ctx, nil) //lint:ignore SA1019 servers of protocol versions before 2026-07-28 ask for roots
	if err != nil {
		return nil, err
	}
	for _, root := range roots.Roots {
		p.Roots = append(p.Roots, root.URI)
	}
	text, err := json.Marshal(p)
	return &sdk.TextContent{Text: string(text)}, err
}

// count reports each step, and waits for a file.
func (s shop) count(ctx context.Context, req *sdk.CallToolRequest, o order) (sdk.Content, error) {
	for i := range o.Steps {
		report := sdk.ProgressNotificationParams{
			ProgressToken: req.Params.GetProgressToken(), Progress: float64(i + 1), Message: fmt.Sprint("step ", i+1),
		}
		if err := req.Session.NotifyProgress(ctx, &report); err != nil {
			return nil, err
		}
	}
	return s.await(ctx, req, o)
}

func (s shop) paint(context.Context, *sdk.CallToolRequest, order) (sdk.Content, error) {
	return &sdk.ImageContent{MIMEType: "image/png", Data: picture}, nil
}

// grow adds the tool grown.
func (s shop) grow(context.Context, *sdk.CallToolRequest, order) (sdk.Content, error) {
	s.sell("grown", s.paint)
	return &sdk.TextContent{Text: "there is a new tool"}, nil
}

// await waits until a file exists, or until the call is cancelled.
func (s shop) await(ctx context.Context, _ *sdk.CallToolRequest, o order) (sdk.Content, error) {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		if _, err := os.Stat(o.File); err == nil {
			return &sdk.TextContent{Text: "it is there"}, nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// die ends the server in the middle of a call. It is not for one in the test's process.
func (s shop) die(context.Context, *sdk.CallToolRequest, order) (sdk.Content, error) {
	os.Exit(7)
	return nil, nil
}
