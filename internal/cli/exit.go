package cli

import "errors"

// Exit codes of the command.
const (
	ExitOK          = 0
	ExitWrong       = 1 // verify found wrong answers; recall below --fail-under; an offline job did not complete
	ExitInput       = 2 // usage or bad input
	ExitDeadline    = 3 // a deadline left partial answers
	ExitBackend     = 4 // backend unavailable
	ExitInterrupted = 130
)

// ExitError is an error with an exit code.
type ExitError struct {
	Code int
	Err  error
}

// Exit returns err with an exit code.
func Exit(code int, err error) *ExitError { return &ExitError{Code: code, Err: err} }

func (e *ExitError) Error() string { return e.Err.Error() }

// Unwrap returns the error without its code.
func (e *ExitError) Unwrap() error { return e.Err }

// exitCode returns the code of an error: its own, the one that a.CodeOf knows, or else ExitInput.
func (a *App) exitCode(err error) int {
	var e *ExitError
	if errors.As(err, &e) {
		return e.Code
	}
	if a.CodeOf != nil {
		if code := a.CodeOf(err); code != ExitOK {
			return code
		}
	}
	return ExitInput
}
