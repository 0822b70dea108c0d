package llm

import (
	"context"
	"errors"
	"net/http/httptrace"
	"slices"
	"sync/atomic"
	"time"

	"strata/history"
	"strata/internal/lazy"
	"strata/llm/reply"
	"strata/llm/silence"
)

// Keys of log lines.
const (
	keyModel   = "model"
	keyPurpose = "purpose"
	keyElapsed = "elapsed"
	keyContext = "context_tokens"
	keyOutput  = "output_tokens"
	keyRefused = "refused"
)

// wireFormat is one of the two wire formats.
type wireFormat struct {
	path, listPath string // of a call, and of the list of models
	body           func(Request, Model, dialect) ([]byte, error)
	decoder        func(*reply.Answer) reply.Decoder
}

var wireFormats = map[Kind]wireFormat{
	Anthropic: {"/v1/messages", "/v1/models", anthropicBody, reply.NewAnthropicStream},
	OpenAI:    {"/chat/completions", "/models", openAIBody, reply.NewOpenAIStream},
}

// modelCall is one call of a model, from the request to the reply, with all of its attempts.
type modelCall struct {
	client   *Client
	config   ProviderConfig
	format   wireFormat
	endpoint endpoint
	key      string // masked in errors
	req      Request
	model    Model
	on       func(reply.Event)
	result   reply.Result // of the newest attempt

	sent     int  // requests
	received bool // the newest one, and not refused
}

// Stream asks a model and calls on, on this goroutine and in order, for each event of its reply.
// A failure before anything visible is retried. The error is an *Error; the Result then holds what arrived.
func (c *Client) Stream(ctx context.Context, req Request, on func(reply.Event)) (reply.Result, error) {
	provider := providerOf(req.Model)
	if c.providers[provider].Kind == Offline {
		return c.streamOffline(ctx, req, on)
	}
	call, err := c.newCall(provider)
	if err != nil {
		return reply.Result{Model: req.Model}, failure(ctx, provider, "", err)
	}
	call.req, call.on = req, on
	call.model, _ = c.Model(req.Model)
	started := c.now()
	rules := retries{statuses: call.config.retryStatuses(), sleep: c.sleep, jitter: c.jitter}
	failed := rules.run(ctx, on, func() *Error { return call.attempt(ctx) })
	res := call.result
	res.Attempts, res.Received = call.sent, call.received
	c.log.Debug("model call", keyModel, req.Model, keyPurpose, req.Purpose, keyElapsed, c.now().Sub(started),
		keyContext, res.Usage.Context(), keyOutput, res.Usage.Output)
	if failed == nil {
		return res, nil
	}
	if failed.Kind == KindContext {
		c.LimitWindow(req.Model, failed.Limit)
	}
	return res, failed
}

// newCall returns a call of a provider, without its request.
func (c *Client) newCall(provider string) (*modelCall, error) {
	config, ok := c.providers[provider]
	if !ok {
		return nil, &Error{Kind: KindUnknown, err: errors.New("no such provider is configured")}
	}
	key, source, err := c.key(provider)
	if source == KeyMissing {
		return nil, c.noKey(provider, err)
	}
	out := &modelCall{client: c, config: config, format: wireFormats[config.Kind], key: key}
	if config.Kind == Anthropic {
		out.endpoint = anthropicEndpoint(config, key)
	} else {
		out.endpoint = openAIEndpoint(config, key)
	}
	for name, value := range config.Headers {
		out.endpoint.header.Set(name, value)
	}
	return out, nil
}

// checkTimeout is the longest time that Check takes.
const checkTimeout = 5 * time.Second

// Check reports whether a provider can be reached and takes the key. It takes at most 5 seconds.
func (c *Client) Check(ctx context.Context, provider string) error {
	if c.providers[provider].Kind == Offline {
		return nil
	}
	call, err := c.newCall(provider)
	if err != nil {
		return failure(ctx, provider, "", err)
	}
	limited, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := c.transport.ping(limited, call.endpoint, call.format.listPath); err != nil {
		return failure(ctx, provider, call.key, err)
	}
	return nil
}

// Limits of one attempt.
const (
	maxLessons  = 8               // requests that are changed because the provider refused a part
	afterFinish = 3 * time.Second // wait for what may follow the stop reason
)

// attempt sends the request, and again without a part that the provider refuses. The error is nil or an *Error with all
// fields set.
func (c *modelCall) attempt(ctx context.Context) *Error {
	d := c.client.dialect(c.config, c.model)
	req := c.req // changed for this attempt only: a later request may need what is omitted
	for lessons := 0; ; lessons++ {
		a := &reply.Answer{On: c.on, Tools: len(c.req.Tools) > 0 && d.tools, NewID: c.client.newCallID}
		err := c.try(ctx, d, req, a)
		c.result = c.model.result(a, err == nil)
		if err == nil {
			return nil
		}
		failed := failure(ctx, c.model.Provider, c.key, err)
		failed.Partial = a.Shown
		c.classify(failed)
		if failed.Partial || failed.Kind == KindCancelled || lessons == maxLessons {
			return failed
		}
		if changed, ok := withoutThinking(req, failed); ok {
			req = changed
			continue
		}
		next, refused := d.after(failed, c.config.Kind, c.model.wants, maxOutput(c.req, c.model, d))
		if refused == "" {
			return failed
		}
		d = next
		c.client.learn(c.model.Name, d)
		c.client.log.Info("the provider refused a part of the request; it is left out from now on", keyModel, c.model.Name, keyRefused, refused)
	}
}

