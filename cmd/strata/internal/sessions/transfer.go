package sessions

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

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/connect"
	"strata/cmd/strata/internal/pick"
	"strata/rpc"
)

// The bounds of one request of an import. A larger line is sent alone.
const (
	maxPageLines = 500
	maxPageBytes = 1 << 20
	maxLine      = 16 << 20 // the default limit of a frame
)

func newExport(p *cli.Process) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "export ID",
		Short: "Write a session as JSON lines",
		Args:  cli.UsageArgs(cobra.ExactArgs(1)),

		ValidArgsFunction: pick.Complete(p, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" {
				return export(cmd.Context(), p, args[0], p.Stdout)
			}
			err := writeWhole(file, func(w io.Writer) error { return export(cmd.Context(), p, args[0], w) })
			if err != nil {
				return fmt.Errorf("export %s: %w", args[0], err)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to `FILE`, once the export is complete")
	cli.CompleteFlag(cmd, "output", cli.AnyFile)
	return cmd
}

func export(ctx context.Context, p *cli.Process, name string, w io.Writer) error {
	client, err := connect.Open(ctx, p, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	id, err := pick.Session(ctx, client, name)
	if err != nil {
		return err
	}
	return connect.EachPage(ctx, client, "_strata/session/export", map[string]any{"sessionId": id}, func(page json.RawMessage) error {
		var result struct {
			Lines []json.RawMessage `json:"lines"`
		}
		if err := json.Unmarshal(page, &result); err != nil {
			return fmt.Errorf("export %s: %w", id, err)
		}
		return writeLines(w, result.Lines)
	})
}

// writeWhole writes a private file under a temporary name and renames it, so that path is never a partial file. It writes
// into an existing pipe or device instead: a file must not replace them.
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
	defer os.Remove(f.Name()) // fails after the rename
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

func newImport(p *cli.Process) *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Create a session from exported JSON lines and print its ID; - reads standard input",
		Args:  cli.UsageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "-" {
				return importLines(cmd.Context(), p, "standard input", p.Stdin, folder)
			}
			f, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			return importLines(cmd.Context(), p, args[0], f, folder)
		},
	}
	cmd.Flags().StringVar(&folder, "cwd", "", "folder of the session, `FOLDER` (default: that of the export)")
	cli.CompleteFlag(cmd, "cwd", cli.AnyFolder)
	cmd.ValidArgsFunction = cli.AnyFile
	return cmd
}

// importLines creates a session from lines and prints its ID.
func importLines(ctx context.Context, p *cli.Process, name string, r io.Reader, folder string) error {
	in := importer{params: map[string]any{}}
	folder, err := absolute(folder)
	if err != nil {
		return err
	}
	if folder != "" {
		in.params["cwd"] = folder
	}
	if in.client, err = connect.Open(ctx, p, nil); err != nil {
		return err
	}
	defer in.client.Close()
	if err := in.read(ctx, r); err != nil {
		return fmt.Errorf("import %s: %w", name, err)
	}
	if in.messages < in.promised {
		fmt.Fprintf(p.Stderr, "%s is incomplete: its header announces %d messages, it contains %d.\n", name, in.promised, in.messages)
	}
	_, err = fmt.Fprintln(p.Stdout, in.session)
	return err
}

// importer sends lines to the server, a page at a time.
type importer struct {
	client  *rpc.Client
	params  map[string]any // of the next page, besides its lines
	lines   []json.RawMessage
	bytes   int
	session string // after the last page

	promised, messages int // messages: announced by the header, and read
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
		return fmt.Errorf("line %d exceeds the limit of %d bytes", number+1, maxLine)
	case err != nil:
		return err
	case len(in.lines) == 0:
		return errors.New("the file is empty")
	}
	in.params["done"] = true
	return in.send(ctx)
}

// count counts the announced and the actual messages. The server checks everything else.
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
	return len(in.lines) == maxPageLines || len(in.lines) > 0 && in.bytes+next > maxPageBytes
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
