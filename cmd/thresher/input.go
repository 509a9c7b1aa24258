package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"thresher/collection"
	"thresher/dataset"
	"thresher/internal/cli"
)

// collectionSuffix is the extension of prepared collections.
const collectionSuffix = ".thresher"

// input is a file of vectors named on the command line. Standard input and pipes are copied
// to a temporary file, because inputs are read more than once.
type input struct {
	path   string // the file to open
	name   string // as shown in messages
	temp   bool
	flag   string // that named it
	header string // "yes" or "no" of --header, or ""
	// denseLimit is the greatest size to which a sparse matrix is written out.
	denseLimit int64
	// readLimit is about how much is decoded as a whole, 0 for the default.
	readLimit int64
	// ids is the column that the user names for the ids, which is no coordinate.
	ids string
	// except are columns of other use, which are no coordinates either.
	except []string
	// like are the names of the coordinates of the vectors that these are compared with.
	like []string
}

// openInput returns the input named by a flag; a pipe is read to its end. The caller calls
// remove.
func (a *app) openInput(ctx context.Context, flag, path string) (input, error) {
	if path == "" {
		return input{}, fmt.Errorf("--%s: no file named", flag)
	}
	open, name := func() (io.ReadCloser, error) { return io.NopCloser(a.In), nil }, "standard input"
	if path != cli.Stdio {
		info, err := os.Stat(path)
		if err != nil || info.Mode().IsRegular() || info.IsDir() {
			return input{path: path, name: path, flag: flag, header: a.reading.header, denseLimit: a.Config.DenseLimit, readLimit: a.Config.ReadLimit}, nil // opening it reports the error
		}
		open, name = func() (io.ReadCloser, error) { return os.Open(path) }, path
	}
	f, err := os.CreateTemp("", "thresher-*"+filepath.Ext(path))
	if err != nil {
		return input{}, fmt.Errorf("--%s: spooling %s: %w", flag, name, err)
	}
	in := input{path: f.Name(), name: name, temp: true, flag: flag, header: a.reading.header, denseLimit: a.Config.DenseLimit, readLimit: a.Config.ReadLimit}
	if err := copyToFile(ctx, f, open); err != nil {
		in.remove()
		return input{}, fmt.Errorf("--%s: spooling %s to %s: %w", flag, name, in.path, err)
	}
	return in, nil
}

