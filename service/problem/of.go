package problem

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"thresher/backend"
	"thresher/batch"
	"thresher/dataset"
)

// Of makes a problem of any error: a *Problem is returned as it is, what the
// library and the system are known to fail with gets its kind, and the rest is
// internal, with nothing of the error in what is sent.
func Of(err error) *Problem {
	var p *Problem
	var request *batch.RequestError
	var vector *dataset.Error
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &request):
		return New(InvalidValue, "%v", err).At(request.Field, request.Query).Because(err)
	case errors.As(err, &tooLarge):
		return New(BodyTooLarge, "the body has more than %d bytes", tooLarge.Limit).Within(tooLarge.Limit).Because(err)
	case Full(err):
		return New(DiskFull, "there is no room left to write; what was there before is unharmed").Because(err)
	case errors.As(err, &vector):
		return New(Malformed, "%v", err).Because(err)
	case errors.Is(err, batch.ErrBusy):
		busy := New(QueueFull, "as many searches wait as may").Because(err)
		busy.RetryAfter = time.Second
		return busy
	case errors.Is(err, backend.ErrUnavailable):
		return New(NoBackend, "the backend is lost and there is no other").Because(err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return New(Slow, "the body did not come in time").Because(err)
	case errors.Is(err, context.DeadlineExceeded):
		return New(Deadline, "the deadline passed before there was an answer").Because(err)
	case errors.Is(err, context.Canceled):
		return New(Draining, "the request was cancelled").Because(err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return New(Malformed, "the body ends before it is complete").Because(err)
	}
	return New(Internal, "the failure is in the server's log").Because(err)
}

// Unreadable is err if it is a problem, else one of a body that cannot be read.
func Unreadable(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	return New(Malformed, "%v", err).Because(err)
}

// Full reports whether err is one of the ways in which a disk says that it is full.
func Full(err error) bool {
	if err == nil {
		return false
	}
	// of what kept its file from growing bbolt tells the text alone
	text := err.Error()
	database := strings.Contains(text, "file resize error: ")
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, full) || database && strings.Contains(text, full.Error()) {
			return true
		}
	}
	return false
}
