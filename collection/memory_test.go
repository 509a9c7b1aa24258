//go:build unix

package collection

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"thresher/dataset"
)

// reserved is memory that is address space only, enough for a collection of any size.
type reserved struct {
	maps  [][]byte
	total int64
}

func (r *reserved) bytes(_ string, n int64) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, int(n), unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
	r.maps, r.total = append(r.maps, b), r.total+n
	return b, err
}

func (r *reserved) close() {
	for _, b := range r.maps {
		unix.Munmap(b)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	for _, dim := range []int{512, 513, 768, 1000, 4096} {
		for _, m := range metrics {
			const n = 20000
			name := fmt.Sprintf("%d x %d, %v", n, dim, m)
			c, err := newCollection(n, dim, &Options{Metric: m})
			if err != nil {
				t.Fatal(err)
			}
			c.transform = newTransform(dim, 0)
			c.transform.r = c.R
			var r reserved
			if err := c.layout(&r, dataset.ElemFloat32, false, fileVersion); err != nil {
				t.Fatal(err)
			}
			if share := float64(c.Bytes()) / (4 * n * float64(dim)); share > 1.4 {
				t.Errorf("%s: %.4f times the rows", name, share)
			}
			// The head is packed twice, in place of the directions in their section.
			head := int64(c.R) * int64((dim+15)/16*16)
			if want := r.total + int64(c.transform.rounds*c.D)*8 + head*4; c.Bytes() != want {
				t.Errorf("%s: Bytes is %d, sections, rotation and head take %d", name, c.Bytes(), want)
			}
			r.close()
		}
	}
}
