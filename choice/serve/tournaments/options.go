package tournaments

import (
	"cmp"
	"log/slog"
	"time"

	"thresher/choice/duel"
)

// Options configure a Store; zero values mean defaults.
type Options struct {
	// Most bounds the number of tournaments; 0 means 1,024.
	Most int
	// Arms bounds the arms of one tournament; 0 means 512, and duel.MaxArms is the maximum.
	Arms int
	// Duels bounds the duels issued, or results accepted, by one call; 0 means 1,000.
	Duels int
	// Memory bounds the memory of all loaded tournaments, in bytes; 0 means 256 MiB.
	Memory int64
	// Watch, if not nil, is called with events.
	Watch Watch
	// Now returns the time; nil means time.Now.
	Now func() time.Time
	// Dir is the folder of transcripts, which exists; "" keeps none.
	Dir string
	// Log receives records that cannot be read, and errors of Close; nil discards them.
	Log *slog.Logger

	// logBytes is the length of a log, in bytes, below which it is never replaced by a
	// snapshot; 0 means 64 KiB.
	logBytes int
	// blockBytes is the length of a block of a transcript before compression, which one bad sector of
	// a disk makes unreadable; 0 means 16 KiB.
	blockBytes int
	// step, if not nil, is called at every stage of a commit, and for replays.
	step func(stage string)
}

// Watch counts events. It must be quick and safe for concurrent use.
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
	o.blockBytes = cmp.Or(o.blockBytes, 16<<10)
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

// noWatch discards events.
type noWatch struct{}

func (noWatch) DuelsIssued(int)      {}
func (noWatch) Reported(string, int) {}
