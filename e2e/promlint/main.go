// Promlint checks metrics, alert rules and dashboards by the rules of Prometheus and Grafana.
//
//	promlint < METRICS            fails for what client_golang's linter reports
//	promlint METRICS FILE ...     fails if an expression in a file of rules (.yaml) or of a
//	                              dashboard (.json) is not PromQL, or uses a metric or a
//	                              label that METRICS does not have
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

func main() {
	if len(os.Args) < 3 {
		lint()
		return
	}
	known, err := readSeries(os.Args[1])
	exitOn(err)
	faults := 0
	for _, path := range os.Args[2:] {
		read := readRules
		if filepath.Ext(path) == ".json" {
			read = readDashboard
		}
		all, wrong := read(path)
		for _, e := range all {
			wrong = append(wrong, known.check(e)...)
		}
		for _, err := range wrong {
			fmt.Printf("%s: %v\n", path, err)
		}
		faults += len(wrong)
	}
	if faults > 0 {
		os.Exit(1)
	}
}

// lint reads metrics from standard input.
func lint() {
	faults, err := promlint.New(os.Stdin).Lint()
	exitOn(err)
	for _, f := range faults {
		fmt.Println(f.Metric+":", f.Text)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "promlint:", err)
		os.Exit(2)
	}
}
