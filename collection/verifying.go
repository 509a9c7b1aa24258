package collection

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync/atomic"
)

// checks say which sections of a file are compared with their checksums.
type checks uint8

const (
	checkAll     checks = iota // when the file is opened
	checkLater                 // codes and rows while they are used
	checkNothing               // the file was verified before
)

// errChecksum says that the bytes of a section are others than were written.
var errChecksum = fmt.Errorf("%w: checksum differs", ErrCorrupt)

// rowsSection is the section of the rows as they were given.
const rowsSection = "rows"

// verifiedLater is the least size in bytes of a section that checkLater leaves for later.
const verifiedLater = 1 << 19

// leaves reports whether section name, of n bytes, is verified after the file was opened: whichever bytes are in it, searches find wrong
// answers at worst.
func (k checks) leaves(name string, n int64) bool {
	if k != checkLater || n < verifiedLater {
		return false
	}
	for _, coding := range codings {
		if name == coding.name {
			return true
		}
	}
	return name == rowsSection || name == "panels" || name == "codes"
}

// verification compares sections of a mapped file with their checksums while the collection is used.
type verification struct {
	ended   chan struct{} // closed at the end
	err     error         // after the end
	stopped atomic.Bool
}

// errStopped says that a collection was closed before all of it was verified.
var errStopped = errors.New("closed before it was verified")

// startVerifying begins to verify sections of the mapping all of the file called name: codes first, as looks read them, and then rows.
func startVerifying(name string, all []byte, sections []section) *verification {
	v := &verification{ended: make(chan struct{})}
	if at := slices.IndexFunc(sections, func(s section) bool { return s.Name == rowsSection }); at >= 0 {
		rows := sections[at]
		sections = append(slices.Delete(sections, at, at+1), rows)
	}
	go func() {
		defer close(v.ended)
		if err := v.verify(all, sections); err != nil {
			v.err = fmt.Errorf("%s: %w", name, err)
		}
	}()
	return v
}

// verifiedBytes is how many bytes are compared between two looks at whether the collection was closed.
const verifiedBytes = 128 << 10

// verifiedAhead is how many bytes after those that are compared the system is asked to read: a disk has several reads to do at any time.
const verifiedAhead = 8 << 20

func (v *verification) verify(all []byte, sections []section) error {
	for _, s := range sections {
		b := all[s.Offset : s.Offset+s.Bytes]
		asked, sum := 0, uint32(0)
		for at := 0; at < len(b); at += verifiedBytes {
			if v.stopped.Load() {
				return errStopped
			}
			for ; asked < min(at+verifiedAhead, len(b)); asked += verifiedBytes {
				startReading(b[asked:min(asked+verifiedBytes, len(b))])
			}
			sum = crc32.Update(sum, castagnoli, b[at:min(at+verifiedBytes, len(b))])
		}
		if sum != s.CRC {
			return fmt.Errorf("section %s: %w", s.Name, errChecksum)
		}
	}
	return nil
}

// stop ends the verification, which reads nothing any more.
func (v *verification) stop() {
	v.stopped.Store(true)
	<-v.ended
}

// Verified waits until all bytes in use are verified, and returns the error of Open for a file that was altered; or until ctx is cancelled,
// whose cause it returns then. A deadline of ctx ends nothing, for the best answer so far needs it, too. Collections of OpenVerifying need
// Verified before an answer is believed; others were verified before.
func (c *Collection) Verified(ctx context.Context) error {
	if c.verifying == nil {
		return nil
	}
	select {
	case <-c.verifying.ended:
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return context.Cause(ctx)
		}
		<-c.verifying.ended
	}
	return c.verifying.err
}
