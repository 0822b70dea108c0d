package change

import "os"

// folders are folders that were made for a new file, each in the one before; the first was there.
type folders struct {
	open []*os.Root // but the first, which belongs to the spot
	made []string   // the names in their parents
	base *os.Root
}

// makeFolders makes the missing folders of a spot. If there is an error, some may have been made.
func (s *spot) makeFolders() (*folders, error) {
	all := &folders{base: s.open}
	for _, name := range s.missing {
		if err := all.last().Mkdir(name, 0o777); err != nil {
			return all, err
		}
		all.made = append(all.made, name)
		next, err := all.last().OpenRoot(name)
		if err != nil {
			return all, err
		}
		all.open = append(all.open, next)
	}
	return all, nil
}

// last returns the innermost folder.
func (f *folders) last() *os.Root {
	if len(f.open) == 0 {
		return f.base
	}
	return f.open[len(f.open)-1]
}

// undo removes the folders that were made, unless something else is in them.
func (f *folders) undo() {
	for i := len(f.made) - 1; i >= 0; i-- {
		if i < len(f.open) {
			f.open[i].Close()
			f.open = f.open[:i]
		}
		_ = f.last().Remove(f.made[i])
	}
	f.made = nil
}

// sync writes the folders and their entries to the disk.
func (f *folders) sync() {
	_ = syncFolder(f.base) // the file is there; StateOf tells whether it is after a crash
	for _, folder := range f.open {
		_ = syncFolder(folder)
	}
}

func (f *folders) close() {
	for _, folder := range f.open {
		folder.Close()
	}
}
