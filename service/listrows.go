package service

import (
	"net/http"
	"time"

	"thresher/columns"
	"thresher/dataset"
	"thresher/service/api"
	"thresher/service/catalog"
	"thresher/service/problem"
)

// maxPageText bounds the texts of a page of rows, in bytes, but for those of its first row.
const maxPageText = 1 << 20

// maxPageValues bounds the values of the vectors of a page of rows, but for those of its first row.
const maxPageValues = 1 << 20

// listRows answers with the ids of rows and their values of columns: a page of those whose ids begin with a prefix, or
// the first of the rows of given ids.
func (s *Server) listRows(r *request, w http.ResponseWriter) error {
	after, limit, err := r.params.page()
	if err != nil {
		return err
	}
	prefix, err := r.params.parseText("prefix")
	if err != nil {
		return err
	}
	named := r.params.Values["id"]
	switch {
	case named != nil && (r.params.Has("prefix") || r.params.Has("after") || r.params.Has("limit")):
		return problem.New(problem.InvalidValue, "id names the rows, which prefix, after and limit do otherwise").In("id")
	case len(named) > problem.MaxPage:
		return problem.New(problem.OverLimit, "%d ids, at most %d are accepted", len(named), problem.MaxPage).In("id").Within(problem.MaxPage)
	}
	vectors, err := r.params.parseBool("vectors")
	if err != nil {
		return err
	}
	if vectors && named == nil {
		return problem.New(problem.InvalidValue, "vectors are given of rows that id names").In("vectors")
	}
	v, err := s.catalog.Use(r.PathValue("name"), 0)
	if err != nil {
		return err
	}
	defer v.Release()
	var rows []int64
	more := false
	if named != nil {
		rows, err = rowsNamed(v, named)
	} else {
		ctx, cancel := s.within(r.Context())
		defer cancel()
		rows, more, err = v.List(ctx, prefix, after, limit)
		err = s.explainWait(err)
	}
	if err != nil {
		return err
	}
	described, whole := describeRows(v, rows, vectors)
	page := api.Rows{Page: api.NewPage(described, more || !whole, func(row *api.Row) string { return row.ID.String() })}
	page.Version, page.Writes = v.State()
	w.Header().Set("Cache-Control", "no-store")
	return writeJSON(w, http.StatusOK, page)
}

// rowsNamed returns the row numbers of ids as a path or a parameter has them.
func rowsNamed(v *catalog.Version, names []string) ([]int64, error) {
	keys := catalog.Keys{Names: names}
	if v.IDs().Kind() != catalog.Strings {
		keys = catalog.Keys{Ints: make([]int64, len(names))}
		for i, name := range names {
			n, ok := plainInteger(name)
			if !ok {
				return nil, problem.New(problem.UnknownRow, "the ids of %s are integers, and %q is not one as they are written", v.Info().Name, name).At("id", i)
			}
			keys.Ints[i] = n
		}
	}
	rows, err := v.IDs().Rows(&keys, "id")
	return rows, noRow(err)
}

// describeRows describes so many of the first rows as a page has room for, with their vectors or without, and says whether these are all.
func describeRows(v *catalog.Version, rows []int64, vectors bool) (described []api.Row, whole bool) {
	ids, kept := v.IDs(), v.Columns(rows)
	size := 0
	for i, row := range rows {
		one := api.Row{ID: api.IntID(ids.Int(row))}
		if ids.Kind() == catalog.Strings {
			one.ID = api.TextID(ids.Name(row))
		}
		if kept != nil {
			var texts int
			one.Columns, texts = valuesOf(kept, i)
			size += texts
		}
		if i > 0 && (size > maxPageText || vectors && (i+1)*v.Dim() > maxPageValues) {
			return described, false
		}
		if vectors {
			one.Vector = v.Given(row)
		}
		described = append(described, one)
	}
	return described, true
}

// valuesOf returns the values of a row that are not null, as JSON has them; floats that are not finite are left out, because it has none. size is
// that of the texts, in bytes.
func valuesOf(kept *columns.Columns, row int) (values map[string]any, size int) {
	values = map[string]any{}
	for _, of := range kept.All() {
		switch value := of.Value(row); value.Kind {
		case dataset.IntegerValue:
			values[of.Name] = value.Integer
		case dataset.FloatValue:
			if value.Float-value.Float == 0 {
				values[of.Name] = value.Float
			}
		case dataset.SingleValue:
			if value.Float-value.Float == 0 {
				values[of.Name] = float32(value.Float)
			}
		case dataset.TextValue:
			values[of.Name] = value.Text
			size += len(value.Text)
		case dataset.BoolValue:
			values[of.Name] = value.Integer != 0
		case dataset.TimeValue:
			values[of.Name] = time.UnixMicro(value.Integer).UTC().Format(time.RFC3339Nano)
		case dataset.ListValue:
			values[of.Name] = value.Texts
			for _, text := range value.Texts {
				size += len(text)
			}
		}
	}
	return values, size
}
