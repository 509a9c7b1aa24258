package files

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"thresher/service/problem"
)

// Limits of files' names and purposes.
const (
	maxName    = 255 // bytes
	maxPurpose = 64
)

// checkNames validates a file's name and purpose.
func checkNames(name, purpose string) error {
	for _, v := range []struct {
		field, value string
		most         int
	}{{"filename", name, maxName}, {"purpose", purpose, maxPurpose}} {
		if len(v.value) > v.most {
			return problem.New(problem.InvalidValue, "%s has %d bytes, at most %d", v.field, len(v.value), v.most).
				In(v.field).Within(v.most)
		}
		if !utf8.ValidString(v.value) || strings.ContainsFunc(v.value, unicode.IsControl) {
			return problem.New(problem.InvalidValue, "%s %q is not valid text", v.field, v.value).In(v.field)
		}
	}
	return nil
}

// budget is the part of the store's capacity reserved by one file being written.
type budget struct {
	s     *Store
	most  int64 // bytes of the file; 0 is no limit
	taken int64
}

// reserve reserves n more bytes; it fails if the file or all files together exceed their
// limits.
func (b *budget) reserve(n int64) error {
	b.taken += n
	all := b.s.used.Add(n)
	if b.most > 0 && b.taken > b.most {
		return problem.New(problem.BodyTooLarge, "the file has more than %d bytes", b.most).In("file").Within(b.most)
	}
	if most := b.s.o.Total; most > 0 && all > most {
		return problem.New(problem.DiskFull, "%d bytes of files are stored already, of at most %d",
			all-b.taken, most).In("file").Within(most)
	}
	return nil
}

// keep leaves the reservation to the stored file.
func (b *budget) keep() { b.taken = 0 }

// release returns the reservation of a file that was not kept.
func (b *budget) release() { b.s.used.Add(-b.taken) }
