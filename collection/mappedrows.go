package collection

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"
)

// BuildOver makes a collection, as Build does, of n rows of dim columns that lie in f from offset on, a multiple of 4, as
// they lie in memory. It maps them, and Close ends the mapping; the caller may close f, which must not shrink before.
func BuildOver(ctx context.Context, f *os.File, offset int64, n, dim int, o *Options) (*Collection, error) {
	bytes := 4 * int64(n) * int64(dim)
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case n < 1 || dim < 1 || dim > MaxDim || n > MaxAtoms || offset < 0 || offset%4 != 0:
		return nil, fmt.Errorf("%d rows of %d columns at byte %d", n, dim, offset)
	case st.Size() < offset+bytes:
		return nil, fmt.Errorf("%w: %d of %d bytes", ErrTruncated, st.Size(), offset+bytes)
	}
	from := offset / pageBytes() * pageBytes()
	all, err := mapFile(f, from, offset-from+bytes, false)
	if err != nil {
		return nil, fmt.Errorf("mapping %d bytes: %w", bytes, err)
	}
	unmap := func() error { return unmapFile(nil, 0, all, false) }
	rows := unsafe.Slice((*float32)(unsafe.Pointer(&all[offset-from])), n*dim)
	c, err := Build(ctx, rows, dim, o)
	if err != nil {
		unmap() // fails only for what is not mapped
		return nil, err
	}
	c.unmap, c.ahead = unmap, new(atomic.Bool)
	return c, nil
}
