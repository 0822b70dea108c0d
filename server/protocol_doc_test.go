package server

import (
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/llm"
	"strata/rpc"
	"strata/server/wire"
	"strata/session"
	"strata/session/approval"
	"strata/session/events"
	"strata/session/permissions"
	"strata/session/servers"
	"strata/session/tools"
	"strata/tokens"
)

// docs/protocol.md is checked by running it. Its JSON blocks are frames, sent to a server in their order, so they are
// one session:
//
//   - with "method" and "id": a request, which is sent;
//   - with "id" and "result" or "error": its answer, which must have come with the same shape;
//   - with "method" alone: a notification. One of the client's is sent, one of the server's must have come;
//   - with a method of clients and "id": a request of the server, which is made to ask. Its answer is sent and must have
//     reached the server, unless the request was cancelled.
//
// In the document, real values have simple names: an id is its prefix and EXAMPLE, the second is EXAMPLE2, in the order
// of the responses; the epoch is EPOCH; the workspace is /home/me/project; a restore to a time is one to the newest checkpoint. -update rewrites a response or a
// notification of the server if its shape differs; an empty one is enough to start with.
const protocolDoc = "../docs/protocol.md"

// kindsOfUpdate maps the events of a session to their updates; all other kinds become _strata/event.
var kindsOfUpdate = map[events.Kind][]string{
	events.Block:   {"user_message_chunk", "tool_call", "tool_call_update"},
	events.Thought: {"agent_thought_chunk"},
	events.Text:    {"agent_message_chunk"},
	events.Usage:   {"usage_update"},
	events.Info:    {"session_info_update"},
	events.Options: {"config_option_update"},
	events.Notice:  {"notice"},
	events.Plan:    {"plan"},

	events.CallUpdate: {"tool_call_update"},

	events.Mode:             {"current_mode_update"},
	events.CompactionUpdate: {"compaction_update"},
	events.SummaryChunk:     {"compaction_summary_chunk"},
}

func TestProtocolDocument(t *testing.T) {
	t.Parallel()
	text := readDoc(t, protocolDoc)
	story := tellStory(t, text)
	writeDoc(t, protocolDoc, text, story.text)

	for name := range methodTable() {
		if !story.methods[name] {
			t.Errorf("%s has no example of %s", protocolDoc, name)
		}
	}
	if !story.kinds[testclient.Commands] {
		t.Errorf("%s has no example of a notification %s", protocolDoc, testclient.Commands)
	}
	for _, kind := range constants[string](t, "../session/events/event.go", func(name, kind string) bool { return kind == "Kind" }) {
		wanted, isUpdate := kindsOfUpdate[events.Kind(kind)]
		if !isUpdate {
			wanted = []string{kind}
		}
		for _, kind := range wanted {
			if !story.kinds[kind] {
				t.Errorf("%s has no example of a notification %s", protocolDoc, kind)
			}
		}
	}
}

// TestProtocolDocumentListsTheErrors compares the first column of the table of errors with the constants.
func TestProtocolDocumentListsTheErrors(t *testing.T) {
	t.Parallel()
	isCode := func(name, _ string) bool { return strings.HasPrefix(strings.ToLower(name), "code") }
	want := append(constants[int](t, "wire/errors.go", isCode), constants[int](t, "../rpc/rpc.go", isCode)...)
	slices.Sort(want)
	var got []int
	for _, m := range regexp.MustCompile(`(?m)^\| (-32\d{3}) \|`).FindAllStringSubmatch(readDoc(t, protocolDoc), -1) {
		code, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, code)
	}
	slices.Sort(got)
	if !slices.Equal(got, slices.Compact(want)) {
		t.Errorf("%s lists the errors %v, the code knows %v", protocolDoc, got, want)
	}
}

