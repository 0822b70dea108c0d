package outline

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"
)

//go:embed wasm/outline.wasm.gz
var compressed []byte

const (
	memoryPages = 4096 // of 64 KiB each: 256 MiB
	maxNodes    = 1 << 20
	nodeSize    = 16 // bytes of a Node in shim.c

	// maxKept is the memory up to which an instance is used again. Memory of an instance never shrinks.
	maxKept = 64 << 20 // bytes
)

// A module is the compiled code of the tree-sitter parsers and its idle instances.
type module struct {
	runtime  wazero.Runtime
	cache    wazero.CompilationCache // nil without a folder
	compiled wazero.CompiledModule

	mu    sync.Mutex // guards the rest
	idle  []*instance
	names map[*grammar]*kinds
}

// An instance is the memory of a running parse. Only one goroutine may use it at a time.
type instance struct {
	wasm      api.Module
	exhausted uint32 // address of the word that is 1 if memory ran out
}

// loadModule compiles the module, or reads compiled code from a folder. It returns ErrUnsupported where that is
// impossible.
func loadModule(cacheDir string) (*module, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	unpacked, err := unpack()
	if err != nil {
		return nil, err
	}
	if cacheDir != "" {
		if m, err := compile(unpacked, cacheDir); err == nil {
			return m, nil
		}
	}
	return compile(unpacked, "") // without a folder, or if its content cannot be read or written
}

func compile(unpacked []byte, cacheDir string) (m *module, err error) {
	m = &module{names: make(map[*grammar]*kinds)}
	config := wazero.NewRuntimeConfigCompiler().WithCloseOnContextDone(true).WithMemoryLimitPages(memoryPages).WithDebugInfoEnabled(false)
	if cacheDir != "" {
		if m.cache, err = wazero.NewCompilationCacheWithDir(cacheDir); err != nil {
			return nil, fmt.Errorf("open the cache of compiled parsers: %w", err)
		}
		config = config.WithCompilationCache(m.cache)
	}
	m.runtime = wazero.NewRuntimeWithConfig(context.Background(), config)
	if m.compiled, err = m.runtime.CompileModule(context.Background(), unpacked); err != nil {
		m.close()
		return nil, fmt.Errorf("compile the parsers: %w", err)
	}
	return m, nil
}

// supported reports ErrUnsupported if compiled code cannot be executed. The library panics then.
func supported() (err error) {
	defer func() {
		if failure := recover(); failure != nil {
			err = ErrUnsupported
		}
	}()
	r := wazero.NewRuntimeWithConfig(context.Background(), wazero.NewRuntimeConfigCompiler())
	defer r.Close(context.Background())
	// A module with one function, which does nothing.
	code := []byte("\x00asm\x01\x00\x00\x00" + "\x01\x04\x01\x60\x00\x00" + "\x03\x02\x01\x00" + "\x0a\x04\x01\x02\x00\x0b")
	if _, err := r.CompileModule(context.Background(), code); err != nil {
		return ErrUnsupported
	}
	return nil
}

func unpack() ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, fmt.Errorf("unpack the parsers: %w", err)
	}
	// The last word of a gzip file is the size of its content. Growing the buffer would take most of the time.
	unpacked := make([]byte, binary.LittleEndian.Uint32(compressed[len(compressed)-4:]))
	if _, err := io.ReadFull(r, unpacked); err != nil {
		return nil, fmt.Errorf("unpack the parsers: %w", err)
	}
	return unpacked, nil
}

func (m *module) close() {
	ctx := context.Background()
	_ = m.runtime.Close(ctx) // closes the instances; it fails only if one ends with an exit code
	if m.cache != nil {
		_ = m.cache.Close(ctx)
	}
}

// A parse returns the tree of a text.
type parse func(text string) (*tree, error)

// with calls work with a function that parses. All parsing by it together has the time limit.
func (m *module) with(ctx context.Context, g *grammar, timeout time.Duration, work func(parse) error) error {
	i, err := m.take()
	if err != nil {
		return err
	}
	names, err := m.kinds(i, g)
	if err != nil {
		i.discard()
		return err
	}
	limited, cancel := context.WithTimeoutCause(ctx, timeout, ErrTime)
	defer cancel()
	err = work(func(text string) (*tree, error) {
		t, err := i.parse(limited, g, text)
		if err != nil {
			return nil, err
		}
		t.names = names
		return t, nil
	})
	if err != nil { // an instance that was interrupted has an unknown state
		i.discard()
		return err
	}
	m.put(i)
	return nil
}

