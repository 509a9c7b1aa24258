package columns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"thresher/dataset"
)

// ReadOptions say how files are read; nil is the defaults.
type ReadOptions struct {
	Header string          // of dataset.Options
	Plain  bool            // names of folders say nothing
	Budget *dataset.Budget // nil is the default
	// Progress is called with the number of rows read so far, now and then; nil: never.
	Progress func(rows int64)
}

// keys returns what names of folders say of the rows of a file.
func (o *ReadOptions) keys(path string) []dataset.PartitionKey {
	if o.Plain {
		return nil
	}
	return dataset.PartitionKeys(path)
}

// betweenChecks is how many rows are read between two looks at the context.
const betweenChecks = 1 << 12

// Read reads columns of a file of vectors, or of several whose rows follow each other, as dataset.OpenValues does. Values
// of CSV are integers, floats, true or false, times of RFC 3339 or else texts, whichever all values of the column are; an
// empty one is null. Of JSON lines, texts are times if all of a column are, and a column that no row has is an error.
//
// What the name of a folder says of the rows of a file in it, such as year=2024, is a column too, whose values are read
// as those of CSV. A file that has a column of this name as well is an error; a field of JSON lines is not read.
func Read(ctx context.Context, paths, names []string, opt *ReadOptions) (*Columns, error) {
	r, err := readBuilders(ctx, paths, names, opt)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(r.of, r.unseen); i >= 0 {
		return nil, &dataset.Error{File: paths[0], Row: -1, Column: -1, Err: fmt.Errorf("no row has a value of %q", r.of[i].name)}
	}
	return r.columns(), nil
}

// Check opens the files for Read, and returns the error that Read has of columns that one lacks or that are of types that it does not
// read, but for those of JSON lines, which their rows alone tell.
func Check(paths, names []string, opt *ReadOptions) error {
	r := newReading(names, opt)
	for _, path := range paths {
		f, err := r.open(path)
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unseen reports whether no row told of a column.
func (r *columnReading) unseen(b *builder) bool { return r.sparse && b.filled.IsEmpty() && !b.said }

// columns returns what was read.
func (r *columnReading) columns() *Columns {
	c := &Columns{rows: r.rows}
	for _, b := range r.of {
		c.of = append(c.of, b.column(r.untyped || b.said))
	}
	return c
}

// newReading returns columns of which nothing is read.
func newReading(names []string, opt *ReadOptions) *columnReading {
	var o ReadOptions
	if opt != nil {
		o = *opt
	}
	if o.Progress == nil {
		o.Progress = func(int64) {}
	}
	r := &columnReading{ReadOptions: o}
	for _, name := range names {
		r.of = append(r.of, newBuilder(name))
	}
	return r
}

// readBuilders reads the values of columns of files.
func readBuilders(ctx context.Context, paths, names []string, opt *ReadOptions) (*columnReading, error) {
	r := newReading(names, opt)
	for _, path := range paths {
		if err := r.file(ctx, path); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Names returns the names of the columns that Read can read of files, except some, and of those that it cannot for their
// types: columns of the files, in the order of the first, and then what the names of folders say. A column of one file
// that another lacks is among them, and Read refuses it.
func Names(paths []string, opt *ReadOptions, except ...string) (names, refused []string, err error) {
	var o ReadOptions
	if opt != nil {
		o = *opt
	}
	var said []string
	for _, path := range paths {
		of, others, err := dataset.ValueNames(path, o.Header, o.Budget)
		if err != nil {
			return nil, nil, err
		}
		names, refused = append(names, of...), append(refused, others...)
		for _, key := range o.keys(path) {
			said = append(said, key.Name)
		}
	}
	names = append(names, said...)
	seen := map[string]bool{}
	for _, name := range slices.Concat(except, refused) {
		seen[name] = true
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		gone := seen[name]
		seen[name] = true
		return gone
	})
	slices.Sort(refused)
	refused = slices.DeleteFunc(slices.Compact(refused), func(name string) bool { return slices.Contains(except, name) })
	return names, refused, nil
}

// columnReading is columns as they are read.
type columnReading struct {
	ReadOptions
	of              []*builder
	rows            int
	ends            []int // of the files read so far, in rows
	untyped, sparse bool
}

// columnFile is a file of several that is read.
type columnFile struct {
	dataset.ValueReader
	of   []*builder // of the columns of the file
	said []*builder // of what the names of folders say
	say  []dataset.Value
}

// open opens a file.
func (r *columnReading) open(path string) (*columnFile, error) {
	p := &columnFile{}
	keys := r.keys(path)
	var own, said []string
	for _, b := range r.of {
		i := slices.IndexFunc(keys, func(key dataset.PartitionKey) bool { return key.Name == b.name })
		if i < 0 {
			p.of, own = append(p.of, b), append(own, b.name)
			continue
		}
		v := dataset.Value{Kind: dataset.TextValue, Text: keys[i].Value}
		if keys[i].Null {
			v = dataset.Value{}
		}
		b.said = true
		p.said, p.say, said = append(p.said, b), append(p.say, v), append(said, b.name)
	}
	var err error
	if p.ValueReader, err = dataset.OpenValues(path, r.Header, r.Budget, own...); err != nil {
		return nil, err
	}
	for _, name := range said {
		if v, err := dataset.OpenValues(path, r.Header, r.Budget, name); err == nil && !v.Sparse() {
			err := &dataset.Error{File: path, Row: -1, Column: -1, Err: fmt.Errorf("column %q is in the file, and the name of its folder says it too", name)}
			return nil, errors.Join(err, v.Close(), p.Close())
		} else if err == nil {
			v.Close()
		}
	}
	return p, nil
}

// file reads the columns of one file.
func (r *columnReading) file(ctx context.Context, path string) error {
	p, err := r.open(path)
	if err != nil {
		return err
	}
	defer p.Close()
	r.untyped, r.sparse = p.Untyped(), p.Sparse()
	for ; ; r.rows++ {
		row, err := p.Next()
		if err == io.EOF {
			r.ends = append(r.ends, r.rows)
			return nil
		}
		if err != nil {
			return err
		}
		if r.rows == MaxRows {
			return p.Locate(fmt.Errorf("columns have at most %d rows", MaxRows))
		}
		if r.rows%betweenChecks == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			r.Progress(int64(r.rows))
		}
		if err := p.add(row); err != nil {
			return p.Locate(err)
		}
	}
}

// add adds a row to the columns.
func (p *columnFile) add(row []dataset.Value) error {
	for i := range row {
		if err := p.of[i].add(&row[i]); err != nil {
			return err
		}
	}
	for i := range p.said {
		if err := p.said[i].add(&p.say[i]); err != nil {
			return err
		}
	}
	return nil
}
