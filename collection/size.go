package collection

// sizer is a memory that only adds up the sizes of sections.
type sizer int64

func (m *sizer) bytes(_ string, n int64) ([]byte, error) {
	*m += sizer(n)
	return nil, nil
}

// Size returns a tight upper bound of Collection.Bytes for a collection of n rows of dim
// columns made by Build or Create; o may be nil. It does not check that such a collection is
// allowed.
func Size(n int64, dim int, o *Options) int64 {
	c := newShape(int(min(n, MaxAtoms)), min(dim, MaxDim), o)
	coded := c.D > 0
	if coded {
		c.transform = &transform{dim: c.Dim, D: c.D, r: c.R, rounds: rotationRounds(c.D)}
	}
	if c.Metric.Differences() && c.Origin == nil { // which the rows may turn out to need
		c.Origin = make([]float64, 0)
	}
	var sections sizer
	c.layout(&sections, false, fileVersion) // a sizer returns no error
	size := int64(sections) + fileOverhead(int64(sections))
	if coded {
		size += 8*int64(c.PanelCount()) + c.transform.bytes() // NormCaps and NormFloors
	}
	if o != nil && o.KeepRotated {
		size += 4 * int64(c.N) * int64(c.D)
	}
	return size
}