// take returns an idle instance or a new one.
func (m *module) take() (*instance, error) {
	m.mu.Lock()
	if last := len(m.idle) - 1; last >= 0 {
		i := m.idle[last]
		m.idle = m.idle[:last]
		m.mu.Unlock()
		return i, nil
	}
	m.mu.Unlock()
	wasm, err := m.runtime.InstantiateModule(context.Background(), m.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
	if err != nil {
		return nil, fmt.Errorf("start the parsers: %w", err)
	}
	i := &instance{wasm: wasm}
	address, err := i.call(context.Background(), "strata_exhausted")
	if err != nil {
		i.discard()
		return nil, err
	}
	i.exhausted = address
	return i, nil
}

func (m *module) put(i *instance) {
	if i.wasm.Memory().Size() > maxKept {
		i.discard()
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.idle = append(m.idle, i)
}

// kinds returns the names of a grammar, which it reads once.
func (m *module) kinds(i *instance, g *grammar) (*kinds, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.names[g]; k != nil {
		return k, nil
	}
	kind, err := i.names("strata_kinds", "strata_kind", g)
	if err != nil {
		return nil, err
	}
	field, err := i.names("strata_fields", "strata_field", g)
	if err != nil {
		return nil, err
	}
	k := g.bind(kind, field)
	m.names[g] = k
	return k, nil
}

func (i *instance) discard() { _ = i.wasm.Close(context.Background()) }

// call calls an exported function whose result is one word.
func (i *instance) call(ctx context.Context, function string, arguments ...uint32) (uint32, error) {
	stack := make([]uint64, max(len(arguments), 1))
	for n, a := range arguments {
		stack[n] = uint64(a)
	}
	if err := i.wasm.ExportedFunction(function).CallWithStack(ctx, stack); err != nil {
		return 0, i.failure(ctx, err)
	}
	return uint32(stack[0]), nil
}

// failure explains why a call ended early.
func (i *instance) failure(ctx context.Context, err error) error {
	var exit *sys.ExitError
	if errors.As(err, &exit) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if word, ok := i.wasm.Memory().ReadUint32Le(i.exhausted); ok && i.exhausted != 0 && word != 0 {
		return ErrMemory
	}
	return fmt.Errorf("parser failed: %w", err)
}

// names returns the names of all kinds or fields of a grammar; fields are counted from 1.
func (i *instance) names(count, name string, g *grammar) ([]string, error) {
	ctx := context.Background()
	total, err := i.call(ctx, count, g.index)
	if err != nil {
		return nil, err
	}
	names := make([]string, total+1)
	for n := range names {
		address, err := i.call(ctx, name, g.index, uint32(n))
		if err != nil {
			return nil, err
		}
		names[n] = i.cString(address)
	}
	return names, nil
}

// cString returns the text at an address up to a NUL, or "" for the address 0.
func (i *instance) cString(address uint32) string {
	memory := i.wasm.Memory()
	if address == 0 || address >= memory.Size() {
		return ""
	}
	text, _ := memory.Read(address, min(memory.Size()-address, 256))
	if end := bytes.IndexByte(text, 0); end >= 0 {
		text = text[:end]
	}
	return string(text)
}

func (i *instance) parse(ctx context.Context, g *grammar, text string) (*tree, error) {
	address, err := i.call(ctx, "strata_alloc", uint32(len(text)))
	if err != nil {
		return nil, err
	}
	if !i.wasm.Memory().WriteString(address, text) {
		return nil, errors.New("parser failed: text outside of its memory")
	}
	state, err := i.call(ctx, "strata_parse", g.index, address, uint32(len(text)))
	if err != nil {
		return nil, err
	}
	if state == 0 {
		return nil, errors.New("parser failed: no tree")
	}
	count, err := i.call(ctx, "strata_walk", maxNodes)
	if err != nil {
		return nil, err
	}
	if _, err := i.call(ctx, "strata_free", address); err != nil {
		return nil, err
	}
	at, err := i.call(ctx, "strata_nodes")
	if err != nil {
		return nil, err
	}
	if count > math.MaxUint32/nodeSize {
		return nil, errors.New("parser failed: too many nodes")
	}
	raw, ok := i.wasm.Memory().Read(at, count*nodeSize)
	if !ok {
		return nil, errors.New("parser failed: nodes outside of its memory")
	}
	t := &tree{text: text, partial: state == 1 || count >= maxNodes}
	t.nodes = slices.Grow(t.nodes, int(count))
	for ; len(raw) > 0; raw = raw[nodeSize:] {
		t.nodes = append(t.nodes, node{
			kind:  binary.LittleEndian.Uint16(raw),
			field: binary.LittleEndian.Uint16(raw[2:]),
			start: int32(min(binary.LittleEndian.Uint32(raw[4:]), uint32(len(text)))),
			end:   int32(min(binary.LittleEndian.Uint32(raw[8:]), uint32(len(text)))),
			depth: int32(binary.LittleEndian.Uint32(raw[12:])),
		})
	}
	t.link()
	return t, nil
}
