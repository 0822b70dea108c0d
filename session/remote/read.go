package remote

import (
	"context"
	"errors"
	"slices"

	"strata/filecontext"
	"strata/filecontext/source"
	"strata/session/clients"
)

// batchBytes is the size of the texts that a client is asked to return at once, unless one file can be larger. A response
// whose every character is escaped fits into a frame.
const batchBytes = 2 << 20

// The codes of errors that clients respond with.
const (
	notServed = -32601 // JSON-RPC: method not found
	notMine   = -32602 // JSON-RPC: invalid parameters, here of a folder that the client does not have
	notFound  = -32002 // ACP: the resource does not exist
	tooLarge  = -32013 // the protocol's refused path, here of a file above the limit
)

// errNothing is the error of a client that returns none of the files that it was asked for.
var errNothing = errors.New("none of the requested files was returned")

// Read implements source.Files.
func (f *Files) Read(ctx context.Context, name string, how source.Reading) (source.Text, error) {
	all, err := f.ReadSome(ctx, []string{name}, how)
	text := all[name]
	if err == nil {
		err = text.Err
	}
	return text, err
}

// ReadSome implements source.Files. A client that cannot return several files is asked for the first of them.
func (f *Files) ReadSome(ctx context.Context, names []string, how source.Reading) (map[string]source.Text, error) {
	return ask(ctx, f, names[0], func(c clients.Client) (map[string]source.Text, error) {
		may, proven := f.readsSome(c)
		if may || how.Binary { // texts only can be read otherwise
			all, err := c.ReadFiles(ctx, clients.ReadMany{
				Folder: f.folder, Paths: names, Binary: how.Binary, MaxFile: how.Limit, MaxBytes: max(how.Limit, batchBytes),
			}, 0)
			switch {
			case err == nil:
				f.learn(c, true)
				return returned(all, names, how.Limit)
			case ctx.Err() != nil || !hasCode(err, notServed) && (proven || how.Binary || !errors.Is(err, clients.ErrLate)):
				return nil, err
			}
			f.learn(c, false)
		}
		return f.readOne(ctx, c, names[0], how)
	})
}

// readOne reads a text by ACP's request.
func (f *Files) readOne(ctx context.Context, c clients.Client, name string, how source.Reading) (map[string]source.Text, error) {
	if how.Binary {
		detail := "the client that has the files returns only texts"
		return map[string]source.Text{name: {Err: &filecontext.RefusedError{Path: name, Reason: filecontext.ReasonNoPicture, Detail: detail}}}, nil
	}
	text, err := c.ReadTextFile(ctx, clients.Read{Path: f.absolute(name)}, 0)
	if err != nil {
		return nil, err
	}
	return map[string]source.Text{name: bounded(name, source.Text{Data: []byte(text)}, how.Limit)}, nil
}

// returned returns the files in a response that were requested.
func returned(all []clients.ReadResult, names []string, limit int64) (map[string]source.Text, error) {
	requested := make(map[string]bool, len(names))
	for _, name := range names {
		requested[name] = true
	}
	texts := make(map[string]source.Text, len(all))
	for i := range all {
		one := &all[i]
		if _, again := texts[one.Path]; again || !requested[one.Path] {
			continue
		}
		if one.Err != nil {
			texts[one.Path] = source.Text{Err: refused(one.Path, one.Err)}
			continue
		}
		texts[one.Path] = bounded(one.Path, source.Text{Data: one.Data, Version: shortVersion(one.Version)}, limit)
	}
	if len(texts) == 0 {
		return nil, errNothing
	}
	return texts, nil
}

// bounded returns a text, or its error if it exceeds the limit.
func bounded(name string, text source.Text, limit int64) source.Text {
	if int64(len(text.Data)) > limit {
		return source.Text{Err: &filecontext.RefusedError{Path: name, Reason: filecontext.ReasonTooLarge}}
	}
	return text
}

// shortVersion returns a version, empty for one that is too long to be kept.
func shortVersion(version string) string {
	if len(version) > maxVersion {
		return ""
	}
	return version
}

// readsSome reports whether a client may serve ReadFiles, and whether it has served it.
func (f *Files) readsSome(c clients.Client) (may, proven bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	serves, known := f.several[c]
	return serves || !known, serves
}

// learn notes whether a client serves ReadFiles, unless the client has left.
func (f *Files) learn(c clients.Client, serves bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.Contains(f.holders, c) {
		f.several[c] = serves
	}
}

// hasCode reports whether a client responded with an error of this code.
func hasCode(err error, code int) bool {
	refusal, ok := errors.AsType[*clients.Refused](err)
	return ok && refusal.Code == code
}
