package outline

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// Options are the settings of a Parser; zero values are the defaults.
type Options struct {
	// CacheDir is the folder for compiled code, which saves compiling it again after Release and in another process.
	// It must be writable only by this user, because its content is executed. "" compiles after each Release.
	CacheDir string
	// Parallel is the maximum number of concurrent parses, by default the number of processors.
	Parallel int
	// Timeout limits each parse, without the time of loading the parsers. The default is DefaultTimeout.
	Timeout time.Duration
	// Idle is the time without a use after which the tree-sitter parsers are released. The next file that needs them
	// loads them again. 0 keeps them until Release.
	Idle time.Duration
}

// A Parser parses files. It loads the tree-sitter parsers at the first file that needs them. It is safe for concurrent
// use; Close must be called.
type Parser struct {
	cacheDir string
	timeout  time.Duration
	idle     time.Duration
	load     func(cacheDir string) (*module, error)

	slots   chan struct{} // a parse owns one; who owns all is alone
	closing chan struct{}
	alone   sync.Mutex // held while taking all slots

	loading     chan struct{} // owned while using the fields below
	module      *module       // nil if not loaded; who uses it owns a slot
	unsupported bool
	users       int         // parses that use the module
	used        time.Time   // when the last of them ended
	timer       *time.Timer // runs while the module is loaded and has no users; nil before the first use or without idle
}

// New returns a Parser. It does no work yet.
func New(o Options) *Parser {
	if o.Parallel <= 0 {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	return &Parser{
		cacheDir: o.CacheDir,
		timeout:  o.Timeout,
		idle:     o.Idle,
		load:     loadModule,
		slots:    make(chan struct{}, o.Parallel),
		closing:  make(chan struct{}),
		loading:  make(chan struct{}, 1),
	}
}

// Parse returns the outline of a text; name gives its language. It waits for other parses if too many are running. The
// errors are ErrLanguage, ErrTooLarge, ErrTime, ErrMemory, ErrUnsupported, ErrClosed, the cause of ctx, or that of a
// parser that failed on this text; the next text is not affected.
func (p *Parser) Parse(ctx context.Context, name, text string) (*Outline, error) {
	language := LanguageOf(name)
	switch {
	case language == "":
		return nil, fmt.Errorf("%s: %w", name, ErrLanguage)
	case len(text) > MaxText:
		return nil, fmt.Errorf("%s: %w", name, ErrTooLarge)
	}
	if err := p.enter(ctx); err != nil {
		return nil, err
	}
	defer func() { <-p.slots }()

	out, err := p.parse(ctx, language, text)
	if err != nil {
		return nil, fmt.Errorf("outline of %s: %w", name, err)
	}
	return out, nil
}

func (p *Parser) parse(ctx context.Context, language, text string) (*Outline, error) {
	b := newBuilder(language, text)
	switch language {
	case "go":
		if err := outlineGo(b); err != nil {
			return nil, err
		}
	case "markdown":
		outlineMarkdown(b)
	default:
		m, err := p.take(ctx)
		if err != nil {
			return nil, err
		}
		defer p.put()
		g := grammars()[language]
		err = m.with(ctx, g, p.timeout, func(parse parse) (err error) {
			b, err = outlineTree(b, g, parse)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return b.outline(), nil
}

// enter takes a slot.
func (p *Parser) enter(ctx context.Context) error {
	select {
	case <-p.closing:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	default:
	}
	select {
	case <-p.closing:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	case p.slots <- struct{}{}:
		return nil
	}
}

// take returns the module for one parse, which put ends. The first caller compiles it, which takes seconds, even if its
// context ends meanwhile.
func (p *Parser) take(ctx context.Context) (*module, error) {
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case p.loading <- struct{}{}:
	}
	defer func() { <-p.loading }()
	if p.unsupported {
		return nil, ErrUnsupported
	}
	if p.module == nil {
		m, err := p.load(p.cacheDir)
		p.unsupported = errors.Is(err, ErrUnsupported)
		if err != nil {
			return nil, err
		}
		p.module = m
	}
	p.users++
	p.stopTimer()
	return p.module, nil
}

// put ends the use of the module by one parse.
func (p *Parser) put() {
	p.loading <- struct{}{}
	defer func() { <-p.loading }()
	p.users--
	if p.users > 0 || p.idle <= 0 {
		return
	}
	p.used = time.Now()
	if p.timer == nil {
		p.timer = time.AfterFunc(p.idle, p.expire)
	} else {
		p.timer.Reset(p.idle)
	}
}

// expire releases the module unless it was used since the timer was started. Then another timer runs, or will.
func (p *Parser) expire() {
	p.loading <- struct{}{}
	defer func() { <-p.loading }()
	if p.users == 0 && time.Since(p.used) >= p.idle {
		p.unload()
	}
}

// Release releases the parsers and their memory unless a parse is running, and reports whether it did. The next Parse
// loads them again.
func (p *Parser) Release() bool {
	p.alone.Lock()
	defer p.alone.Unlock()
	for taken := range cap(p.slots) {
		select {
		case p.slots <- struct{}{}:
		default:
			p.leave(taken)
			return false
		}
	}
	defer p.leave(cap(p.slots))
	p.loading <- struct{}{}
	defer func() { <-p.loading }()
	p.unload()
	return true
}

// Close waits for running parses and releases everything. Later calls of Parse return ErrClosed.
func (p *Parser) Close() {
	p.alone.Lock()
	defer p.alone.Unlock()
	select {
	case <-p.closing:
		return
	default:
		close(p.closing)
	}
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
	p.loading <- struct{}{}
	defer func() { <-p.loading }()
	p.unload()
}

func (p *Parser) leave(slots int) {
	for range slots {
		<-p.slots
	}
}

// unload closes the module. The caller owns loading, and no parse uses the module.
func (p *Parser) unload() {
	p.stopTimer()
	if p.module != nil {
		p.module.close()
		p.module = nil
	}
}

func (p *Parser) stopTimer() {
	if p.timer != nil {
		p.timer.Stop()
	}
}
