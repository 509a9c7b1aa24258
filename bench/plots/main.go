// Command plots draws bench's results: the speed-up against one quantity at a time, and for
// indexes recall against time, including building.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	results := flag.String("results", "../docs/benchmarks/cpu", "`folder` of results (.jsonl), where the plots go too")
	flag.Parse()
	if err := plotAll(*results); err != nil {
		fmt.Fprintln(os.Stderr, "plots:", err)
		os.Exit(1)
	}
}

// plotAll draws every plot that there are results for.
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
