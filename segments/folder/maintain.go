package folder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"thresher/segments"
)

// upkeep is the seals and merges of a folder.
type upkeep struct {
	doing sync.Mutex // held by whoever does one
	due   chan struct{}
	ended chan struct{} // of the goroutine; nil without one

	mu   sync.Mutex
	last error // of the last one
}

// retry is how long the goroutine waits after an upkeep that failed, of a full disk for example.
const retry = time.Minute

// quarter is a quarter of the cores that this process may use, at least one.
func quarter() int { return max(1, runtime.GOMAXPROCS(0)/4) }

// begin starts the goroutine of seals and merges.
func (f *Folder) begin() {
	if f.readOnly || f.o.ByHand {
		return
	}
	f.upkeep.due, f.upkeep.ended = make(chan struct{}, 1), make(chan struct{})
	go f.keepUp(f.life)
	f.wake()
}

// end stops all upkeep, and waits for the end of the goroutine.
func (f *Folder) end() {
	f.die()
	if f.upkeep.ended != nil {
		<-f.upkeep.ended
	}
}

// wake tells the goroutine that something may be due.
func (f *Folder) wake() {
	if f.upkeep.due == nil {
		return
	}
	select {
	case f.upkeep.due <- struct{}{}:
	default:
	}
}

// keepUp seals and merges whenever something is due, until ctx ends.
func (f *Folder) keepUp(ctx context.Context) {
	defer close(f.upkeep.ended)
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.upkeep.due:
		}
		if err := f.Maintain(ctx); err != nil && ctx.Err() == nil {
			select {
			case <-ctx.Done():
				return
			case <-time.After(retry):
				f.wake()
			}
		}
	}
}

// UpkeepError returns the error of the last seal or merge, nil if it was done. What was written stays in the log
// meanwhile, and is searched.
func (f *Folder) UpkeepError() error {
	f.upkeep.mu.Lock()
	defer f.upkeep.mu.Unlock()
	return f.upkeep.last
}

