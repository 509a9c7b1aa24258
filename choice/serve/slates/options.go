package slates

import (
	"cmp"
	"time"
)

// Options configure a Store; nil means defaults.
type Options struct {
	// Memory bounds the bytes of states and prepared collections in memory; 0 means 512 MiB.
	// A larger collection has no slates. Choosing the slates of a request may temporarily
	// take as much again, or 64 MiB.
	Memory int64
	// Keep is how long a slate accepts feedback; 0 means a week.
	Keep time.Duration
	// Slates bounds the slates that a collection remembers, the oldest are removed first; 0
	// means a million.
	Slates int
	// Dimension bounds the dimension of vectors, because a state takes its square; 0 means
	// 256.
	Dimension int
	// Logged is the number of feedbacks of a user that are logged before the state is
	// written; 0 means 32.
	Logged int
	// Threads choose slates; 0 means GOMAXPROCS.
	Threads int
	// Now returns the time; nil means time.Now.
	Now func() time.Time

	// step, if not nil, is called before and after every transaction; an error before it
	// replaces the transaction. For tests.
	step func(string) error
	// scratch bounds the bytes allocated for choosing the slates of a request; 0 means the
	// value of Memory.
	scratch int64
	// noSync disables flushing. For tests.
	noSync bool
}

// minScratch suffices for the slates of any request of thousands of items.
const minScratch = 64 << 20

func (o *Options) withDefaults() Options {
	var all Options
	if o != nil {
		all = *o
	}
	all.Memory = cmp.Or(all.Memory, 512<<20)
	all.scratch = cmp.Or(all.scratch, max(all.Memory, minScratch))
	all.Keep = cmp.Or(all.Keep, 7*24*time.Hour)
	all.Slates = cmp.Or(all.Slates, 1<<20)
	all.Dimension = cmp.Or(all.Dimension, 256)
	all.Logged = cmp.Or(all.Logged, 32)
	if all.Now == nil {
		all.Now = time.Now
	}
	return all
}
