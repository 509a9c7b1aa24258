package jobs

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"slices"
)

// errFormer means that a progress file is of the kind that earlier versions wrote.
var errFormer = errors.New("progress of an earlier version")

const (
	formerPage  = 4096     // bytes
	formerMagic = 16       // offset of bbolt's magic number in each of the first two pages
	maxFormer   = 64 << 20 // most bytes of a database that are read
)

// formerState returns a state from which the job of a bbolt database, where earlier versions
// kept the record, can continue. A record is contiguous in such a file, the big-endian CRC-32C
// of its JSON before it. Records of earlier chunks remain for some time. The newest may never
// have been committed; all older ones were, and the outputs hold what they count. So the
// newest but one is taken, if there is more than one, and at most one chunk is answered twice.
func formerState(r io.ReaderAt, size int64) (state, bool) {
	file := make([]byte, min(size, maxFormer))
	if !isBbolt(r) || readFull(r, file, 0) != nil {
		return state{}, false
	}
	var found []state
	for at := 0; ; at++ {
		next := bytes.Index(file[at:], []byte(`{"version":`))
		if next < 0 {
			break
		}
		at += next
		var body json.RawMessage
		if at < 4 || json.NewDecoder(bytes.NewReader(file[at:])).Decode(&body) != nil ||
			binary.BigEndian.Uint32(file[at-4:]) != crc32.Checksum(body, castagnoli) {
			continue
		}
		if s, err := decodeState(body); err == nil {
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		return state{}, false
	}
	slices.SortFunc(found, func(a, b state) int {
		// Of runs with chunks of several sizes, the least number of items is safe.
		return cmp.Or(compareAge(&a, &b), cmp.Compare(b.Items, a.Items))
	})
	last := found[len(found)-1]
	for _, s := range slices.Backward(found) {
		if compareAge(&s, &last) < 0 {
			return s, true
		}
	}
	return last, true
}

// compareAge is negative if a was recorded before b in the same job.
func compareAge(a, b *state) int {
	if a.Complete != b.Complete && a.Chunks == b.Chunks {
		if a.Complete {
			return 1
		}
		return -1
	}
	return cmp.Compare(a.Chunks, b.Chunks)
}

func isBbolt(r io.ReaderAt) bool {
	for page := range int64(2) {
		var magic [4]byte
		if readFull(r, magic[:], page*formerPage+formerMagic) == nil && binary.NativeEndian.Uint32(magic[:]) == 0xED0CDAED {
			return true
		}
	}
	return false
}
