package jobs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// The layout of a bbolt database, format version 2, as far as a database of one
// bucket with one key uses it. Numbers are in the machine's byte order.
const (
	pageSize = 4096 // of every database that create makes

	// A page begins with its id (8 bytes), kind, count of elements (2 each) and
	// the number of pages that continue it (4).
	pageHeader   = 16
	leafPage     = 0x02
	freelistPage = 0x10

	// A meta page goes on with magic, version, page size, flags (4 each), root
	// page, sequence, free list, number of pages, transaction and the FNV-1a
	// sum of all these (8 each).
	metaSize    = 64
	metaMagic   = 0xED0CDAED
	metaVersion = 2

	// An element of a leaf: flags, offset of the key, its size, the value's (4
	// each). A bucket's value begins with its root page and sequence (8 each).
	elementSize  = 16
	bucketHeader = 16
)

// checkPages says whether r holds a database as create makes and save leaves
// them, size bytes long. bbolt checks little of what it maps to memory; on
// flipped bits or a missing end it can run forever, take all memory or crash
// beyond recovery, so nothing is given to it that has not passed here. What
// the pages say is left to decodeState.
func checkPages(r io.ReaderAt, size int64) error {
	m, err := readMeta(r)
	if err != nil {
		return err
	}
	if m.pages > uint64(size)/pageSize {
		return fmt.Errorf("file of %d bytes, its header says %d", size, m.pages*pageSize)
	}

	used := map[uint64]bool{0: true, 1: true}
	root, err := m.read(r, m.root, leafPage, used)
	if err != nil {
		return err
	}
	bucket, err := onlyValue(root, bucketFlag)
	if err != nil {
		return err
	}
	if len(bucket) < bucketHeader {
		return errors.New("bucket without a header")
	}
	leaf := bucket[bucketHeader:] // a small bucket lies in its value
	if id := binary.NativeEndian.Uint64(bucket); id != 0 {
		if leaf, err = m.read(r, id, leafPage, used); err != nil {
			return err
		}
	}
	if _, err := onlyValue(leaf, 0); err != nil {
		return err
	}

	free, err := m.read(r, m.freelist, freelistPage, used)
	if err != nil {
		return err
	}
	return m.checkFree(free, used)
}

// bucketFlag marks the element of a bucket.
const bucketFlag = 1

type meta struct{ root, freelist, pages, transaction uint64 }

// readMeta returns the later of the two meta pages that is whole.
func readMeta(r io.ReaderAt) (meta, error) {
	var last meta
	found := false
	for id := range int64(2) {
		var p [metaSize]byte
		if _, err := r.ReadAt(p[:], id*pageSize+pageHeader); err != nil && err != io.EOF {
			return meta{}, err
		}
		sum := fnv.New64a()
		sum.Write(p[:metaSize-8])
		word := func(at int) uint32 { return binary.NativeEndian.Uint32(p[at:]) }
		long := func(at int) uint64 { return binary.NativeEndian.Uint64(p[at:]) }
		if word(0) != metaMagic || word(4) != metaVersion || word(8) != pageSize || long(metaSize-8) != sum.Sum64() {
			continue
		}
		m := meta{root: long(16), freelist: long(32), pages: long(40), transaction: long(48)}
		if !found || m.transaction > last.transaction {
			last, found = m, true
		}
	}
	if !found {
		return meta{}, errors.New("no header of a database")
	}
	return last, nil
}

// read returns page id with all its continuing pages and marks them as used.
func (m *meta) read(r io.ReaderAt, id uint64, kind uint16, used map[uint64]bool) ([]byte, error) {
	if id >= m.pages {
		return nil, fmt.Errorf("page %d of %d", id, m.pages)
	}
	var head [pageHeader]byte
	if _, err := r.ReadAt(head[:], int64(id)*pageSize); err != nil {
		return nil, fmt.Errorf("page %d: %w", id, err)
	}
	more := uint64(binary.NativeEndian.Uint32(head[12:]))
	if binary.NativeEndian.Uint64(head[:]) != id || binary.NativeEndian.Uint16(head[8:]) != kind || more >= m.pages-id {
		return nil, fmt.Errorf("page %d: broken header", id)
	}
	for i := id; i <= id+more; i++ {
		if used[i] {
			return nil, fmt.Errorf("page %d is used twice", i)
		}
		used[i] = true
	}
	page := make([]byte, (1+more)*pageSize)
	if _, err := r.ReadAt(page, int64(id)*pageSize); err != nil {
		return nil, fmt.Errorf("page %d: %w", id, err)
	}
	return page, nil
}

// onlyValue returns the value of a leaf's one element.
func onlyValue(leaf []byte, flags uint32) ([]byte, error) {
	if len(leaf) < pageHeader+elementSize {
		return nil, fmt.Errorf("leaf of %d bytes", len(leaf))
	}
	if kind, count := binary.NativeEndian.Uint16(leaf[8:]), binary.NativeEndian.Uint16(leaf[10:]); kind != leafPage || count != 1 {
		return nil, fmt.Errorf("database of another program: page of kind %#x with %d elements", kind, count)
	}
	element := leaf[pageHeader:]
	word := func(at int) uint64 { return uint64(binary.NativeEndian.Uint32(element[at:])) }
	key, value, end := word(4), word(4)+word(8), word(4)+word(8)+word(12)
	if word(0) != uint64(flags) || key < elementSize || end > uint64(len(element)) {
		return nil, errors.New("broken element of a leaf")
	}
	return element[value:end], nil
}

// checkFree says whether every page of a free list exists once and is free.
func (m *meta) checkFree(list []byte, used map[uint64]bool) error {
	count := int(binary.NativeEndian.Uint16(list[10:]))
	if pageHeader+8*count > len(list) || count == 0xFFFF { // then the count lies elsewhere
		return fmt.Errorf("free list of %d pages", count)
	}
	for i := range count {
		id := binary.NativeEndian.Uint64(list[pageHeader+8*i:])
		if id >= m.pages || used[id] {
			return fmt.Errorf("free list names page %d", id)
		}
		used[id] = true
	}
	return nil
}
