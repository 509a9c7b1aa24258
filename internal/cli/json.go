package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// InWords rewords an error of encoding/json without Go type names. what describes the
// expected text.
func InWords(err error, what string) error {
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mistyped):
		return fmt.Errorf("%s: cannot be a JSON %s", cmp.Or(mistyped.Field, what), mistyped.Value)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("is cut short")
	case errors.Is(err, io.EOF):
		return errors.New("is empty")
	}
	return err
}
