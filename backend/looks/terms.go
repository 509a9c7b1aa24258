package looks

import (
	"math"

	"thresher/collection"
)

// A strip is StripPanels panels; a scan uses the maxima of their terms for all of them.
const (
	StripPanels = 8
	StripAtoms  = StripPanels * collection.PanelAtoms
)

// Strip holds the maxima of the terms of StripAtoms atoms, of Offset the greatest magnitude,
// and the mean of their radii. All but the mean and OffsetWidth are float32 values.
type Strip struct {
	HeadNorm, HeadErr, XNorm, Norm, Radius, Offset, WholeErr float64
	MeanRadius                                               float64
	// OffsetWidth is the greatest OffsetWidth of the atoms, 0 without offsets.
	OffsetWidth float64
}

// Cover raises each of the greatest terms of s to at least that of o.
func (s *Strip) Cover(o *Strip) {
	s.HeadNorm, s.HeadErr, s.XNorm, s.Norm = max(s.HeadNorm, o.HeadNorm), max(s.HeadErr, o.HeadErr), max(s.XNorm, o.XNorm), max(s.Norm, o.Norm)
	s.Radius, s.Offset, s.WholeErr, s.OffsetWidth = max(s.Radius, o.Radius), max(s.Offset, o.Offset), max(s.WholeErr, o.WholeErr), max(s.OffsetWidth, o.OffsetWidth)
}

// OffsetWidth returns an upper bound of how far the true offset of an atom lies below the stored one, which
// float32 may have rounded to zero, given its Norm and Offset in the collection.
func OffsetWidth(norm, offset float32) float64 {
	n := float64(norm)
	return max(0, float64(offset)+float64(n*n/2)*collection.Up)
}

// strips returns the strips of n atoms.
func (t *Terms) strips(n int) []Strip {
	most := func(x []float32, lo, hi int) float64 {
		var m float32
		for _, v := range x[lo:hi] {
			m = max(m, v)
		}
		return float64(m)
	}
	out := make([]Strip, (n+StripAtoms-1)/StripAtoms)
	for i := range out {
		lo, hi := i*StripAtoms, min((i+1)*StripAtoms, n)
		s := &out[i]
		s.HeadNorm, s.HeadErr = most(t.HeadNorm, lo, hi), most(t.HeadErr, lo, hi)
		s.XNorm, s.Norm, s.Radius = most(t.XNorm, lo, hi), most(t.Norm, lo, hi), most(t.Radius, lo, hi)
		if t.Offset != nil {
			for k, v := range t.Offset[lo:hi] {
				s.Offset = max(s.Offset, math.Abs(float64(v)))
				s.OffsetWidth = max(s.OffsetWidth, OffsetWidth(t.Norm[lo+k], v))
			}
		}
		if t.WholeErr != nil {
			s.WholeErr = most(t.WholeErr, lo, hi)
		}
		for _, v := range t.Radius[lo:hi] {
			s.MeanRadius += float64(v)
		}
		s.MeanRadius /= float64(hi - lo)
	}
	return out
}

// Side holds the interleaved terms of one atom that a look at its row needs in addition to
// the codes. Survivors are far apart in memory, and separate arrays would cost a cache miss
// each.
type Side struct {
	HeadScale, Scale, Radius, HeadErr, Offset float32
	Size                                      float32 // greatest of HeadNorm, XNorm and Norm
	WholeErr                                  float32 // 0 where there is none
	_                                         float32
}

// Side returns the interleaved terms of atom i.
func (t *Terms) Side(i int) Side {
	s := Side{HeadScale: t.HeadScale[i], Scale: t.Scale[i], Radius: t.Radius[i], HeadErr: t.HeadErr[i],
		Size: max(t.HeadNorm[i], t.XNorm[i], t.Norm[i])}
	if t.Offset != nil {
		s.Offset = t.Offset[i]
	}
	if t.WholeErr != nil {
		s.WholeErr = t.WholeErr[i]
	}
	return s
}
