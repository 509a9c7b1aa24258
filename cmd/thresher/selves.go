package main

import (
	"errors"
	"fmt"

	"thresher/tasks"
)

// selvesError returns err, of tasks.CheckSelves, in the words of the command.
func selvesError(err error, of, atoms input) error {
	var e *tasks.SelfError
	if !errors.As(err, &e) {
		return err
	}
	if e.Vector >= int64(e.Vectors) {
		return fmt.Errorf("--exclude-self: %s has more queries than the %d vectors of %s", of.name, e.Vectors, atoms.name)
	}
	return fmt.Errorf("--exclude-self: query %d of %s is not vector %d of %s", e.Query, of.name, e.Vector, atoms.name)
}
