package main

import (
	"context"
	"fmt"

	"thresher/cmd/thresher/internal/corpus"
	"thresher/service"
	"thresher/service/catalog"
)

// demoName is the collection of --demo, demoDim the dimension of its vectors.
const (
	demoName = "demo"
	demoDim  = 1024
)

// loadDemo makes the collection demo, unless it is there, calls made, and prints how to
// ask it.
func (a *app) loadDemo(ctx context.Context, s *service.Server, url string, made func()) error {
	select {
	case <-s.Catalog().Ready():
	case <-ctx.Done():
		return ctx.Err()
	}
	if _, err := s.Catalog().Get(demoName); err != nil {
		if err := a.makeDemo(ctx, s.Catalog()); err != nil {
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
	made()
	header := ""
	if len(a.config.Server.Tokens) > 0 {
		header = ` -H "Authorization: Bearer $TOKEN"`
	}
	if a.config.Server.TLSCert != "" {
		header += " -k"
	}
	fmt.Fprintf(a.out, `collection %s: %d doc comments of Go's standard library. What is like bufio.Scanner?
  curl -s%[3]s -H 'Accept: application/x-npy' %[4]s/v1/collections/%[1]s/rows/bufio.Scanner |
  curl -s%[3]s -H 'Content-Type: application/x-npy' --data-binary @- '%[4]s/v1/collections/%[1]s/search?k=5'
`, demoName, info.Count, header, url)
	return nil
}

// makeDemo makes the collection of the texts at hand.
func (a *app) makeDemo(ctx context.Context, c *catalog.Catalog) error {
	texts, err := corpus.Load(ctx)
	if err != nil {
		return err
	}
	rows, _, err := corpus.Vectorize(ctx, texts, demoDim, a.config.Threads)
	if err != nil {
		return err
	}
	names := make([]string, len(texts.Entries))
	for i, e := range texts.Entries {
		names[i] = e.Symbol()
	}
	src := catalog.Source{Rows: rows, Dim: demoDim, IDs: &catalog.Keys{Names: names}}
	_, err = c.Create(ctx, demoName, src, catalog.CreateOptions{Seed: a.config.Seed}, "")
	return err
}
