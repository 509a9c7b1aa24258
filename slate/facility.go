package slate

// FacilityLocation serves each of d clients by the item of the list that suits it
// best: f_i(S) = max_{e in S} s(e, i), 0 for the empty list.
type FacilityLocation struct {
	n, d    int
	suits   []float64
	largest float64
}

// NewFacilityLocation returns the service of d clients by n items that suit them
// by n*d numbers >= 0, row-major. It keeps suits, which must not change.
func NewFacilityLocation(n, d int, suits []float64) (*FacilityLocation, error) {
	if err := checkVectors("facility location", n, d, suits, MaxMagnitude); err != nil {
		return nil, err
	}
	return &FacilityLocation{n: n, d: d, suits: suits, largest: longest(d, suits)}, nil
}

// Size is n.
func (f *FacilityLocation) Size() int { return f.n }

// Features is the number of clients.
func (f *FacilityLocation) Features() int { return f.d }

// Bound is the largest norm of a gain.
func (f *FacilityLocation) Bound() float64 { return f.largest }

// NewList returns an empty list.
func (f *FacilityLocation) NewList() List {
	return &facilityList{of: f, served: make([]float64, f.d)}
}

func (f *FacilityLocation) row(e int) []float64 { return f.suits[e*f.d : (e+1)*f.d] }

type facilityList struct {
	of     *FacilityLocation
	served []float64 // by client, how well so far
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
