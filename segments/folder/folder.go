package folder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/columns"
	"thresher/dataset"
	"thresher/internal/filelock"
	"thresher/segments"
)

// Verify says when the checksums of segments are compared with their bytes. Those of headers, ids, deletions and logs always are.
type Verify uint8

const (
	// VerifyOnce: of a file that has not been verified before; the folder remembers which have, by their size and time.
	VerifyOnce Verify = iota
	// VerifyNow: of all segments.
	VerifyNow
	// VerifyNever: of none.
	VerifyNever
)

// Options say how a folder is opened. Backend must be set.
type Options struct {
	// Backend searches. The caller keeps it; it must outlive the folder and its Snapshots.
	Backend backend.Backend
	// Engine are the options of each segment's engine.
	Engine batch.Options
	// ReadOnly opens a folder to read what it has now, beside a process that may write it.
	ReadOnly bool
	// Digest makes Folder.Digest known.
	Digest bool
	Verify Verify
	// Threads is how many threads seals and merges use; 0 is a quarter of GOMAXPROCS, at least one.
	Threads int
	// SealRows is how many rows wait in the log at least before they are made a segment; 0 is 4,096.
	SealRows int
	// Upkept, if not nil, is called after each seal or merge, which changes how much memory the vectors take. It must not wait for another
	// call of the folder than Snapshot.
	Upkept func(*Folder)
	// KeepKeys, if not nil, is given the idempotency keys of changes whose logs are going to be removed, and makes them durable, so that
	// whoever looks for one finds it there once FindKey does not: after an error the logs stay. Without it they are forgotten then. It
	// must not call the folder.
	KeepKeys func([]*Key) error
	// ByHand leaves seals and merges to Maintain. Otherwise a goroutine does them when they are due.
	ByHand bool
}

// Folder is vectors that change, on disk. It is safe for concurrent use.
type Folder struct {
	path     string
	o        Options
	metric   collection.Metric
	dim      int
	seed     uint64
	elem     dataset.Elem
	fields   []columns.Field
	basis    collection.Basis
	origin   []float64
	readOnly bool
	disk     disk
	lock     *os.File
	set      *segments.Set
	table    *segments.Table // of ids

	queueing sync.Mutex // guards queue
	queue    []*write

	committing sync.Mutex // held by whoever writes the log; guards what follows
	log        logWriter
	lastLog    uint64 // its number
	logEnd     int64
	buf        []byte
	failed     error // why the log is not written any more
	closed     bool
	version    uint64 // writes
	named      bool   // there have been ids, which decided about their kind

	keying sync.Mutex // guards keys
	keys   map[string]versionedKey

	opened   uint64        // writes before those of set
	greatest atomic.Uint64 // of all ids that are numbers and were ever written; 0 if none was

	filing   sync.Mutex // held by whoever replaces the manifest, or needs the files that it names; guards what follows
	manifest *contents
	entries  map[*segments.Segment]*segmentFile // of those that have a file
	pending  *logStart                          // what record failed with, until a manifest says it

	unsaid  bool                // segments were verified that neither the manifest on the disk nor, for a reader, readers says so of
	readers map[string]verified // files that readers have verified
	logs    []logPart           // that were replayed
	digest  string              // "" unless it is asked for

	upkeep   upkeep
	recovery Recovery

	life context.Context // ends when Close begins
	die  context.CancelFunc
}

// Recovery is what opening a folder found in its logs.
type Recovery struct {
	Writes int    // that were replayed
	File   string // the log that ended with a write that was not whole, and so was never acknowledged; "" if none did
	Offset int64  // where it begins
	Cut    int64  // its bytes, which are cut off unless the folder is read only
}

// Create makes an empty folder at path, where nothing may be.
func Create(path string, form Form) error {
	if err := form.check(); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		return err
	}
	m := form.contents()
	err := writeFile(files{}, filepath.Join(path, logFile(1)), encodeLogHeader(form.Dim, form.Elem, 0))
	if err == nil {
		err = writeManifest(files{}, path, m)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(path))
	}
	return flushParent(files{}, path)
}

// Is reports whether path is a folder of vectors.
func Is(path string) bool {
	_, err := os.Stat(filepath.Join(path, ManifestName))
	return err == nil
}

