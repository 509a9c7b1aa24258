//go:build linux

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"thresher/internal/vectors"
)

// matrix is rows of vectors, row-major.
type matrix struct {
	dim  int
	data []float32
}

// gaussian returns rows of a standard normal distribution, a function of the seed.
func gaussian(rows, dim int, seed uint64) *matrix {
	return &matrix{dim, vectors.Gaussian(rand.New(rand.NewPCG(seed, 1)), rows, dim)}
}

// embedding fills unit vectors whose coordinates decrease by a power law and have nonzero
// means, like a language model's in their principal axes.
func embedding(dst []float32, dim int, r *rand.Rand) {
	const decay = .6
	for row := range slices.Chunk(dst, dim) {
		var squares float64
		for j := range row {
			x := (r.NormFloat64() + .5) * math.Pow(float64(j+1), -decay)
			row[j] = float32(x)
			squares += x * x
		}
		scale := float32(1 / math.Sqrt(squares))
		for j := range row {
			row[j] *= scale
		}
	}
}

func (m *matrix) rows() int { return len(m.data) / m.dim }

func (m *matrix) row(i int) []float32 { return m.data[i*m.dim : (i+1)*m.dim] }

// npyHeader returns the npy header for rows of float32.
func npyHeader(rows, dim int) []byte {
	dict := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", rows, dim)
	dict += strings.Repeat(" ", 63-(10+len(dict))%64) + "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), 0, 0)
	binary.LittleEndian.PutUint16(b[8:], uint16(len(dict)))
	return append(b, dict...)
}

func (m *matrix) npy() []byte {
	b := bytes.NewBuffer(npyHeader(m.rows(), m.dim))
	_ = binary.Write(b, binary.LittleEndian, m.data) // memory takes everything
	return b.Bytes()
}

func (m *matrix) body(key string) *body {
	return &body{kind: "application/x-npy", data: m.npy(), key: key}
}

// writeEmbeddings writes a file of embeddings, block by block.
func writeEmbeddings(path string, rows, dim int, seed uint64) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	if _, err := w.Write(npyHeader(rows, dim)); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(seed, 1))
	block := make([]float32, 256*dim)
	for done := 0; done < rows; done += 256 {
		part := block[:min(256, rows-done)*dim]
		embedding(part, dim, r)
		if err := binary.Write(io.Writer(w), binary.LittleEndian, part); err != nil {
			return err
		}
	}
	return w.Flush()
}

// best returns the ids of the k rows with the largest inner products, in float64.
func best(rows *matrix, ids []int64, query []float32, k int) []int64 {
	order := make([]int, rows.rows())
	scores := make([]float64, len(order))
	for i := range order {
		order[i] = i
		for j, x := range rows.row(i) {
			scores[i] += float64(x) * float64(query[j])
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	top := make([]int64, min(k, len(order)))
	for i := range top {
		top[i] = ids[order[i]]
	}
	return top
}
