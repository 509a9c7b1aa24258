package worker

import (
	"io"
	"os"
)

// link carries frames. One goroutine reads; sends do not overlap.
type link interface {
	io.Reader
	// take returns the next n descriptors that came with the bytes read so far. The caller
	// closes them.
	take(n int) ([]*os.File, error)
	// send sends bytes, the first of them with files, which stay the caller's.
	send(b []byte, files []*os.File) error
	// passes reports whether descriptors can travel.
	passes() bool
	// await says that reads may wait in the system, with the thread that they run on, from which they return
	// sooner; it reports whether the last read that had to receive found nothing and waited.
	await(inSystem bool) (waited bool)
	// buffered is how many bytes have been received and not read.
	buffered() int
	// Close ends reads and sends in progress.
	Close() error
}

// pipes is a link of two pipes, without descriptors.
type pipes struct {
	in, out *os.File
}

func (p *pipes) Read(b []byte) (int, error) { return p.in.Read(b) }

func (p *pipes) take(n int) ([]*os.File, error) {
	if n > 0 {
		return nil, violation("%d descriptors announced, which pipes cannot carry", n)
	}
	return nil, nil
}

func (p *pipes) send(b []byte, _ []*os.File) error {
	_, err := p.out.Write(b)
	return err
}

func (p *pipes) passes() bool { return false }

func (p *pipes) await(bool) bool { return true }

func (p *pipes) buffered() int { return 0 }

func (p *pipes) Close() error {
	err := p.in.Close()
	if err2 := p.out.Close(); err == nil {
		err = err2
	}
	return err
}
