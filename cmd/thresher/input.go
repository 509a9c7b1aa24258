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

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/internal/fetch"
	"thresher/segments/folder"
	"thresher/tasks"
)

// collectionSuffix is the extension of prepared collections.
const collectionSuffix = ".thresher"

// input is a file of vectors named on the command line. Standard input and pipes are copied
// to a temporary file, because inputs are read more than once.
type input struct {
	path  string   // the file to open
	name  string   // as shown in messages
	files []string // that path stands for, if these are several
	temp  bool
	urls  map[string]string // those of the files that were fetched, by their paths
	// refetch, of what was fetched, replaces copies that turn out to be damaged; or it returns the error that reading them gave.
	refetch func(ctx context.Context, err error) error
	folder  *vectorsFolder // that path is, if it is a folder of vectors that change
	walked  bool           // its segments are searched where they lie
	flag    string         // that named it
	header  string         // "yes" or "no" of --header, or ""
	// denseLimit is the greatest size to which a sparse matrix is written out.
	denseLimit int64
	// readLimit is about how much is decoded as a whole, 0 for the default.
	readLimit int64
	// ids is the column that the user names for the ids, which is no coordinate.
	ids string
	// idless says that nobody asks for ids: a column called id is no coordinate, whatever it holds.
	idless bool
	// except are columns of other use, which are no coordinates either.
	except []string
	// like are the names of the coordinates of the vectors that these are compared with.
	like []string
	// queries are those that answers are to; nil if nobody knows them.
	queries *dataset.Queries
}

// openVectors returns the vectors named by a flag: a file, a prepared collection, a folder, a pattern, or several of
// these, here or at URLs. The caller calls remove.
func (a *app) openVectors(ctx context.Context, flag, path string) (input, error) {
	if fetch.Is(path) {
		return a.openURLs(ctx, flag, path, func(path string) (input, error) { return a.openFolderInput(ctx, flag, path) })
	}
	if path == "" || path == cli.Stdio || strings.HasSuffix(path, collectionSuffix) {
		return a.openInput(ctx, flag, path)
	}
	if folder.Is(path) {
		return a.openFolderInput(ctx, flag, path)
	}
	set, err := dataset.FindFiles(path)
	if err != nil {
		return input{}, err // which names the file
	}
	if len(set.Files) == 1 {
		return a.openInput(ctx, flag, set.Files[0].Path)
	}
	return a.inputOf(flag, path, set.Paths()), nil
}

// openFolderInput returns the vectors of a folder, which are read and not searched where they lie.
func (a *app) openFolderInput(ctx context.Context, flag, path string) (in input, err error) {
	in = a.inputOf(flag, path, nil)
	in.folder, err = openFolder(ctx, path, nil)
	return in, err
}

// openResults opens answers.
func (in input) openResults() (dataset.ResultReader, error) {
	r, err := dataset.OpenResultsOf(in.path, in.budget(), in.queries)
	return &wholeResults{ResultReader: r, name: in.name}, in.named(err)
}

// wholeResults are answers to all queries. A file of the answers to a part of them is refused, since without query
// numbers its answers would be taken for those to the first queries.
type wholeResults struct {
	dataset.ResultReader
	name string
	read bool
}

// Next returns the next answer.
func (r *wholeResults) Next() (dataset.Result, error) {
	a, err := r.ResultReader.Next()
	if err != nil || r.read {
		return a, err
	}
	r.read = true
	if a.Covers == nil {
		return a, nil
	}
	if c, err := tasks.ReadCoverage(a.Covers); err == nil && c.Part != nil {
		return a, fmt.Errorf("%s has the answers to part %d of %d of the queries alone; check --out joins the parts", r.name, c.Part.Index, c.Part.Of)
	}
	return a, nil
}

// asked returns the queries in a file, of which r is a reader, to which answers belong. Their number and ids are read when
// answers need them. They are in column, and not in the columns except.
func (in input) asked(ctx context.Context, r dataset.Reader, column string, except ...string) *dataset.Queries {
	return &dataset.Queries{
		Len: func() (int64, error) { return in.count(ctx, r, column, except...) },
		IDs: func() (*dataset.IDs, error) {
			return in.names(ctx, &dataset.Options{Column: column, FindIDs: true, Except: except, OneRow: true})
		},
	}
}

// inputOf returns the input of a path, or of the files that it stands for.
func (a *app) inputOf(flag, path string, files []string) input {
	return input{path: path, name: path, files: files, flag: flag, header: a.reading.header, denseLimit: a.Config.DenseLimit, readLimit: a.Config.ReadLimit}
}

// located names the row of in that an error of an engine is about: row tells it from the number of the query in its
// request. Other errors are returned as they are.
func (in input) located(err error, row func(query int) int64) error {
	var e *batch.RequestError
	if !errors.As(err, &e) || e.Query < 0 {
		return err
	}
	return fmt.Errorf("%s: row %d (0-based): %w", in.name, row(e.Query), e.Err)
}

// paths returns the files to open.
func (in input) paths() []string {
	if in.files != nil {
		return in.files
	}
	return []string{in.path}
}

