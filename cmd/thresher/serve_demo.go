package main

import (
	"context"
	"fmt"
	"slices"

	"thresher/cmd/thresher/internal/corpus"
	"thresher/collection"
	"thresher/columns"
	"thresher/service"
	"thresher/service/catalog"
)

// demoName is the collection of --demo, demoDim the dimension of its vectors.
const (
	demoName = "demo"
	demoDim  = 1024
)

// loadDemo creates the collection demo unless it exists, calls made once it can be searched, and
// prints how to query it.
func (a *app) loadDemo(ctx context.Context, s *service.Server, url string, made func()) error {
	select {
	case <-s.Catalog().Ready():
	case <-ctx.Done():
		return ctx.Err()
	}
	d, err := a.readDemo(ctx)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if _, err := s.Catalog().Get(demoName); err != nil {
		src := catalog.Source{Rows: d.rows, Dim: demoDim, IDs: &catalog.Keys{Names: d.names}, Values: d.columns}
		if _, err := s.Catalog().Create(ctx, demoName, src, catalog.CreateOptions{Metric: collection.InnerProduct.String(), Drawn: true}, ""); err != nil {
			return fmt.Errorf("demo: %w", err)
		}
	}
	info, err := s.Catalog().Wait(ctx, demoName, 0)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if info.State != catalog.Ready {
		return fmt.Errorf("demo: %s", info.Error)
	}
	ofTexts, err := d.isOf(s.Catalog())
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	d.names, d.rows, d.columns = nil, nil, nil // frees memory, because a server may run for long
	if ofTexts {
		s.Encode(demoName, service.Encoder{Dim: demoDim, Encode: d.encode})
	} else {
		a.Log.Warn("the collection demo was made from other texts, and is searched by rows and vectors only; delete it to have it rebuilt")
	}
	made()
	header := ""
	if len(a.Config.Server.Tokens) > 0 {
		header = ` -H "Authorization: Bearer $TOKEN"`
	}
	if a.Config.Server.TLSCert != "" {
		header += " -k"
	}
	fmt.Fprintf(a.Out, "collection %s: %d doc comments of Go's standard library\n", demoName, info.Count)
	if ofTexts {
		fmt.Fprintf(a.Out, `What decodes JSON from a stream?
  curl -s%s -H 'Content-Type: application/json' -d '{"texts":["decode JSON from a stream"],"k":5}' %s/v1/collections/%s/search
`, header, url, demoName)
	}
	fmt.Fprintf(a.Out, `What is like bufio.Scanner?
  curl -s%[2]s -H 'Accept: application/x-npy' %[3]s/v1/collections/%[1]s/rows/bufio.Scanner |
  curl -s%[2]s -H 'Content-Type: application/x-npy' --data-binary @- '%[3]s/v1/collections/%[1]s/search?k=5'
`, demoName, header, url)
	return nil
}

// demoTexts are the available texts as the rows of a collection.
type demoTexts struct {
	names   []string
	rows    []float32 // [len(names)][demoDim]
	columns *columns.Columns
	weigher *corpus.Weigher
}

func (a *app) readDemo(ctx context.Context) (*demoTexts, error) {
	texts, err := corpus.Load(ctx)
	if err != nil {
		return nil, err
	}
	d := &demoTexts{names: make([]string, len(texts.Entries))}
	packages, comments := make([]string, len(texts.Entries)), make([]string, len(texts.Entries))
	for i, e := range texts.Entries {
		d.names[i], packages[i], comments[i] = e.Symbol(), e.Package, e.Sentence()
	}
	if d.columns, err = columns.New(columns.Of("package", packages), columns.Of("comment", comments)); err != nil {
		return nil, err
	}
	d.rows, d.weigher, err = corpus.Vectorize(ctx, texts, demoDim, a.Config.Threads)
	return d, err
}

// encode returns the vector of a text, nil if none of its words is known.
func (d *demoTexts) encode(text string) []float32 {
	v := d.weigher.Query(text)
	if !slices.ContainsFunc(v, func(x float32) bool { return x != 0 }) {
		return nil
	}
	return v
}

// isOf reports whether the collection contains these texts, in vectors of the same kind: one
// called demo may have been created by another release or by a user. Atoms may have been
// added and removed.
func (d *demoTexts) isOf(c *catalog.Catalog) (bool, error) {
	v, err := c.Use(demoName, 0)
	if err != nil {
		return false, err
	}
	defer v.Release()
	if v.Dim() != demoDim || v.IDs().Kind() != catalog.Strings {
		return false, nil
	}
	same := 0
	for i, name := range d.names {
		rows, err := v.IDs().Rows(&catalog.Keys{Names: []string{name}}, "id")
		if err != nil {
			continue // deleted
		}
		if !slices.Equal(v.Row(rows[0]), d.rows[i*demoDim:(i+1)*demoDim]) {
			return false, nil
		}
		same++
	}
	return same > 0, nil
}