// Maintain seals and merges until nothing is due. Writers and searches go on meanwhile. If ctx ends, or after an error, the
// segments stay as they were. Close ends it with ErrClosed.
func (f *Folder) Maintain(ctx context.Context) error {
	if f.readOnly {
		return fmt.Errorf("%s: %w", f.path, ErrReadOnly)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(f.life, stop)()
	f.upkeep.doing.Lock()
	defer f.upkeep.doing.Unlock()
	for {
		done, err := f.maintainOnce(ctx)
		if !done && err == nil && f.o.Upkept != nil {
			f.o.Upkept(f)
		}
		if f.life.Err() != nil && (done || err != nil) {
			err = errors.Join(fmt.Errorf("%s: %w", f.path, ErrClosed), err)
		}
		f.upkeep.mu.Lock()
		f.upkeep.last = err
		f.upkeep.mu.Unlock()
		if done || err != nil {
			return err
		}
	}
}

// maintainOnce does the upkeep that is due; done says that none was.
func (f *Folder) maintainOnce(ctx context.Context) (done bool, err error) {
	if f.life.Err() != nil {
		return true, nil
	}
	if err := f.recordPending(); err != nil {
		return true, err
	}
	if err := f.thinKeys(); err != nil {
		return true, err
	}
	u, log, err := f.beginUpkeep()
	if u == nil || err != nil {
		return true, err
	}
	e := &segmentFile{Number: f.takeNumber(), Rows: u.Len(), Generation: u.Generation()}
	made, err := f.buildSegment(ctx, u, e)
	if err == nil && log.first > 0 {
		if err = f.handOver(log.first); err != nil && made != nil {
			err = errors.Join(err, made.Close())
		}
	}
	if err != nil {
		u.Abandon()
		f.removeFiles(e.files())
		return false, err
	}
	f.filing.Lock()
	defer f.filing.Unlock()
	if err := u.Install(made); err != nil {
		if made != nil {
			err = errors.Join(err, made.Close())
		}
		f.removeFiles(e.files())
		return false, err
	}
	if made != nil {
		f.entries[made] = e
	}
	return false, f.record(log)
}

// beginUpkeep begins the upkeep that is due, and a log, so that the logs before it have what the segment to be has; nil if none
// is. log is the first log that is needed once it is installed, and the number of writes before it.
func (f *Folder) beginUpkeep() (u *segments.Upkeep, log logStart, err error) {
	f.committing.Lock()
	defer f.committing.Unlock()
	if f.closed || f.failed != nil || !f.set.Due() {
		return nil, log, nil
	}
	if err := f.set.Freeze(); err != nil {
		return nil, log, err
	}
	if u = f.set.Begin(); u == nil {
		return nil, log, nil
	}
	for _, s := range u.Segments() {
		if s.Generation() > 0 {
			continue
		}
		// All rows that wait are sealed together.
		if log, err = f.rotate(); err != nil {
			u.Abandon()
			return nil, log, err
		}
		break
	}
	return u, log, nil
}

// logStart is where a log begins.
type logStart struct{ number, first uint64 }

// rotate begins a log; committing is held.
func (f *Folder) rotate() (logStart, error) {
	start := logStart{f.lastLog + 1, f.version}
	path := filepath.Join(f.path, logFile(start.number))
	err := writeFile(f.disk, path, encodeLogHeader(f.dim, f.elem, start.first))
	var next logWriter
	if err == nil {
		next, err = f.disk.openLog(path)
	}
	if err != nil {
		return start, errors.Join(err, f.unrotate(path))
	}
	old := f.log
	f.log, f.logEnd, f.lastLog = next, logHeader, start.number
	return start, old.Close()
}

// unrotate removes a log that was not begun, since the one before it goes on. If that cannot be made durable, none is written any more.
func (f *Folder) unrotate(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil {
		err = f.disk.flush(f.path)
	}
	if err != nil {
		f.failed = err
	}
	return err
}

// takeNumber returns a number that no segment has.
func (f *Folder) takeNumber() uint64 {
	f.filing.Lock()
	defer f.filing.Unlock()
	number := f.manifest.Next
	f.manifest.Next++
	return number
}

// buildSegment writes the segment of an upkeep and describes it in e; nil if it has no rows.
func (f *Folder) buildSegment(ctx context.Context, u *segments.Upkeep, e *segmentFile) (made *segments.Segment, err error) {
	if u.Len() == 0 {
		return nil, nil
	}
	path := filepath.Join(f.path, e.file())
	o := f.buildOptions()
	c, err := f.disk.build(ctx, path, u, &o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if made == nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if _, e.Header, err = checksum(path, headerBytes); err != nil {
		return nil, err
	}
	now, err := seen(path)
	if err != nil {
		return nil, err
	}
	e.Bytes = now.Bytes // not verified: nobody has read it back
	numbers := u.IDs()
	if err := f.writeNumbers(e, numbers); err != nil {
		return nil, err
	}
	described, err := f.writeColumns(e, u)
	if err != nil {
		return nil, err
	}
	return f.segmentOf(ctx, c, numbers, described, e.Generation)
}

// recordPending tries again to record what was installed, if that failed.
func (f *Folder) recordPending() error {
	f.filing.Lock()
	defer f.filing.Unlock()
	if f.pending == nil {
		return nil
	}
	return f.record(*f.pending)
}

// record replaces the manifest by one of what the set has now, whose first log is log unless that is zero, and removes what is no longer
// named; filing is held. Deletions of rows of segments that logs from there on repeat do no harm.
func (f *Folder) record(log logStart) error {
	if log.number == 0 && f.pending != nil { // a merge of what a seal could not record
		log = *f.pending
	}
	f.pending = &log
	now := f.set.Snapshot()
	defer now.Release()
	next := *f.manifest
	next.Segments, next.Texts, next.Numbers, next.Greatest = nil, f.table.Textual(), f.table.Numeric(), f.Greatest()
	if log.number > 0 {
		next.Log, next.Version = log.number, log.first
	}
	entries := map[*segments.Segment]*segmentFile{}
	for _, h := range now.Holdings() {
		e := f.entries[h.Segment]
		if e == nil { // its rows are in the logs
			continue
		}
		if err := f.writeDeleted(e, h.Deleted); err != nil {
			return err
		}
		entries[h.Segment] = e
		next.Segments = append(next.Segments, *e)
	}
	if err := writeManifest(f.disk, f.path, &next); err != nil {
		return err
	}
	f.manifest, f.entries, f.pending = &next, entries, nil
	f.removeStrays()
	return nil
}

// removeStrays removes files that a folder makes and the manifest does not name: those of segments that were merged, of logs
// that were sealed, and of a process that was killed. What cannot be removed, as files in use on Windows, is left
// for the next time.
func (f *Folder) removeStrays() {
	named := map[string]bool{ManifestName: true}
	for i := range f.manifest.Segments {
		for _, name := range f.manifest.Segments[i].files() {
			named[name] = true
		}
	}
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return
	}
	type stray struct {
		name   string
		number uint64 // of a log, else 0
	}
	var strays []stray
	for _, file := range entries {
		name := file.Name()
		number, rest, _ := strings.Cut(strings.TrimPrefix(name, "."), ".")
		number, _, _ = strings.Cut(number, "-")
		n, err := strconv.ParseUint(number, 10, 64)
		ours := err == nil && (rest == "thresher" || rest == "log" || rest == "deleted" || rest == "numbers" || strings.HasPrefix(rest, "thresher."))
		unfinished := strings.HasPrefix(name, ".") && strings.Contains(name, ".new-") // of package atomicfile
		switch {
		case named[name], rest == "log" && !unfinished && n >= f.manifest.Log:
		case unfinished && (err == nil || strings.HasPrefix(name, "."+ManifestName)), ours:
			if rest != "log" || unfinished {
				n = 0
			}
			strays = append(strays, stray{name, n})
		}
	}
	// Logs go in the order in which they are read, and one that stays keeps those after it: a reader would miss them between others.
	slices.SortStableFunc(strays, func(a, b stray) int { return cmp.Compare(a.number, b.number) })
	for _, s := range strays {
		if err := f.disk.remove(filepath.Join(f.path, s.name)); err != nil && s.number > 0 && !errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
}

// removeFiles removes files of the folder as far as that is possible.
func (f *Folder) removeFiles(names []string) {
	for _, name := range names {
		_ = f.disk.remove(filepath.Join(f.path, name)) // the next manifest's cleaning does it again
	}
}

// flushParent makes the name of a folder durable.
func flushParent(d disk, path string) error {
	if err := d.flush(filepath.Dir(filepath.Clean(path))); err != nil {
		return fmt.Errorf("%s is made, but a loss of power may undo that: %w", path, err)
	}
	return nil
}
