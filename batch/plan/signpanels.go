package plan

import (
	"fmt"
	"math"
	"strconv"

	"thresher/backend"
)

// signWorth is how many codes of a stage a first look at panels of signs, of which there are twice as many, is as sharp
// as, as a multiple of the stage's: 4/pi, less what the rounding of codes and tables costs.
const signWorth = 1.15

// fewestSigns is the least number of signs of a first look. A quarter of the bytes of an atom is the head then; fewer signs keep
// several times as many arms and took 0 to 20% longer wherever a plan with them was forecast to be cheaper.
const fewestSigns = 128

// checkSigns returns an error if backends cannot take the first look of a ladder at panels of signs.
func (p *problem) checkSigns(l ladder) error {
	stage := l.stages[0]
	read := l.first.Reads(p.widths[stage])
	switch {
	case p.costs.Lookup == 0:
		return fmt.Errorf("this backend has no first looks at signs")
	case l.certain:
		return fmt.Errorf("first looks at signs have no bound that is certain")
	case p.fullWidth(stage) || read > p.rest:
		return fmt.Errorf("a first look at the signs of %d of %d coordinates", read, p.rest)
	case read < fewestSigns:
		return fmt.Errorf("a first look at the signs of %d coordinates, at least %d", read, fewestSigns)
	case !p.limits.Takes(l.first, p.head, read):
		return fmt.Errorf("a first look at the signs of %d coordinates; at most %d here", read, p.limits.Widest(l.first, p.head))
	}
	return nil
}

// parseSigns returns the stage at which a first look reads the signs of so many coordinates.
func (p *problem) parseSigns(text string) (int, error) {
	var all []int
	for stage, width := range p.widths {
		if read := backend.SignPanels.Reads(width); p.checkSigns(ladder{stages: []int{stage}, first: backend.SignPanels}) == nil && !p.named(stage) {
			if strconv.Itoa(read) == text {
				return stage, nil
			}
			all = append(all, read)
		}
	}
	if len(all) == 0 {
		return 0, fmt.Errorf("no first look at signs here")
	}
	return 0, fmt.Errorf("no first look at the signs of %s coordinates; they are of one of %v", text, all)
}

// signsCost is the cost per atom read of a ladder's first look at panels of signs.
func (p *problem) signsCost(l ladder) float64 {
	c, width := &p.costs, l.first.Reads(p.widths[l.stages[0]])
	bytes := l.first.AtomBytes(p.head, width)
	read := p.streamCost(bytes, 1)
	cost := l.first.Cost(c, p.head, width, p.panelWidth)
	if p.queries == 1 { // its sums wait for the codes, and one test hides behind them
		return max(cost-c.Test, c.Test+(c.Code+read)*float64(bytes))
	}
	return cost + read/float64(p.sharing())*float64(bytes)
}

// logShareFirst is the log of the share of arms by points of c that pass a ladder's first look: of a look at panels of
// signs between the shares of its stage and of the next one.
func (p *problem) logShareFirst(c *curves, points points, l ladder, rank float64) float64 {
	stage := l.stages[0]
	at := c.logShare(points, stage, rank)
	if l.first != backend.SignPanels {
		return at
	}
	next := stage + 1
	for p.named(next) {
		next++
	}
	width, beyond := float64(p.widths[stage]), float64(p.widths[next])
	t := (signWorth - 1) * width / (beyond - width)
	return at + min(1, t)*math.Min(0, c.logShare(points, next, rank)-at)
}