// copyToFile copies the reader that open returns into f and closes both. Opening and reading a
// pipe block until its writer is ready; if ctx ends first, copyToFile returns and abandons the
// blocked reader until the process exits.
func copyToFile(ctx context.Context, f *os.File, open func() (io.ReadCloser, error)) error {
	done := make(chan error, 1)
	go func() {
		r, err := open()
		if err == nil {
			_, err = io.Copy(f, contextReader{ctx, r})
			err = errors.Join(err, r.Close())
		}
		done <- errors.Join(err, f.Close())
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// remove deletes the temporary file, if there is one.
func (in input) remove() {
	if in.temp {
		os.Remove(in.path) // a failure leaves the file to the system's cleanup
	}
}

func (in input) isCollection() bool { return strings.HasSuffix(in.path, collectionSuffix) }

// open returns a reader of the vectors.
func (in input) open(opt *dataset.Options) (dataset.Reader, error) {
	o := *opt
	o.IDs = cmp.Or(o.IDs, in.ids)
	o.Except = slices.Concat(o.Except, in.except)
	o.Like, o.DenseLimit, o.Budget = in.like, in.denseLimit, in.budget()
	o.Words = dataset.Words{Column: "--" + in.columnFlag(), Header: "--header", DenseLimit: "--dense-limit", IDs: "--ids"}
	if format, _ := dataset.FormatOf(in.path); format == dataset.CSV {
		o.Header = in.header
	}
	r, err := dataset.Open(in.path, &o)
	return r, in.named(err)
}

// budget limits the memory that reading takes.
func (in input) budget() *dataset.Budget { return dataset.BudgetOf(in.readLimit, "--read-limit") }

// readAll reads all vectors.
func (in input) readAll(ctx context.Context, opt *dataset.Options) (*dataset.Matrix, dataset.Layout, error) {
	r, err := in.open(opt)
	if err != nil {
		return nil, dataset.Layout{}, err
	}
	defer r.Close()
	m, err := dataset.Drain(ctx, r)
	return m, dataset.LayoutOf(r), in.named(err)
}

// columnFlag is the flag that names the columns of the vectors.
func (in input) columnFlag() string {
	if in.flag == infoArgument {
		return vectorsColumnFlag
	}
	return in.flag + "-column"
}

// coordinates returns the names of the coordinates, nil if they have none.
func (in input) coordinates(column string) ([]string, error) {
	if in.isCollection() {
		info, err := collection.Stat(in.path)
		if err != nil {
			return nil, err
		}
		return info.Coordinates, nil
	}
	r, err := in.open(&dataset.Options{Column: column, FindIDs: true})
	if err != nil {
		return nil, err
	}
	return dataset.LayoutOf(r).Coordinates(), r.Close()
}

// alike returns queries whose coordinates have the names of those of in, read from column, if
// both have names.
func (in input) alike(queries input, column string) (input, error) {
	var err error
	queries.like, err = in.coordinates(column)
	return queries, err
}

// openQueries returns a reader of the queries, which are not in the columns except.
func (in input) openQueries(column string, except ...string) (dataset.Reader, error) {
	if in.isCollection() {
		return nil, fmt.Errorf("--queries %s: is a prepared collection, which serves as --vectors; name a file of vectors", in.name)
	}
	return in.open(&dataset.Options{Column: column, FindIDs: true, Except: except, OneRow: true})
}

// count returns the number of queries that r has, by reading the file if r does not know.
func (in input) count(ctx context.Context, r dataset.Reader, column string, except ...string) (n int64, err error) {
	if r.Len() >= 0 {
		return r.Len(), nil
	}
	all, err := in.openQueries(column, except...)
	if err != nil {
		return 0, err
	}
	defer all.Close()
	rows := make([]float32, max(1, chunkElements/16/all.Dim())*all.Dim())
	for {
		read, err := all.Read(rows)
		n += int64(read)
		if err == io.EOF {
			return n, nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0, in.named(err)
		}
	}
}

// metric returns the metric of a prepared collection, or else the one that is configured.
func (in input) metric(configured string) (collection.Metric, error) {
	if !in.isCollection() {
		return givenMetric(configured, in.name+" has none of its own")
	}
	info, err := collection.Stat(in.path)
	if err != nil {
		return 0, err
	}
	return collection.ParseMetric(info.Metric)
}

// givenMetric returns the configured metric, which is needed because of why.
func givenMetric(configured, why string) (collection.Metric, error) {
	if configured == "" {
		return 0, fmt.Errorf("--metric: %s; give %s", why, collection.MetricChoice)
	}
	return collection.ParseMetric(configured)
}

// dim returns the dimension of the vectors from the file's header.
func (in input) dim(opt *dataset.Options) (int, error) {
	if in.isCollection() {
		info, err := collection.Stat(in.path)
		if err != nil {
			return 0, err
		}
		return info.Dim, nil
	}
	found := *opt
	found.FindIDs = true
	r, err := in.open(&found)
	if err != nil {
		return 0, err
	}
	return r.Dim(), r.Close()
}

// fits returns an error if vectors of in, read by opt, are not of dimension dim, that of
// the queries. It reads headers only, before minutes are spent on building.
func (in input) fits(opt *dataset.Options, queries input, dim int) error {
	have, err := in.dim(opt)
	if err != nil {
		return err
	}
	if have != dim {
		return fmt.Errorf("%s has vectors of dimension %d, %s of dimension %d", in.name, have, queries.name, dim)
	}
	return nil
}

// named replaces the path by the shown name in an error.
func (in input) named(err error) error {
	var e *dataset.Error
	if err == nil || !in.temp || !errors.As(err, &e) {
		return err
	}
	e.File = strings.Replace(e.File, in.path, in.name, 1)
	return err
}

// hash returns the SHA-256 of the file, in hexadecimal.
func (in input) hash(ctx context.Context) (string, error) {
	f, err := os.Open(in.path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, contextReader{ctx, f}); err != nil {
		return "", fmt.Errorf("%s: %w", in.name, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// contextReader is a Reader that fails once its context has ended.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
