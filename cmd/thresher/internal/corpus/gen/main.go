// Command gen writes the embedded extract of the demo's texts from a Go tree;
// the same release of Go gives the same bytes.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"

	"thresher/cmd/thresher/internal/corpus"
)

func main() {
	goroot := flag.String("goroot", "", "Go tree to read; empty means the one of the go command")
	out := flag.String("out", "extract.jsonl.gz", "file to write")
	flag.Parse()
	if err := generate(context.Background(), *goroot, *out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func generate(ctx context.Context, goroot, out string) error {
	if goroot == "" {
		found, err := corpus.FindGoroot(ctx)
		if err != nil {
			return err
		}
		goroot = found
	}
	c, err := corpus.Read(ctx, goroot)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := c.WriteExtract(&b); err != nil {
		return err
	}
	if err := os.WriteFile(out, b.Bytes(), 0o644); err != nil {
		return err
	}
	fmt.Printf("%s: %d entries of %s, %d bytes\n", out, len(c.Entries), c.Version, b.Len())
	return nil
}
