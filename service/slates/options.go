package slates

import (
	"cmp"
	"time"
)

// Options configure a Store; nil means defaults.
type Options struct {
	// Memory is how many bytes of states and prepared collections stay in memory; 0
	// means 512 MiB. A collection that takes more by itself has no slates. To choose
	// the slates of a request may take as much again while it lasts, or 64 MiB.
	Memory int64
	// Keep is for how long a slate takes feedback; 0 means a week.
	Keep time.Duration
	// Slates is how many a collection remembers, the oldest going first; 0 means a
	// million.
	Slates int
	// Dimension is the largest that vectors may have: a state takes its square; 0
	// means 256.
	Dimension int
	// Logged is how many feedbacks of a user are logged before the state is written; 0
	// means 32.
	Logged int
	// Threads make slates; 0 means GOMAXPROCS.
	Threads int
	// Now tells the time; nil means time.Now.
	Now func() time.Time

	// step, if not nil, is called before and after every transaction; an error before it
	// takes its place. For tests.
	step func(string) error
	// scratch is the most bytes that the slates of a request take to choose; 0 means
	// what Memory says.
	scratch int64
	// noSync leaves flushing to the system. For tests.
	noSync bool
}

// leastScratch is enough for the slates of any request of thousands of items.
const leastScratch = 64 << 20

func (o *Options) withDefaults() Options {
	var all Options
	if o != nil {
		all = *o
	}
	all.Memory = cmp.Or(all.Memory, 512<<20)
	all.scratch = cmp.Or(all.scratch, max(all.Memory, leastScratch))
	all.Keep = cmp.Or(all.Keep, 7*24*time.Hour)
	all.Slates = cmp.Or(all.Slates, 1<<20)
	all.Dimension = cmp.Or(all.Dimension, 256)
	all.Logged = cmp.Or(all.Logged, 32)
	if all.Now == nil {
		all.Now = time.Now
	}
	return all
}
