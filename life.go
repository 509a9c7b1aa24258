package thresher

import "sync"

// life counts who uses an Index: its block, which was built or opened, or the changes that took its place.
type life struct {
	beginning sync.Mutex // held by whoever makes the first change

	mu      sync.Mutex
	changed *changes       // nil before the first change
	users   sync.WaitGroup // of changes
	readers int            // of the block
	reading sync.WaitGroup // the same, until what the last of them ends is closed
	ended   func() error   // closes the block once it has no readers, when no snapshot of changes has it; else nil
}

// changes are nil before the first change.
func (l *life) changes() *changes {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

// enter begins a use of the changes, or of the block if they are nil, which leave ends.
func (l *life) enter() (c *changes, leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed != nil {
		l.users.Add(1)
		return l.changed, l.users.Done
	}
	l.readers++
	l.reading.Add(1)
	return nil, l.leaveBlock
}

// leaveBlock ends a use of the block.
func (l *life) leaveBlock() {
	defer l.reading.Done()
	l.mu.Lock()
	l.readers--
	var end func() error
	if l.readers == 0 {
		end, l.ended = l.ended, nil
	}
	l.mu.Unlock()
	if end != nil {
		l.changes().note(end())
	}
}

// endBlock closes the block, after its readers.
func (l *life) endBlock(end func() error) error {
	l.mu.Lock()
	if l.readers > 0 {
		l.ended, end = end, nil
	}
	l.mu.Unlock()
	if end == nil {
		return nil
	}
	return end()
}

// changeTo makes changes what later uses see.
func (l *life) changeTo(c *changes) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed = c
}

// close waits for the readers of the block and the users of the changes, and returns these.
func (l *life) close() *changes {
	l.reading.Wait()
	c := l.changes()
	if c != nil {
		l.users.Wait()
	}
	return c
}
