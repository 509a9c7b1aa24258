package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/join"
)

// Kinds of failures.
const (
	badInput      = "bad-input"
	unknownHandle = "unknown-handle"
	pastDeadline  = "deadline"
	cancelled     = "cancelled"
	noDevice      = "no-device"
	noMemory      = "memory"
	busy          = "busy"
	badFile       = "file"
	badProtocol   = "protocol"
	internal      = "internal"
)

// failure is an error as the client gets it.
type failure struct {
	Kind     string `json:"kind"`
	Argument string `json:"argument,omitempty"` // the field or array that is wrong
	Message  string `json:"message"`
	Row      *int64 `json:"row,omitempty"`   // of the argument, from 0
	Limit    any    `json:"limit,omitempty"` // that is exceeded
}

func (f *failure) Error() string {
	if f.Argument == "" {
		return f.Message
	}
	return f.Argument + ": " + f.Message
}

// violation is a failure after which the connection is unusable.
func violation(format string, a ...any) *failure {
	return &failure{Kind: badProtocol, Message: fmt.Sprintf(format, a...)}
}

// wrong says that an argument is wrong.
func wrong(argument, format string, a ...any) *failure {
	return &failure{Kind: badInput, Argument: argument, Message: fmt.Sprintf(format, a...)}
}

// within adds the limit that is exceeded.
func (f *failure) within(limit any) *failure {
	f.Limit = limit
	return f
}

// at adds a row.
func (f *failure) at(row int64) *failure {
	if row >= 0 {
		f.Row = &row
		f.Message = fmt.Sprintf("row %d: %s", row, f.Message)
	}
	return f
}

// failureOf returns err as the client gets it. vectors names the array whose rows a collection
// was built from, path the field that names a file.
func failureOf(err error) *failure {
	var (
		f       *failure
		request *batch.RequestError
		row     *collection.RowError
		joined  *join.RowError
		file    *dataset.Error
		path    *fs.PathError
		short   *collection.MemoryError
	)
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &request):
		return wrong(request.Field, "%v", request.Err).at(int64(request.Query))
	case errors.As(err, &file), errors.As(err, &path), errors.Is(err, collection.ErrForeign), errors.Is(err, collection.ErrVersion),
		errors.Is(err, collection.ErrTruncated), errors.Is(err, collection.ErrCorrupt):
		return &failure{Kind: badFile, Argument: "path", Message: err.Error()}
	case errors.As(err, &row):
		w := wrong("vectors", "%v", row.Err)
		if row.Column >= 0 {
			w.Message = fmt.Sprintf("column %d: %v", row.Column, row.Err)
		}
		return w.at(int64(row.Row))
	case errors.As(err, &joined):
		return wrong("vectors", "%v", joined.Err).at(joined.Row)
	case errors.Is(err, context.DeadlineExceeded):
		return &failure{Kind: pastDeadline, Message: "the deadline passed before there was anything to return"}
	case errors.Is(err, context.Canceled):
		return &failure{Kind: cancelled, Message: "the call was cancelled"}
	case errors.Is(err, backend.ErrUnavailable):
		return &failure{Kind: noDevice, Argument: "device", Message: err.Error()}
	case errors.As(err, &short):
		return (&failure{Kind: noMemory, Argument: "path", Message: err.Error()}).within(short.Memory)
	case errors.Is(err, backend.ErrMemory):
		return &failure{Kind: noMemory, Message: err.Error()}
	case errors.Is(err, batch.ErrBusy):
		return &failure{Kind: busy, Message: err.Error()}
	}
	return &failure{Kind: internal, Message: err.Error()}
}
