//go:build !unix

package catalog

import "errors"

// limited is never called: the test that uses it is for Unix.
func limited(dir, limit string) error { return errors.ErrUnsupported }
