package filecontext

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"strata/internal/patience"
	"strata/tokens"
)

// Read reads a file. It follows links within the root and never waits for a pipe or a device, nor longer than its limits
// allow for a disk. The error is a *RefusedError, or that of ctx.
func (r *Roots) Read(ctx context.Context, ref Ref) (Content, error) {
	if r.remote != nil {
		return r.remote.read(ctx, ref)
	}
	return onDisk(ctx, r, ref, func() (Content, error) { return r.read(ref) })
}

func (r *Roots) read(ref Ref) (Content, error) {
	folder, err := openRoot(ref)
	if err != nil {
		return Content{}, err
	}
	defer folder.Close()
	data, info, secret, err := r.readBytes(folder, ref, r.limits.FileBytes)
	if err != nil {
		return Content{}, err
	}
	text, lossy, err := decode(ref.Path, data)
	if err != nil {
		return Content{}, err
	}
	content := newContent(ref.Path, text, data)
	content.Lossy, content.Secret = lossy, secret
	content.stamp, content.foldsCase = newStamp(info, r.now()), foldsCase(folder.FS(), ref.name)
	return content, nil
}

// readBytes returns the bytes of a regular file, at most limit, with its attributes and whether it looks like a secret.
func (r *Roots) readBytes(folder *os.Root, ref Ref, limit int64) (data []byte, info fs.FileInfo, secret bool, err error) {
	file, info, err := open(folder, ref, limit)
	if err != nil {
		return nil, nil, false, err
	}
	defer file.Close()
	if secret, err = r.limits.Guard.check(ref, info); err != nil {
		return nil, nil, false, err
	}
	data, err = readAll(file, ref, limit)
	return data, info, secret, err
}

// Picture is a picture in a file.
type Picture struct {
	Path          string
	Data          []byte
	MIME          string
	Width, Height int // pixels
}

// MaxPicture is the maximum size of a picture, in bytes.
const MaxPicture = 5 << 20

// ReadPicture reads a PNG, JPEG, GIF or WebP, within the rules of Read but with a limit of its own. The error is a
// *RefusedError, or that of ctx; ReasonNoPicture is that of a file that is none.
func (r *Roots) ReadPicture(ctx context.Context, ref Ref) (Picture, error) {
	if r.remote != nil {
		data, err := r.remote.picture(ctx, ref)
		if err != nil {
			return Picture{}, err
		}
		return pictureOf(ref, data)
	}
	return onDisk(ctx, r, ref, func() (Picture, error) {
		folder, err := openRoot(ref)
		if err != nil {
			return Picture{}, err
		}
		defer folder.Close()
		data, _, _, err := r.readBytes(folder, ref, MaxPicture)
		if err != nil {
			return Picture{}, err
		}
		return pictureOf(ref, data)
	})
}

// pictureOf returns the picture in the bytes of a file.
func pictureOf(ref Ref, data []byte) (Picture, error) {
	mime, width, height, ok := tokens.Picture(data)
	if !ok {
		return Picture{}, refuse(ref.Path, ReasonNoPicture, "")
	}
	return Picture{Path: ref.Path, Data: data, MIME: mime, Width: width, Height: height}, nil
}

// Buffer returns the content for a text of a file that the client has. If the file on disk has the same text, saved is set
// and the content is that of the disk. The file may be missing or not be text, but otherwise it must be accessible, and the
// client's text must be valid content of a file. A file that looks like a secret is not refused: the client sent its text.
// The error is a *RefusedError, or that of ctx.
func (r *Roots) Buffer(ctx context.Context, ref Ref, text string) (content Content, saved bool, err error) {
	ref.Allow = true
	content, err = r.Opened(ctx, ref, text)
	return content, err == nil && content.disk == "", err
}

// Opened returns the content for a text that an editor shows of a file, within the rules of Read.
func (r *Roots) Opened(ctx context.Context, ref Ref, text string) (Content, error) {
	if size := int64(len(text)); size > r.limits.FileBytes {
		return Content{}, tooLarge(ref, size, r.limits.FileBytes)
	}
	decoded, lossy, err := decode(ref.Path, []byte(text))
	if err == nil && lossy {
		err = refuse(ref.Path, ReasonEncoding, "")
	}
	if err != nil {
		return Content{}, err
	}
	if r.remote != nil {
		return r.remote.opened(ctx, ref, decoded)
	}
	return onDisk(ctx, r, ref, func() (Content, error) { return r.buffer(ref, decoded) })
}

