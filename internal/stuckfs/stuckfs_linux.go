// Package stuckfs mounts a file system whose disk does not respond, for tests: system calls for some of its files, or for
// all of them, never return. It speaks the kernel's FUSE protocol, as far as a few files need it.
package stuckfs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// Text is the content of the readable file.
const Text = "A file that can be read.\n"

// The files of the folder. All have the size of Text.
const (
	Good  = "good.txt"  // can be read
	Stuck = "stuck.txt" // is opened, but reading it never returns
	Deaf  = "deaf.txt"  // even its attributes never come
	Hung  = "hung"      // a folder whose list of files never comes
)

const rootNode = 1

// names are the files by node.
var names = map[uint64]string{2: Good, 3: Stuck, 4: Deaf, 5: Hung}

// Disk is a mounted file system. A process of its own serves it: the threads of a process that waits for its own disk could
// not even be killed.
type Disk struct {
	Folder string

	server *exec.Cmd
	orders io.WriteCloser
	asked  atomic.Int64 // requests that are not answered
	died   chan struct{}
	ended  sync.WaitGroup
}

// The notes of a server.
const (
	noteIgnored = 'x' // a request that is not answered
	noteDead    = 'd'
)

// serverEnv makes a test's program the server of a disk.
const serverEnv = "STRATA_TEST_STUCKFS"

func init() {
	if os.Getenv(serverEnv) != "" {
		new(server).serve()
		os.Exit(0)
	}
}

// deviceFD is the server's descriptor of /dev/fuse.
const deviceFD = 3

// Mount mounts a disk in a folder until the test ends. Where that is not possible the test is skipped: it needs /dev/fuse
// and the right to mount.
func Mount(t testing.TB) *Disk {
	t.Helper()
	d := &Disk{Folder: filepath.Join(t.TempDir(), "disk"), died: make(chan struct{})}
	if err := os.Mkdir(d.Folder, 0o700); err != nil {
		t.Fatal(err)
	}
	device, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no FUSE: %v", err)
	}
	defer device.Close()
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d", device.Fd(), os.Getuid(), os.Getgid())
	if err := syscall.Mount("stuckfs", d.Folder, "fuse", syscall.MS_NOSUID|syscall.MS_NODEV, options); err != nil {
		t.Skipf("no right to mount: %v", err)
	}
	t.Cleanup(d.unmount)
	if err := d.start(device); err != nil {
		t.Fatal(err)
	}
	return d
}

// start starts the server. It dies with the test's process.
func (d *Disk) start(device *os.File) error {
	d.server = exec.Command(os.Args[0])
	d.server.Env = append(os.Environ(), serverEnv+"=1")
	d.server.ExtraFiles = []*os.File{device}
	d.server.Stderr = os.Stderr
	d.server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var err error
	if d.orders, err = d.server.StdinPipe(); err != nil {
		return err
	}
	notes, err := d.server.StdoutPipe()
	if err != nil {
		return err
	}
	started := make(chan error)
	d.ended.Go(func() {
		runtime.LockOSThread() // the server dies with the thread that started it
		if err := d.server.Start(); err != nil {
			started <- err
			return
		}
		close(started)
		for note := make([]byte, 1); ; {
			if _, err := io.ReadFull(notes, note); err != nil {
				break
			}
			if note[0] == noteDead {
				close(d.died)
			} else {
				d.asked.Add(1)
			}
		}
		d.server.Wait()
	})
	return <-started
}

func (d *Disk) unmount() {
	d.Abort()
	d.ended.Wait()
}

// Abort unmounts the disk: the requests that wait return with an error.
func (d *Disk) Abort() { syscall.Unmount(d.Folder, syscall.MNT_FORCE|syscall.MNT_DETACH) }

// Die lets the whole disk respond no more, once.
func (d *Disk) Die() {
	d.orders.Write([]byte{noteDead})
	<-d.died
}

// Unanswered returns how many requests wait for the disk.
func (d *Disk) Unanswered() int { return int(d.asked.Load()) }

// server answers the requests for a disk.
type server struct{ dead atomic.Bool }

// ignore notes a request that is not answered.
func (d *server) ignore() { os.Stdout.Write([]byte{noteIgnored}) }

// The operations of the protocol.
const (
	opLookup    = 1
	opForget    = 2
	opGetattr   = 3
	opOpen      = 14
	opRead      = 15
	opStatfs    = 17
	opRelease   = 18
	opFlush     = 25
	opInit      = 26
	opOpendir   = 27
	opReaddir   = 28
	opReleased  = 29
	opInterrupt = 36
	opBatch     = 42 // forget
)

// parallelLookups is the flag for lookups that do not wait for others in their folder.
const parallelLookups = 1 << 18

// inHeader begins each request.
type inHeader struct {
	Length, Opcode                uint32
	Unique, Node                  uint64
	UID, GID, PID                 uint32
	TotalExtensionLength, Padding uint16
}

const inHeaderSize = 40

