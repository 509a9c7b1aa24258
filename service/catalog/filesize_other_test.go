//go:build !unix

package catalog

import "errors"

// limited has no limit to set, and no test that asks for one.
func limited(dir, limit string) error { return errors.ErrUnsupported }
