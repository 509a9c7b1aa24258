package tournaments

import (
	"cmp"
	"log/slog"
	"time"

	"thresher/duel"
)

// Options configure a Store; zero values mean defaults.
type Options struct {
	// Most is how many tournaments there may be; 0 means 1,024.
	Most int
	// Arms is how many arms one may have; 0 means 512, and duel.MaxArms is the most.
	Arms int
	// Duels is how many duels are handed out, or results are taken, at once; 0 means
	// 1,000.
	Duels int
	// Memory is what all tournaments in memory may take, in bytes; 0 means 256 MiB.
	Memory int64
	// Watch, if not nil, is told what happens.
	Watch Watch
	// Now tells the time; nil means time.Now.
	Now func() time.Time
	// Log hears of records that cannot be read, and of what Close could not do; nil
	// discards.
	Log *slog.Logger

	// logBytes is how long a log is in any case before it gives way to a snapshot, in
	// bytes; 0 means 64 KiB.
	logBytes int
	// step, if not nil, is told of every stage of a commit, and of replays.
	step func(stage string)
}

// Watch is told what happens. It must be quick and safe for concurrent use.
type Watch interface {
	DuelsIssued(duels int)
	Reported(status string, results int)
}

func (o *Options) fill() {
	o.Most = cmp.Or(max(o.Most, 0), 1024)
	o.Arms = min(cmp.Or(max(o.Arms, 0), 512), duel.MaxArms)
	o.Duels = cmp.Or(max(o.Duels, 0), 1000)
	o.Memory = cmp.Or(max(o.Memory, 0), 256<<20)
	o.logBytes = cmp.Or(o.logBytes, 64<<10)
	if o.Watch == nil {
		o.Watch = noWatch{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.step == nil {
		o.step = func(string) {}
	}
}

// noWatch watches.
type noWatch struct{}

func (noWatch) DuelsIssued(int)      {}
func (noWatch) Reported(string, int) {}
