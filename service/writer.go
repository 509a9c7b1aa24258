package service

import (
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"thresher/service/fair"
)

// writer is a response being sent. It records what was sent, and aborts if the client does
// not read it.
type writer struct {
	http.ResponseWriter
	control *http.ResponseController
	pace    pace
	status  int // 0 before the header is sent
	written int64
	holds   []*fair.Hold // memory that is held until the answer is sent, none for small ones
	sends   func()       // called once, when the answer begins to be sent; nil is not called
	gives   atomic.Bool
	// cut says that an answer which has begun may not go on, because its token was removed;
	// broken that it did not.
	cut    atomic.Bool
	broken bool
}

// maxWritten is the number of bytes written at once of an answer whose memory others may
// wait for: progress is recorded after each write.
const maxWritten = 128 << 10

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *writer) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
		w.begin()
	}
	w.extend(0)
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(p []byte) (n int, err error) {
	if w.status == 0 {
		w.status = http.StatusOK
		w.begin()
	}
	for n < len(p) && err == nil {
		if w.cut.Load() {
			w.broken = true
			return n, errRevoked()
		}
		piece := p[n:]
		if len(w.holds) > 0 {
			piece = piece[:min(len(piece), maxWritten)]
		}
		w.extend(len(piece))
		var k int
		k, err = w.ResponseWriter.Write(piece)
		n += k
		for _, h := range w.holds {
			h.Moved(int64(k))
		}
	}
	w.written += int64(n)
	return n, err
}

// carry begins the transfer of holds with the answer: others that wait get their memory if the
// client does not read what is written.
func (w *writer) carry(holds ...*fair.Hold) {
	for _, h := range holds {
		if h != nil {
			w.holds = append(w.holds, h)
			h.Send(w.giveWay)
		}
	}
}

// wait calls f, whose time is not the client's.
func (w *writer) wait(f func() error) error {
	for _, h := range w.holds {
		h.Pause()
	}
	err := f()
	for _, h := range w.holds {
		err = errors.Join(err, h.Resume())
	}
	return err
}

// begin calls sends.
func (w *writer) begin() {
	if f := w.sends; f != nil {
		w.sends = nil
		f()
	}
}

// giveWay makes the current write fail, or else the next one. It may be called while another
// goroutine writes.
func (w *writer) giveWay() {
	w.gives.Store(true)
	_ = w.control.SetWriteDeadline(time.Now())
}

// extend extends the write deadline for n more bytes. Writers without deadlines, as in tests,
// are left alone.
func (w *writer) extend(n int) {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.pace.timeFor(n)))
	if w.gives.Load() {
		_ = w.control.SetWriteDeadline(time.Now())
	}
}

// pace is the slowest permitted transfer.
type pace struct {
	grace time.Duration
	rate  int64 // bytes a second
}

// timeFor returns how long n bytes may take.
func (p pace) timeFor(n int) time.Duration {
	return p.grace + time.Duration(float64(n)/float64(p.rate)*float64(time.Second))
}