// try sends one request and reads its reply into a.
func (c *modelCall) try(ctx context.Context, d dialect, req Request, a *reply.Answer) error {
	body, err := c.format.body(req, c.model, d)
	if err != nil {
		return err
	}
	if most := c.model.MaxBytes; most > 0 && len(body) > most {
		return tooManyBytes(len(body), most)
	}
	sending, cancel, release := following(ctx)
	defer release()
	first := c.client.firstByte
	if onLoopback(c.endpoint.base) {
		first = 0
	}
	w := silence.New(cancel, first, c.client.betweenBytes)
	defer w.Stop()
	var written atomic.Bool
	traced := httptrace.WithClientTrace(sending, &httptrace.ClientTrace{WroteRequest: func(w httptrace.WroteRequestInfo) { written.Store(w.Err == nil) }})
	c.sent++
	res, err := c.client.transport.send(traced, c.endpoint, "POST", c.format.path, body)
	c.received = err == nil || written.Load() && sending.Err() != nil
	if err == nil {
		a.OnFinish = func() { w.Shorten(afterFinish) }
		err = reply.Read(w.Body(res.Body), c.format.decoder(a), a)
		if err == nil {
			c.client.transport.drain(res.Body, func() { cancel(nil) })
			return nil
		}
		res.Body.Close()
		c.received = !refused(err, a)
	}
	silent := errors.Is(context.Cause(sending), silence.Err)
	cancel(nil)
	if silent {
		return silence.Err
	}
	return err
}

// refused reports whether a reply is nothing but the provider's error.
func refused(err error, a *reply.Answer) bool {
	_, said := errors.AsType[*reply.Failure](err)
	return said && !a.Started()
}

// following returns a context that ends with ctx, until release is called, and with cancel. The connection of a reply that
// has ended is kept although its caller is done and ends ctx.
func following(ctx context.Context) (sending context.Context, cancel context.CancelCauseFunc, release func() bool) {
	sending, cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	if ctx.Err() != nil {
		cancel(context.Cause(ctx))
	}
	return sending, cancel, context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
}

// classify looks closer at a failure that the status alone does not explain.
func (c *modelCall) classify(e *Error) {
	if (e.Kind == KindInvalid || e.Kind == KindOverloaded) && pictureWords().MatchString(e.err.Error()) && c.hasPictures() {
		e.Kind = KindPicture
	}
}

// pictureWords match an error about a picture.
var pictureWords = lazy.Regexp(`(?i)\b(images?|pictures?|image_url|media_type|vision|multimodal|mmproj|mime type)\b`)

// hasPictures reports whether the request shows pictures to the model.
func (c *modelCall) hasPictures() bool {
	return c.model.Vision && slices.ContainsFunc(c.req.Entries, func(e Entry) bool { return showsPicture(e.Blocks) })
}

func showsPicture(blocks []history.Block) bool {
	return slices.ContainsFunc(blocks, func(b history.Block) bool {
		return b.Type == history.BlockImage || showsPicture(b.Content)
	})
}

// withoutThinking returns a request for another attempt after a provider refused the thinking in it: that of earlier
// replies, or that of the next one because a step of the running turn has none.
func withoutThinking(req Request, e *Error) (Request, bool) {
	switch {
	case !refusesParameter(e):
		return req, false
	case unthoughtWords().MatchString(e.err.Error()):
		asked := req.Thought != ThoughtOff && req.Thought != ""
		req.Thought = ThoughtOff
		return req, asked
	case !signatureWords().MatchString(e.err.Error()):
		return req, false
	}
	entries, found := withoutSignatures(req.Entries)
	req.Entries, req.Encoded = entries, nil
	return req, found
}

var (
	// unthoughtWords match Anthropic's refusal to think in a turn that has calls without thinking before them.
	unthoughtWords = lazy.Regexp(`(?i)must start with a thinking block`)
	signatureWords = lazy.Regexp(`(?is)signature.*thinking|thinking.*signature|thinking block`)
)

// withoutSignatures returns entries without the thinking that was signed, and whether there was any.
func withoutSignatures(entries []Entry) (out []Entry, found bool) {
	out = slices.Clone(entries)
	for i := range out {
		n := len(out[i].Blocks)
		out[i].Blocks = slices.DeleteFunc(slices.Clone(out[i].Blocks), func(b history.Block) bool {
			return b.Type == history.BlockThinking && (b.Signature != "" || len(b.Data) > 0)
		})
		found = found || len(out[i].Blocks) < n
	}
	return out, found
}
