//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// room is the place where a server writes, of limited size.
type room interface {
	name() string
	// data returns the server's folder.
	data() string
	// take leaves a running server about so many bytes: in the file it has grown most, or on the
	// whole disk.
	take(pid int, left int64) error
	// giveBack undoes take.
	giveBack(pid int) error
}

// limited is a room in which no file may grow beyond a limit. Unlike a full disk it needs no
// privilege, and it can affect a single file.
type limited struct{ folder string }

func (l *limited) name() string                   { return "RLIMIT_FSIZE" }
func (l *limited) data() string                   { return l.folder }
func (l *limited) take(pid int, left int64) error { return limitFiles(pid, left) }
func (l *limited) giveBack(pid int) error         { return limitFiles(pid, -1) }

// small is a room on a small disk that another file fills.
type small struct{ mount string }

func (s *small) name() string { return "a full disk (tmpfs)" }
func (s *small) data() string { return filepath.Join(s.mount, "data") }

// filler is the file that fills the disk.
func (s *small) filler() string { return filepath.Join(s.mount, "filler") }

func (s *small) take(_ int, left int64) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(s.mount, &fs); err != nil {
		return err
	}
	free := int64(fs.Bavail) * fs.Bsize
	f, err := os.OpenFile(s.filler(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.CopyN(f, zeros{}, max(0, free-left))
	return err
}

func (s *small) giveBack(int) error { return os.Remove(s.filler()) }

// zeros reads endless zeros.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// mountedVerb is the verb by which this program calls itself in a new mount name space.
const mountedVerb = "mounted"

// smallDisk is the size of the small disk in bytes.
const smallDisk = 64 << 20

// inSmallDisk runs this program in a name space where it may mount a disk, with the verb
// mounted. ran is false if the system does not allow it.
func (r *run) inSmallDisk(ctx context.Context) (ran bool, err error) {
	self, err := os.Executable()
	if err != nil {
		return false, err
	}
	cmd := exec.CommandContext(ctx, self, mountedVerb, r.binary, r.folder)
	cmd.Stdout, cmd.Stderr = r.out, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopWait + 10*time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	err = cmd.Wait()
	if cmd.ProcessState.ExitCode() == notAllowed {
		return false, fmt.Errorf("mounting a tmpfs: %w", err)
	}
	return true, err
}

// notAllowed is the exit status of a process that may not mount.
const notAllowed = 77

// mounted mounts a small disk and tests the server on it; args are the server's program and a
// temporary folder.
func mounted(ctx context.Context, args []string, out io.Writer) error {
	r := &run{binary: args[0], folder: args[1], out: out}
	mount := filepath.Join(r.folder, "disk")
	if err := os.Mkdir(mount, 0o700); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", mount, "tmpfs", 0, fmt.Sprint("size=", smallDisk)); err != nil {
		fmt.Fprintln(out, "no small disk:", err)
		os.Exit(notAllowed)
	}
	return r.withoutRoom(ctx, &small{mount})
}
