// Promlint reads metrics in the Prometheus text format and fails on whatever
// client_golang's linter finds fault with.
package main

import (
	"fmt"
	"os"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

func main() {
	faults, err := promlint.New(os.Stdin).Lint()
	if err != nil {
		fmt.Fprintln(os.Stderr, "promlint:", err)
		os.Exit(2)
	}
	for _, f := range faults {
		fmt.Println(f.Metric+":", f.Text)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
}
