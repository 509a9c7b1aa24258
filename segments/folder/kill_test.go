package folder

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"thresher/collection"
	"thresher/cpu"
	"thresher/dataset"
	"thresher/internal/atomicfile"
	"thresher/internal/crashtest"
)

var kills = flag.Int("kills", 30, "processes that TestKill kills")

const (
	killDim      = 20
	killUniverse = 150
)

// changeAt is the write of a number.
func changeAt(seed, number uint64) Change {
	c := drawChange(rand.New(rand.NewPCG(seed, number)), killDim, killUniverse, 12, seed%2 == 0).inType(killElem(seed))
	if number%3 == 0 {
		c.Key = keyOf(number)
	}
	return c
}

// killElem is the type of the vectors of the folder of a seed, which is a multiple of 10.
func killElem(seed uint64) dataset.Elem { return drawnElems[seed/10%uint64(len(drawnElems))] }

// aloud is a disk that prints a line before each step.
type aloud struct {
	files
	print func(string)
}

type aloudLog struct {
	logWriter
	print func(string)
}

func (d aloud) openLog(path string) (logWriter, error) {
	d.print("log")
	l, err := d.files.openLog(path)
	return aloudLog{l, d.print}, err
}

func (l aloudLog) WriteAt(p []byte, at int64) (int, error) {
	l.print("write")
	if n, err := l.logWriter.WriteAt(p[:len(p)/2], at); err != nil { // so that a kill leaves half of it
		return n, err
	}
	l.print("wrote half")
	n, err := l.logWriter.WriteAt(p[len(p)/2:], at+int64(len(p)/2))
	return len(p)/2 + n, err
}

func (l aloudLog) Sync() error {
	l.print("sync")
	return l.logWriter.Sync()
}

func (d aloud) commit(f *atomicfile.File) error {
	d.print("commit")
	defer d.print("committed")
	return d.files.commit(f)
}

func (d aloud) build(ctx context.Context, path string, src collection.Source, o *collection.Options) (*collection.Collection, error) {
	d.print("build")
	defer d.print("built")
	return d.files.build(ctx, path, src, o)
}

func (d aloud) remove(path string) error {
	d.print("remove")
	return d.files.remove(path)
}

// writeAloud writes to a folder until it is killed, and prints what it has been told is done.
func writeAloud(c *crashtest.Child) error {
	b := cpu.New(cpu.Options{Threads: 1})
	defer b.Close()
	seed, err := strconv.ParseUint(c.Args[1], 10, 64)
	if err != nil {
		return err
	}
	ctx, path := context.Background(), filepath.Join(c.Args[0], "vectors")
	f, err := open(ctx, path, Options{Backend: b, SealRows: 24, Threads: 1}, aloud{print: c.Print})
	if err != nil {
		return err
	}
	for number := f.Snapshot().Version(); ; number++ {
		if _, err := f.Apply(ctx, changeAt(seed, number)); err != nil {
			return err
		}
		c.Print(crashtest.StepDone + fmt.Sprint(number))
		if number%16 == 15 {
			version, err := f.Copy(filepath.Join(c.Args[0], fmt.Sprint("copy", number)))
			if err != nil && !errors.Is(err, os.ErrExist) {
				return err
			}
			c.Print(fmt.Sprint("copied ", version))
		}
	}
}

// TestKill kills a process that writes a folder, at exact steps and at full speed: what it was told is done is there, whole and
// once, in the folder and in its copies; and of what it was not told, at most the last write.
func TestKill(t *testing.T) {
	b := newBackend(t)
	at := map[string]int{}
	for kill := 0; kill < *kills; {
		seed, dir := uint64(kill), t.TempDir()
		path := filepath.Join(dir, "vectors")
		metric := []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean}[seed%3]
		if err := Create(path, Form{Metric: metric, Dim: killDim, Elem: killElem(seed), Columns: drawnFields}); err != nil {
			t.Fatal(err)
		}
		held, version := newModel(killDim), uint64(0)
		r := rand.New(rand.NewPCG(7, seed))
		for range 10 {
			life := crashtest.Run(t, 1+r.IntN([]int{20, 160}[r.IntN(2)]), r.IntN(2) == 0, dir, fmt.Sprint(seed))
			at[strings.TrimRight(life.Last(), "0123456789 ")]++
			kill++
			told := uint64(life.NextStep(int(version)))
			f := opened(t, path, Options{Backend: b, SealRows: 24, ByHand: true})
			now := f.Snapshot()
			found := now.Version()
			now.Release()
			if found != told && found != told+1 {
				t.Fatalf("seed %d, killed at %q: version %d, and %d writes were acknowledged", seed, life.Last(), found, told)
			}
			for ; version < found; version++ {
				c := changeAt(seed, version)
				held.do(&c)
			}
			for number := f.opened; number < found+3; number++ {
				checkKey(t, f, number, number%3 == 0 && number < found)
			}
			held.check(t, f, b, seed%2 == 0, seed)
			closed(t, f)
			if kill%5 == 0 {
				checkCopies(t, dir, seed)
			}
		}
	}
	t.Logf("%d kills, at %v", *kills, at)
}

// checkCopies checks what is in each copy of a folder.
func checkCopies(t *testing.T, dir string, seed uint64) {
	b := newBackend(t)
	copies, err := filepath.Glob(filepath.Join(dir, "copy*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range copies {
		f := opened(t, path, Options{Backend: b, ByHand: true, Verify: VerifyNow})
		held := newModel(killDim)
		now := f.Snapshot()
		for version := range now.Version() {
			c := changeAt(seed, version)
			held.do(&c)
		}
		now.Release()
		held.check(t, f, b, seed%2 == 0, seed)
		closed(t, f)
	}
}
