package main

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"thresher/batch"
	"thresher/config"
	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/tasks"
)

// truth is the verb that makes ground truth.
const truth = "truth"

// truthK is the k of ground truth unless -k is given, as in the files that benchmarks publish.
const truthK = 100

func newTruthCommand(a *app) *cobra.Command {
	f := &searchFlags{verb: truth}
	cmd := &cobra.Command{
		Use:   "truth --vectors FILE --queries FILE [--metric NAME] --out FILE",
		Short: "Write ground truth for benchmarks of approximate search",
		Long: `Write the exact k best vectors of every query, as benchmarks of approximate search
read them. It is a search by --method certain (or exact), whose answers are never wrong:
the vectors are scored in float64, best first, and equal scores are ordered by ascending
id. Each answer has its certificate (--certificates). The extension of --out selects the
form:

  .ibin            big-ann-benchmarks, DiskANN: uint32 m, k; int32 ids; float32 scores
  .ibin            with --min-score and without -k, range search: uint32 m, total;
                   int32 counts; int32 ids; float32 scores
  .neighbors.ibin  cuVS: uint32 m, k; int32 ids. --scores gt.distances.fbin for the rest
  .ivecs           TEXMEX (SIFT, GIST): int32 k and the ids of each query. --scores
                   gt.fvecs for the rest
  .npz             arrays ids and scores, for numpy.load
  .parquet, .jsonl one row or line a query

Scores are inner products, cosines, or with l2 squared distances, as FAISS computes them.
Recall at k that counts ties with the k-th (big-ann-benchmarks) needs a file with more
than k columns. Rows of queries that have fewer than k vectors end with the id -1 and the
score -Inf.

HDF5 (ann-benchmarks) is not written. Convert an .npz in Python, where the distances are
sqrt(scores) for l2, 1 - scores for cosine:
  z = numpy.load("gt.npz"); f = h5py.File("set.hdf5", "a")
  f["neighbors"] = z["rows"]; f["distances"] = numpy.sqrt(z["scores"])`,
		Example: `  thresher truth --vectors A.npy --queries Q.npy --metric l2 -k 100 --out gt.ibin`,
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.scoreLimits.read(cmd.Flags())
			return a.runSearch(cmd.Context(), f)
		},
	}
	fs := cmd.Flags()
	f.add(fs)
	a.reading.add(fs)
	f.dtype.add(fs)
	f.part.add(fs)
	f.scoreLimits.add(fs, "all vectors (with -k, the k best) that score at least this (distances: at most)")
	fs.Lookup("out").Usage, fs.Lookup("out").DefValue = "`file` for the ground truth, ending in "+endings(dataset.AnswersWritten, "or")+"; .neighbors.ibin is ids without scores", ""
	fs.StringVar(&f.scores, "scores", "", "`file` for the scores, ending in "+endings(dataset.ScoresWritten, "or")+", beside ids without them")
	addSettings(cmd, searchSettings()...)
	refusePublishedFlags(cmd)
	fs.Lookup("method").Usage += "; here certain or exact"
	fs.Lookup("method").DefValue, fs.Lookup("k").DefValue = certainByDefault, strconv.Itoa(truthK)
	return cmd
}

// checkTruth rejects what does not give ground truth.
func (f *searchFlags) checkTruth(c *config.Config, method batch.Method) error {
	scores, zipped := dataset.FormatOf(f.scores)
	answers, _ := dataset.AnswersFormOf(f.out)
	var invalid *batch.RequestError
	errors.As(tasks.ForTruth(&batch.Request{Method: method, Epsilon: c.Epsilon}), &invalid)
	switch {
	case f.verb != truth:
		return nil
	case f.out == cli.Stdio:
		return f.refuse("--out names the file for the ground truth")
	case invalid != nil:
		return f.refuse("--%s %w", invalid.Field, invalid.Err)
	case f.scores == "":
		return nil
	case zipped || !isFor(scores, dataset.ScoresWritten):
		return f.refuse("%w", noneOf("scores", f.scores, dataset.ScoresWritten))
	case answers.Lines:
		return f.refuse("--scores %s: %s contains the scores", f.scores, f.out)
	case filepath.Clean(f.scores) == filepath.Clean(f.out) || filepath.Clean(f.scores) == filepath.Clean(f.certificates):
		return f.refuse("--scores %s: the file is named for something else, too", f.scores)
	}
	return nil
}

// isHDF5 reports whether a name is that of an HDF5 file.
func isHDF5(path string) bool {
	return slices.Contains([]string{".hdf5", ".h5", ".hdf"}, strings.ToLower(filepath.Ext(path)))
}
