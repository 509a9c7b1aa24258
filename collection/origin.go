package collection

import (
	"context"
	"fmt"

	"thresher/dataset"
)

// Rounded is implemented by a Source whose rows are relative to an origin, or were rounded to
// float32. Create asks it once all rows are read.
type Rounded interface {
	// Origin is Collection.Origin of the rows.
	Origin() []float64
	// Change is Collection.Change of the rows.
	Change() dataset.Change
}

// readSource is a dataset.Reader as a Source that says what it rounded.
type readSource struct{ dataset.Reader }

func (r readSource) Origin() []float64      { return dataset.OriginOf(r.Reader) }
func (r readSource) Change() dataset.Change { return dataset.ChangeOf(r.Reader) }

// roundedOf returns what a source says of its rows.
func roundedOf(src Source) Rounded {
	switch s := src.(type) {
	case Rounded:
		return s
	case dataset.Reader:
		return readSource{s}
	}
	return readSource{}
}

// BuildFloat64 is Build of float64 rows, which it does not retain. They are rounded to float32, for
// Euclidean distance relative to an origin near them, which changes no distance and keeps the
// differences of rows far from zero; Collection.Change says what rounding changed. A value that float32
// cannot hold is a *RowError.
func BuildFloat64(ctx context.Context, rows []float64, dim int, o *Options) (*Collection, error) {
	if dim < 1 || len(rows)%dim != 0 {
		return nil, fmt.Errorf("%d values are no rows of %d columns", len(rows), dim)
	}
	var own Options
	if o != nil {
		own = *o
	}
	own.Change = dataset.Change{}
	if own.Origin == nil && own.Metric.Differences() {
		own.Origin = dataset.ChooseOrigin(rows, dim)
	}
	narrow := make([]float32, len(rows))
	change, err := Narrow(narrow, rows, dim, own.Origin)
	if err == nil && change.Values > 0 && (o == nil || o.Origin == nil) && own.Origin != nil && dataset.HoldsAll(rows) {
		own.Origin = nil // which would change values that float32 holds
		change, err = Narrow(narrow, rows, dim, nil)
	}
	if err != nil {
		return nil, err
	}
	own.Change = change
	return Build(ctx, narrow, dim, &own)
}

// Narrow writes rows of dim columns, less origin (nil is zero), rounded to float32, to dst, and
// returns what that changed. A result that is not finite is a *RowError.
func Narrow(dst []float32, rows []float64, dim int, origin []float64) (dataset.Change, error) {
	var all dataset.Change
	for i := 0; i*dim < len(rows); i++ {
		row := rows[i*dim : (i+1)*dim]
		c, bad := dataset.Narrow(dst[i*dim:(i+1)*dim], row, origin)
		if bad >= 0 {
			return all, &RowError{Row: i, Column: bad, Err: fmt.Errorf("value %g is not finite as float32", row[bad])}
		}
		all.Add(c)
	}
	return all, nil
}

// Given returns row i as it was given, up to rounding: less exact than the row itself if there is
// an Origin, to which float64 then adds it. Of Float64 it is the row itself.
func (c *Collection) Given(i int) []float64 {
	out := make([]float64, c.Dim)
	if c.Float64() {
		c.Vectors.Read64(out, i*c.Dim)
		return out
	}
	for j, x := range c.Row(i) {
		out[j] = float64(x)
		if c.Origin != nil {
			out[j] += c.Origin[j]
		}
	}
	return out
}