// Open opens the folder at path. The error is ErrForeign, ErrInUse, a *DamageError that names file and offset, or one of the
// system.
func Open(ctx context.Context, path string, o Options) (*Folder, error) {
	return open(ctx, path, o, files{})
}

func open(ctx context.Context, path string, o Options, d disk) (*Folder, error) {
	var lock *os.File
	if !o.ReadOnly {
		var err error
		if lock, err = lockFolder(path); err != nil {
			return nil, err
		}
	}
	for {
		f := &Folder{path: path, o: o, readOnly: o.ReadOnly, disk: d, lock: lock, entries: map[*segments.Segment]*segmentFile{}}
		f.life, f.die = context.WithCancel(context.Background())
		err := f.load(ctx)
		if err == nil {
			f.begin()
			return f, nil
		}
		f.die()
		if !o.ReadOnly || !errors.Is(err, fs.ErrNotExist) {
			return nil, errors.Join(err, closeLock(lock))
		}
		// A writer may have replaced the manifest that was read and removed what it named.
		now, again := readManifest(path)
		if again != nil || f.manifest != nil && now.Next == f.manifest.Next && now.Log == f.manifest.Log {
			return nil, err
		}
	}
}

// lockFolder locks a folder for the only process that writes it.
func lockFolder(path string) (*os.File, error) {
	lock, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	taken, err := filelock.Try(lock)
	if err == nil && !taken {
		err = fmt.Errorf("%s: %w", path, ErrInUse)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

func closeLock(lock *os.File) error {
	if lock == nil {
		return nil
	}
	return lock.Close()
}

// load reads the folder.
func (f *Folder) load(ctx context.Context) (err error) {
	m, err := readManifest(f.path)
	if err != nil {
		return err
	}
	if err := f.describe(m); err != nil {
		return err
	}
	f.readers = readVerified(f.path)
	var parts []segments.Holding
	defer func() {
		if err != nil && f.set == nil {
			for _, p := range parts {
				err = errors.Join(err, p.Segment.Close())
			}
		}
	}()
	for i := range m.Segments {
		part, err := f.openSegment(ctx, &m.Segments[i])
		if err != nil {
			return err
		}
		parts = append(parts, part)
	}
	set, err := segments.Open(f.dim, segments.Options{Collection: f.buildOptions(), Columns: f.fields, Backend: f.o.Backend, Engine: f.o.Engine, SealRows: f.o.SealRows}, parts...)
	if err != nil {
		return &DamageError{File: f.path, Err: err}
	}
	f.set = set
	if err = f.replay(ctx); err != nil {
		return errors.Join(err, set.Close())
	}
	if f.o.Digest {
		if err = f.makeDigest(ctx); err != nil {
			return errors.Join(err, f.closeLoaded())
		}
	}
	if f.readOnly {
		f.rememberVerified()
		return nil
	}
	if f.unsaid {
		if err = writeManifest(f.disk, f.path, f.manifest); err != nil {
			return errors.Join(err, f.closeLoaded())
		}
	}
	f.removeStrays()
	return nil
}

// closeLoaded closes what load has opened.
func (f *Folder) closeLoaded() error {
	err := f.set.Close()
	if f.log != nil {
		err = errors.Join(err, f.log.Close())
	}
	return err
}

// describe takes from a manifest what all vectors have in common.
func (f *Folder) describe(m *contents) error {
	form, err := m.form()
	if err != nil {
		return &DamageError{File: filepath.Join(f.path, ManifestName), Err: err}
	}
	f.manifest, f.version, f.opened, f.table = m, m.Version, m.Version, segments.NewTable()
	f.greatest.Store(m.Greatest)
	f.metric, f.dim, f.seed, f.basis, f.origin = form.Metric, form.Dim, form.Seed, form.Basis, form.Origin
	f.elem, f.fields = form.Elem, form.Columns
	if f.named = m.Texts || m.Numbers; f.named {
		f.table.Settle(m.Texts)
	}
	return nil
}

// buildOptions are those of segments.
func (f *Folder) buildOptions() collection.Options {
	return collection.Options{Metric: f.metric, Basis: f.basis, Origin: f.origin, Seed: f.seed, Elem: f.elem, Threads: f.o.threads(), Mode: modeIn(f.path)}
}

// replay applies the logs and opens the last of them to be written.
func (f *Folder) replay(ctx context.Context) error {
	apply := func(c *Change) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f.check(c); err != nil {
			return err
		}
		f.recovery.Writes++
		_, err := f.do(c)
		return err
	}
	for number := f.manifest.Log; ; number++ {
		path := filepath.Join(f.path, logFile(number))
		_, err := os.Stat(filepath.Join(f.path, logFile(number+1)))
		last := errors.Is(err, fs.ErrNotExist)
		if err != nil && !last {
			return err
		}
		got, err := readLog(path, f.rowForm(), f.version, last, apply)
		if err != nil {
			return err
		}
		f.logs = append(f.logs, logPart{path, got.end})
		if !last {
			continue
		}
		if err := f.checkLast(number); err != nil {
			return err
		}
		if got.end < got.bytes {
			f.recovery.File, f.recovery.Offset, f.recovery.Cut = path, got.end, got.bytes-got.end
		}
		if f.readOnly {
			return nil
		}
		f.lastLog = number
		return f.resumeLog(path, got)
	}
}

// checkLast returns an error, fs.ErrNotExist, if the log number is not the last one: a later one is there, or, beside
// a writer, what followed it is in segments by now and was removed.
func (f *Folder) checkLast(number uint64) error {
	missing := &fs.PathError{Op: "open", Path: filepath.Join(f.path, logFile(number+1)), Err: fs.ErrNotExist}
	if f.readOnly {
		now, err := readManifest(f.path)
		if err != nil {
			return err
		}
		if now.Log > number {
			return missing
		}
	}
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return err
	}
	var later error
	for _, e := range entries {
		digits, isLog := strings.CutSuffix(e.Name(), ".log")
		n, err := strconv.ParseUint(digits, 10, 64)
		switch {
		case !isLog || err != nil || n <= number:
		case n == number+1: // a writer has begun it since
			return nil
		default:
			later = &DamageError{File: filepath.Join(f.path, e.Name()), Err: fmt.Errorf("it is a later log, and one before it is not there: %w", missing)}
		}
	}
	return later
}

