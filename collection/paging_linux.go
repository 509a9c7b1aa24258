package collection

import (
	"os"

	"golang.org/x/sys/unix"
)

// startWriting has the system begin to write pages of f to the disk.
func startWriting(f *os.File, off, n int64) {
	unix.SyncFileRange(int(f.Fd()), off, n, unix.SYNC_FILE_RANGE_WRITE) // advice: Commit flushes the file
}

// dropPages writes n bytes of f at off, of which b is the mapping or nil, and drops them from memory. What is read
// again is read from the file.
func dropPages(f *os.File, off, n int64, b []byte) {
	const whole = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	if len(b) > 0 {
		unix.Madvise(b, unix.MADV_DONTNEED) // of a shared mapping: changes stay in the file
	}
	unix.SyncFileRange(int(f.Fd()), off, n, whole)
	unix.Fadvise(int(f.Fd()), off, n, unix.FADV_DONTNEED) // advice, as the others
}

// readBytes is how much the system is asked to read at a time. Of longer advice it takes as much as it would read ahead, at
// least 128 KiB, and leaves the rest to be read page by page.
const readBytes = 128 << 10

// startReading has the system begin to read pages of a mapping, which begins with one.
func startReading(b []byte) {
	for len(b) > 0 {
		n := min(readBytes, len(b))
		unix.Madvise(b[:n], unix.MADV_WILLNEED)
		b = b[n:]
	}
}

// startReadingFile has the system begin to read n bytes of f at off.
func startReadingFile(f *os.File, off, n int64) {
	for end := off + n; off < end; off += readBytes {
		unix.Fadvise(int(f.Fd()), off, min(readBytes, end-off), unix.FADV_WILLNEED)
	}
}

// expectRandom has the system read no more of a mapping than is asked for. It may read 16 MB ahead otherwise.
func expectRandom(b []byte) { unix.Madvise(b, unix.MADV_RANDOM) }

// expectRandomReads is expectRandom of reads of a file.
func expectRandomReads(f *os.File) { unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_RANDOM) }
