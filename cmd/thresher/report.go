package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"thresher/dataset"
	"thresher/internal/cli"
)

type reportFlags struct {
	vectorFlags
	ids         string
	integers    string
	answers     []string
	names       []string
	seconds     []float64
	k           int
	sample      int64
	excludeSelf bool
	show        string
	pixels      string
	out         string
	force, json bool
	dtype       dtypeFlag
	filterFlags

	width, height, depth int // of --pixels; 0 without
}

func newReportCommand(a *app) *cobra.Command {
	f := &reportFlags{}
	cmd := &cobra.Command{
		Use:   "report --vectors FILE --queries FILE [--metric NAME] [--answers FILE,FILE] --out report.html",
		Short: "Write a page with plots about answers and about the search that proves them",
		Long: `Write one HTML page, which needs no other file and no network: the recall of answers of
any origin with its interval, by rank and by how hard a query is, why they lack what they
lack, what the search that they are compared with promises, in words, how many vectors each
step of its elimination read, its time beside a dense scan of the same queries and beside
the times that answers state, and the neighbours that the worst answers lack.

The queries are a --sample, drawn by --seed. Answers are read as recall reads them; several
files are separated by commas. Times of other programs come from an array "seconds" of
an .npz file, "took_ms" of a .json file, or --seconds, in each case the time of all queries
together.

--show names a column of the vectors' file, and of the queries' if it is there too, whose texts
stand beside the neighbours; a text that names an image file (.png, .jpg, .gif, .webp), from
the folder of the vectors, is shown as the image. --pixels 28x28 shows the vectors themselves
as pictures: rows of grey values, or of red, green and blue with 32x32x3.

--filter and --filter-column say which vectors answers may have, as of search; others in answers do not count.

Without --answers the page is about the search alone.`,
		Example: `  thresher report --vectors A.npy --queries Q.npy --metric cosine --answers hnsw.npz,ivf.npz --out report.html
  thresher report --vectors train.npy --queries test.npy --metric l2 --answers theirs.npy --pixels 28x28 --out digits.html
  thresher report --vectors films.parquet --queries users.parquet --show title --answers theirs.parquet --out films.html --json`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runReport(cmd.Context(), f) },
	}
	fs := cmd.Flags()
	f.vectorFlags.add(fs)
	a.reading.add(fs)
	f.dtype.add(fs)
	f.filterFlags.add(fs)
	fs.StringVar(&f.ids, "ids", "", "`column` of the vectors' ids (default: the column id, if there is one)")
	fs.StringVar(&f.integers, "integers", "", "what integers in answers are where the vectors have ids: `rows` or ids (default: ids with --ids; else whichever the stated scores fit)")
	fs.StringSliceVar(&f.answers, "answers", nil, "`files` of answers ("+endingsOf(dataset.AnswersRead)+", .json), separated by commas")
	fs.StringSliceVar(&f.names, "names", nil, "`names` of the files of --answers on the page, separated by commas (default: their file names)")
	fs.Float64SliceVar(&f.seconds, "seconds", nil, "`times` in seconds that the answers of the files of --answers took, all queries together, separated by commas; 0 = not known")
	fs.IntVarP(&f.k, "k", "k", 0, "vectors wanted of each query; 0 = the length of the longest answer, or 10")
	fs.Int64Var(&f.sample, "sample", 1000, "queries to compare, drawn by --seed; 0 = all")
	fs.BoolVar(&f.excludeSelf, "exclude-self", false, "query j is vector j, is not among the vectors wanted, and does not count where an answer has it")
	fs.StringVar(&f.show, "show", "", "`column` of texts, or names of images, that stand beside the neighbours")
	fs.StringVar(&f.pixels, "pixels", "", "the vectors are pictures of this `size`: 28x28, or 32x32x3 with colours")
	fs.StringVar(&f.out, "out", "", "the `file` (.html)")
	fs.BoolVar(&f.force, "overwrite", false, "overwrite the file of --out")
	fs.BoolVar(&f.json, "json", false, "the figures of the page as one JSON object on stdout")
	addSettings(cmd, reportSettings()...)
	fs.Lookup("method").DefValue = certainByDefault
	fs.Lookup("seed").Usage = "seed that draws the queries of --sample and the rotation"
	return cmd
}

func reportSettings() []string {
	return slices.DeleteFunc(recallSettings(), func(key string) bool { return key == "chunk" })
}

func (f *reportFlags) check() error {
	switch {
	case f.atoms == "" || f.queries == "":
		return errors.New("report: --vectors and --queries name the files to search")
	case f.out == "" && !f.json:
		return errors.New("report: --out names the page to write, or --json prints its figures")
	case f.out != "" && !strings.EqualFold(filepath.Ext(f.out), ".html"):
		return fmt.Errorf("report: --out %s: the name does not end in .html", f.out)
	case stdinInputs(append([]string{f.atoms, f.queries}, f.answers...)...) > 1:
		return errors.New("report: only one of --vectors, --queries and --answers can be standard input")
	case f.sample < 0:
		return fmt.Errorf("report: --sample %d is negative", f.sample)
	case f.k < 0:
		return fmt.Errorf("report: -k %d is negative", f.k)
	case len(f.names) > 0 && len(f.names) != len(f.answers):
		return fmt.Errorf("report: --names has %d names for %d files of --answers", len(f.names), len(f.answers))
	case len(f.seconds) > 0 && len(f.seconds) != len(f.answers):
		return fmt.Errorf("report: --seconds has %d times for %d files of --answers", len(f.seconds), len(f.answers))
	}
	for i, s := range f.seconds {
		if !(s >= 0 && s < 1e9) {
			return fmt.Errorf("report: --seconds: time %d is %g, not in [0, 1e9)", i+1, s)
		}
	}
	if err := checkIntegers(f.integers); err != nil {
		return err
	}
	if err := f.readPixels(); err != nil {
		return fmt.Errorf("report: --pixels %s: %w", f.pixels, err)
	}
	if f.out == "" {
		return nil
	}
	if err := cli.RefuseFolders(f.out); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Dir(f.out)); err != nil {
		return fmt.Errorf("report: --out %s: %w", f.out, err)
	}
	return cli.RefuseExisting(f.force, f.out)
}

// readPixels reads --pixels.
func (f *reportFlags) readPixels() error {
	if f.pixels == "" {
		return nil
	}
	parts := strings.Split(f.pixels, "x")
	if len(parts) != 2 && (len(parts) != 3 || parts[2] != "3") {
		return errors.New("a size is WIDTHxHEIGHT, such as 28x28, or WIDTHxHEIGHTx3 with colours")
	}
	f.depth = len(parts)*2 - 3 // 1 or 3
	for i, side := range []*int{&f.width, &f.height} {
		var err error
		if *side, err = strconv.Atoi(parts[i]); err != nil || *side < 1 || *side > 1024 {
			return fmt.Errorf("%q is not from 1 to 1024", parts[i])
		}
	}
	return nil
}
