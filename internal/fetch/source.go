package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// object is one version of a file at a URL.
type object struct {
	location
	from     source
	size     int64     // -1 if it is not stated
	tag      string    // the entity tag, without quotes; "" for none
	weak     bool      // tag does not promise the same bytes
	modified time.Time // zero if it is not stated
	sums     sums      // those that the store states
	asked    bool      // for the checksums
}

// version identifies the content; "" if nothing is stated that changes with it.
func (o *object) version() string {
	switch {
	case o.tag != "":
		return o.tag
	case !o.modified.IsZero():
		return o.modified.UTC().Format(http.TimeFormat)
	}
	return ""
}

// source is where objects are. Its errors name the URL and what the store said.
type source interface {
	// stat asks for the version that there is; an error that is errMissing says that there is none.
	stat(ctx context.Context, l location) (object, error)
	// list visits the objects whose keys begin with those of l, in any order, until visit returns an error.
	list(ctx context.Context, l location, visit func(object) error) error
	// open reads an object from an offset on, and fails with errChanged if it is another version. from is where the body
	// begins: 0 if the server has no parts of files.
	open(ctx context.Context, o *object, offset int64) (body io.ReadCloser, from int64, err error)
}

var (
	// errMissing says that there is no such object.
	errMissing = errors.New("it does not exist")
	// errDenied says that the credentials that were found, or none, do not suffice.
	errDenied = errors.New("access is denied")
	// errVersion says that an object has another version than the one that is wanted.
	errVersion = errors.New("it has version")
	// errChanged says that an object is not the version that it was.
	errChanged = errors.New("it was replaced while it was fetched; fetch it again")
)

// Error is that of a URL. It says what the store said.
type Error struct {
	URL string // without passwords and queries
	// Status is that of the answer, 0 if there was none.
	Status int
	Err    error
}

func (e *Error) Error() string { return e.URL + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// refused returns the error of an answer with a status; said is what the store said about it.
func refused(l *location, status int, said string) error {
	kind := errors.New("the server refused")
	switch status {
	case http.StatusNotFound, http.StatusGone:
		kind = errMissing
	case http.StatusUnauthorized, http.StatusForbidden:
		kind = errDenied
	case http.StatusPreconditionFailed:
		return &Error{l.shown, status, errChanged}
	}
	if said == "" {
		said = http.StatusText(status)
	}
	return &Error{l.shown, status, fmt.Errorf("%w: %d %s", kind, status, said)}
}

// lasting reports whether an error stays when the same is asked for again.
func lasting(err error) bool {
	var e *Error
	if errors.As(err, &e) && e.Status >= 400 && e.Status < 500 {
		return e.Status != http.StatusRequestTimeout && e.Status != http.StatusTooManyRequests
	}
	return errors.Is(err, errChanged) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Passes reports whether an error may pass by itself, as those of connections do, so that the same can be tried again.
func Passes(err error) bool {
	var e *Error
	return errors.As(err, &e) && !lasting(err) && !errors.Is(err, errNothing) && !errors.Is(err, errVersion)
}