// serve answers requests until the disk is unmounted.
func (d *server) serve() {
	go func() {
		if _, err := os.Stdin.Read(make([]byte, 1)); err == nil {
			d.dead.Store(true)
			os.Stdout.Write([]byte{noteDead})
		}
	}()
	buf := make([]byte, 256<<10)
	for {
		n, err := syscall.Read(deviceFD, buf)
		switch {
		case err == syscall.EINTR || err == syscall.EAGAIN || err == syscall.ENOENT:
			continue
		case err != nil:
			return
		}
		var in inHeader
		if binary.Read(bytes.NewReader(buf[:n]), binary.LittleEndian, &in) != nil {
			return
		}
		d.answer(&in, buf[inHeaderSize:n])
	}
}

// answer answers a request, or not.
func (d *server) answer(in *inHeader, body []byte) {
	switch in.Opcode {
	case opForget, opBatch, opInterrupt:
		return
	}
	if d.dead.Load() {
		d.ignore()
		return
	}
	name := names[in.Node]
	switch in.Opcode {
	case opInit:
		// version, read ahead, flags, background, write size, time granularity, and the rest
		d.reply(in, 0, struct {
			Major, Minor, ReadAhead, Flags uint32
			Background, Congestion         uint16
			MaxWrite, Granularity          uint32
			Rest                           [9]uint32
		}{Major: 7, Minor: 31, Flags: parallelLookups, MaxWrite: 4096, Granularity: 1})
	case opLookup:
		wanted := string(bytes.TrimRight(body, "\x00"))
		for node, name := range names {
			if name == wanted && name != Deaf {
				d.reply(in, 0, entryOf(node))
				return
			}
		}
		if wanted == Deaf {
			d.ignore()
			return
		}
		d.reply(in, syscall.ENOENT, nil)
	case opGetattr:
		d.reply(in, 0, struct {
			Valid           uint64
			ValidNano, None uint32
			Attr            attr
		}{Valid: 3600, Attr: attrOf(in.Node)})
	case opOpen, opOpendir:
		d.reply(in, 0, struct {
			Handle      uint64
			Flags, None uint32
		}{Handle: 1})
	case opRead:
		if name == Stuck {
			d.ignore()
			return
		}
		d.reply(in, 0, []byte(Text))
	case opReaddir:
		if name == Hung {
			d.ignore()
			return
		}
		d.reply(in, 0, list(in.Node, body))
	case opRelease, opReleased, opFlush, opStatfs:
		d.reply(in, 0, make([]byte, map[bool]int{true: 80}[in.Opcode == opStatfs]))
	default:
		d.reply(in, syscall.ENOSYS, nil)
	}
}

// reply answers a request with a value or an error.
func (d *server) reply(in *inHeader, errno syscall.Errno, value any) {
	var body bytes.Buffer
	if value != nil {
		binary.Write(&body, binary.LittleEndian, value)
	}
	var out bytes.Buffer
	binary.Write(&out, binary.LittleEndian, struct {
		Length uint32
		Error  int32
		Unique uint64
	}{uint32(16 + body.Len()), -int32(errno), in.Unique})
	out.Write(body.Bytes())
	syscall.Write(deviceFD, out.Bytes())
}

// attr are the attributes of a file.
type attr struct {
	Node, Size, Blocks             uint64
	Accessed, Modified, Changed    uint64
	AccessedN, ModifiedN, ChangedN uint32
	Mode, Links, UID, GID, Rdev    uint32
	BlockSize, Flags               uint32
}

func attrOf(node uint64) attr {
	a := attr{Node: node, Size: uint64(len(Text)), Blocks: 1, Mode: syscall.S_IFREG | 0o600, Links: 1, BlockSize: 4096,
		UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Accessed: 1, Modified: 1, Changed: 1}
	if node == rootNode || names[node] == Hung {
		a.Mode, a.Links = syscall.S_IFDIR|0o700, 2
	}
	return a
}

// entry is the answer to a lookup.
type entry struct {
	Node, Generation, Valid, AttrValid uint64
	ValidNano, AttrValidNano           uint32
	Attr                               attr
}

func entryOf(node uint64) entry { return entry{Node: node, Valid: 0, AttrValid: 0, Attr: attrOf(node)} }

// list returns the entries of the root folder, all at once at the first offset.
func list(node uint64, body []byte) []byte {
	var in struct {
		Handle, Offset uint64
		Size           uint32
	}
	var out bytes.Buffer
	if binary.Read(bytes.NewReader(body), binary.LittleEndian, &in) != nil || in.Offset > 0 || node != rootNode {
		return nil
	}
	for node := uint64(2); node < uint64(len(names))+2; node++ {
		name := names[node]
		kind := uint32(syscall.DT_REG)
		if name == Hung {
			kind = syscall.DT_DIR
		}
		binary.Write(&out, binary.LittleEndian, struct {
			Node, Offset uint64
			Length, Kind uint32
		}{node, node, uint32(len(name)), kind})
		out.WriteString(name)
		for out.Len()%8 > 0 {
			out.WriteByte(0)
		}
	}
	return out.Bytes()
}
