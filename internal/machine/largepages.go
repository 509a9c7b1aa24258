package machine

import (
	"runtime"
	"unsafe"
)

// largeMemory is the least memory for which large pages are asked, in bytes: processors know the addresses of so many small ones.
const largeMemory = 8 << 20

// LargePages has the system map memory that the Go heap has just made by large pages (of 2 MiB on amd64), as far as it has
// whole ones, if it is 8 MiB or more and the system can. It is called before anything is written, for pages that there are
// stay small. When the memory is collected, what the heap puts there next has small pages again: it might use a part of
// a large one, which is all in memory.
func LargePages[T any](memory []T) {
	size := uintptr(len(memory)) * unsafe.Sizeof(*new(T))
	if size < largeMemory {
		return
	}
	first := unsafe.SliceData(memory)
	where := span{uintptr(unsafe.Pointer(first)), size}.wholePages()
	if where.ask(true) {
		runtime.AddCleanup(first, func(where span) { where.ask(false) }, where)
	}
}

// span is memory from an address on.
type span struct{ from, size uintptr }

// largePage is the size of large pages on amd64 and, with pages of 4 KiB, on arm64; advice about others does no harm.
const largePage = 2 << 20

// wholePages is the part of s that consists of large pages.
func (s span) wholePages() span {
	skip := -s.from % largePage
	if s.size < skip {
		return span{s.from, 0}
	}
	return span{s.from + skip, (s.size - skip) / largePage * largePage}
}
