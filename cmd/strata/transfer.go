package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"strata/rpc"
)

// The bounds of what one request of an import holds. A line that is larger goes alone.
const (
	importLines = 500
	importBytes = 1 << 20
	maxLine     = 16 << 20 // what a frame can hold by default
)

func newSessionsExport(p *process) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "export ID",
		Short: "Write a session as JSON lines",
		Args:  usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" {
				return p.export(cmd.Context(), args[0], p.stdout)
			}
			err := writeWhole(file, func(w io.Writer) error { return p.export(cmd.Context(), args[0], w) })
			if err != nil {
				return fmt.Errorf("export %s: %w", args[0], err)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to `FILE`, when all is there")
	return cmd
}

func (p *process) export(ctx context.Context, id string, w io.Writer) error {
	client, err := p.connect(ctx, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	return eachPage(ctx, client, "_strata/session/export", map[string]any{"sessionId": id}, func(page json.RawMessage) error {
		var p struct {
			Lines []json.RawMessage `json:"lines"`
		}
		if err := json.Unmarshal(page, &p); err != nil {
			return fmt.Errorf("export %s: %w", id, err)
		}
		return writeLines(w, p.Lines)
	})
}

// writeWhole writes a private file under another name first, so that the name never stands for half of it. A pipe or
// device is written to: it must not be replaced by a file.
func writeWhole(path string, write func(io.Writer) error) error {
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder", path)
	case !info.Mode().IsRegular():
		return writeInto(path, write)
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails once it has been renamed
	buffered := bufio.NewWriter(f)
	err = write(buffered)
	if err = errors.Join(err, buffered.Flush(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func writeInto(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

func newSessionsImport(p *process) *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Make a session of exported JSON lines, and print its id; - reads standard input",
		Args:  usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "-" {
				return p.importLines(cmd.Context(), "standard input", p.stdin, folder)
			}
			f, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			return p.importLines(cmd.Context(), args[0], f, folder)
		},
	}
	cmd.Flags().StringVar(&folder, "cwd", "", "let the session work in this `FOLDER` (default: the exported one's)")
	return cmd
}

// importLines makes a session of lines and prints its id.
func (p *process) importLines(ctx context.Context, name string, r io.Reader, folder string) error {
	in := importer{params: map[string]any{}}
	if folder != "" {
		path, err := filepath.Abs(folder)
		if err != nil {
			return fmt.Errorf("--cwd %s: %w", folder, err)
		}
		in.params["cwd"] = path
	}
	var err error
	if in.client, err = p.connect(ctx, nil); err != nil {
		return err
	}
	defer in.client.Close()
	if err := in.read(ctx, r); err != nil {
		return fmt.Errorf("import %s: %w", name, err)
	}
	if in.messages < in.promised {
		fmt.Fprintf(p.stderr, "%s was cut off: it says that it holds %d messages, and holds %d.\n", name, in.promised, in.messages)
	}
	_, err = fmt.Fprintln(p.stdout, in.session)
	return err
}

// importer sends lines to the server, a page at a time.
type importer struct {
	client  *rpc.Client
	params  map[string]any // of the next page, besides its lines
	lines   []json.RawMessage
	bytes   int
	session string // when the last page was taken

	promised, messages int // how many messages the header tells of, and how many there were
}

func (in *importer) read(ctx context.Context, r io.Reader) error {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, maxLine)
	number := 0
	for scanner.Scan() {
		number++
		line := bytes.TrimSpace(scanner.Bytes())
		switch {
		case len(line) == 0:
			continue
		case !json.Valid(line):
			return fmt.Errorf("line %d: not JSON", number)
		}
		if in.full(len(line)) {
			if err := in.send(ctx); err != nil {
				return fmt.Errorf("before line %d: %w", number, err)
			}
		}
		in.count(line)
		in.lines = append(in.lines, bytes.Clone(line))
		in.bytes += len(line)
	}
	switch err := scanner.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("line %d: longer than %d bytes", number+1, maxLine)
	case err != nil:
		return err
	case len(in.lines) == 0:
		return errors.New("it is empty")
	}
	in.params["done"] = true
	return in.send(ctx)
}

// count notes what a line says of how many messages there are. The server looks at all else.
func (in *importer) count(line []byte) {
	var l struct {
		Type   string `json:"type"`
		Header struct {
			Session struct {
				Messages int `json:"messages"`
			} `json:"session"`
		} `json:"header"`
	}
	if json.Unmarshal(line, &l) != nil {
		return
	}
	switch l.Type {
	case "header":
		in.promised = l.Header.Session.Messages
	case "message":
		in.messages++
	}
}

func (in *importer) full(next int) bool {
	return len(in.lines) == importLines || len(in.lines) > 0 && in.bytes+next > importBytes
}

func (in *importer) send(ctx context.Context) error {
	in.params["lines"] = in.lines
	var result struct {
		ImportID  string `json:"importId"`
		SessionID string `json:"sessionId"`
	}
	if err := in.client.Call(ctx, "_strata/session/import", in.params, &result); err != nil {
		return err
	}
	in.params["importId"], in.session = result.ImportID, result.SessionID
	in.lines, in.bytes = nil, 0
	return nil
}
