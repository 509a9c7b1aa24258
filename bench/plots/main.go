// Command plots draws what bench measured: the speed-up against one quantity at
// a time, and recall against time for indexes, their building included.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	results := flag.String("results", "docs/benchmarks/cpu", "`folder` of results (.jsonl), where the plots go too")
	flag.Parse()
	if err := plotAll(*results); err != nil {
		fmt.Fprintln(os.Stderr, "plots:", err)
		os.Exit(1)
	}
}

// plotAll makes every plot there are results for.
func plotAll(folder string) error {
	records, err := read(folder)
	if err != nil {
		return err
	}
	if err := speedups(folder, records); err != nil {
		return err
	}
	return indexes(folder, records)
}
