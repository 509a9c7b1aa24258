// Command rows writes the NEON kernels that sum gathered rows of codes:
//
//	go run ./neon/rows -out ../rows_arm64.s -stubs ../rows_stubs_arm64.go
//
// Rows are summed in groups, the last one to three singly.
package main

import (
	"fmt"
	"strings"

	"thresher/simd/_generate/neon"
	"thresher/simd/_generate/neon/group"
)

// Vector registers of sums, and short, the bias to add: -128 times the sums of the
// query's codes, laid out like a row's sums, twice if there is room.
const (
	head  neon.V = 0
	rest  neon.V = 8
	short neon.V = 24
)

func main() {
	neon.Write(func(f *neon.File) {
		emit(f, "rowSumsNEON", "Rows", "hi", "lo")
		emit(f, "rowSums8NEON", "Rows8", "q")
	})
}

// kernel is the kernel being written.
type kernel struct {
	*group.Kernel
	halves []string // the arguments that hold the query's codes
}

// emit writes the kernel of a method.
func emit(f *neon.File, name, method string, halves ...string) {
	k := &kernel{&group.Kernel{File: f}, halves}
	f.Func(fmt.Sprintf("func %s(out *int32, codes *uint8, stride int, ids *uint32, n int, %s *int8, head, end, near, far int)", name, strings.Join(halves, ", ")),
		fmt.Sprintf("%s is %s of n rows, whose rest ends at end. The rows near places ahead\nare prefetched to level 1, those far ahead to level 2 unless far is 0.", name, method))
	k.Load()
	k.Prepare()
	f.Move(short, k.sums()[0])
	k.Walk(k.store)
	k.Singles(k.store)
	f.Return()
}

// sums sums the rows, head and rest. The sums of a row share a vector, and those of two
// rows do if they fill half of one each.
func (k *kernel) sums() (sums []neon.V) {
	for i, h := range k.halves {
		k.Args(h + " " + (group.High + group.R(i)).String())
	}
	k.Go("MOVD ZR, %v", group.At)
	n := len(k.halves)
	a := k.Codes(group.Head, n, head)
	b := k.Codes(group.End, n, rest)
	if n == 2 {
		for i := 0; i < len(a); i += 2 {
			k.Same("addp", neon.S4, a[i], a[i], a[i+1])
			k.Same("addp", neon.S4, b[i], b[i], b[i+1])
			k.Same("addp", neon.S4, a[i], a[i], b[i])
			sums = append(sums, a[i])
		}
		return sums
	}
	for i := range a {
		k.Same("addp", neon.S4, a[i], a[i], b[i])
	}
	for i := 0; i < len(a); i += 2 {
		k.Same("addp", neon.S4, a[i], a[i], a[min(i+1, len(a)-1)])
		sums = append(sums, a[i])
	}
	return sums
}

// store stores the sums of the rows.
func (k *kernel) store() {
	sums := k.sums()
	for _, s := range sums {
		k.Same("sub", neon.S4, s, s, short)
	}
	if len(k.Rows) == 1 && len(k.halves) == 1 {
		k.Go("FMOVD.P F%d, 8(%v)", sums[0], group.Out)
		return
	}
	for _, s := range sums {
		k.Go("FMOVQ.P F%d, 16(%v)", s, group.Out)
	}
}
