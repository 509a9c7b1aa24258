package problem

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"syscall"
	"time"

	"thresher/backend"
	"thresher/batch"
	"thresher/dataset"
	"thresher/store"
)

// Of converts any error to a problem: a *Problem is returned as it is, known errors of the
// library and the system get their kind, and all others become Internal, whose detail
// reveals nothing of the error.
func Of(err error) *Problem {
	var p *Problem
	var request *batch.RequestError
	var vector *dataset.Error
	var limit *dataset.LimitError
	var tooLarge *http.MaxBytesError
	var reused *store.KeyReusedError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &request):
		return New(InvalidValue, "%v", err).At(request.Field, request.Query).Because(err)
	case errors.As(err, &tooLarge):
		return New(BodyTooLarge, "the body has more than %d bytes", tooLarge.Limit).Within(tooLarge.Limit).Because(err)
	case errors.As(err, &reused):
		return New(KeyReused, "%v", reused).In("Idempotency-Key").Because(err)
	case store.IsFull(err):
		return New(DiskFull, "%v", store.ErrFull).Because(err)
	case errors.As(err, &limit):
		return New(OverLimit, "%v", err).Within(limit.Limit).Because(err)
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		crowded := New(Crowded, "the server has as many files and connections open as it can; what was there is unharmed").Because(err)
		crowded.RetryAfter = time.Second
		return crowded
	case errors.As(err, &vector):
		return New(Malformed, "%v", err).Because(err)
	case errors.Is(err, batch.ErrBusy):
		busy := New(QueueFull, "too many searches are waiting").Because(err)
		busy.RetryAfter = time.Second
		return busy
	case errors.Is(err, backend.ErrUnavailable):
		return New(NoBackend, "the backend is lost and no other is available").Because(err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return New(Slow, "the body did not arrive in time").Because(err)
	case errors.Is(err, context.DeadlineExceeded):
		return New(Deadline, "the deadline passed before there was an answer").Because(err)
	case errors.Is(err, context.Canceled):
		return New(Draining, "the request was cancelled").Because(err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return New(Malformed, "the body ends before it is complete").Because(err)
	}
	return New(Internal, "the server's log has the details").Because(err)
}

// Unreadable returns err if it is a *Problem, and otherwise a Malformed one.
func Unreadable(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	return New(Malformed, "%v", err).Because(err)
}
