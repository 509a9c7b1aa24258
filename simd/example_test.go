package simd_test

import (
	"fmt"

	"thresher/simd"
)

// Every set of kernels computes the same sums, bit for bit.
func ExampleAvailable() {
	atom := []float32{0.1, 0.2, 0.3, 0.4}
	query := []float64{1, 10, 100, 1000}
	want := simd.Dot(atom, query)

	fmt.Println("slowest:", simd.Available()[0])
	for _, kern := range simd.Available() {
		var got [1]float64
		kern.Dots(got[:], atom, 4, []uint32{0}, query)
		if got[0] != want {
			fmt.Println(kern, "differs:", got[0])
		}
	}
	// Output: slowest: generic
}
