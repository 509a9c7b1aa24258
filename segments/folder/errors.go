package folder

import (
	"errors"
	"fmt"
)

// Errors of folders, wrapped with the folder's name and the figures.
var (
	ErrForeign  = errors.New("not a folder of vectors")
	ErrDamaged  = errors.New("damaged")
	ErrInUse    = errors.New("another process writes this folder")
	ErrReadOnly = errors.New("the folder is open for reading only")
	ErrClosed   = errors.New("the folder was closed")
	// ErrChanged: a Change was for another version.
	ErrChanged = errors.New("the vectors have changed")
	// ErrThere, of a Change that inserts: an id has a vector. ErrMissing, of one that deletes what is there: an id has none.
	// The error names the row of the id in a *dataset.Error.
	ErrThere   = errors.New("there is a vector of this id")
	ErrMissing = errors.New("there is no vector of this id")
	// ErrFailed: an earlier write could not be undone on the disk, or not flushed. What was acknowledged is there; the folder
	// has to be opened again.
	ErrFailed = errors.New("the log cannot be written any more; open the folder again")
)

// DamageError says where a file of a folder is damaged. It is an ErrDamaged.
type DamageError struct {
	File   string
	Offset int64 // of the frame or value; 0 for the whole file
	Err    error
}

func (e *DamageError) Error() string {
	if e.Offset > 0 {
		return fmt.Sprintf("%s is damaged at byte %d: %v", e.File, e.Offset, e.Err)
	}
	return fmt.Sprintf("%s is damaged: %v", e.File, e.Err)
}

func (e *DamageError) Unwrap() []error { return []error{ErrDamaged, e.Err} }
