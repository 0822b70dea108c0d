package change

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"sync"

	"strata/filecontext"
)

// maxListed is the maximum number of names of a folder that are looked at.
const maxListed = 100_000

// process identifies this process.
var process = sync.OnceValue(func() string { return random(6) })

func random(bytes int) string {
	raw := make([]byte, bytes)
	rand.Read(raw) // never fails
	return hex.EncodeToString(raw)
}

// temp is a file that is not yet where it belongs, or no longer there.
type temp struct {
	folder *os.Root
	name   string
	gone   bool // it was renamed
}

// writeTemp writes a durable file next to the one that it will become, with the mode and the owner of another, if there is
// one.
func writeTemp(folder *os.Root, data []byte, like fs.FileInfo) (*temp, error) {
	t := &temp{folder: folder, name: filecontext.TempName(process(), random(8))}
	mode := fs.FileMode(0o666)
	if like != nil {
		mode = 0o600
	}
	file, err := folder.OpenFile(t.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(fill(file, data, like), file.Close()); err != nil {
		t.remove()
		return nil, err
	}
	return t, nil
}

func fill(file *os.File, data []byte, like fs.FileInfo) error {
	if _, err := file.Write(data); err != nil {
		return err
	}
	if like != nil {
		mode := like.Mode() & (fs.ModePerm | fs.ModeSticky)
		if own(file, like) {
			mode |= like.Mode() & (fs.ModeSetuid | fs.ModeSetgid)
		}
		if err := file.Chmod(mode); err != nil {
			return err
		}
	}
	return file.Sync()
}

// rename gives the file a name, and replaces the file that had it.
func (t *temp) rename(name string) error {
	err := t.folder.Rename(t.name, name)
	t.gone = err == nil
	return err
}

// linkNew makes the file the one with a name, which nothing has. The error is fs.ErrExist if something has. Where a file system
// has no links, an empty file keeps the name until the file is renamed.
func (t *temp) linkNew(name string) error {
	err := t.folder.Link(t.name, name)
	if err == nil || !isUnsupported(err) {
		return err
	}
	return t.renameNew(name)
}

// renameNew is linkNew without a link.
func (t *temp) renameNew(name string) error {
	keeper, err := t.folder.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = errors.Join(keeper.Close(), t.rename(name)); err != nil {
		err = errors.Join(err, t.folder.Remove(name))
	}
	return err
}

// remove removes the file unless it was renamed.
func (t *temp) remove() {
	if !t.gone {
		_ = t.folder.Remove(t.name) // the next change in the folder does it otherwise
	}
}

// clean removes temporary files that a process left in a folder when it crashed. If that process is alive, its change fails and
// says so.
func clean(folder *os.Root) {
	file, err := folder.Open(".")
	if err != nil {
		return
	}
	defer file.Close()
	for listed := 0; listed < maxListed; {
		names, err := file.Readdirnames(1000)
		for _, name := range names {
			if of := filecontext.TempOf(name); of != "" && of != process() {
				removeRegular(folder, name)
			}
		}
		if listed += len(names); err != nil || len(names) == 0 {
			return
		}
	}
}

func removeRegular(folder *os.Root, name string) {
	if info, err := folder.Lstat(name); err == nil && info.Mode().IsRegular() {
		_ = folder.Remove(name) // the next change tries again
	}
}
