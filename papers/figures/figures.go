// Package figures reproduces the figures and tables of the papers whose methods this program has, and a few of its own
// beside them: what is computed, by which settings, and what a reader is to see.
//
// A [Figure] lists its points; [Run] computes them in order and keeps what is done, so that an interrupted run goes on.
// The rows of a figure's points are all that its charts and its note are made from, so both can be made again from a
// table that was written before.
package figures

import (
	"context"
	"errors"
	"slices"
	"time"

	"thresher/internal/plot"
)

// Figure is a figure or a table of a paper, or one of ours that belongs beside them.
type Figure struct {
	ID    string // as a user names it, such as banditmips-1; its settings are settings/ID.yaml
	Paper string // such as "BanditMIPS"
	Shows string // such as "figure 1", or "ours" where the paper has none
	Title string // one line, without a full stop
	// Data names the data sets; Needs lists the folders that it reads below Env.Folder, none if all is generated.
	Data, Needs []string
	// Algorithms and Baselines name the lines, as Row.Algorithm has them.
	Algorithms, Baselines []string
	// Lost says what the paper's text does not give, "" if nothing.
	Lost string
	// Points lists what is computed, in order; each takes seconds, or says within how far it is.
	Points func(s *Settings) []Point
	// Charts draws the rows, one chart a panel; nil where the rows are a table.
	Charts func(s *Settings, rows []Row) []plot.Chart
	// Note says what is seen. It depends on the rows and the settings alone.
	Note func(s *Settings, rows []Row) Note
}

// Point is a part of a figure that is computed at once.
type Point struct {
	Key string // unique in the figure, the same at every run; it seeds the point's draws
	// Rows computes it. An error that wraps ErrMissing leaves the point out and is told in the note.
	Rows func(ctx context.Context, e *Env) ([]Row, error)
}

// ErrMissing is what a point lacks that a user may have left out: a folder of data, or results of another program.
var ErrMissing = errors.New("missing")

// Env is what a point is computed with.
type Env struct {
	Seed     uint64                // of the run; a point draws from Seed and its key
	Threads  int                   // at least 1
	Folder   string                // of data sets that cannot be generated; "" if there is none
	Out      string                // the figure's folder, in which a point may leave files for other programs; "" if there is none
	Progress func(done, total int) // within a point, from any goroutine; never nil
}

// Row is one mark of a figure: the mean over some draws and queries. Counts are those of the papers, multiplications of one
// coordinate of an atom by the query's, of one query. A field that has no meaning for a figure is 0.
type Row struct {
	Point     string // the key of the point it belongs to
	Panel     string // of the figure, "" if it has one
	Algorithm string
	Variant   string // such as text, asrun, strict
	Data      string
	N, D, K   int    // atoms, coordinates, answers wanted
	Setting   string // what the line varies, such as "epsilon .1, delta .05"
	X         float64
	Y, YSD    float64 // what the figure shows at X and its standard deviation over the draws
	Draw      int     // the draw of the data where each is a row, else 0
	Draws     int     // that the row is the mean of
	Gap       float64 // of the best and the second best mean of a coordinate's product, 0 if it was not computed

	Answers, Wrong                     int // queries answered, and those whose set of k is not the true one
	Precision                          float64
	Multiplications, MultiplicationsSD float64       // at query time
	Preprocessing                      float64       // multiplications before the first query
	Comparisons                        float64       // such as those of a sort at query time
	Wall, BuildWall                    time.Duration // of a query, and of what precedes the first
}

// Verdict says how far a figure came out.
type Verdict string

const (
	Reproduced Verdict = "reproduced"
	InKind     Verdict = "in kind"
	Not        Verdict = "not"
)

// Note is what a reader is told of a figure: one sentence each of what the paper says, what is seen here, and why.
type Note struct {
	Says, Seen, Why string
	Verdict         Verdict
	Ours, Theirs    string // the number that decides, and the paper's or its logs'; "lost" where the text has none
}

// All returns the figures by paper, in the order of the papers' numbers.
func All() []*Figure { return slices.Concat(boundedME, banditMIPS, beatTheMean, afsmUCB) }
