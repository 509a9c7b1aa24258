package data

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"

	"thresher/internal/philox"
)

// Limits of an IDX file: one that says more is not read.
const (
	maxImages = 1 << 20
	maxSide   = 1 << 12 // pixels
)

// Pixels is the transpose of a file of images (IDX, compressed by gzip, as MNIST comes): an atom is a pixel, and its
// coordinates are its values, 0 to 255, in d of the images. The m queries are pixels that are no atoms; pixels and images
// are chosen by the seed, the images of a smaller d among those of a larger. n = 0 means all pixels but the queries'.
// Errors name the file.
func Pixels(path string, n, d, m int, seed uint64) (*Set, error) {
	images, pixels, values, err := readIDX(path)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		n = pixels - m
	}
	if n < 1 || m < 1 || d < 1 || n+m > pixels || d > images {
		return nil, fmt.Errorf("%s: %d atoms, %d queries and %d coordinates of %d images of %d pixels", path, n, m, d, images, pixels)
	}
	r := rand.New(philox.New(seed, streamChoice))
	pixel, image := r.Perm(pixels), r.Perm(images)
	s := &Set{Name: "MNIST transposed", Atoms: &computed{n, d, func(i, j int) float64 { return float64(values[image[j]*pixels+pixel[i]]) }}}
	for q := range m {
		x := make([]float32, d)
		for j := range x {
			x[j] = float32(values[image[j]*pixels+pixel[n+q]])
		}
		s.Queries = append(s.Queries, x)
	}
	return s, nil
}

func readIDX(path string) (images, pixels int, values []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return 0, 0, nil, fmt.Errorf("%s: %w", path, err)
	}
	var header [4]uint32 // magic, images, rows, columns
	if err := binary.Read(z, binary.BigEndian, &header); err != nil {
		return 0, 0, nil, fmt.Errorf("%s: header: %w", path, err)
	}
	if header[0] != 0x803 || header[1] < 1 || header[1] > maxImages || header[2] < 1 || header[2] > maxSide || header[3] < 1 || header[3] > maxSide {
		return 0, 0, nil, fmt.Errorf("%s: magic number %#x, %d images of %d x %d pixels; want 0x803 and at most %d of %d x %d", path, header[0], header[1], header[2], header[3], maxImages, maxSide, maxSide)
	}
	images, pixels = int(header[1]), int(header[2]*header[3])
	values, err = io.ReadAll(io.LimitReader(z, int64(images)*int64(pixels)))
	if err != nil {
		return 0, 0, nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(values) != images*pixels {
		return 0, 0, nil, fmt.Errorf("%s: %d bytes of pixels, %d images of %d pixels have %d", path, len(values), images, pixels, images*pixels)
	}
	return images, pixels, values, nil
}
