package join

import (
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"thresher/dataset"
)

// A pair log holds the pairs of blocks, each block sorted, until all are found and can be
// merged. A block is a run of pages that it alone fills:
//
//	uint32 pairs of the page, and pageWide · uint32 pages of the run after this one · uint32 CRC-32C of
//	these and the payload · payload: int64 a, int64 b, float32 score, float64 score, for each pair
//
// all little-endian. All pages but the last of a run have pagePairs pairs. Pages that earlier versions wrote are
// without pageWide and without the score in float64.
const (
	pagePairs      = 512
	pageHead       = 12
	pairSize       = 28
	narrowPairSize = 20
	pageSize       = pageHead + pagePairs*pairSize
	pageWide       = 1 << 31 // no number of pairs
)

// pageOf returns what the first number of a page says: how many pairs it has, and the bytes of each.
func pageOf(first uint32) (pairs, size int) {
	if first&pageWide == 0 {
		return int(first), narrowPairSize
	}
	return int(first &^ pageWide), pairSize
}

// ErrPairLog means that the bytes of a pair log have changed.
var ErrPairLog = errors.New("pair log is corrupt")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AppendRun appends pairs, which are sorted by A, then B, to a pair log.
func AppendRun(dst []byte, pairs []dataset.Pair) []byte {
	le := binary.LittleEndian
	pages := (len(pairs) + pagePairs - 1) / pagePairs
	for len(pairs) > 0 {
		n := min(pagePairs, len(pairs))
		pages--
		start := len(dst)
		dst = le.AppendUint32(dst, uint32(n)|pageWide)
		dst = le.AppendUint32(dst, uint32(pages))
		dst = le.AppendUint32(dst, 0)
		for _, p := range pairs[:n] {
			dst = le.AppendUint64(dst, uint64(p.A))
			dst = le.AppendUint64(dst, uint64(p.B))
			dst = le.AppendUint32(dst, math.Float32bits(p.Score))
			dst = le.AppendUint64(dst, math.Float64bits(p.Score64))
		}
		le.PutUint32(dst[start+8:], pageSum(dst[start:]))
		pairs = pairs[n:]
	}
	return dst
}

func pageSum(page []byte) uint32 {
	return crc32.Update(crc32.Checksum(page[:8], castagnoli), castagnoli, page[pageHead:])
}

// pairRun reads a run page by page.
type pairRun struct {
	log   io.ReaderAt
	at    int64 // of the next page
	left  int   // pages not read
	page  []byte
	pairs []byte // of page, not consumed
	size  int    // of each
	head  dataset.Pair
}

// next sets head to the next pair; io.EOF after the last.
func (r *pairRun) next() error {
	if len(r.pairs) == 0 {
		if r.left == 0 {
			return io.EOF
		}
		if err := r.read(); err != nil {
			return err
		}
	}
	le := binary.LittleEndian
	r.head = dataset.Pair{A: int64(le.Uint64(r.pairs)), B: int64(le.Uint64(r.pairs[8:])), Score: math.Float32frombits(le.Uint32(r.pairs[16:])), Score64: math.NaN()}
	if r.size == pairSize {
		r.head.Score64 = math.Float64frombits(le.Uint64(r.pairs[20:]))
	}
	r.pairs = r.pairs[r.size:]
	return nil
}

// read reads the next page.
func (r *pairRun) read() error {
	n, err := r.log.ReadAt(r.page[:pageSize], r.at)
	if err != nil && err != io.EOF {
		return err
	}
	page := r.page[:n]
	if n < pageHead {
		return fmt.Errorf("%w: it ends inside the page at byte %d", ErrPairLog, r.at)
	}
	pairs, size := pageOf(binary.LittleEndian.Uint32(page))
	after := int(binary.LittleEndian.Uint32(page[4:]))
	length := pageHead + pairs*size
	if pairs < 1 || pairs > pagePairs || length > n || pageSum(page[:length]) != binary.LittleEndian.Uint32(page[8:]) {
		return fmt.Errorf("%w: page at byte %d", ErrPairLog, r.at)
	}
	if r.left > 0 && after != r.left-1 {
		return fmt.Errorf("%w: page at byte %d is out of order", ErrPairLog, r.at)
	}
	r.at += int64(length)
	r.left, r.pairs, r.size = after, page[pageHead:length], size
	return nil
}

// PairLog is a complete pair log. It is not safe for concurrent use.
type PairLog struct {
	log  io.ReaderAt
	runs []int64 // where each begins
}

// OpenPairLog returns the log of size bytes. It reads the head of each run.
func OpenPairLog(log io.ReaderAt, size int64) (*PairLog, error) {
	l := &PairLog{log: log}
	var head [pageHead]byte
	for at := int64(0); at < size; {
		if n, err := log.ReadAt(head[:], at); n < pageHead {
			if err == io.EOF {
				err = fmt.Errorf("%w: it ends inside the page at byte %d", ErrPairLog, at)
			}
			return nil, err
		}
		l.runs = append(l.runs, at)
		// All pages before the last are full.
		_, size := pageOf(binary.LittleEndian.Uint32(head[:]))
		at += int64(binary.LittleEndian.Uint32(head[4:])) * int64(pageHead+pagePairs*size)
		if n, err := log.ReadAt(head[:], at); n < pageHead {
			if err == io.EOF {
				err = fmt.Errorf("%w: it ends inside the page at byte %d", ErrPairLog, at)
			}
			return nil, err
		}
		pairs, size := pageOf(binary.LittleEndian.Uint32(head[:]))
		at += pageHead + int64(pairs)*int64(size)
	}
	return l, nil
}

// Each calls do with all pairs of the log in ascending order of A, then B. It holds a page of
// 14 KiB for each run.
func (l *PairLog) Each(do func(p *dataset.Pair) error) error {
	var q runQueue
	for _, at := range l.runs {
		r := &pairRun{log: l.log, at: at, page: make([]byte, pageSize)}
		if err := r.read(); err != nil {
			return err
		}
		if err := r.next(); err != nil {
			return err
		}
		q = append(q, r)
	}
	heap.Init(&q)
	for len(q) > 0 {
		r := q[0]
		if err := do(&r.head); err != nil {
			return err
		}
		switch err := r.next(); err {
		case nil:
			heap.Fix(&q, 0)
		case io.EOF:
			heap.Pop(&q)
		default:
			return err
		}
	}
	return nil
}

// runQueue is a heap of runs by their next pair.
type runQueue []*pairRun

func (q runQueue) Len() int           { return len(q) }
func (q runQueue) Less(i, j int) bool { return byRows(q[i].head, q[j].head) < 0 }
func (q runQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *runQueue) Push(x any)        { *q = append(*q, x.(*pairRun)) }
func (q *runQueue) Pop() any {
	old := *q
	r := old[len(old)-1]
	*q = old[:len(old)-1]
	return r
}
