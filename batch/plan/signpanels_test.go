package plan

import (
	"math"
	"strings"
	"testing"

	"thresher/backend"
)

// TestSignPanels: one query looks at panels of signs first where these save memory, and many queries, which would do more
// for it, at codes. What the look keeps lies between the shares of its stage and of the next.
func TestSignPanels(t *testing.T) {
	p := text()
	p.head, p.arms, p.atoms, p.panels = 32, 100_000, 100_000, 1563
	p.costs.Lookup, p.limits.Read[backend.SignPanels] = .004, 1024
	p.costs.Scan, p.costs.Test, p.costs.Code, p.costs.Far = .0022, .24, .0079, .05
	for _, x := range []struct {
		queries int
		signs   bool
	}{{1, true}, {64, false}, {0, false}} {
		p.queries = x.queries
		l := p.chooseLadder(Auto)
		if name := p.name(l); strings.HasPrefix(name, "signs") != x.signs {
			t.Errorf("%d queries: %s", x.queries, name)
		}
	}
	p.queries = 1
	for stage, width := range p.widths[:4] {
		codes, signs := ladder{stages: []int{stage}}, ladder{stages: []int{stage}, first: backend.SignPanels}
		if got, want := p.mayBeFirst(signs), 2*width >= 128 && 2*width <= 768; got != want {
			t.Errorf("signs of %d: %v", 2*width, got)
		}
		rank := math.Log(10)
		at, next := p.shareKept(codes, 0, rank, 0), math.Exp(p.curves.logShare(p.curves.shares, stage+1, rank))
		if kept := p.shareKept(signs, 0, rank, 0); !(kept <= at && kept >= next) {
			t.Errorf("signs of %d keep %g, codes %g and then %g", 2*width, kept, at, next)
		}
		if f := p.makePlan(signs); f.Looks[0].To != 2*width || f.Looks[0].Rep != backend.SignPanels {
			t.Errorf("signs of %d: %+v", 2*width, f.Looks[0])
		}
	}
	p.curves.candidates = nil
	p.costs.Lookup = 0
	if name := p.name(p.chooseLadder(Auto)); strings.HasPrefix(name, "signs1") {
		t.Errorf("a backend without such looks: %s", name)
	}
}
