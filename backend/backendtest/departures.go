package backendtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"thresher/backend"
)

// leaving interrupts runs at every check of their context, and each time lets a query leave,
// until every second one has left. Queries that left must have valid answers, whose open
// bound covers better atoms; the others must have the answers of an uninterrupted run.
func leaving(t *testing.T, open func() backend.Backend, p Part) {
	b := opened(t, open)
	for k, opt := range stopKinds() {
		if !p.has(k) {
			continue
		}
		s, c, o, a := stops(t, 1000, opt)
		r := loadResident(t, b, c)
		for _, l := range Ladders(c, never) {
			if l.Looks != nil && l.Looks[0].Rep == backend.Float32 {
				continue // cannot continue after an interruption
			}
			want, _, err := l.Search(context.Background(), r, a.queries, a.goals)
			if unsupportedLook(err, &l) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			stride := 3
			if p.Of > 1 { // a slow backend
				stride = 1
			}
			for n, struck := 0, true; struck; n += 1 + n/stride {
				d := &departures{every: n, got: make(backend.Answers, len(want))}
				var ok bool
				run, err := r.Begin(context.Background(), a.queries, a.goals)
				if err != nil {
					t.Fatal(err)
				}
				if d.Leaver, ok = run.(backend.Leaver); !ok {
					run.Close()
					t.Skip("queries do not leave runs of this backend")
				}
				if err := d.drive(&l); err != nil {
					t.Fatalf("%v %v %s, struck every %d: %v", c.Metric, c.Basis, l.Name, n, err)
				}
				struck = d.interrupts > 0
				for j := range want {
					q, g := s.Query(a.of[j]), a.goals[j]
					if d.hasLeft(j) {
						ds := o.Explain(q, g, d.got[j], a.want[j])
						if Count(ds, BoundFailed)+Count(ds, Wrong) > 0 || j%4 != 0 && !d.got[j].Complete() {
							t.Fatalf("%v %v %s, struck every %d, query %d left, K %d: open %g\n%v", c.Metric, c.Basis, l.Name, n, j, g.K, d.got[j].OpenBound, ds)
						}
						if err := checkReports(&d.got[j], s.N()); err != nil {
							t.Fatalf("%v %v %s, struck every %d, query %d left: %v", c.Metric, c.Basis, l.Name, n, j, err)
						}
						continue
					}
					var work cmp.Option // interrupted dense scans start over and read more
					if want[j].Dense {
						work = cmpopts.IgnoreFields(backend.Answer{}, "Pulls", "Bytes", "RowsScored")
					}
					if diff := cmp.Diff(want[j], d.got[j], work); diff != "" {
						t.Fatalf("%v %v %s, struck every %d, query %d stayed (-alone +here):\n%s", c.Metric, c.Basis, l.Name, n, j, diff)
					}
				}
				run.Close()
			}
		}
	}
}

// departures is a run whose even queries leave one by one.
type departures struct {
	backend.Leaver
	every      int // context checks between interruptions
	interrupts int
	left       int // queries that left: 0, 2, 4, ..
	got        backend.Answers
}

// drive is Ladder.Search with interruptions.
func (d *departures) drive(l *Ladder) error {
	all := backend.QueryIndexes(0, len(d.got))
	if l.Dense {
		if err := d.repeat(func(ctx context.Context) error { return d.Dense(ctx, all...) }); err != nil {
			return err
		}
	}
	for _, look := range l.Looks {
		err := d.repeat(func(ctx context.Context) error {
			left, err := d.Pull(ctx, look)
			for j := range d.got {
				if d.hasLeft(j) && left[j] > 0 {
					return fmt.Errorf("query %d has left, with %d survivors", j, left[j])
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if d.left == 0 { // one query leaves in any case
		if err := d.leave(); err != nil {
			return err
		}
	}
	rest, err := d.Finish(context.Background())
	for j := range rest {
		if !d.hasLeft(j) {
			d.got[j] = rest[j]
		} else if len(rest[j].IDs) > 0 {
			return fmt.Errorf("query %d has left and is answered again: %v", j, rest[j].IDs)
		}
	}
	return err
}

// hasLeft reports whether query j has left.
func (d *departures) hasLeft(j int) bool { return j%2 == 0 && j < 2*d.left }

// repeat repeats a call, and lets a query leave after each interruption, until all even
// queries have left.
func (d *departures) repeat(call func(context.Context) error) error {
	for 2*d.left < len(d.got) {
		err := call(NewCountdown(d.every, context.DeadlineExceeded))
		if !ended(err) {
			return err
		}
		d.interrupts++
		if err := d.leave(); err != nil {
			return err
		}
	}
	return call(context.Background())
}

// leave lets the next query leave: alternately with the best so far and with a complete
// answer.
func (d *departures) leave() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if d.left%2 == 0 {
		cancel()
	}
	answers, err := d.Leave(ctx, 2*d.left)
	if err != nil {
		return err
	}
	d.got[2*d.left] = answers[0]
	d.left++
	return nil
}