// openInput returns the input named by a flag; a pipe is read to its end. The caller calls
// remove.
func (a *app) openInput(ctx context.Context, flag, path string) (input, error) {
	if path == "" {
		return input{}, fmt.Errorf("--%s: no file named", flag)
	}
	if fetch.Is(path) {
		return input{}, fmt.Errorf("%s: URLs are read as vectors and queries only; give a path of this machine", fetch.Shown(path))
	}
	open, name := func() (io.ReadCloser, error) { return io.NopCloser(a.In), nil }, "standard input"
	if path != cli.Stdio {
		info, err := os.Stat(path)
		if err != nil || info.Mode().IsRegular() || info.IsDir() {
			return a.inputOf(flag, path, nil), nil // opening it reports the error
		}
		open, name = func() (io.ReadCloser, error) { return os.Open(path) }, path
	}
	f, err := os.CreateTemp("", "thresher-*"+filepath.Ext(path))
	if err != nil {
		return input{}, fmt.Errorf("--%s: spooling %s: %w", flag, name, err)
	}
	in := a.inputOf(flag, f.Name(), nil)
	in.name, in.temp = name, true
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

// remove deletes the temporary file, if there is one, and closes a folder.
func (in input) remove() {
	if in.folder != nil {
		in.folder.close() // it was read only
	}
	if in.temp {
		os.Remove(in.path) // a failure leaves the file to the system's cleanup
	}
}

func (in input) isCollection() bool { return strings.HasSuffix(in.path, collectionSuffix) }

// open returns a reader of the vectors.
func (in input) open(opt *dataset.Options) (dataset.Reader, error) {
	if in.folder != nil {
		if name := cmp.Or(opt.Column, opt.IDs); name != "" {
			return nil, fmt.Errorf("%s: a folder of vectors has no columns to choose from, such as %s; its ids are read", in.name, name)
		}
		return in.folder.reader()
	}
	o := *opt
	o.IDs = cmp.Or(o.IDs, in.ids)
	o.IgnoreIDs = o.IgnoreIDs || in.idless
	o.Except = slices.Concat(o.Except, in.except)
	o.Like, o.DenseLimit, o.Budget = in.like, in.denseLimit, in.budget()
	o.Words = dataset.Words{Column: "--" + in.columnFlag(), Header: "--header", DenseLimit: "--dense-limit", IDs: "--ids"}
	if in.format() == dataset.CSV {
		o.Header = in.header
	}
	r, err := dataset.OpenFiles(in.paths(), &o)
	return r, in.named(err)
}

// format is that of the file's name, or of those of several files.
func (in input) format() dataset.Format {
	format, _ := dataset.FormatOf(in.paths()[0])
	return format
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
	m, err := dataset.DrainWithin(ctx, r, cli.RoomFor(in.name))
	return m, dataset.LayoutOf(r), in.named(err)
}

// columnFlag is the flag that names the columns of the vectors.
func (in input) columnFlag() string {
	switch in.flag {
	case infoArgument:
		return vectorsColumnFlag
	case "left", "right": // of join
		return in.flag + "-on"
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

// names reads the ids of all rows; nil if they have none.
func (in input) names(ctx context.Context, opt *dataset.Options) (*dataset.IDs, error) {
	r, err := in.open(opt)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if dataset.LayoutOf(r).IDs == "" {
		return nil, nil
	}
	var names dataset.IDsBuilder
	buffer := make([]float32, max(1, 1<<16/r.Dim())*r.Dim())
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		_, err := r.Read(buffer)
		for _, id := range r.IDs() {
			names.Add(id)
		}
		if err == io.EOF {
			return names.IDs(), nil
		}
		if err != nil {
			return nil, in.named(err)
		}
	}
}

// metric returns the metric of a prepared collection, or else the one that is configured.
func (in input) metric(configured string) (collection.Metric, error) {
	if in.folder != nil {
		own := in.folder.Form().Metric
		if given, err := collection.ParseMetric(configured); configured != "" && (err != nil || given != own) {
			return 0, fmt.Errorf("--metric %s: %s has metric %s", configured, in.name, own)
		}
		return own, nil
	}
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
	if in.urls != nil {
		return fetch.Renamed(err, in.urls)
	}
	var e *dataset.Error
	if err == nil || !in.temp || !errors.As(err, &e) {
		return err
	}
	e.File = strings.Replace(e.File, in.path, in.name, 1)
	return err
}

// hash returns the SHA-256 of the file, in hexadecimal; of several files that of theirs, a line each.
func (in input) hash(ctx context.Context) (string, error) {
	if in.folder != nil {
		if digest := in.folder.Digest(); digest != "" {
			return digest, nil
		}
		return in.folder.hash(ctx)
	}
	if in.isCollection() {
		return dataset.CollectionDigest(in.path)
	}
	if in.files == nil {
		return hashFile(ctx, in.path, in.name)
	}
	all := sha256.New()
	for _, path := range in.files {
		own, err := hashFile(ctx, path, path)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(all, own)
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}

// hashFile returns the SHA-256 of a file, which messages call name, in hexadecimal.
func hashFile(ctx context.Context, path, name string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, contextReader{ctx, f}); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// size returns the bytes of the files.
func (in input) size() (n int64, err error) {
	for _, path := range in.paths() {
		info, err := os.Stat(path)
		if err != nil {
			return 0, err
		}
		n += info.Size()
	}
	return n, nil
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
