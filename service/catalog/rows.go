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
	most     int64                    // limit of rows
	reserve  func(n, ids int64) error // reserves memory for n rows and their ids
	progress func(share float64)      // called with the share of the known rows that has been read

	from *opened // previous version; nil if there is none
	drop []int64 // ascending row numbers of from to leave out
	at   int     // next row of from

	src    dataset.Reader // nil if there is none
	called string
	keys   *IDs // ids of src's rows, if it has no id column
	number bool // src's rows get the next integers
	read   int64

	ids *idsBuilder // nil if ids are row numbers
	n   int64       // rows so far
}

func (r *rows) Dim() int { return r.dim }

// Read implements collection.Source.
func (r *rows) Read(dst []float32) (int, error) {
	n, err := r.nextRows(dst)
	r.n += int64(n)
	if r.n > r.most {
		return 0, problem.New(problem.OverLimit, "%s: more than %d rows", r.called, r.most).In("rows").Within(r.most)
	}
	var idBytes int64
	if r.ids != nil {
		idBytes = r.ids.d.bytes() + 4*int64(r.ids.d.n)
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

func (r *rows) nextRows(dst []float32) (int, error) {
	if r.from != nil && r.at < r.from.col.N {
		return r.old(dst), nil
	}
	if r.src == nil {
		return 0, io.EOF
	}
	n, err := r.src.Read(dst)
	if nerr := r.name(n); nerr != nil {
		return 0, nerr
	}
	if r.read += int64(n); r.src.Len() > 0 {
		r.progress(float64(r.read) / float64(r.src.Len()))
	}
	return n, err
}

// old copies rows of the previous version; dst has space for at least one.
func (r *rows) old(dst []float32) int {
	n := 0
	for ; n < len(dst)/r.dim && r.at < r.from.col.N; r.at++ {
		if len(r.drop) > 0 && r.drop[0] == int64(r.at) {
			r.drop = r.drop[1:]
			continue
		}
		copy(dst[n*r.dim:(n+1)*r.dim], r.from.col.Row(r.at))
		if r.ids != nil {
			r.oldName(int64(r.at))
		}
		n++
	}
	return n
}

func (r *rows) oldName(row int64) {
	if ids := r.from.ids; ids.kind == Strings {
		r.ids.text(ids.name(int(row)))
		r.ids.d.n++
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
