package service

import (
	"net/http"
	"time"
)

// writer is a response under way. It knows what was sent, and gives up on clients
// that do not take it.
type writer struct {
	http.ResponseWriter
	control *http.ResponseController
	pace    pace
	status  int // 0 before the header
	written int64
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *writer) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.extend(0)
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	w.extend(len(p))
	n, err := w.ResponseWriter.Write(p)
	w.written += int64(n)
	return n, err
}

// extend gives the client time to take n more bytes. Writers without deadlines, as
// in tests, have none.
func (w *writer) extend(n int) { _ = w.control.SetWriteDeadline(time.Now().Add(w.pace.of(n))) }

// pace is how slow a client may be.
type pace struct {
	grace time.Duration
	rate  int64 // bytes a second
}

// of is how long n bytes may take.
func (p pace) of(n int) time.Duration {
	return p.grace + time.Duration(float64(n)/float64(p.rate)*float64(time.Second))
}
