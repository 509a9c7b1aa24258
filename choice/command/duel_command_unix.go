//go:build unix

package command

import (
	"os/exec"
	"syscall"
)

// killTogether has the end of cmd's context kill the processes that it started too. It is in a
// process group of its own, so an interrupt from the keyboard reaches this process alone, which
// then ends it.
func killTogether(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
