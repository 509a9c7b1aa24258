package simd

// FWHT applies the unnormalised Walsh-Hadamard transform in place. len(x) is a power
// of two, at least 4.
func FWHT(x []float32) {
	for i := 0; i+4 <= len(x); i += 4 {
		p := (*[4]float32)(x[i:])
		a, b, c, d := p[0]+p[1], p[0]-p[1], p[2]+p[3], p[2]-p[3]
		p[0], p[1], p[2], p[3] = a+c, b+d, a-c, b-d
	}
	butterflies(x, 4)
}

// butterflies does the butterflies of x over distances h, 2h, .. len(x)/2.
func butterflies(x []float32, h int) {
	// Two distances share one pass while two are left.
	for ; h*4 <= len(x); h *= 4 {
		for i := 0; i < len(x); i += 4 * h {
			a, b, c, d := x[i:i+h:i+h], x[i+h:i+2*h:i+2*h], x[i+2*h:i+3*h:i+3*h], x[i+3*h:i+4*h:i+4*h]
			for j, p := range a {
				q, r, s := b[j], c[j], d[j]
				t, u, v, w := p+q, p-q, r+s, r-s
				a[j], b[j], c[j], d[j] = t+v, u+w, t-v, u-w
			}
		}
	}
	if h < len(x) {
		a, b := x[:h:h], x[h:2*h]
		for j, p := range a {
			q := b[j]
			a[j], b[j] = p+q, p-q
		}
	}
}

// fwhtScale is Kernels.FWHTScale in portable Go.
func fwhtScale(x, sign []float32, block int, f float32) {
	for i, s := range sign {
		x[i] *= s
	}
	for at := 0; at < len(x); at += block {
		FWHT(x[at : at+block])
	}
	scale(x, f)
}

func scale(x []float32, f float32) {
	if f == 1 {
		return
	}
	for i := range x {
		x[i] *= f
	}
}
