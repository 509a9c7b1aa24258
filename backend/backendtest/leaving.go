package backendtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"thresher/backend"
)

// leaving strikes runs at every question they put to their context, and has a query
// leave each time, until every second one has: those have valid answers, whose open
// bound covers what is better, and the others the very ones that they have when
// nothing strikes.
func leaving(t *testing.T, open func() backend.Backend, p Part) {
	b := opened(t, open)
	for k, opt := range stopKinds() {
		if !p.has(k) {
			continue
		}
		s, c, o, a := stops(t, 1000, opt)
		r := load(t, b, c)
		for _, l := range Ladders(c, never) {
			if l.Looks != nil && l.Looks[0].Rep == backend.Float32 {
				continue // which cannot go on
			}
			want, _, err := l.Search(context.Background(), r, a.queries, a.goals)
			if refused(err, &l) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			stride := 3
			if p.Of > 1 { // of what takes long
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
				struck = d.strikes > 0
				for j := range want {
					q, g := s.Query(a.of[j]), a.goals[j]
					if d.gone(j) {
						ds := o.Explain(q, g, d.got[j], a.want[j])
						if Count(ds, BoundFailed)+Count(ds, Wrong) > 0 || j%4 != 0 && !d.got[j].Complete() {
							t.Fatalf("%v %v %s, struck every %d, query %d left, K %d: open %g\n%v", c.Metric, c.Basis, l.Name, n, j, g.K, d.got[j].OpenBound, ds)
						}
						if err := checkReports(&d.got[j], s.N()); err != nil {
							t.Fatalf("%v %v %s, struck every %d, query %d left: %v", c.Metric, c.Basis, l.Name, n, j, err)
						}
						continue
					}
					var work cmp.Option // dense scans that were stopped begin again
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

// departures is a run that queries leave.
type departures struct {
	backend.Leaver
	every   int // questions between strikes
	strikes int
	left    int // queries that left: 0, 2, 4, ..
	got     backend.Answers
}

// drive is Ladder.Search with strikes.
func (d *departures) drive(l *Ladder) error {
	all := backend.QueryIndexes(0, len(d.got))
	if l.Dense {
		if err := d.persist(func(ctx context.Context) error { return d.Dense(ctx, all...) }); err != nil {
			return err
		}
	}
	for _, look := range l.Looks {
		err := d.persist(func(ctx context.Context) error {
			left, err := d.Pull(ctx, look)
			for j := range d.got {
				if d.gone(j) && left[j] > 0 {
					return fmt.Errorf("query %d has left, with %d survivors", j, left[j])
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if d.left == 0 { // whatever the ladder, one has left
		if err := d.leave(); err != nil {
			return err
		}
	}
	rest, err := d.Finish(context.Background())
	for j := range rest {
		if !d.gone(j) {
			d.got[j] = rest[j]
		} else if len(rest[j].IDs) > 0 {
			return fmt.Errorf("query %d has left and is answered again: %v", j, rest[j].IDs)
		}
	}
	return err
}

// gone reports whether query j has left.
func (d *departures) gone(j int) bool { return j%2 == 0 && j < 2*d.left }

// persist makes a call until nothing strikes it any more.
func (d *departures) persist(call func(context.Context) error) error {
	for 2*d.left < len(d.got) {
		err := call(NewCountdown(d.every, context.DeadlineExceeded))
		if !ended(err) {
			return err
		}
		d.strikes++
		if err := d.leave(); err != nil {
			return err
		}
	}
	return call(context.Background())
}

// leave has the next query leave: one with its best so far, the other with all.
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