func (r *Roots) buffer(ref Ref, text string) (Content, error) {
	folder, err := openRoot(ref)
	if err != nil {
		return Content{}, err
	}
	defer folder.Close()
	info, err := regular(folder, ref)
	if err != nil && ReasonOf(err) != ReasonMissing {
		return Content{}, err
	}
	secret, err := r.limits.Guard.check(ref, info)
	if err != nil {
		return Content{}, err
	}
	onDisk, err := r.read(ref)
	if err == nil && sameText(onDisk.Text, text) {
		return onDisk, nil
	}
	content := newContent(ref.Path, text, []byte(text))
	content.disk, content.stamp = NoFile, onDisk.stamp
	if err == nil {
		content.disk = onDisk.Hash
	}
	content.Secret = secret
	content.foldsCase = foldsCase(folder.FS(), ref.name)
	return content, nil
}

// openRoot opens the root of ref. If the root is missing, the file is unreadable rather than deleted: the disk may be
// unmounted.
func openRoot(ref Ref) (*os.Root, error) {
	folder, err := ref.place.open()
	switch {
	case errors.Is(err, errReplaced):
		return nil, refuse(ref.Path, ReasonReplaced, "")
	case err != nil:
		return nil, refuse(ref.Path, ReasonUnreadable, "its folder cannot be opened")
	}
	return folder, nil
}

// stat returns the stamp of a regular file.
func (r *Roots) stat(ctx context.Context, ref Ref) (stamp, error) {
	if r.remote != nil {
		return r.remote.stat(ctx, ref)
	}
	return onDisk(ctx, r, ref, func() (stamp, error) { return r.statNow(ref) })
}

func (r *Roots) statNow(ref Ref) (stamp, error) {
	folder, err := openRoot(ref)
	if err != nil {
		return stamp{}, err
	}
	defer folder.Close()
	return r.stampIn(folder, ref)
}

// open opens a regular file with at most limit bytes. It checks the file before opening, because opening a device can have
// side effects, and again afterwards, because the file may have been replaced.
func open(folder *os.Root, ref Ref, limit int64) (*os.File, fs.FileInfo, error) {
	info, err := regular(folder, ref)
	if err != nil {
		return nil, nil, err
	}
	if info.Size() > limit {
		return nil, nil, tooLarge(ref, info.Size(), limit)
	}
	file, err := folder.OpenFile(ref.name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, nil, refuseOS(ref.Path, err)
	}
	if info, err = file.Stat(); err == nil {
		err = checkRegular(ref, info)
	} else {
		err = refuseOS(ref.Path, err)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// regular returns the FileInfo of ref, or an error if it is not a regular file.
func regular(folder *os.Root, ref Ref) (fs.FileInfo, error) {
	info, err := folder.Stat(ref.name)
	if err != nil {
		return nil, refuseOS(ref.Path, err)
	}
	return info, checkRegular(ref, info)
}

func checkRegular(ref Ref, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return refuse(ref.Path, ReasonDirectory, "")
	case !mode.IsRegular():
		return refuse(ref.Path, ReasonNotRegular, "")
	}
	return nil
}

// readAll reads a whole file. It returns an error if the file has grown beyond the size limit.
func readAll(file *os.File, ref Ref, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, refuse(ref.Path, ReasonUnreadable, "")
	}
	if size := int64(len(data)); size > limit {
		return nil, tooLarge(ref, size, limit)
	}
	return data, nil
}

func tooLarge(ref Ref, size, limit int64) error {
	return refuse(ref.Path, ReasonTooLarge, fmt.Sprintf("%d bytes, limit %d", size, limit))
}

// foldsCase reports whether a file system ignores case: the path with the case of each letter swapped refers to the same
// file, and the folder has no hard link of that name.
func foldsCase(disk fs.FS, name string) bool {
	name = filepath.ToSlash(name)
	other := strings.Map(swapCase, name)
	if other == name || !sameFile(disk, name, other) {
		return false
	}
	siblings, err := fs.ReadDir(disk, path.Dir(name))
	isOther := func(e fs.DirEntry) bool { return e.Name() == path.Base(other) && path.Base(other) != path.Base(name) }
	return err == nil && !slices.ContainsFunc(siblings, isOther)
}

func sameFile(disk fs.FS, a, b string) bool {
	infoB, errB := fs.Stat(disk, b) // first, because it usually fails
	if errB != nil {
		return false
	}
	infoA, errA := fs.Stat(disk, a)
	return errA == nil && os.SameFile(infoA, infoB)
}

func swapCase(c rune) rune {
	if unicode.IsUpper(c) {
		return unicode.ToLower(c)
	}
	return unicode.ToUpper(c)
}

// onDisk does work on a file that may never return, and must not use anything that its caller changes. The error is that of
// the work, that of ctx, or a *RefusedError for a file of a disk that does not respond.
func onDisk[T any](ctx context.Context, r *Roots, ref Ref, do func() (T, error)) (T, error) {
	value, err := patience.Do(ctx, r.limits.Patience, ref.place.path, filepath.Join(ref.place.path, ref.name), do)
	if errors.Is(err, patience.ErrNoResponse) || errors.Is(err, patience.ErrTooMany) {
		err = refuse(ref.Path, ReasonUnreadable, err.Error())
	}
	return value, err
}
