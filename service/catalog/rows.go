package catalog

import (
	"io"

	"thresher/collection"
	"thresher/dataset"
	"thresher/service/problem"
)

// rows streams the rows of a version being built into collection.Create: the rows kept from
// the previous version, then the new ones.
type rows struct {
	dim      int
	wide     dataset.Elem             // in which values given in float64 are kept
	most     int64                    // limit of rows
	reserve  func(n, ids int64) error // reserves memory for n rows and their ids
	progress func(share float64)      // called with the share of the known rows that has been read

	from *opened // previous version; nil if there is none
	drop []int64 // ascending row numbers of from to leave out
	at   int     // next row of from

	src    dataset.Reader // nil if there is none
	called string
	keys   *RowIDs // ids of src's rows, if it has no id column
	number bool    // src's rows get the next integers
	read   int64

	ids *idsBuilder // nil if ids are row numbers
	n   int64       // rows so far
}

// idWork is the memory of a row while ids are compared and put in order.
const idWork = 16

func (r *rows) Dim() int { return r.dim }

// Read implements collection.Source.
func (r *rows) Read(dst []float32) (int, error) {
	return r.reserved(r.nextRows(len(dst)/r.dim, func(at, row int) { copy(dst[at*r.dim:(at+1)*r.dim], r.from.col.Row(row)) }, func() (int, error) { return r.src.Read(dst) }))
}

// source returns the rows in the type in which they are kept: one narrower than float32 if all of them have it, and
// float64 if those of the previous version are or, without one, if that was asked for.
func (r *rows) source() collection.Source {
	t := typedVersion{rows: r}
	if r.from != nil && r.from.col.Float64() {
		if t.elem = dataset.ElemFloat64; r.src != nil {
			t.typed = dataset.Doubled(r.src)
		}
		return t
	}
	var ok bool
	if r.src != nil {
		wide := r.wide
		if r.from != nil {
			wide = dataset.ElemFloat32
		}
		if t.typed, ok = dataset.KeptAs(r.src, wide); !ok {
			return r
		}
		t.elem = t.typed.Elem()
	}
	if r.from != nil {
		if kept := r.from.col.Elem(); kept.Size() >= dataset.ElemFloat32.Size() || r.src != nil && kept != t.elem {
			return r
		}
		t.elem = r.from.col.Elem()
	}
	return t
}

// typedVersion are rows that are kept in another type than float32.
type typedVersion struct {
	*rows
	elem  dataset.Elem
	typed dataset.TypedReader // src; nil if there is none
}

func (t typedVersion) Elem() dataset.Elem { return t.elem }

// ReadTyped is that of dataset.TypedReader.
func (t typedVersion) ReadTyped(dst []byte) (int, error) {
	size := t.dim * t.elem.Size()
	old := func(at, row int) { copy(dst[at*size:(at+1)*size], t.from.col.Vectors.Bytes()[row*size:]) }
	return t.reserved(t.nextRows(len(dst)/size, old, func() (int, error) { return t.typed.ReadTyped(dst) }))
}

// reserved counts n rows that were read, and reserves memory for them.
func (r *rows) reserved(n int, err error) (int, error) {
	r.n += int64(n)
	if r.n > r.most {
		return 0, problem.New(problem.OverLimit, "%s: more than %d rows", r.called, r.most).In("rows").Within(r.most)
	}
	var idBytes int64
	if r.ids != nil {
		idBytes = r.ids.Bytes() + idWork*int64(r.ids.Len())
	}
	if rerr := r.reserve(r.n, idBytes); rerr != nil {
		return 0, rerr
	}
	return n, err
}

// Origin and Change implement collection.Rounded.
func (r *rows) Origin() []float64 {
	if r.from != nil {
		return r.from.col.Origin
	}
	return dataset.OriginOf(r.src)
}

func (r *rows) Change() dataset.Change {
	c := dataset.ChangeOf(r.src)
	if r.from != nil {
		c.Add(r.from.col.Change)
	}
	return c
}

// Change is that of rows, but that the new ones are read as they were given if they are kept in float64.
func (t typedVersion) Change() dataset.Change {
	if t.elem != dataset.ElemFloat64 {
		return t.rows.Change()
	}
	if t.from == nil {
		return dataset.Change{}
	}
	return t.from.col.Change
}

// nextRows reads up to most rows: those of the previous version by old, which copies a row to place at, then new ones.
func (r *rows) nextRows(most int, old func(at, row int), read func() (int, error)) (int, error) {
	if r.from != nil && r.at < r.from.col.N {
		return r.old(most, old), nil
	}
	if r.src == nil {
		return 0, io.EOF
	}
	n, err := read()
	if nerr := r.name(n); nerr != nil {
		return 0, nerr
	}
	if r.read += int64(n); r.src.Len() > 0 {
		r.progress(float64(r.read) / float64(r.src.Len()))
	}
	return n, err
}

// old copies up to most rows of the previous version, at least one.
func (r *rows) old(most int, copyRow func(at, row int)) int {
	n := 0
	for ; n < most && r.at < r.from.col.N; r.at++ {
		if len(r.drop) > 0 && r.drop[0] == int64(r.at) {
			r.drop = r.drop[1:]
			continue
		}
		copyRow(n, r.at)
		if r.ids != nil {
			r.oldName(int64(r.at))
		}
		n++
	}
	return n
}

func (r *rows) oldName(row int64) {
	if ids := r.from.ids; ids.kind == Strings {
		r.ids.AddText(ids.Name(row))
	} else {
		r.ids.addInt(ids.Int(row))
	}
}

// name assigns ids to the n rows just read.
func (r *rows) name(n int) error {
	if r.ids == nil {
		return nil
	}
	given := r.src.IDs()
	for i := range n {
		var err error
		switch row := r.read + int64(i); {
		case r.number:
			err = r.ids.addNext()
		case r.keys == nil:
			err = r.ids.add(given[i])
		case r.keys.kind == Integers:
			r.ids.addInt(r.keys.Int(row))
		default:
			err = r.ids.add(r.keys.Name(row))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var _ collection.Rounded = (*rows)(nil)
