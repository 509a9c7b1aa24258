package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"thresher/backend"
)

// ladder is a sequence of looks: a first look at all arms, later looks at the survivors'
// rows of codes, then exact scores of the remaining arms. A ladder without stages is a
// dense scan.
type ladder struct {
	stages []int // indexes of the collection's Stages, ascending
	// first is what the first look reads: panels, or mixed codes or panels of signs by the Student bound.
	first backend.Representation
	// gather says that the dense scan reads the allowed rows only, or the first look the codes of allowed atoms.
	gather bool
	// certain says that all bounds are deterministic; otherwise looks at prefixes use
	// the Student bound.
	certain bool
	// source is how candidates are scored; the planner chooses it by cost.
	source backend.Source
}

func (l ladder) dense() bool { return len(l.stages) == 0 }

// Names of the parts of a plan, besides numbers.
const (
	planDense   = "dense"   // a dense scan of all rows
	planGather  = "gather"  // a dense scan of the rows that a filter allows
	planWhole   = "whole"   // a look at all codes of a row
	planRescore = "rescore" // exact scores of the remaining arms
	planRows    = "rows"    // an old name of planRescore that is still accepted
)

// maxLooks bounds the looks of a ladder. Alpha is divided by the number of fallible looks.
const maxLooks = 3

