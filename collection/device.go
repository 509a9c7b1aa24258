package collection

// Rotation describes how a coded collection splits a vector v of Dim coordinates, in a
// layout for devices. With x the vector padded with zeros to D coordinates,
//
//	head = Head x,   rest = R (x - Head^T head).
//
// The caller owns the slices except Sign and Perm, which are read only.
type Rotation struct {
	// Head holds the directions as rows, [R][D], zero beyond Dim; empty if R is 0.
	Head []float32
	// Haar is R, [D][D] row-major, for D <= bandit.HaarMaxDim, else nil. Its columns beyond Dim are zero, like
	// the coordinates they multiply.
	Haar []float32
	// Sign and Perm have a slice of D entries for each round, Blocks the sizes of a round's
	// Walsh-Hadamard transforms, which add up to D; all are nil with a Haar matrix. A round
	// multiplies coordinate i by Sign[i], 1 or -1, transforms each block, scaled by
	// 1/sqrt(size) to be orthogonal, and then moves coordinate Perm[i] to i.
	Sign   [][]float32
	Perm   [][]uint32
	Blocks []int
}

// Rotation returns the collection's rotation, or the zero value if it is not coded. Head
// and Haar are copies.
func (c *Collection) Rotation() Rotation {
	if !c.Coded() {
		return Rotation{}
	}
	t := c.transform
	r := Rotation{Head: make([]float32, t.r*t.D), Sign: t.sign, Perm: t.perm}
	for i := range t.r {
		t.ontoHead.column(r.Head[i*t.D:][:t.dim], i)
	}
	if t.rounds == 0 {
		r.Haar = make([]float32, t.D*t.D)
		for i := range t.D {
			t.rotation.column(r.Haar[i*t.D:][:t.dim], i)
		}
		return r
	}
	for left := t.D; left > 0; {
		b := blockAt(left)
		r.Blocks = append(r.Blocks, b)
		left -= b
	}
	return r
}

// column writes column j of p to dst, whose length is p.k.
func (p *packed) column(dst []float32, j int) {
	from, w := 0, p.width(p.columns)
	for j >= from+w {
		from += w
		w = p.width(p.columns - from)
	}
	for c := range dst {
		dst[c] = p.data[from*p.rows+c*w+j-from]
	}
}
