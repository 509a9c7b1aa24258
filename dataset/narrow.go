package dataset

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// Change says what rounding to float32 changed.
type Change struct {
	// Values is how many values float32 does not hold.
	Values int64 `json:"values"`
	// Largest is the largest absolute change of a value.
	Largest float64 `json:"largest"`
}

// Add adds the changes of further values.
func (c *Change) Add(more Change) {
	c.Values += more.Values
	c.Largest = max(c.Largest, more.Largest)
}

// Narrow writes the row src, less origin, rounded to float32, to dst, and returns what rounding
// changed. A nil origin is zero; all have one length. bad is the index of the first result that is
// not a finite float32, or -1.
func Narrow(dst []float32, src, origin []float64) (c Change, bad int) {
	dst = dst[:len(src)]
	for i, x := range src {
		shift := 0.
		if origin != nil {
			shift = origin[i]
		}
		less := x - shift
		v := float32(less)
		if v-v != 0 {
			return c, i
		}
		dst[i] = v
		if float64(v) == less && less+shift == x {
			continue
		}
		c.Values++
		// A difference too close to be told apart in float64 still is a change.
		c.Largest = max(c.Largest, math.Abs(less-float64(v)), math.Abs(x-(less+shift)))
	}
	return c, -1
}

// HoldsAll reports whether float32 holds all values.
func HoldsAll(values []float64) bool {
	for _, x := range values {
		if float64(float32(x)) != x {
			return false
		}
	}
	return true
}

const (
	originSample = 1024 // most rows in the sample that an origin is chosen by
	originFloats = 1 << 20
	farFromZero  = 4 // an origin serves a column whose median is so many times its spread from zero
)

// ChooseOrigin returns a point near rows of dim columns, row-major, for metrics that only depend on
// differences: taken relative to it before they are rounded to float32, rows far from zero keep
// their differences. It returns nil where no column is far from zero.
//
// In a column that is not, the origin is 0. In the others it is a multiple of a power of two not
// below the column's spread, so that float32 holds the differences of values that it holds.
func ChooseOrigin(rows []float64, dim int) []float64 {
	n := len(rows) / dim
	some := min(n, max(16, min(originSample, originFloats/dim)))
	column := make([]float64, some)
	var origin []float64
	for j := range dim {
		for k := range column {
			column[k] = rows[int(int64(k)*int64(n)/int64(some))*dim+j]
		}
		slices.Sort(column)
		o := columnOrigin(column)
		if o == 0 {
			continue
		}
		if origin == nil {
			origin = make([]float64, dim)
		}
		origin[j] = o
	}
	return origin
}

// columnOrigin returns the origin of a column of sorted values. The outer twentieths do not count,
// so that a few outliers do not move it.
func columnOrigin(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return 0
	}
	median := sorted[n/2]
	spread := max(sorted[n-1-n/20]-median, median-sorted[n/20])
	if math.IsNaN(spread) || math.IsInf(median, 0) || math.Abs(median) <= farFromZero*spread {
		return 0
	}
	if spread == 0 {
		return median
	}
	_, e := math.Frexp(spread)
	step := math.Ldexp(1, e)
	return math.Round(median/step) * step
}

// wideReader is a Reader of numbers that float32 may not hold. Only readWide reads its rows.
type wideReader interface {
	Reader
	// isWide reports whether the numbers are such.
	isWide() bool
	// readWide is Read in float64.
	readWide(dst []float64) (rows int, err error)
}

// errWide is the error of reading a wide reader as float32.
var errWide = errors.New("the numbers are read as float64")

// narrowed rounds the rows of a wide reader to float32, relative to an origin, and counts what that
// changes.
type narrowed struct {
	wideReader
	name   string
	whole  bool // the numbers are integers, which are not rounded
	centre bool // choose an origin by the first block
	origin []float64

	block      []float64 // rows that have been read
	ids        []string  // theirs, nil if none are read
	at         int       // first row of block that Read has not returned
	row        int64     // its number
	err        error     // what follows block
	change     Change
	rows       []float64 // largest change of each row of the last Read
	keep       bool      // rests are wanted
	rests      []float32 // what the values of the last Read lack of those given
	keepsGiven bool      // rows as given are wanted
	given      []float64 // those of the last Read
	last       []string  // ids of the last Read
}

// narrowBlock is how many values are read at a time; of the first block, which an origin is chosen
// by, originFloats.
const narrowBlock = 1 << 16

