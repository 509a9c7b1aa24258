package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"thresher/backend"
)

// ladder is a way to eliminate: a first look at all arms, later looks at the rows of
// codes of those left, then the float32 rows of those left. A ladder without stages is
// a dense scan.
type ladder struct {
	stages []int // indexes of the collection's Stages, ascending
	// gather has the dense scan reach the rows allowed alone.
	gather bool
	// certain takes deterministic bounds at every stage; without, prefixes are
	// bounded by the Student law.
	certain bool
	// source is what tightens thresholds; the planner's choice, by cost.
	source backend.Source
}

func (l ladder) dense() bool { return len(l.stages) == 0 }

// Names of the parts of a plan, besides numbers.
const (
	planDense   = "dense"   // the plan of a dense scan of all rows
	planGather  = "gather"  // that of one of the rows that a filter allows
	planWhole   = "whole"   // a look at all codes of a row
	planRescore = "rescore" // the float32 rows of what is left
	planRows    = "rows"    // the name of planRescore before, still read
)

// mostLooks is how many looks a ladder may have. Every one that can fail divides
// alpha.
const mostLooks = 3

// name is what Request.Plan takes for the ladder: the widths of its looks.
func (p *problem) name(l ladder) string {
	switch {
	case l.gather:
		return planGather
	case l.dense():
		return planDense
	}
	var parts []string
	for _, stage := range l.stages {
		switch {
		case p.fullWidth(stage):
			parts = append(parts, planWhole)
		case p.named(stage):
			parts = append(parts, p.later[stage].String())
		default:
			parts = append(parts, strconv.Itoa(p.widths[stage]))
		}
	}
	return strings.Join(append(parts, planRescore), ",")
}

// parseLadder reads a plan's name for a method.
func (p *problem) parseLadder(name string, m Method) (ladder, error) {
	if name == planDense {
		if m == Adaptive {
			return ladder{}, fmt.Errorf("%q has no look for method %s to take", name, m)
		}
		return ladder{}, nil
	}
	if name == planGather {
		if !p.filtered() {
			return ladder{}, fmt.Errorf("%q reads the rows that a filter allows, and every atom may be returned; %q is left", name, planDense)
		}
		return ladder{gather: true}, nil
	}
	parts := strings.Split(name, ",")
	last := len(parts) - 1
	switch {
	case parts[last] != planRescore && parts[last] != planRows:
		return ladder{}, fmt.Errorf("%q is neither %q nor %q nor widths of looks that end in %q", name, planDense, planGather, planRescore)
	case m == Exact:
		return ladder{}, fmt.Errorf("%q looks at codes; the plan of method %s is %q", name, m, planDense)
	case len(p.widths) == 0:
		return ladder{}, fmt.Errorf("%q looks at codes, of which the collection has none; %q is left", name, planDense)
	}
	l := ladder{certain: m == Certain}
	for _, part := range parts[:last] {
		stage, err := p.parseStage(part)
		if err != nil {
			return ladder{}, fmt.Errorf("%q: %w", name, err)
		}
		l.stages = append(l.stages, stage)
	}
	if err := p.checkLooks(l); err != nil {
		return ladder{}, fmt.Errorf("%q: %w", name, err)
	}
	return l, nil
}

// parseStage reads the width of a look.
func (p *problem) parseStage(text string) (int, error) {
	if text == planWhole {
		return len(p.widths) - 1, nil
	}
	for stage := range p.widths {
		if p.named(stage) && p.later[stage].String() == text && p.readCost(stage) > 0 {
			return stage, nil
		}
	}
	if text == backend.Signs.String() {
		return 0, fmt.Errorf("no look has signs here: rows of fewer than 768 coordinates have none, nor have all backends such looks")
	}
	width, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("look %q is neither a width nor %q", text, planWhole)
	}
	stage := slices.Index(p.widths, width)
	if stage >= 0 && p.named(stage) { // as many coordinates, but not their codes
		stage = len(p.widths) - 1
	}
	if stage < 0 {
		return 0, fmt.Errorf("no look has %d coordinates; they have one of %v, the last of which is %q", width, p.widths, planWhole)
	}
	return stage, nil
}

// checkLooks says what keeps a ladder of looks from being run.
func (p *problem) checkLooks(l ladder) error {
	switch {
	case len(l.stages) == 0:
		return fmt.Errorf("no look before %q", planRescore)
	case len(l.stages) > mostLooks:
		return fmt.Errorf("%d looks, at most %d", len(l.stages), mostLooks)
	case p.named(l.stages[0]):
		return fmt.Errorf("%v are for a later look", p.later[l.stages[0]])
	case !p.mayBeFirst(l.stages[0]):
		return fmt.Errorf("a first look of %d coordinates; at most %d here", p.widths[l.stages[0]], p.panel)
	}
	for i, stage := range l.stages[1:] {
		if l.certain && !p.later[stage].Takes(backend.Cauchy) {
			return fmt.Errorf("%v have no bound that is certain", p.later[stage])
		}
		if stage <= l.stages[i] {
			return fmt.Errorf("a look of %d coordinates after one of %d", p.widths[stage], p.widths[l.stages[i]])
		}
	}
	return nil
}