// resumeLog opens the last log, of which got has been read, and cuts off what is not whole. What a process wrote that was
// killed before it flushed it is part of the set by now, and so is flushed. It is the last whole frame if it is one, and
// written again: after a flush that failed the system may take for durable what it still holds in memory only.
func (f *Folder) resumeLog(path string, got replay) (err error) {
	if f.log, err = f.disk.openLog(path); err != nil {
		return err
	}
	if got.end < got.bytes {
		err = f.log.Truncate(got.end)
	}
	if err == nil {
		err = rewrite(path, f.log, got.lastFrame, got.end)
	}
	if err == nil {
		err = f.log.Sync()
	}
	if err != nil {
		return errors.Join(err, f.log.Close())
	}
	f.logEnd = got.end
	return nil
}

// rewrite writes bytes from to end of the log at path over themselves.
func rewrite(path string, log logWriter, from, end int64) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(io.NewOffsetWriter(log, from), io.NewSectionReader(in, from, end-from))
	return err
}

// Recovered says what opening the folder found.
func (f *Folder) Recovered() Recovery { return f.recovery }

// Form returns what all vectors of the folder have in common.
func (f *Folder) Form() Form {
	return Form{Metric: f.metric, Dim: f.dim, Seed: f.seed, Elem: f.elem, Columns: f.fields, Basis: f.basis, Origin: f.origin}
}

// rowForm is how rows are in logs.
func (f *Folder) rowForm() rowForm { return rowForm{f.dim, f.elem, f.fields} }

// Close ends seals and merges that are under way, also those of Maintain, refuses further writes and closes the folder. What was
// acknowledged is there when it is opened again. Snapshots in use stay so.
func (f *Folder) Close() error {
	f.end()
	// The lock of the folder is let go of only once nobody writes to it or needs its files.
	f.upkeep.doing.Lock()
	defer f.upkeep.doing.Unlock()
	f.filing.Lock()
	defer f.filing.Unlock()
	f.committing.Lock()
	defer f.committing.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	err := f.set.Close()
	if f.log != nil {
		err = errors.Join(err, f.log.Close())
	}
	return errors.Join(err, closeLock(f.lock))
}

// threads are those of seals and merges.
func (o *Options) threads() int { return cmp.Or(o.Threads, quarter()) }