// narrow returns r if it needs no rounding, and otherwise a Reader of its rounded rows. Where the elements are
// of a type it is a TypedReader.
func (o *Options) narrow(r Reader, name string) Reader {
	w, ok := r.(wideReader)
	switch {
	case o.asTheyAre:
		return r
	case ok && w.isWide():
	case o.Origin != nil:
		w = widened{r}
	default:
		return typedOf(r)
	}
	whole, ok := w.(interface{ isWhole() bool })
	n := &narrowed{wideReader: w, name: name, whole: ok && whole.isWhole(), centre: o.Centre && o.Origin == nil, origin: o.Origin}
	if e, ok := kindOf(r).elem(); ok && e == ElemFloat64 && o.Origin == nil {
		return narrowed64{n}
	}
	return n
}

// widened reads float32 rows as float64.
type widened struct{ Reader }

func (widened) isWide() bool { return true }

func (w widened) readWide(dst []float64) (int, error) {
	narrow := make([]float32, len(dst))
	n, err := w.Read(narrow)
	for i, x := range narrow[:n*w.Dim()] {
		dst[i] = float64(x)
	}
	return n, err
}

func (n *narrowed) narrowing() *narrowed { return n }

func (n *narrowed) layout() Layout { return LayoutOf(n.reader()) }

func (n *narrowed) reader() Reader {
	if w, ok := n.wideReader.(widened); ok {
		return w.Reader
	}
	return n.wideReader
}

func (n *narrowed) justified() bool {
	p, ok := n.reader().(interface{ justified() bool })
	return ok && p.justified()
}

func (n *narrowed) IDs() []string { return n.last }

func (n *narrowed) Read(dst []float32) (int, error) {
	dim := n.Dim()
	n.last, n.rows, n.rests, n.given = nil, n.rows[:0], n.rests[:0], n.given[:0]
	if len(dst) < dim {
		return 0, io.ErrShortBuffer
	}
	if n.at*dim == len(n.block) && n.err == nil {
		n.fill()
	}
	have := min(len(n.block)/dim-n.at, len(dst)/dim)
	for i := range have {
		row := n.block[(n.at+i)*dim : (n.at+i+1)*dim]
		c, bad := Narrow(dst[i*dim:(i+1)*dim], row, n.origin)
		if bad < 0 && n.whole && c.Values > 0 {
			bad = firstChange(row, n.origin)
		}
		if bad >= 0 {
			n.err = n.failed(n.row+int64(i), bad, n.refusal(row[bad]))
			n.block, n.ids = n.block[:(n.at+i)*dim], n.ids[:min(len(n.ids), n.at+i)]
			have = i
			break
		}
		n.change.Add(c)
		if n.keep {
			n.keepRests(row, dst[i*dim:(i+1)*dim])
		}
		if n.keepsGiven {
			n.given = append(n.given, row...)
		}
		n.rows = append(n.rows, c.Largest)
	}
	if n.ids != nil {
		n.last = n.ids[n.at : n.at+have]
	}
	n.at += have
	n.row += int64(have)
	full := have == len(dst)/dim
	if n.at*dim < len(n.block) || have > 0 && (full || n.err == io.EOF) {
		return have, nil // an error comes where the row that it is of was to be read
	}
	return have, n.err
}

// failed returns the error of an element.
func (n *narrowed) failed(row int64, column int, err error) error {
	return Placed(n, failAt(n.name, row, int64(column), "%w", err))
}

// refusal returns why x is not accepted.
func (n *narrowed) refusal(x float64) error {
	if float32(x)-float32(x) != 0 || !n.whole {
		return refuseFloat(x)
	}
	return WholeError(x)
}

// WholeError returns why an integer is refused that would be rounded.
func WholeError(x float64) error {
	return fmt.Errorf("integer %.0f cannot be held by float32 exactly; given as float64 it is rounded, and answers say by how much", x)
}

// firstChange returns the first column of row that rounding changes.
func firstChange(row, origin []float64) int {
	var dst [1]float32
	for j := range row {
		var own []float64
		if origin != nil {
			own = origin[j : j+1]
		}
		if c, bad := Narrow(dst[:], row[j:j+1], own); c.Values > 0 || bad >= 0 {
			return j
		}
	}
	return -1
}

// keepRests notes what a row lacks of the row given.
func (n *narrowed) keepRests(given []float64, row []float32) {
	for j, x := range row {
		shift := 0.
		if n.origin != nil {
			shift = n.origin[j]
		}
		n.rests = append(n.rests, float32(given[j]-shift-float64(x)))
	}
}

