package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Chart is one panel of a picture.
type Chart struct {
	Title, XLabel, YLabel string
	// A logarithmic axis requires positive X, or Mean.
	LogX, LogY bool
	// XNames, if not nil, are the labels of the places 0, 1, .. of the horizontal axis, which is not logarithmic then.
	XNames []string
	// FitY lets the vertical axis begin at the lowest value in place of 0.
	FitY   bool
	Series []Series
	// Heat, if not nil, is drawn in place of Series.
	Heat *Heat
}

// Series is a line of means.
type Series struct {
	Name string // in the legend; "" leaves it out there
	// Kind says how it is drawn. Lines and Marks have a colour of their own, by their place among the chart's.
	Kind Kind
	// Place, if above 0, is the place, counted from 1, whose colour and mark it has in place of those of its own among the
	// chart's, so that one thing looks the same in several charts.
	Place int
	// Shade, if not nil, is a value in [0, 1] that the colour stands for, from blue over grey to orange, in place of a colour
	// of its own. The title or a name says of what.
	Shade *float64
	// X and Mean have equal lengths, in any order of X; so has SD, the half width of the band
	// around each mean, unless it is nil. All are finite.
	X, Mean, SD []float64
	// Low and High, if not nil, are the ends of the band in place of SD: Low[i] <= Mean[i] <= High[i].
	Low, High []float64
}

// Kind is how a series is drawn.
type Kind int

const (
	Line      Kind = iota // a line with marks while they are few
	Marks                 // marks without a line
	Published             // the numbers of others: grey, a line with marks
	Reference             // what to compare with: thin, black and dashed, without marks
)

// check returns an error for a chart that cannot be drawn.
func (c *Chart) check() error {
	if c.Heat != nil {
		if err := c.Heat.check(); err != nil {
			return fmt.Errorf("plot: chart %q: %w", c.Title, err)
		}
		return nil
	}
	if len(c.Series) == 0 {
		return fmt.Errorf("plot: chart %q has no series", c.Title)
	}
	for _, s := range c.Series {
		if err := s.check(c.LogX, c.LogY); err != nil {
			return fmt.Errorf("plot: chart %q, series %q: %w", c.Title, s.Name, err)
		}
	}
	return nil
}

func (s *Series) check(logX, logY bool) error {
	if s.Kind < Line || s.Kind > Reference {
		return fmt.Errorf("kind %d", s.Kind)
	}
	if s.Shade != nil && !(*s.Shade >= 0 && *s.Shade <= 1) {
		return fmt.Errorf("shade %g, 0 to 1", *s.Shade)
	}
	if len(s.X) == 0 || len(s.Mean) != len(s.X) || s.SD != nil && len(s.SD) != len(s.X) {
		return fmt.Errorf("%d values of X, %d means, %d standard deviations", len(s.X), len(s.Mean), len(s.SD))
	}
	if s.Low != nil && (s.SD != nil || len(s.Low) != len(s.X)) || len(s.High) != len(s.Low) {
		return fmt.Errorf("%d values of X, bands from %d to %d ends, %d standard deviations", len(s.X), len(s.Low), len(s.High), len(s.SD))
	}
	for i, x := range s.X {
		if s.Low != nil && !(s.Low[i] <= s.Mean[i] && s.Mean[i] <= s.High[i] && !math.IsInf(s.Low[i], 0) && !math.IsInf(s.High[i], 0)) {
			return fmt.Errorf("point %d: a band from %g to %g around %g", i, s.Low[i], s.High[i], s.Mean[i])
		}
		y, sd := s.Mean[i], s.sd(i)
		if sum := x + y + sd; math.IsNaN(sum) || math.IsInf(sum, 0) || sd < 0 {
			return fmt.Errorf("point %d: %g at %g, standard deviation %g", i, y, x, sd)
		}
		if logX && x <= 0 || logY && y <= 0 {
			return fmt.Errorf("point %d: %g at %g is not on a logarithmic axis", i, y, x)
		}
	}
	return nil
}

func (s *Series) sd(i int) float64 {
	if s.SD == nil {
		return 0
	}
	return s.SD[i]
}

// ends are those of the band around point i.
func (s *Series) ends(i int) (low, high float64) {
	if s.Low != nil {
		return s.Low[i], s.High[i]
	}
	return s.Mean[i] - s.sd(i), s.Mean[i] + s.sd(i)
}

// order returns the indices of the points from left to right.
func (s *Series) order() []int {
	at := make([]int, len(s.X))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(i, j int) int { return cmp.Compare(s.X[i], s.X[j]) })
	return at
}