// name is the ladder in the form of Request.Plan: the widths of its looks.
func (p *problem) name(l ladder) string {
	switch {
	case l.gather && l.dense():
		return planGather
	case l.dense():
		return planDense
	}
	var parts []string
	for i, stage := range l.stages {
		switch {
		case i == 0 && l.first == backend.Mixed:
			parts = append(parts, l.first.String()+strconv.Itoa(p.widths[stage]))
		case i == 0 && l.first == backend.SignPanels:
			parts = append(parts, backend.Signs.String()+strconv.Itoa(l.first.Reads(p.widths[stage])))
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

// parseLadder is the inverse of name. It refuses ladders that method m does not admit.
func (p *problem) parseLadder(name string, m Method) (ladder, error) {
	if name == planDense {
		if m == Adaptive {
			return ladder{}, fmt.Errorf("%q has no look for method %s to take", name, m)
		}
		return ladder{}, nil
	}
	if name == planGather {
		if !p.filtered() {
			return ladder{}, fmt.Errorf("%q reads the rows that a filter allows, and every vector may be returned; %q is left", name, planDense)
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
	if width, ok := strings.CutPrefix(parts[0], backend.Mixed.String()); ok && width != "" {
		l.first, parts[0] = backend.Mixed, width
	}
	if width, ok := strings.CutPrefix(parts[0], backend.Signs.String()); ok && width != "" {
		l.first = backend.SignPanels
		stage, err := p.parseSigns(width)
		if err != nil {
			return ladder{}, fmt.Errorf("%q: %w", name, err)
		}
		parts[0] = strconv.Itoa(p.widths[stage])
	}
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

// parseStage returns the stage that a part of a plan's name stands for.
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
	if strings.HasPrefix(text, backend.Mixed.String()) {
		return 0, fmt.Errorf("look %q: mixed codes are for the first look, with its width, as in %v64", text, backend.Mixed)
	}
	width, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("look %q is neither a width nor %q", text, planWhole)
	}
	stage := slices.Index(p.widths, width)
	if stage >= 0 && p.named(stage) { // a number stands for int8 codes
		stage = len(p.widths) - 1
	}
	if stage < 0 {
		return 0, fmt.Errorf("no look has %d coordinates; they have one of %v, the last of which is %q", width, p.widths, planWhole)
	}
	return stage, nil
}

// checkLooks returns an error if backends cannot run a ladder of looks.
func (p *problem) checkLooks(l ladder) error {
	switch {
	case len(l.stages) == 0:
		return fmt.Errorf("no look before %q", planRescore)
	case len(l.stages) > maxLooks:
		return fmt.Errorf("%d looks, at most %d", len(l.stages), maxLooks)
	}
	if err := p.checkFirst(l); err != nil {
		return err
	}
	for i, stage := range l.stages[1:] {
		if l.certain && !p.later[stage].Takes(backend.Cauchy) {
			return fmt.Errorf("%v have no bound that is certain", p.later[stage])
		}
		if widest := p.limits.Widest(p.later[stage], p.head); p.widths[stage] > widest {
			return fmt.Errorf("a later look of %d coordinates; this backend reads at most %d", p.widths[stage], widest)
		}
		if stage <= l.stages[i] {
			return fmt.Errorf("a look of %d coordinates after one of %d", p.widths[stage], p.widths[l.stages[i]])
		}
	}
	return nil
}

// checkFirst returns an error if backends cannot take the first look of a ladder.
func (p *problem) checkFirst(l ladder) error {
	if l.first == backend.SignPanels && !p.named(l.stages[0]) {
		return p.checkSigns(l)
	}
	stage, mixed := l.stages[0], l.first == backend.Mixed
	switch {
	case p.named(stage):
		return fmt.Errorf("%v are for a later look", p.later[stage])
	case mixed && p.costs.Mixed == 0:
		return fmt.Errorf("this backend has no looks at mixed codes")
	case mixed && l.certain:
		return fmt.Errorf("mixed codes have no bound that is certain")
	case mixed && p.offsets:
		return fmt.Errorf("mixed codes hold no offsets of vectors, which Euclidean distance needs")
	case mixed && p.fullWidth(stage):
		return fmt.Errorf("a look at mixed codes reads fewer than all %d coordinates", p.rest)
	case p.scanCost(l) > 0:
		return nil
	case mixed:
		return fmt.Errorf("mixed codes of %d coordinates and %d of the head; at most %d together", p.widths[stage], p.head, backend.MixedMost)
	}
	return fmt.Errorf("a first look of %d coordinates; at most %d here", p.widths[stage], p.widestFirst())
}

// widestFirst is the greatest number of coordinates of a first look at panels.
func (p *problem) widestFirst() int {
	widest := p.limits.Widest(backend.Panels, p.head)
	if p.costs.Wide == 0 {
		widest = min(widest, p.panelWidth)
	}
	for stage := len(p.widths) - 1; stage > 0; stage-- {
		if !p.named(stage) && p.widths[stage] <= widest {
			return p.widths[stage]
		}
	}
	return p.widths[0]
}

// mayBeFirst reports whether backends can take the first look of a ladder.
func (p *problem) mayBeFirst(l ladder) bool { return p.checkFirst(l) == nil }

// named reports whether later looks at a stage read a representation other than int8 codes;
// plans give its name instead of a width.
func (p *problem) named(stage int) bool { return p.later[stage] != backend.RowCodes }

// ladders lists the ladders that a method admits. Adaptive scans densely only if that reads the allowed
// rows alone and they are few. Auto considers no deterministic looks at prefixes: where the
// threshold is extrapolated, because few of very many arms are wanted, their forecast was
// off by a factor of two.
func (p *problem) ladders(m Method) []ladder {
	var all []ladder
	if m != Exact && len(p.widths) > 0 {
		all = p.lookLadders(m == Certain)
	}
	if m != Adaptive || len(p.widths) == 0 || p.gathers() {
		all = append(all, p.denseLadder())
	}
	return all
}

// denseLadder is the cheaper of the dense scans of all rows and of the allowed rows.
func (p *problem) denseLadder() ladder { return ladder{gather: p.gathers()} }

// filtered reports whether a filter disallows some atoms.
func (p *problem) filtered() bool { return p.arms < p.atoms }

// lookLadders lists the ladders of looks by one kind of bound.
func (p *problem) lookLadders(certain bool) []ladder {
	if certain && p.curves.certain == nil {
		return p.eachStart(p.withoutForecast())
	}
	var all []ladder
	var extend func(l ladder)
	extend = func(l ladder) {
		all = append(all, l)
		if len(l.stages) == maxLooks {
			return
		}
		for next := l.stages[len(l.stages)-1] + 1; next < len(p.widths); next++ {
			if p.readCost(next) > 0 && (!certain || p.later[next].Takes(backend.Cauchy)) {
				longer := l
				longer.stages = append(slices.Clone(l.stages), next)
				extend(longer)
			}
		}
	}
	for stage := range p.widths {
		for _, first := range []backend.Representation{backend.Panels, backend.Mixed, backend.SignPanels} {
			if l := (ladder{stages: []int{stage}, first: first, certain: certain}); p.mayBeFirst(l) {
				for _, l := range p.eachStart(l) {
					extend(l)
				}
			}
		}
	}
	return all
}

// eachStart returns the ladder, and the same with a first look that gathers if that is possible.
func (p *problem) eachStart(l ladder) []ladder {
	if !p.mayGather(l) {
		return []ladder{l}
	}
	gathering := l
	gathering.gather = true
	return []ladder{l, gathering}
}

// withoutForecast is the ladder of deterministic looks if the collection has no forecast of
// them: whole rows, after the widest look at panels if whole rows cannot be the first look. If
// whole rows are too wide for any look, it is the look at panels.
func (p *problem) withoutForecast() ladder {
	l := ladder{certain: true}
	whole := len(p.widths) - 1
	for stage := range p.widths {
		if !p.mayBeFirst(ladder{stages: []int{whole}}) && p.widths[stage] <= p.panelWidth {
			l.stages = []int{stage}
		}
	}
	if len(l.stages) == 0 || p.readCost(whole) > 0 {
		l.stages = append(l.stages, whole)
	}
	return l
}

// sources lists how candidates can be scored. Without k the threshold is fixed; lower bounds need
// looks at whole rows of codes.
func (p *problem) sources() []backend.Source {
	if p.k == 0 || len(p.widths) > 0 && p.readCost(len(p.widths)-1) == 0 {
		return []backend.Source{backend.Exact}
	}
	return []backend.Source{backend.Exact, backend.LowerBound}
}

// fallible counts the looks whose bounds can fail.
func (p *problem) fallible(l ladder) int {
	n := 0
	for _, stage := range l.stages {
		if !l.certain && !p.fullWidth(stage) {
			n++
		}
	}
	return n
}

// alpha is the failure probability that each fallible look may spend on an arm.
func (p *problem) alpha(l ladder) float64 {
	return ArmAlpha(p.delta, p.k) / float64(max(1, p.fallible(l)))
}

// ArmAlpha is the failure probability per arm of an answer: delta over the k arms that
// belong to it, or delta for k = 0, which guarantees each arm by itself.
func ArmAlpha(delta float64, k int) float64 { return delta / float64(max(k, 1)) }

// makePlan converts a ladder to the looks that backends run, with its forecast.
func (p *problem) makePlan(l ladder) *Plan {
	p = p.forLadder(l)
	f := p.forecast(l, p.rankOf(l))
	out := &Plan{Name: p.name(l), Cost: f.total(), Gather: l.gather && l.dense(), SurvivorShares: slices.Clone(f.kept[:len(l.stages)])}
	for i, stage := range l.stages {
		look := backend.Look{Rep: p.later[stage], To: p.widths[stage], Rule: backend.Student, Alpha: p.alpha(l), Source: l.source}
		if l.certain || p.fullWidth(stage) {
			look.Rule, look.Alpha = backend.Cauchy, 0
		}
		if i == 0 {
			look.To = l.first.Reads(look.To)
			look.Rep, look.FirstChunk, look.MaxSurvivors, look.Gather = l.first, p.firstChunk(), p.maxSurvivors(l), p.gathered
			out.MaxBetter = p.maxBetter(l)
		}
		out.Looks = append(out.Looks, look)
	}
	return out
}