// KeepRests makes r, whose rows have not been read, keep what rounding takes from them, for RestsOf.
func KeepRests(r Reader) Reader {
	if n := narrowingOf(r); n != nil {
		n.keep = true
	}
	return r
}

// RestsOf returns what each value of the last Read lacks of the one given, valid until the next Read; nil if
// rows of r are not rounded, or their rests not kept.
func RestsOf(r Reader) []float32 {
	if n := narrowingOf(r); n != nil && n.keep {
		return n.rests
	}
	return nil
}

// KeepGiven makes r, whose rows have not been read, keep them as they were given, for GivenOf.
func KeepGiven(r Reader) Reader {
	if n := narrowingOf(r); n != nil {
		n.keepsGiven = true
	}
	return r
}

// GivenOf returns the rows of the last Read as they were given, valid until the next Read; nil if rows of r are not
// rounded, or not kept. Vectors.Reader keeps those of float64 without being told, and so may a Reader of another package, by a method
// Given.
func GivenOf(r Reader) []float64 {
	if n := narrowingOf(r); n != nil && n.keepsGiven {
		return n.given
	}
	if v, ok := r.(*vectorsReader); ok {
		return v.last.Float64s()
	}
	if own, ok := r.(interface{ Given() []float64 }); ok {
		return own.Given()
	}
	return nil
}

// AppendGiven appends the rows that were just read from r, rows, as they were given: GivenOf, or else rows.
func AppendGiven(dst []float64, r Reader, rows []float32) []float64 {
	if given := GivenOf(r); given != nil {
		return append(dst, given...)
	}
	for _, x := range rows {
		dst = append(dst, float64(x))
	}
	return dst
}

// fill reads the next block.
func (n *narrowed) fill() {
	dim, size := n.Dim(), narrowBlock
	first := n.centre
	if first {
		size = originFloats
	}
	rows := max(1, size/dim)
	if have := n.Len(); have >= 0 {
		rows = int(max(1, min(int64(rows), have)))
	}
	if cap(n.block) < rows*dim {
		n.block = make([]float64, rows*dim)
	}
	n.block, n.ids, n.at = n.block[:rows*dim], nil, 0
	got := 0
	for got < rows && n.err == nil {
		var more int
		more, n.err = n.readWide(n.block[got*dim:])
		got += more
		ids := n.wideReader.IDs()
		n.ids = append(n.ids, ids...)
		if !first && got > 0 || len(ids) > 0 && got < rows {
			break // a reader of ids returns fewer rows when these take enough memory
		}
	}
	n.block = n.block[:got*dim]
	if first {
		n.centre, n.origin = false, ChooseOrigin(n.block, dim)
	}
}

// RelativeTo returns r with rows relative to origin, as Options.Origin makes them; nil is zero. r must
// not have been read, nor be used again.
func RelativeTo(r Reader, origin []float64) Reader {
	if n := narrowingOf(r); n != nil {
		n.origin, n.centre = origin, false
		return r
	}
	if origin == nil {
		return r
	}
	return &narrowed{wideReader: widened{r}, name: "rows", origin: origin}
}

// narrowingOf returns what rounds the rows of r; nil if nothing does.
func narrowingOf(r Reader) *narrowed {
	if n, ok := r.(interface{ narrowing() *narrowed }); ok {
		return n.narrowing()
	}
	return nil
}

// OriginOf returns the point that the rows of r are relative to, nil if that is zero. With
// Options.Centre it is known once rows have been read.
func OriginOf(r Reader) []float64 {
	if n := narrowingOf(r); n != nil {
		return n.origin
	}
	return nil
}

// ChangeOf returns what rounding to float32 has changed in the rows that r has read. A Reader of another package can have a method
// Change.
func ChangeOf(r Reader) Change {
	if n := narrowingOf(r); n != nil {
		return n.change
	}
	if own, ok := r.(interface{ Change() Change }); ok {
		return own.Change()
	}
	return Change{}
}

// RowChanges returns the largest change in each row of the last Read, valid until the next one;
// nil if rows of r are not rounded. A Reader of another package can have a method of this name.
func RowChanges(r Reader) []float64 {
	if n := narrowingOf(r); n != nil {
		return n.rows
	}
	if own, ok := r.(interface{ RowChanges() []float64 }); ok {
		return own.RowChanges()
	}
	return nil
}
