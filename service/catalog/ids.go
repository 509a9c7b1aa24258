package catalog

// IDs are what the rows of a version are called. They are read only.
type IDs struct{ kind Kind }

// Kind is how rows are called.
func (d *IDs) Kind() Kind { return d.kind }

// Len is the number of rows.
func (d *IDs) Len() int { return 0 }

// Int is the id of a row number if ids are Integers or RowNumbers.
func (d *IDs) Int(row int64) int64 { return 0 }

// Name is the id of a row number if ids are Strings, else the integer's digits.
func (d *IDs) Name(row int64) string { return "" }

// Rows finds the row numbers of keys. Unknown ones, and keys of another kind than
// the ids, are a *problem.Problem that names field and index.
func (d *IDs) Rows(keys *Keys, field string) ([]int64, error) { return nil, errUnwritten }
