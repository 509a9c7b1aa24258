package slate

// FacilityLocation serves each of d clients by the item of the list that suits it best:
// f_i(S) = max_{e in S} s(e, i), 0 for the empty list.
type FacilityLocation struct {
	n, d    int
	suits   []float64
	largest float64
}

// NewFacilityLocation returns the objective of d clients and n items. suits holds s(e, i)
// >= 0, n*d numbers row-major; it is retained and must not change.
func NewFacilityLocation(n, d int, suits []float64) (*FacilityLocation, error) {
	if err := checkVectors("facility location", n, d, suits, MaxMagnitude); err != nil {
		return nil, err
	}
	return &FacilityLocation{n: n, d: d, suits: suits, largest: longest(d, suits)}, nil
}

// Size returns n.
func (f *FacilityLocation) Size() int { return f.n }

// Features returns the number of clients.
func (f *FacilityLocation) Features() int { return f.d }

// Bound returns the largest norm of a gain.
func (f *FacilityLocation) Bound() float64 { return f.largest }

// NewList returns an empty list.
func (f *FacilityLocation) NewList() List {
	return &facilityList{of: f, served: make([]float64, f.d)}
}

func (f *FacilityLocation) row(e int) []float64 { return f.suits[e*f.d : (e+1)*f.d] }

type facilityList struct {
	of     *FacilityLocation
	served []float64 // by client, the best s(e, i) so far
}

func (l *facilityList) Gains(dst []float64, e int) {
	for i, s := range l.of.row(e) {
		dst[i] = max(0, s-l.served[i])
	}
}

func (l *facilityList) Append(e int) {
	for i, s := range l.of.row(e) {
		l.served[i] = max(l.served[i], s)
	}
}

func (l *facilityList) Reset() { clear(l.served) }
