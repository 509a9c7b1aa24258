// Command figures draws what `thresher duel simulate` wrote: the regret of both
// algorithms, one panel above the other, error bars of one standard deviation.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	out := flag.String("out", "", "`file` to draw, .png or .svg; default: the input's name with .png")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: figures [-out FILE.png|FILE.svg] FILE.csv")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *out); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

func run(in, out string) error {
	if out == "" {
		out = strings.TrimSuffix(in, filepath.Ext(in)) + ".png"
	}
	f, err := os.Open(in)
	if err != nil {
		return err
	}
	defer f.Close()
	points, err := read(f)
	if err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	return draw(points, out)
}
