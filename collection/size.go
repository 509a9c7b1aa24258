package collection

// sizer is memory that adds up what is asked of it.
type sizer int64

func (m *sizer) bytes(_ string, n int64) ([]byte, error) {
	*m += sizer(n)
	return nil, nil
}

// Size is an upper bound, and close to it, of Collection.Bytes of a collection that
// Build or Create would make of n rows of dim columns; o may be nil. It does not say
// whether there may be so many.
func Size(n int64, dim int, o *Options) int64 {
	c := shaped(int(min(n, MaxAtoms)), min(dim, MaxDim), o)
	coded := c.D > 0
	if coded {
		c.transform = &transform{dim: c.Dim, D: c.D, r: c.R, rounds: rotationRounds(c.D)}
	}
	var sections sizer
	c.layout(&sections, false, fileVersion) // what only measures never fails
	size := int64(sections) + fileOverhead(int64(sections))
	if coded {
		size += 4*int64(c.PanelCount()) + c.transform.bytes() // NormCaps
	}
	if o != nil && o.KeepRotated {
		size += 4 * int64(c.N) * int64(c.D)
	}
	return size
}
