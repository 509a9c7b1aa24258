package simd

// Pivots is the number of pivots of CountFrom.
const Pivots = 8

// CountFrom sets counts[j] to how many of the values are at least pivots[j]. The pivots ascend, and
// none is a NaN; a value that is a NaN is not counted. Counts are the same with every instruction
// set.
func (kern Kernels) CountFrom(counts *[Pivots]int32, values []float32, pivots *[Pivots]float32) {
	*counts = [Pivots]int32{}
	values = values[kern.countFrom(counts, values, pivots):]
	var reached [Pivots + 1]int32 // values by how many pivots they reach
	for _, v := range values {
		n := 0 // by bisection
		if v >= pivots[3] {
			n = 4
		}
		if v >= pivots[n+1] {
			n += 2
		}
		if v >= pivots[n] {
			n++
		}
		if n == Pivots-1 && v >= pivots[Pivots-1] {
			n++
		}
		reached[n]++
	}
	var sum int32
	for j := Pivots; j > 0; j-- {
		sum += reached[j]
		counts[j-1] += sum
	}
}
