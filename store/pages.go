package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
)

// The layout of a bbolt database, format version 2. Numbers are in the machine's byte
// order.
const (
	// A page begins with its id (8 bytes), kind, count of elements (2 each) and the
	// number of pages that continue it (4).
	pageHeader   = 16
	branchPage   = 0x01
	leafPage     = 0x02
	freelistPage = 0x10

	// A meta page goes on with magic, version, page size, flags (4 each), root page,
	// sequence, free list, number of pages, transaction and the FNV-1a sum of all these
	// (8 each).
	metaSize    = 64
	metaMagic   = 0xED0CDAED
	metaVersion = 2
	noFreelist  = ^uint64(0)

	// An element of a leaf: flags, offset of the key, its size, the value's (4 each). One
	// of a branch: offset of the key, its size (4 each), page (8).
	elementSize = 16
	bucketFlag  = 1
	// A bucket's value begins with its root page and sequence (8 each). A small bucket
	// has root 0, and its leaf follows.
	bucketHeader = 16

	minPage, maxPage = 1 << 10, 1 << 16
	maxDepth         = 64 // of nested pages and buckets

	// The buckets of that many levels have names made of ASCII; those of others may be numbers.
	namedLevels = 2
)

func printable(name []byte) bool {
	return len(name) > 0 && !bytes.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' })
}

// meta is a header of a database, of which there are two.
type meta struct{ pageSize, root, sequence, freelist, pages, transaction uint64 }

// readMetas returns the intact headers, the newer one first.
func readMetas(r io.ReaderAt) ([]meta, error) {
	var all []meta
	var lost error // of a header that the disk does not give
	for at := int64(0); at <= maxPage; at = max(minPage, 2*at) {
		var p [metaSize]byte
		if _, err := r.ReadAt(p[:], at+pageHeader); err == io.EOF {
			break
		} else if err != nil {
			lost = errors.Join(lost, err)
			continue
		}
		sum := fnv.New64a()
		sum.Write(p[:metaSize-8])
		word := func(at int) uint32 { return binary.NativeEndian.Uint32(p[at:]) }
		long := func(at int) uint64 { return binary.NativeEndian.Uint64(p[at:]) }
		size := word(8)
		if word(0) != metaMagic || word(4) != metaVersion || long(metaSize-8) != sum.Sum64() ||
			size < minPage || size > maxPage || size&(size-1) != 0 || at != 0 && at != int64(size) {
			continue
		}
		all = append(all, meta{uint64(size), long(16), long(24), long(32), long(40), long(48)})
	}
	if len(all) == 0 {
		return nil, errors.Join(errors.New("no header of a database"), lost)
	}
	slices.SortFunc(all, func(a, b meta) int { // transaction numbers increase
		if a.transaction > b.transaction {
			return -1
		}
		return 1
	})
	return all, nil
}

// lostHeader says which of the two headers is damaged, of which readMetas returned the intact ones; nil if
// neither is. Transactions write them in turns, each in one sector, so no kill and no power failure leaves one
// half-written.
func lostHeader(intact []meta) error {
	if len(intact) != 1 {
		return nil
	}
	return fmt.Errorf("page %d, one of its two headers, is damaged: if it was the newer one, the last change is missing", 1-intact[0].transaction%2)
}

// tree reads the pages below one header.
type tree struct {
	meta
	r    io.ReaderAt
	size uint64 // of the file
	used []uint64
	// broken is called with each error of a page or an element. If it returns nil reading
	// continues, otherwise reading ends with its result.
	broken func(error) error
	// found is called with each key and value and the path of its bucket; bucket with each
	// bucket, before its contents, which errSkip leaves out. The tree owns the slices.
	bucket func(path [][]byte, sequence uint64) error
	found  func(path [][]byte, key, value []byte) error
	// levels, if not 0, is how deep a bucket may lie whose contents are read.
	levels int
}

// errSkip makes a walk leave out the contents of a bucket.
var errSkip = errors.New("leave it out")

// newTree returns a tree that has marked only the headers as used.
func newTree(r io.ReaderAt, size int64, m meta) (*tree, error) {
	if m.pages < 3 || m.pages > 1<<40 {
		return nil, fmt.Errorf("its header says %d pages", m.pages)
	}
	// A truncated file has fewer pages than its header says; those that exist can be read.
	held := min(m.pages, uint64(size)/m.pageSize+1)
	t := &tree{meta: m, r: r, size: uint64(size), used: make([]uint64, held/64+1)}
	t.mark(0)
	t.mark(1)
	return t, nil
}

// mark marks a page as used, and reports whether it was marked before.
func (t *tree) mark(id uint64) (again bool) {
	bit := uint64(1) << (id % 64)
	again = t.used[id/64]&bit != 0
	t.used[id/64] |= bit
	return again
}

// page reads a page with its overflow pages, and marks them as used.
func (t *tree) page(id uint64) ([]byte, error) {
	if id < 2 || id >= t.pages {
		return nil, fmt.Errorf("page %d of %d is named", id, t.pages)
	}
	if (id+1)*t.pageSize > t.size {
		return nil, fmt.Errorf("page %d is missing: the file ends at byte %d", id, t.size)
	}
	var head [pageHeader]byte
	if _, err := t.r.ReadAt(head[:], int64(id*t.pageSize)); err != nil {
		return nil, fmt.Errorf("page %d: %w", id, err)
	}
	more := uint64(binary.NativeEndian.Uint32(head[12:]))
	if binary.NativeEndian.Uint64(head[:]) != id || more >= t.pages-id {
		return nil, fmt.Errorf("page %d has a broken header", id)
	}
	if (id+more+1)*t.pageSize > t.size {
		return nil, fmt.Errorf("page %d is cut: the file ends at byte %d", id, t.size)
	}
	for i := id; i <= id+more; i++ {
		if t.mark(i) {
			return nil, fmt.Errorf("page %d is used twice", i)
		}
	}
	page := make([]byte, (1+more)*t.pageSize)
	if _, err := t.r.ReadAt(page, int64(id*t.pageSize)); err != nil {
		return nil, fmt.Errorf("page %d: %w", id, err)
	}
	return page, nil
}

