package looks

import (
	"math"

	"thresher/collection"
)

// A strip is StripPanels panels, which share the maxima of their terms in a scan.
const (
	StripPanels = 8
	StripAtoms  = StripPanels * collection.PanelAtoms
)

// Strip holds the greatest terms of StripAtoms atoms, |offset| among them, and the mean
// of their radii. All but the mean are float32 values.
type Strip struct {
	HeadNorm, HeadErr, XNorm, Norm, Radius, Offset, WholeErr float64
	MeanRadius                                               float64
}

// strips takes the maxima of n atoms' terms.
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
			for _, v := range t.Offset[lo:hi] {
				s.Offset = max(s.Offset, math.Abs(float64(v)))
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

// Side holds what a look at an atom's row needs besides the codes, side by side:
// survivors are few and far apart, and an array each would be a cache miss each.
type Side struct {
	HeadScale, Scale, Radius, HeadErr, Offset float32
	Size                                      float32 // greatest of HeadNorm, XNorm and Norm
	WholeErr                                  float32 // 0 where there is none
	_                                         float32
}

// Side lays the terms of atom i side by side.
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