// mayBeFirst reports whether a first look can be at a stage.
func (p *problem) mayBeFirst(stage int) bool {
	return !p.named(stage) && p.scanCost(stage) > 0
}

// named reports whether later looks at a stage read something else than int8 codes:
// plans name it instead of the width.
func (p *problem) named(stage int) bool { return p.later[stage] != backend.RowCodes }

// ladders lists the ladders that a method may take; where few atoms are allowed every
// method may score them all. Of certain ones Auto weighs
// whole rows alone: where thresholds are extrapolated, few of so many arms wanted,
// the forecast of deterministic looks at prefixes was off by a factor of two.
func (p *problem) ladders(m Method) []ladder {
	var all []ladder
	if m != Exact && len(p.widths) > 0 {
		all = p.lookLadders(m == Certain)
	}
	if m == Exact || m == Auto || len(p.widths) == 0 || p.gathers() {
		all = append(all, p.denseLadder())
	}
	return all
}

// denseLadder is the dense scan of whichever rows cost less.
func (p *problem) denseLadder() ladder { return ladder{gather: p.gathers()} }

// filtered reports whether some atoms may not be returned, whoever asks.
func (p *problem) filtered() bool { return p.arms < p.atoms }

// lookLadders lists the ladders of looks by one kind of bound.
func (p *problem) lookLadders(certain bool) []ladder {
	if certain && p.curves.certain == nil {
		return []ladder{p.withoutForecast()}
	}
	var all []ladder
	var extend func(stages []int)
	extend = func(stages []int) {
		all = append(all, ladder{stages: stages, certain: certain})
		if len(stages) == mostLooks {
			return
		}
		for next := stages[len(stages)-1] + 1; next < len(p.widths); next++ {
			if p.readCost(next) > 0 && (!certain || p.later[next].Takes(backend.Cauchy)) {
				extend(append(slices.Clone(stages), next))
			}
		}
	}
	for stage := range p.widths {
		if p.mayBeFirst(stage) {
			extend([]int{stage})
		}
	}
	return all
}

// withoutForecast is the ladder of certain looks where nothing forecasts what they keep
// of a prefix: whole rows, behind panels if rows cannot be looked at first.
func (p *problem) withoutForecast() ladder {
	l := ladder{certain: true}
	whole := len(p.widths) - 1
	for stage := range p.widths {
		if !p.mayBeFirst(whole) && p.widths[stage] <= p.panel {
			l.stages = []int{stage}
		}
	}
	l.stages = append(l.stages, whole)
	return l
}

// sources are what may tighten thresholds. A range has its threshold from the start.
func (p *problem) sources() []backend.Source {
	if p.k == 0 {
		return []backend.Source{backend.Exact}
	}
	return []backend.Source{backend.Exact, backend.LowerBound}
}

// fallible counts the looks whose bound can fail.
func (p *problem) fallible(l ladder) int {
	n := 0
	for _, stage := range l.stages {
		if !l.certain && !p.fullWidth(stage) {
			n++
		}
	}
	return n
}

// alpha is the failure probability that each such look may spend on an arm.
func (p *problem) alpha(l ladder) float64 {
	return ArmAlpha(p.delta, p.k) / float64(max(1, p.fallible(l)))
}

// ArmAlpha divides delta over the true arms: k of them; for k = 0, a range, each
// has all of it.
func ArmAlpha(delta float64, k int) float64 { return delta / float64(max(k, 1)) }

// makePlan makes a ladder what backends run.
func (p *problem) makePlan(l ladder) *Plan {
	f := p.forecast(l, p.rank(l.source))
	out := &Plan{Name: p.name(l), Cost: f.total(), Gather: l.gather, SurvivorShares: slices.Clone(f.kept[:len(l.stages)])}
	for i, stage := range l.stages {
		look := backend.Look{Rep: p.later[stage], To: p.widths[stage], Rule: backend.Student, Alpha: p.alpha(l), Source: l.source}
		if l.certain || p.fullWidth(stage) {
			look.Rule, look.Alpha = backend.Cauchy, 0
		}
		if i == 0 {
			look.Rep, look.FirstChunk, look.MaxSurvivors = backend.Panels, p.firstChunk(), p.mostSurvivors(l)
		}
		out.Looks = append(out.Looks, look)
	}
	return out
}
