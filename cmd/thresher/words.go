package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// inWords says what is wrong with a JSON text without the names of Go. whole is what the
// text is to be.
func inWords(err error, whole string) error {
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mistyped):
		return fmt.Errorf("%s: cannot be a JSON %s", cmp.Or(mistyped.Field, whole), mistyped.Value)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("is cut short")
	case errors.Is(err, io.EOF):
		return errors.New("is empty")
	}
	return err
}
