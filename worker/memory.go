package worker

import (
	"os"
	"sync/atomic"
	"unsafe"
)

// region is mapped memory with users. The last one to release it ends the mapping.
type region struct {
	data  []byte
	users atomic.Int64
	unmap func() error
}

func newRegion(data []byte, unmap func() error) *region {
	r := &region{data: data, unmap: unmap}
	r.users.Store(1)
	return r
}

// hold adds a user. The caller must be one already, or hold the lock of what is one.
func (r *region) hold() *region {
	r.users.Add(1)
	return r
}

// release removes a user. A nil region has none.
func (r *region) release() {
	if r != nil && r.users.Add(-1) == 0 && r.unmap != nil {
		r.unmap() // fails only for what is not mapped
	}
}

// mapRegular maps n bytes at off of a regular file for reading.
func mapRegular(f *os.File, argument string, off, n int64) (*region, []byte, error) {
	if err := checkRegular(f, argument, off, n); err != nil {
		return nil, nil, err
	}
	if n == 0 {
		return newRegion(nil, nil), nil, nil
	}
	page := int64(os.Getpagesize())
	from := off / page * page
	b, unmap, err := mapMemory(f, from, off-from+n, false)
	if err != nil {
		return nil, nil, &failure{Kind: badFile, Argument: argument, Message: "it cannot be mapped: " + err.Error()}
	}
	return newRegion(b, unmap), b[off-from:], nil
}

// checkRegular returns an error unless f is a regular file that has n bytes at off.
func checkRegular(f *os.File, argument string, off, n int64) error {
	st, err := f.Stat()
	switch {
	case err != nil:
		return &failure{Kind: badFile, Argument: argument, Message: err.Error()}
	case !st.Mode().IsRegular():
		return &failure{Kind: badFile, Argument: argument, Message: "is no regular file"}
	case off > st.Size() || n > st.Size()-off:
		return wrong(argument, "%d bytes at %d of a file of %d", n, off, st.Size())
	}
	return nil
}

// isAligned reports whether b begins where an element of so many bytes may.
func isAligned(b []byte, size int) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%uintptr(size) == 0
}