// constants returns the values of the constants in a file with the given name and type.
func constants[T any](t *testing.T, file string, wanted func(name, kind string) bool) (values []T) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		kind, _ := spec.Type.(*ast.Ident)
		if kind == nil {
			kind = &ast.Ident{}
		}
		var value T
		if wanted(spec.Names[0].Name, kind.Name) && json.Unmarshal([]byte(source(spec.Values[0])), &value) == nil {
			values = append(values, value)
		}
		return true
	})
	if len(values) == 0 {
		t.Fatalf("%s has no such constants", file)
	}
	return values
}

// source returns a literal as written, and an empty text for other expressions.
func source(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Value
	case *ast.UnaryExpr:
		return e.Op.String() + source(e.X)
	}
	return ""
}

// story walks through the document and a running server in parallel.
type story struct {
	t       *testing.T
	ts      *askable
	editor  *testclient.Editor // sends the document's requests
	other   *testclient.Editor // attached to the first session from the start
	watched string             // id of that session
	names   *exampleNames
	rare    map[string]object
	methods map[string]bool // with an example in the document
	kinds   map[string]bool // of notifications with an example
	created time.Time       // when the newest checkpoint was
	text    string          // the corrected document

	questions map[string]*question     // requests of the server, by id in the document
	asks      map[string]int           // number of these requests, by method
	clients   map[string]*subscription // of the document's editor, by session
	prompt    string                   // id of a prompt without a response; "" for none
	prompts   int                      // so far
}

var jsonBlock = regexp.MustCompile("(?s)```json\n(.*?)```\n")

func tellStory(t *testing.T, text string) *story {
	ts := &askable{testServer: &testServer{t: t, upstream: upstream.Start(upstream.Options{}), dir: t.TempDir(), work: t.TempDir()}}
	t.Cleanup(ts.upstream.Close)
	ts.start(func(opt *Options) { exampleModels(ts.testServer, opt, 50) }) // so that short examples have breakpoints
	ts.serveTests()
	ts.upstream.Choose(exampleAnswers())
	ts.write("main.go", mainGo)
	ts.write("util.go", "package main\n\n// Double returns twice n.\nfunc Double(n int) int { return 2 * n }\n")
	s := &story{
		t: t, ts: ts, names: newExampleNames(ts.testServer), methods: make(map[string]bool), kinds: make(map[string]bool),
		questions: make(map[string]*question), asks: make(map[string]int), clients: make(map[string]*subscription),
		editor: testclient.Connect(t, ts.ready.WebSocket, ts.token.Reveal()),
	}
	end := 0
	for _, at := range jsonBlock.FindAllStringSubmatchIndex(text, -1) {
		s.text += text[end:at[2]] + s.frame(text[at[2]:at[3]], 1+strings.Count(text[:at[2]], "\n"))
		end = at[3]
	}
	s.text += text[end:]
	return s
}

// frame runs the block at a line and returns its corrected form.
func (s *story) frame(block string, line int) string {
	value, err := parseJSON([]byte(block))
	frame, ok := value.(object)
	if err != nil || !ok || frame.at("jsonrpc") != "2.0" {
		s.t.Fatalf("%s:%d: this is no frame: %v", protocolDoc, line, err)
	}
	method := frame.at("method")
	m, ours := methodTable()[method]
	switch {
	case method == "" && s.questions[frame.at("id")] != nil:
		s.respond(frame, line)
		return printBlock(frame)
	case method == "":
		return s.compare(frame, line, s.answer(frame, line))
	case !ours && frame.at("id") != "":
		return s.compare(frame, line, s.asked(frame))
	case method == rpc.MethodCancel && s.questions[frame.at("params", "requestId")] != nil:
		return s.compare(frame, line, s.cancelled(frame))
	case !ours || m.handle == nil:
		s.kinds[kindOf(frame)] = true
		return s.compare(frame, line, s.seen(frame, line)...)
	}
	s.methods[method] = true
	s.prepare(method)
	if method == "session/prompt" {
		s.prompt = frame.at("id")
	}
	request := s.names.real(printLine(frame))
	if method == "_strata/checkpoint/restore" {
		request = realTime.ReplaceAllString(request, s.created.Format(time.RFC3339Nano))
	}
	if err := s.editor.SendRaw(request); err != nil {
		s.t.Fatalf("%s:%d: %v", protocolDoc, line, err)
	}
	return printBlock(frame)
}

