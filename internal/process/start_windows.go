package process

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Supervise does nothing on Windows, whose job objects end processes.
func Supervise() {}

func sameVariable(a, b string) bool { return strings.EqualFold(a, b) }

// running is a program in a job.
type running struct {
	cmd *exec.Cmd

	mu     sync.Mutex // guards the following
	job    windows.Handle
	ended  bool // job is closed
	killed bool
	late   *time.Timer // kills the job after Grace; nil if it was not stopped
}

// Start starts a program, and returns when it runs. The error is for the user.
func Start(c Command) (*Process, error) {
	c, err := c.checked()
	if err != nil {
		return nil, err
	}
	path, err := c.find()
	if err != nil {
		return nil, err
	}
	job, err := newJob()
	if err != nil {
		return nil, cannotStart(path, err)
	}
	cmd := &exec.Cmd{
		Path:        path,
		Args:        append([]string{c.Path}, c.Args...),
		Dir:         c.Dir,
		Env:         c.Env,
		SysProcAttr: &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP},
	}
	if c.Verbatim != "" {
		cmd.SysProcAttr.CmdLine = syscall.EscapeArg(path) + " " + c.Verbatim
	}
	c.connect(cmd)
	if err := cmd.Start(); err != nil {
		windows.CloseHandle(job)
		return nil, cannotStart(path, err)
	}
	if err := runIn(job, uint32(cmd.Process.Pid)); err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		windows.CloseHandle(job)
		return nil, cannotStart(path, err)
	}
	p := &Process{done: make(chan struct{})}
	p.cmd, p.job = cmd, job
	go p.wait()
	return p, nil
}

// newJob returns a job that ends its processes when its handle is closed, as it is when this process ends.
func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

// runIn puts a suspended process into a job, and resumes it.
func runIn(job windows.Handle, pid uint32) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(process)
	if err := windows.AssignProcessToJobObject(job, process); err != nil {
		return err
	}
	return resume(pid)
}

// resume resumes the first thread of a process.
func resume(pid uint32) error {
	threads, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(threads)
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(threads, &entry); err == nil; err = windows.Thread32Next(threads, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return err
		}
		defer windows.CloseHandle(thread)
		_, err = windows.ResumeThread(thread)
		return err
	}
	return fmt.Errorf("its thread is not found: %w", err)
}

// wait waits for the program, and ends the rest of its job.
func (p *Process) wait() {
	err := p.cmd.Wait()
	p.mu.Lock()
	p.exit = p.exitAfter(err)
	windows.TerminateJobObject(p.job, 1)
	poll(killLimit, func() bool { return active(p.job) == 0 })
	windows.CloseHandle(p.job)
	p.ended = true
	if p.late != nil {
		p.late.Stop()
	}
	p.mu.Unlock()
	close(p.done)
}

func (p *Process) exitAfter(err error) Exit {
	var ended *exec.ExitError
	if p.killed || err != nil && !errors.As(err, &ended) {
		return Exit{Signal: "SIGKILL"}
	}
	return Exit{Code: p.cmd.ProcessState.ExitCode()}
}

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type accounting struct {
	_                [4]int64
	_, _             uint32
	ActiveProcesses  uint32
	TerminatedByJobs uint32
}

// active returns the number of processes in a job.
func active(job windows.Handle) int {
	var a accounting
	err := windows.QueryInformationJobObject(job, windows.JobObjectBasicAccountingInformation, uintptr(unsafe.Pointer(&a)), uint32(unsafe.Sizeof(a)), nil)
	if err != nil {
		return 0
	}
	return int(a.ActiveProcesses)
}

// Stop ends the program and everything that it started: by CTRL+BREAK, and by force after Grace. It returns immediately.
func (p *Process) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || p.late != nil {
		return
	}
	windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(p.cmd.Process.Pid)) // fails without a console
	p.late = time.AfterFunc(Grace, p.Kill)
}

// Kill ends the program and everything that it started by force. It returns immediately.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.killed = true
		windows.TerminateJobObject(p.job, 1)
	}
}
