package columns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"thresher/dataset"
)

// All stands for all columns that Keep can read.
const All = "all"

// Refused is a column that Keep leaves out. Why is nil if its type is none that columns have.
type Refused struct {
	Name string
	Why  error
}

// errEmpty is why a column is left out that no row has.
var errEmpty = errors.New("it has no values")

// Keep reads columns of files, as Read does, to keep them with the vectors of the files: those of the names, or, if All
// is the only name, those that Names returns. except are columns that All does not stand for, such as those of the
// vectors, and refused those that it leaves out: for their types, for a value that no column holds, or because no row has
// one. Files of which nothing is left are a dataset.ErrNoValues.
func Keep(ctx context.Context, paths, names []string, opt *ReadOptions, except ...string) (c *Columns, refused []Refused, err error) {
	if slices.Equal(names, []string{All}) {
		return keepAll(ctx, paths, opt, except)
	}
	for i, name := range names {
		if name == "" {
			return nil, nil, fmt.Errorf("name %d (0-based) of a column is empty", i)
		}
		if slices.Contains(names[:i], name) {
			return nil, nil, fmt.Errorf("column %q is named twice", name)
		}
	}
	c, err = Read(ctx, paths, names, opt)
	return c, nil, err
}

// keepAll is Keep of All.
func keepAll(ctx context.Context, paths []string, opt *ReadOptions, except []string) (*Columns, []Refused, error) {
	names, untyped, err := Names(paths, opt, except...)
	if err != nil {
		return nil, nil, err
	}
	var refused []Refused
	for _, name := range untyped {
		refused = append(refused, Refused{Name: name})
	}
	return keepHeld(ctx, paths, names, opt, refused)
}

// KeepHeld is Keep of All where Names has returned these names.
func KeepHeld(ctx context.Context, paths, names []string, opt *ReadOptions) (c *Columns, refused []Refused, err error) {
	return keepHeld(ctx, paths, slices.Clone(names), opt, nil)
}

// keepHeld reads those columns of the names that are held, and adds the others to those refused.
func keepHeld(ctx context.Context, paths, names []string, opt *ReadOptions, refused []Refused) (*Columns, []Refused, error) {
	for len(names) > 0 {
		r, err := readBuilders(ctx, paths, names, opt)
		var bad *dataset.ValueError
		if errors.As(err, &bad) { // read again, without it
			refused = append(refused, Refused{bad.Column, err})
			names = slices.DeleteFunc(names, func(name string) bool { return name == bad.Column })
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		r.of = slices.DeleteFunc(r.of, func(b *builder) bool {
			unseen := r.unseen(b)
			if unseen {
				refused = append(refused, Refused{b.name, errEmpty})
			}
			return unseen
		})
		if len(r.of) > 0 {
			return r.columns(), refused, nil
		}
		break
	}
	err := fmt.Errorf("%s has %w", strings.Join(paths, ", "), dataset.ErrNoValues)
	if refused != nil {
		err = fmt.Errorf("%w but such as columns cannot hold: %s", err, refusedNames(refused))
	}
	return nil, refused, err
}

// Lost returns why the first column is left out that has a value which columns cannot hold, nil if none is: an error to
// whoever has no way to warn of it.
func Lost(refused []Refused) error {
	for _, r := range refused {
		if r.Why != nil && r.Why != errEmpty {
			return r.Why
		}
	}
	return nil
}

// refusedNames lists columns.
func refusedNames(refused []Refused) string {
	var names []string
	for _, r := range refused {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ")
}

// MaybeCoordinate returns the name of a column of numbers that may be a coordinate of vectors that were read as a layout
// says: one beside coordinates whose names are not numbered. It is "" if there is none. Coordinates d0, d1, .. remain
// coordinates if they are columns, too.
func (c *Columns) MaybeCoordinate(l dataset.Layout) string {
	if !l.Wide || len(l.Vector) == 0 || strings.ContainsAny(l.Vector[0], "0123456789") {
		return ""
	}
	for _, of := range c.of {
		if (of.Type == Integer || of.Type == Float) && !slices.Contains(l.Vector, of.Name) {
			return of.Name
		}
	}
	return ""
}