// question is a request of the server to the document's editor.
type question struct {
	request testclient.Frame
	cancel  context.CancelFunc
	out     <-chan read // nil for one that a turn sends, or whose response nobody reads
}

// asked waits for a request of a running turn, or makes the server ask the editor for a file. It returns the request.
func (s *story) asked(frame object) object {
	method := frame.at("method")
	s.methods[method] = true
	s.asks[method]++
	if s.prompt != "" {
		q := &question{request: s.editor.Asked(method, s.asks[method]), cancel: func() {}}
		s.questions[frame.at("id")] = q
		return s.named(q.request.Raw)
	}
	params, ok := frame.get("params").(object)
	request, known := requestsToClients[method]
	if !ok || !known {
		s.t.Fatalf("%s: the test cannot make the server send %s", protocolDoc, method)
	}
	client := s.client(s.names.real(params.at("sessionId")))
	ctx, cancel := context.WithCancel(s.t.Context())
	s.t.Cleanup(cancel)
	raw := json.RawMessage(s.names.real(printLine(params)))
	var out chan read
	if request.result == nil {
		request.ask(ctx, client, raw)
	} else {
		out = make(chan read, 1)
		go func() { out <- request.ask(ctx, client, raw) }()
	}
	q := &question{request: s.editor.Asked(method, s.asks[method]), cancel: cancel, out: out}
	s.questions[frame.at("id")] = q
	return s.named(q.request.Raw)
}

// client returns the server's side of the document's editor. It is found once: the request for it has an id that the document
// may use later.
func (s *story) client(sid string) *subscription {
	if s.clients[sid] == nil {
		s.clients[sid] = s.ts.client(s.editor, sid)
	}
	return s.clients[sid]
}

// respond sends the response to a request of the server, which must receive it if the request was not cancelled.
func (s *story) respond(frame object, line int) {
	q := s.questions[frame.at("id")]
	var response struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal([]byte(s.names.real(printLine(frame))), &response); err != nil {
		s.t.Fatal(err)
	}
	var want read
	name, value := "result", response.Result
	if value != nil {
		if result := requestsToClients[q.request.Method].result; result != nil {
			want = result(value)
		}
	} else {
		name, value, want = "error", response.Error, read{Error: context.Canceled.Error()}
	}
	if err := s.editor.SendRaw(`{"jsonrpc":"2.0","id":` + string(q.request.ID) + `,"` + name + `":` + string(value) + `}`); err != nil {
		s.t.Fatal(err)
	}
	if q.out == nil {
		return
	}
	if got := <-q.out; got.Text != want.Text || !strings.HasSuffix(got.Error, want.Error) {
		s.t.Errorf("%s:%d: the server got %+v", protocolDoc, line, got)
	}
}

// cancelled makes the server give up a request, and returns the notification about it.
func (s *story) cancelled(frame object) object {
	id := string(s.questions[frame.at("params", "requestId")].request.ID)
	s.questions[frame.at("params", "requestId")].cancel()
	var came object
	s.editor.Expect(testclient.Condition{Name: "the cancellation of " + id, Met: func(fs testclient.Frames) bool {
		i := slices.IndexFunc(fs, func(f testclient.Frame) bool {
			return f.Method == rpc.MethodCancel && string(f.Params) == `{"requestId":`+id+`}`
		})
		if i >= 0 {
			came = s.named(fs[i].Raw)
		}
		return i >= 0
	}})
	return came
}

