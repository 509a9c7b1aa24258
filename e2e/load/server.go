//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// server is a thresher serve process.
type server struct {
	*api
	addr  string // host:port
	dir   string // its data
	cmd   *exec.Cmd
	log   *tail
	ended chan error // the result of Wait, once
}

const (
	startWait = 5 * time.Minute  // until a server listens, on a busy machine
	readyWait = 10 * time.Minute // until its collections are loaded
	stopWait  = 5 * time.Minute  // for a drain and what follows
)

// freeAddress returns an unused address on loopback.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// launch starts a server and returns before it is ready. The server is killed if this process
// dies.
func (r *run) launch(dir, addr string, flags ...string) (*server, error) {
	args := append([]string{"serve", "--listen", addr, "--data", dir}, flags...)
	s := &server{api: newAPI("http://" + addr), addr: addr, dir: dir, log: &tail{}, ended: make(chan error, 1)}
	s.cmd = exec.Command(r.binary, args...)
	s.cmd.Stdout, s.cmd.Stderr = io.Discard, s.log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { s.ended <- s.cmd.Wait() }()
	return s, nil
}

// start is launch followed by waiting until the server is ready.
func (r *run) start(ctx context.Context, dir, addr string, flags ...string) (*server, error) {
	s, err := r.launch(dir, addr, flags...)
	if err != nil {
		return nil, err
	}
	if err := s.ready(ctx); err != nil {
		s.kill()
		return nil, err
	}
	return s, nil
}

// ready waits until the collections are loaded.
func (s *server) ready(ctx context.Context) error {
	late := fmt.Errorf("the server is not ready after %v", startWait+readyWait)
	ctx, stop := patiently(ctx, startWait+readyWait, late)
	defer stop()
	for {
		if a, err := s.call(ctx, "GET", "/readyz", nil); err == nil && a.status == 200 {
			return nil
		}
		select {
		case err := <-s.ended:
			s.ended <- err
			return fmt.Errorf("the server ended with %v: %s", err, s.log)
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), s.log)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// alive fails if the process has ended.
func (s *server) alive() error {
	select {
	case err := <-s.ended:
		s.ended <- err
		return fmt.Errorf("the server ended with %v: %s", err, s.log)
	default:
		return nil
	}
}

// kill sends SIGKILL and waits for the end of the process.
func (s *server) kill() {
	_ = s.cmd.Process.Kill() // it may have ended already
	<-s.ended
	s.ended <- nil
	s.forget()
}

// stop sends SIGTERM; the server must exit with success.
func (s *server) stop() error {
	s.forget()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	waiting, stop := patiently(context.Background(), stopWait, nil)
	defer stop()
	select {
	case err := <-s.ended:
		s.ended <- err
		if err != nil {
			return fmt.Errorf("after SIGTERM the server ended with %w: %s", err, s.log)
		}
		return s.sane()
	case <-waiting.Done():
		s.kill()
		return fmt.Errorf("the server did not end within %v of SIGTERM: %s", stopWait, s.log)
	}
}

// sane fails if the server logged a panic, from which it recovers.
func (s *server) sane() error {
	if line := s.log.find("panic"); line != "" {
		return errors.New("the server's log: " + line)
	}
	return nil
}

func (s *server) pid() int { return s.cmd.Process.Pid }

// tail keeps the end of a log.
type tail struct {
	mu sync.Mutex
	b  []byte
}

// maxTail is its size in bytes.
const maxTail = 256 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if len(t.b) > 2*maxTail {
		t.b = append(t.b[:0], t.b[len(t.b)-maxTail:]...)
	}
	return len(p), nil
}

// String returns the end of the log.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.b[max(0, len(t.b)-2000):]))
}

// find returns the first line that contains text, or "".
func (t *tail) find(text string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for lines := bufio.NewScanner(bytes.NewReader(t.b)); lines.Scan(); {
		if strings.Contains(lines.Text(), text) {
			return lines.Text()
		}
	}
	return ""
}
