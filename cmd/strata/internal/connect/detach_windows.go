package connect

import "syscall"

// detachedProcess starts a process without a console (winbase.h); package syscall lacks the constant.
const detachedProcess = 0x00000008

// detached starts a process without this console, so that neither the end of this process nor Ctrl-C reaches it.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess}
}