// prepare creates the state that the document assumes before a method.
func (s *story) prepare(method string) {
	switch method {
	case "session/prompt":
		if s.prompts++; s.prompts == 2 { // a request that is sent before it would tell of the moves of both turns
			s.other.Expect(testclient.Sees(s.watched, "tiers_changed"))
		}
	case "session/cancel":
		s.other.Expect(testclient.Says(s.names.real("sess_EXAMPLE"), testclient.AgentChunk, unending))
	case "_strata/checkpoint/create":
		s.created = time.Now()
	case "_strata/turn/changes":
		s.changeNotes()
	case "_strata/outline/search":
		indexed(s.ts.testServer, s.other, s.names.real("sess_EXAMPLE"))
	case "_strata/files/changed":
		s.ts.write("main.go", strings.Replace(mainGo, "hello", "good morning", 1))
	}
}

// changeNotes makes and stores the change of a file by a tool, after the newest checkpoint.
func (s *story) changeNotes() {
	before, after := "# Notes\n\nSay hello.\n", "# Notes\n\nSay good morning.\n"
	path := filepath.Join(s.ts.work, "NOTES.md")
	s.ts.write("NOTES.md", after)
	err := s.ts.server.store.Commit(s.t.Context(), history.Change{
		Session:    s.names.real("sess_EXAMPLE"),
		FileImages: []history.Blob{{Hash: sha(before), Bytes: []byte(before)}, {Hash: sha(after), Bytes: []byte(after)}},
		PutFileChanges: []history.FileChange{{
			ID: s.ts.server.newID("fc_"), Turn: s.names.real("turn_EXAMPLE"), Step: 1, Call: "tc_EXAMPLE0", Seq: 15,
			Kind: history.FileEdited, Path: path, Before: sha(before), After: sha(after), Mode: 0o600, At: time.Now(), State: history.FileChangeDone,
		}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func printBlock(frame object) string { return printJSON(frame, exampleWidth, 0) + "\n" }

// answer returns the response to the request with the id of frame.
func (s *story) answer(frame object, line int) object {
	id := printLine(frame.get("id"))
	if frame.at("id") == s.prompt {
		s.prompt = ""
	}
	if err := s.editor.Await(testclient.Answers(id)); err != nil {
		s.t.Fatalf("%s:%d: %v", protocolDoc, line, err)
	}
	for _, f := range s.editor.Frames() {
		if f.Method != "" || string(f.ID) != id {
			continue
		}
		came := s.named(f.Raw)
		if came.at("result", "sessionId") != "" && s.other == nil {
			s.watch(s.names.real("sess_EXAMPLE"))
		}
		return came
	}
	return nil
}

// named returns a frame of the server with the document's names.
func (s *story) named(raw []byte) object {
	value, err := parseJSON([]byte(s.names.shown(string(raw))))
	if err != nil {
		s.t.Fatalf("the server sent %s: %v", raw, err)
	}
	return value.(object)
}

// watch attaches the other editor to the first session.
func (s *story) watch(id string) {
	s.other, s.watched = s.ts.editor(), id
	if _, err := s.other.Attach(id, testclient.Place{}); err != nil {
		s.t.Fatal(err)
	}
	live, ok := s.ts.server.sessions.get(id)
	if !ok {
		s.t.Fatalf("session %s is not in memory", id)
	}
	s.rare = make(map[string]object)
	for _, raw := range rareFrames(s.t, &wire.Encoder{SessionID: id, Epoch: live.Epoch(), Client: wire.Capabilities{Compaction: true}, Identity: s}) {
		frame := s.named(raw)
		s.rare[rareKind(frame)] = frame
	}
}

// seen waits for notifications of the same kind as frame, those of a running turn until it has ended. It returns all that have
// arrived.
func (s *story) seen(frame object, line int) []object {
	if s.prompt != "" {
		s.editor.Expect(testclient.Answers(s.prompt))
	}
	kind := kindOf(frame)
	if rare, ok := s.rare[rareKind(frame)]; ok {
		return []object{rare}
	}
	watcher := s.other
	if session := frame.at("params", "sessionId"); frame.at("method") == wire.MethodServerEvent || session != "" && s.names.real(session) != s.watched {
		watcher = s.editor
	}
	same := func(f testclient.Frame) bool { return f.Method == frame.at("method") && f.Kind == kind }
	err := watcher.Await(testclient.Condition{
		Name: frame.at("method") + " " + kind,
		Met:  func(fs testclient.Frames) bool { return slices.ContainsFunc(fs, same) },
	})
	if err != nil {
		s.t.Fatalf("%s:%d: %v", protocolDoc, line, err)
	}
	var all []object
	for _, f := range append(watcher.Frames(), s.editor.Frames()...) {
		if same(f) {
			all = append(all, s.named(f.Raw))
		}
	}
	return all
}

// kindOf returns the kind of a notification: its update or event, otherwise its method.
func kindOf(frame object) string {
	for _, path := range [][]string{{"params", "update", "sessionUpdate"}, {"params", "type"}} {
		if kind := frame.at(path...); kind != "" {
			return kind
		}
	}
	return frame.at("method")
}

// rareKind is the kind of a notification, and of a running call's output which output that is.
func rareKind(frame object) string {
	kind := kindOf(frame)
	switch {
	case strings.Contains(printLine(frame.get("params")), `"terminalId"`):
		kind += " with a terminal"
	case frame.at("params", "update", "_meta", "strata", "output") != "":
		kind += " with output"
	}
	return kind
}

// compare returns the block of a frame if a received frame has its shape and its names, otherwise the block of the first
// received frame, of one with this shape if there is one.
func (s *story) compare(frame object, line int, came ...object) string {
	s.t.Helper()
	want, names := shape(unmerged(frame)), namesIn(frame)
	nearest := came[0]
	for _, c := range slices.Backward(came) {
		if shape(unmerged(c)) != want {
			continue
		}
		if nearest = c; slices.Equal(namesIn(c), names) {
			return printBlock(frame)
		}
	}
	if *updateDocs {
		return printBlock(nearest)
	}
	s.t.Errorf("%s:%d: the server's frame has another shape or other names, see -update (-document +server):\n%s%s",
		protocolDoc, line, cmp.Diff(shape(frame), shape(nearest)), cmp.Diff(names, namesIn(nearest)))
	return printBlock(frame)
}

// namesIn returns the names in a frame that stand for ids, in order.
func namesIn(frame object) []string { return exampleID.FindAllString(printLine(frame), -1) }

// unmerged returns a frame without the parts that depend on the number of merged deltas.
func unmerged(value any) any {
	o, ok := value.(object)
	if !ok {
		return value
	}
	var out object
	for _, f := range o {
		if f.key != "first" || o.get("seq") == nil {
			out = append(out, field{f.key, unmerged(f.value)})
		}
	}
	return out
}

// rareFrames are notifications for which a test would have to wait long, break the database, or be another client.
func rareFrames(t *testing.T, c *wire.Encoder) (frames [][]byte) {
	add := func(method string, params any) {
		frame, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, frame)
	}
	for _, e := range []events.Event{
		{Kind: events.SaveFailed, First: 8, Seq: 8, Turn: "turn_1", Data: events.SaveInfo{TurnID: "turn_1", Reason: "the disk is full"}},
		{Kind: events.Resynced, First: 3, Seq: 8},
		{Kind: events.Progress, First: 13, Seq: 13, Turn: "turn_1", Data: events.ProgressInfo{MessageID: "msg_1", Markers: []string{"the parser reads lists"}}},
		{Kind: events.Completed, First: 14, Seq: 14, Turn: "turn_1", Data: events.CompletedInfo{MessageID: "msg_1", Iterations: 24}},
		{Kind: events.PermissionsChanged, First: 15, Seq: 15},
		{Kind: events.Mode, First: 9, Seq: 9, Text: "planning"},
		{Kind: events.CallUpdate, First: 15, Seq: 17, Data: running(tools.Output{Text: "ok  \tproject\t0.1s\n", End: 18})},
		{Kind: events.CallUpdate, First: 18, Seq: 18, Data: running(tools.Output{Terminal: &tools.Terminal{Owner: c.Identity, ID: "term-1"}})},
		{Kind: events.SummaryChunk, First: 10, Seq: 10, Message: "cmp_EXAMPLE", Text: "Decided: the greeting stays."},
	} {
		n, _, err := c.Encode(&e)
		if err != nil {
			t.Fatal(err)
		}
		add(n.Method, n.Params)
	}
	add(wire.MethodServerEvent, wire.ServerEvent{Type: "counts", Counts: &wire.Counts{}})
	add(wire.MethodServerEvent, wire.ServerEvent{Type: "reset"})
	return frames
}

// exampleNames translates between real values and the document's names.
type exampleNames struct {
	toShown, toReal map[string]string
	count           map[string]int // of names by prefix
	fixed           *strings.Replacer
	work            string
}

var (
	realID    = regexp.MustCompile(`\b(?:[a-z]+_)?[0-9A-HJKMNP-TV-Z]{26}\b`)
	exampleID = regexp.MustCompile(`\b[a-z]+_EXAMPLE\d*\b|\bEPOCH\b`)
	realTime  = regexp.MustCompile(`\b20\d\d-\d\d-\d\dT[0-9:.]+(?:Z|[-+]\d\d:\d\d)`)
	realCode  = regexp.MustCompile(`code=[\w-]+`)
)

func newExampleNames(ts *testServer) *exampleNames {
	return &exampleNames{
		toShown: make(map[string]string), toReal: make(map[string]string), count: make(map[string]int), work: ts.work,
		fixed: strings.NewReplacer(
			ts.work, "/home/me/project", ts.dir, "/home/me/.local/share/strata", ts.server.endpoint.host, "127.0.0.1:7717"),
	}
}

func (n *exampleNames) shown(text string) string {
	text = realID.ReplaceAllStringFunc(n.fixed.Replace(text), func(id string) string {
		if n.toShown[id] == "" {
			n.add(id)
		}
		return n.toShown[id]
	})
	return realCode.ReplaceAllString(realTime.ReplaceAllString(text, "2026-01-05T09:30:00Z"), "code=CODE")
}

func (n *exampleNames) add(id string) {
	name := "EPOCH"
	if prefix, _, found := strings.Cut(id, "_"); found {
		name = prefix + "_EXAMPLE"
	}
	n.count[name]++
	if n.count[name] > 1 {
		name += strconv.Itoa(n.count[name])
	}
	n.toShown[id], n.toReal[name] = name, id
}

func (n *exampleNames) real(text string) string {
	text = exampleID.ReplaceAllStringFunc(text, func(name string) string {
		if id, ok := n.toReal[name]; ok {
			return id
		}
		return name
	})
	return strings.ReplaceAll(text, "/home/me/project", n.work)
}

const mainGo = "package main\n\nfunc main() {\n\tprintln(\"hello\")\n}\n"

const exampleModel = "anthropic/claude-sonnet-4-5"

// exampleModels gives a server the models of the examples: a known model with its prices, and the upstream as provider.
// shortest is the length of the shortest prefix that it caches, in tokens.
func exampleModels(ts *testServer, opt *Options, shortest int) {
	client, err := llm.New(llm.Options{
		Providers: map[string]llm.ProviderConfig{
			"anthropic": {Kind: llm.Anthropic, BaseURL: ts.upstream.URL},
			"offline":   {Kind: llm.Offline},
		},
		Models: map[string]llm.ModelConfig{exampleModel: {MinCacheTokens: &shortest, Tools: new(bool)}}, // without tools
		Sleep:  func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	})
	if err != nil {
		ts.t.Fatal(err)
	}
	ts.t.Cleanup(func() { client.Close() })
	opt.Executable = "/usr/local/bin/strata"
	opt.Version, opt.FrameBytes, opt.Requests = "0.1.0", 16<<20, 64
	all := newModels(client)
	all.catalogue, all.providers, all.setKey = exampleCatalogue(), exampleProviders(), func(string, string) error { return nil }
	all.offerKey = func(provider, _ string) bool {
		i := slices.IndexFunc(all.providers, func(p wire.Provider) bool { return p.Name == provider })
		all.providers[i].KeySource = "offered"
		return true
	}
	opt.Models, opt.Sessions.DefaultConfig = all, history.Config{Model: exampleModel}
	opt.Sessions.Tools = session.ToolSettings{Enabled: true, MaxSteps: 100, Rules: exampleRules()}
	opt.MCP, opt.MCPServers = new(mcpSource), []servers.Definition{{Name: "files", Command: "/usr/local/bin/files-mcp"}}
	opt.Sessions.Rules.SystemPrompt = "You are an assistant inside an editor."
}

// exampleRules are those of a configuration that allows no call and denies one, and in which rules can be kept.
func exampleRules() *permissions.Configured {
	deny, err := approval.ParseRules([]string{"run_command(git push *)"}, approval.ParseDeny)
	if err != nil {
		panic(err)
	}
	return permissions.NewConfigured(nil, deny, new(kept).keep)
}

func exampleCatalogue() []wire.Model {
	return []wire.Model{
		{
			Name: exampleModel, Title: "Claude Sonnet 4.5", Window: 200_000, MaxOutput: 64_000, Vision: true, Known: true,
			Thought: []string{"off", "low", "medium", "high"}, Price: &wire.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75},
		},
		{Name: "offline/digest", Title: "Offline digest (no model)", Window: 128_000, MaxOutput: 4096, Thought: []string{}, Known: true, Price: new(wire.Price)},
	}
}

func exampleProviders() []wire.Provider {
	return []wire.Provider{
		{Name: "anthropic", Kind: "anthropic", KeyEnv: "ANTHROPIC_API_KEY", KeySource: "env"},
		{Name: "local", Kind: "openai", BaseURL: "http://127.0.0.1:11434/v1", KeySource: "not_needed"},
		{Name: "offline", Kind: "offline", KeySource: "not_needed"},
		{Name: "openai", Kind: "openai", KeyEnv: "OPENAI_API_KEY", KeySource: "missing"},
	}
}

// unending is the start of a reply that only ends when it is cancelled.
const unending = "1, 2, 3"

// exampleAnswers are the upstream's replies: one with thinking, one that succeeds at the second attempt, and one that
// does not end. Content that was sent before is read from the cache.
func exampleAnswers() func(*upstream.Request) upstream.Script {
	var tries, sent int
	return func(req *upstream.Request) upstream.Script {
		if strings.Contains(req.LastText(), "shorter") {
			if tries++; tries == 1 {
				return upstream.Script{Status: 529, Body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`}
			}
		}
		if strings.Contains(req.LastText(), "key valid") {
			return upstream.Script{Status: 401, Body: `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`}
		}
		const input = 3
		all := tokens.For(tokens.Default).Count(string(req.Body))
		usage := upstream.Usage{Input: input, CacheRead: sent, CacheWrite: max(all-sent-input, 0), Output: 12}
		sent = all - input
		switch asked := req.LastText(); {
		case strings.Contains(asked, "Count"):
			return upstream.Script{Steps: append(upstream.Texts(unending), upstream.Hold(nil)), Usage: usage}
		case strings.Contains(asked, "shorter"):
			return upstream.Script{Steps: upstream.Texts("It says hello."), Usage: usage}
		}
		steps := append([]upstream.Step{upstream.Thinking("One function, one call.", "c2ln")}, upstream.Texts("It prints ", "a greeting.")...)
		return upstream.Script{Steps: steps, Usage: usage}
	}
}
