//go:build unix

package worker

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxWaitingDescriptors bounds the descriptors that have arrived and belong to no frame yet. A
// read stops after bytes with descriptors, so that one frame's are ahead at most.
const maxWaitingDescriptors = 2 * maxDescriptors

// socket is a link over a socket of AF_UNIX.
type socket struct {
	conn    *net.UnixConn
	raw     syscall.RawConn
	buf     []byte
	r, w    int        // unread bytes of buf
	waiting []*os.File // arrived, not taken
	oob     []byte

	inSystem, waited bool
	unpolled         int // how many waits in the system follow that do not poll
	penalty          int // how many followed the last vain poll
}

const (
	// pollTime is how long a wait in the system polls, without sleeping: a client may call again at once, and on
	// many machines waking a thread takes longer than such a call.
	pollTime = 100 * time.Microsecond
	// After a vain poll minPenalty waits do not poll, after further ones twice as many up to maxPenalty.
	minPenalty, maxPenalty = 4, 64
)

// connect returns the link over in and out, which it owns: a socket if in is one, else two pipes.
func connect(in, out *os.File) (link, error) {
	st, err := in.Stat()
	if err != nil {
		return nil, err
	}
	if st.Mode()&os.ModeSocket == 0 {
		return &pipes{pollable(in), pollable(out)}, nil
	}
	c, err := net.FileConn(in)
	if err != nil {
		return nil, err
	}
	conn, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(errors.New("standard input is a socket of the network; the worker serves its parent only"), c.Close())
	}
	s, err := newSocket(conn)
	return s, errors.Join(err, in.Close())
}

// pollable returns f such that Close ends its reads and writes, if the system allows.
func pollable(f *os.File) *os.File {
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return f
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		syscall.Close(fd)
		return f
	}
	syscall.CloseOnExec(fd)
	f.Close()
	return os.NewFile(uintptr(fd), f.Name())
}

func newSocket(conn *net.UnixConn) (*socket, error) {
	raw, err := conn.SyscallConn()
	return &socket{conn: conn, raw: raw, buf: make([]byte, 64<<10), oob: make([]byte, unix.CmsgSpace(4*maxWaitingDescriptors))}, err
}

func (s *socket) passes() bool { return true }

func (s *socket) await(inSystem bool) bool {
	s.inSystem = inSystem
	return s.waited
}

func (s *socket) buffered() int { return s.w - s.r }

// Read reads bytes, and keeps the descriptors that come with them.
func (s *socket) Read(b []byte) (int, error) {
	if s.r < s.w {
		n := copy(b, s.buf[s.r:s.w])
		s.r += n
		return n, nil
	}
	if len(b) >= len(s.buf) {
		return s.receive(b)
	}
	n, err := s.receive(s.buf)
	if err != nil {
		return 0, err
	}
	s.r, s.w = 0, n
	return s.Read(b)
}

func (s *socket) receive(b []byte) (int, error) {
	n, oobn, flags, err := s.receiveMessage(b)
	if oobn > 0 {
		if err := s.keep(s.oob[:oobn]); err != nil {
			return 0, err
		}
	}
	switch {
	case err != nil:
		return 0, err
	case flags&unix.MSG_CTRUNC != 0:
		return 0, violation("more than %d descriptors at once", maxWaitingDescriptors)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// receiveMessage waits for bytes: parked, as goroutines wait for sockets, or in the system.
func (s *socket) receiveMessage(b []byte) (n, oobn, flags int, err error) {
	s.waited = false
	var begun time.Time // of polling
	polls := s.inSystem && s.unpolled == 0 && runtime.GOMAXPROCS(0) > 1
	ended := s.raw.Read(func(fd uintptr) bool {
		for {
			n, oobn, flags, _, err = unix.Recvmsg(int(fd), b, s.oob, closeOnExec)
			switch {
			case err == unix.EINTR:
				continue
			case err != unix.EAGAIN:
				return true
			}
			if s.waited = true; !s.inSystem {
				return false
			}
			if polls {
				if begun.IsZero() {
					begun = time.Now()
				}
				if time.Since(begun) < pollTime {
					continue
				}
				polls = false
				s.penalty = min(max(minPenalty, 2*s.penalty), maxPenalty)
				s.unpolled = s.penalty + 1
			}
			if _, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1); err != nil && err != unix.EINTR {
				return true
			}
		}
	})
	switch {
	case polls:
		s.penalty = 0
	case s.inSystem && s.waited:
		s.unpolled = max(0, s.unpolled-1)
	}
	if ended != nil {
		return 0, 0, 0, ended
	}
	if err != nil {
		return 0, 0, 0, os.NewSyscallError("recvmsg", err)
	}
	return n, oobn, flags, nil
}

// keep takes the descriptors of control messages.
func (s *socket) keep(oob []byte) error {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return violation("control message: %v", err)
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue // no descriptors
		}
		for _, fd := range fds {
			if closeOnExec == 0 {
				unix.CloseOnExec(fd)
			}
			s.waiting = append(s.waiting, os.NewFile(uintptr(fd), "descriptor"))
		}
	}
	if len(s.waiting) > maxWaitingDescriptors {
		return violation("%d descriptors that no frame announced", len(s.waiting))
	}
	return nil
}

func (s *socket) take(n int) ([]*os.File, error) {
	if n > len(s.waiting) {
		return nil, violation("%d descriptors announced, %d came", n, len(s.waiting))
	}
	if n == 0 && s.r == s.w && len(s.waiting) > 0 {
		return nil, violation("%d descriptors that the frame does not announce", len(s.waiting))
	}
	files := append([]*os.File(nil), s.waiting[:n]...)
	s.waiting = s.waiting[n:]
	return files, nil
}

func (s *socket) send(b []byte, files []*os.File) error {
	if len(files) == 0 {
		_, err := s.conn.Write(b)
		return err
	}
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	n, _, err := s.conn.WriteMsgUnix(b, unix.UnixRights(fds...), nil)
	if err != nil {
		return err
	}
	_, err = s.conn.Write(b[n:])
	return err
}

// Close closes the socket and the descriptors that nobody took.
func (s *socket) Close() error {
	s.conn.CloseRead() // ends a wait in the system, for which closing would wait; fails only for what has ended
	return s.conn.Close()
}

// discard closes the descriptors that nobody took, once nothing reads any more.
func (s *socket) discard() {
	for _, f := range s.waiting {
		f.Close()
	}
	s.waiting = nil
}