// walk visits all buckets, and then the free list.
func (t *tree) walk() error {
	if err := t.pageTree(nil, t.root, 0); err != nil {
		return err
	}
	if t.freelist == noFreelist {
		return nil
	}
	page, err := t.page(t.freelist)
	if err == nil {
		err = t.checkFree(page)
	}
	if err != nil {
		return t.broken(fmt.Errorf("free list: %w", err))
	}
	return nil
}

// pageTree visits the tree below a page of the bucket of that path.
func (t *tree) pageTree(path [][]byte, id uint64, depth int) error {
	page, err := t.page(id)
	if err != nil {
		return t.broken(err)
	}
	return t.elements(path, page, fmt.Sprintf("page %d", id), depth)
}

// elements visits the elements of a page, or of a bucket stored inline in its value.
func (t *tree) elements(path [][]byte, page []byte, where string, depth int) error {
	if depth > maxDepth {
		return t.broken(fmt.Errorf("%s: more than %d pages lead to it", where, maxDepth))
	}
	if len(page) < pageHeader {
		return t.broken(fmt.Errorf("%s: %d bytes", where, len(page)))
	}
	kind, count := binary.NativeEndian.Uint16(page[8:]), int(binary.NativeEndian.Uint16(page[10:]))
	if kind != leafPage && kind != branchPage {
		return t.broken(fmt.Errorf("%s is of kind %#x, not of a tree", where, kind))
	}
	if pageHeader+count*elementSize > len(page) {
		return t.broken(fmt.Errorf("%s: %d elements in %d bytes", where, count, len(page)))
	}
	var last []byte
	for i := range count {
		at := pageHeader + i*elementSize
		word := func(n int) uint64 { return uint64(binary.NativeEndian.Uint32(page[at+4*n:])) }
		start, keySize, valueSize := word(0), word(1), uint64(0)
		if kind == leafPage {
			start, keySize, valueSize = word(1), word(2), word(3)
		}
		key := uint64(at) + start
		if start < elementSize || key+keySize+valueSize > uint64(len(page)) {
			if err := t.broken(fmt.Errorf("%s: element %d lies outside", where, i)); err != nil {
				return err
			}
			continue
		}
		name, value := page[key:key+keySize], page[key+keySize:key+keySize+valueSize]
		if i > 0 && bytes.Compare(last, name) >= 0 {
			if err := t.broken(fmt.Errorf("%s: element %d is out of order", where, i)); err != nil {
				return err
			}
		}
		last = name
		var err error
		switch {
		case kind == branchPage:
			err = t.pageTree(path, binary.NativeEndian.Uint64(page[at+8:]), depth+1)
		case word(0)&bucketFlag != 0 && len(path) < namedLevels && !printable(name):
			err = t.broken(fmt.Errorf("%s: element %d is a bucket called %q", where, i, name))
		case word(0)&bucketFlag == 0:
			if t.found != nil {
				err = t.found(path, name, value)
			}
		default:
			err = t.subBucket(append(path, name), value, fmt.Sprintf("%s: element %d", where, i), depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// subBucket visits a bucket, given its value.
func (t *tree) subBucket(path [][]byte, value []byte, where string, depth int) error {
	if len(value) < bucketHeader {
		return t.broken(fmt.Errorf("%s: a bucket of %d bytes", where, len(value)))
	}
	if t.levels > 0 && len(path) > t.levels {
		return nil
	}
	if t.bucket != nil {
		if err := t.bucket(path, binary.NativeEndian.Uint64(value[8:])); err == errSkip {
			return nil
		} else if err != nil {
			return err
		}
	}
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		return t.pageTree(path, root, depth)
	}
	return t.elements(path, value[bucketHeader:], where, depth)
}

// checkFree checks that every page of a free list is listed once and not in use.
func (t *tree) checkFree(list []byte) error {
	if kind := binary.NativeEndian.Uint16(list[8:]); kind != freelistPage {
		return fmt.Errorf("page %d is of kind %#x", t.freelist, kind)
	}
	count, ids := uint64(binary.NativeEndian.Uint16(list[10:])), list[pageHeader:]
	if count == 0xFFFF { // then the count precedes the ids
		count, ids = binary.NativeEndian.Uint64(ids), ids[8:]
	}
	if count > uint64(len(ids))/8 {
		return fmt.Errorf("%d pages in %d bytes", count, len(ids))
	}
	for i := range count {
		id := binary.NativeEndian.Uint64(ids[8*i:])
		if id < 2 || id >= t.pages {
			return fmt.Errorf("it names page %d of %d", id, t.pages)
		}
		if id/64 < uint64(len(t.used)) && t.mark(id) {
			return fmt.Errorf("page %d is free and in use", id)
		}
	}
	return nil
}

// newest returns the tree of the header that bbolt would use, in a file that is not
// truncated, and what lostHeader says.
func newest(r io.ReaderAt, size int64) (t *tree, lost, err error) {
	metas, err := readMetas(r)
	if err != nil {
		return nil, nil, err
	}
	m := metas[0]
	if m.pages > uint64(size)/m.pageSize {
		return nil, nil, fmt.Errorf("the file has %d bytes, and its header says %d: its end is missing", size, m.pages*m.pageSize)
	}
	t, err = newTree(r, size, m)
	return t, lostHeader(metas), err
}
