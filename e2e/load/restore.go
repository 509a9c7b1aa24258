//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"time"
)

// restore is a drill: it damages a folder in every known way, and each acknowledged
// collection and file must answer as before.
type restore struct {
	*run
	r      *rand.Rand
	addr   string
	master string // the folder of a killed server
	older  []byte // meta.db before its last changes
	want   map[string][]found
	files  map[string][]byte // by id

	starts, repairs int
	found           map[string]int // findings reported by starts, summed
}

// damage is a way to lose data. It is applied to a copy of the folder.
type damage struct {
	name string
	do   func(dir string) error
}

// restoreDim is the dimension of the collections searched.
const restoreDim = 24

// restores runs the drill rounds times.
func (c *crash) restores(ctx context.Context, rounds int) (*restore, error) {
	d := &restore{run: c.run, r: rand.New(rand.NewPCG(c.o.seed, 9)), addr: c.addr, want: map[string][]found{}, files: map[string][]byte{}, found: map[string]int{}}
	for round := range rounds {
		if err := d.round(ctx, round); err != nil {
			return nil, fmt.Errorf("restore, round %d, seed %d: %w", round+1, c.o.seed, err)
		}
	}
	return d, nil
}

func (d *restore) round(ctx context.Context, round int) error {
	clear(d.want)
	clear(d.files)
	d.master = filepath.Join(d.folder, fmt.Sprint("restore", round))
	live, err := d.stock(ctx)
	if err != nil {
		return err
	}
	for _, w := range d.damages() {
		dir := d.master + " " + strings.ReplaceAll(w.name, " ", "-")
		if err := os.CopyFS(dir, os.DirFS(d.master)); err != nil {
			return err
		}
		if err := w.do(dir); err != nil {
			return err
		}
		if err := d.check(ctx, dir); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	for _, dir := range live {
		if err := d.check(ctx, dir); err != nil {
			return fmt.Errorf("a copy made while serving: %w", err)
		}
	}
	return nil
}

// stock fills a folder in two runs of a server, the second of which is killed, and returns
// copies made while it served.
func (d *restore) stock(ctx context.Context) (live []string, err error) {
	s, err := d.start(ctx, d.master, d.addr, crashFlags()...)
	if err != nil {
		return nil, err
	}
	defer func() { s.kill() }()
	put := func(method, path string, rows int, status int) error {
		got, err := s.call(ctx, method, path, gaussian(rows, restoreDim, d.r.Uint64()).body(""))
		if err != nil {
			return err
		}
		return got.into(nil, status)
	}
	for i, metric := range []string{"ip", "cosine", "l2"} {
		if err := put("PUT", fmt.Sprintf("/v1/collections/c%d?wait=true&metric=%s", i, metric), 50+d.r.IntN(500), 201); err != nil {
			return nil, err
		}
	}
	if err := d.upload(ctx, s.api); err != nil {
		return nil, err
	}
	if err := s.stop(); err != nil {
		return nil, err
	}
	if d.older, err = os.ReadFile(filepath.Join(d.master, "meta.db")); err != nil {
		return nil, err
	}
	again, err := d.start(ctx, d.master, d.addr, crashFlags()...)
	if err != nil {
		return nil, err
	}
	s = again
	if err := put("POST", "/v1/collections/c1/rows?wait=true", 20, 200); err != nil {
		return nil, err
	}
	if err := put("PUT", "/v1/collections/c3?metric=ip&wait=true", 90, 201); err != nil {
		return nil, err
	}
	if err := d.upload(ctx, s.api); err != nil {
		return nil, err
	}
	for i := range 4 {
		name := fmt.Sprint("c", i)
		if _, d.want[name], err = s.search(ctx, name, gaussian(5, restoreDim, uint64(i)), 5); err != nil {
			return nil, err
		}
	}
	if live, err = d.copyWhileServing(ctx, s.api); err != nil {
		return nil, err
	}
	return live, s.alive()
}

func (d *restore) upload(ctx context.Context, a *api) error {
	data := make([]byte, d.r.IntN(100<<10))
	for i := range data {
		data[i] = byte(d.r.Uint32())
	}
	got, err := a.call(ctx, "POST", "/v1/files", upload("restored", data, ""))
	if err != nil {
		return err
	}
	var f fileInfo
	if err := got.into(&f, 200); err != nil {
		return err
	}
	d.files[f.ID] = data
	return nil
}

// copyWhileServing copies the folder while collections are created and deleted, the database
// in parts with changes in between.
func (d *restore) copyWhileServing(ctx context.Context, a *api) (copies []string, err error) {
	for i := range 3 {
		dir := fmt.Sprintf("%s live%d", d.master, i)
		ended := make(chan error, 1)
		noise, stop := context.WithCancel(ctx)
		go func() { ended <- d.noise(noise, a, uint64(i)) }()
		err := d.copySlowly(noise, dir)
		stop()
		if err := errors.Join(err, <-ended); err != nil {
			return nil, err
		}
		copies = append(copies, dir)
	}
	return copies, nil
}

// noise creates and deletes a collection until ctx ends.
func (d *restore) noise(ctx context.Context, a *api, seed uint64) error {
	for n := seed; ctx.Err() == nil; n++ {
		for _, b := range []*body{gaussian(30, restoreDim, n).body(""), nil} {
			method, path := "PUT", "/v1/collections/noise?metric=ip&wait=true&replace=true"
			if b == nil {
				method, path = "DELETE", "/v1/collections/noise"
			}
			got, err := a.call(ctx, method, path, b)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			if err := got.into(nil, 201, 204, 404, 409); err != nil {
				return err
			}
		}
	}
	return nil
}

// copySlowly copies the master's files one by one, each in its present state; a file that has
// disappeared meanwhile is omitted.
func (d *restore) copySlowly(ctx context.Context, dir string) error {
	return filepath.WalkDir(d.master, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		rel, err := filepath.Rel(d.master, path)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, rel)
		if e.IsDir() {
			return os.MkdirAll(to, 0o700)
		}
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, ".db") { // in two parts, at two instants
			if err := pause(ctx, 30*time.Millisecond); err != nil {
				return err
			}
			later, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			half := len(b) / 2
			b = append(b[:half:half], later[min(half, len(later)):]...)
		}
		return os.WriteFile(to, b, 0o600)
	})
}

// damages returns all kinds of damage.
func (d *restore) damages() []damage {
	in := func(name string, change func(b []byte) []byte) func(dir string) error {
		return func(dir string) error {
			path := filepath.Join(dir, name)
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, change(b), 0o600)
		}
	}
	cut := func(b []byte) []byte { return b[:1+d.r.IntN(len(b)-1)] }
	return []damage{
		{"nothing", func(string) error { return nil }},
		{"meta.db lost", func(dir string) error { return os.Remove(filepath.Join(dir, "meta.db")) }},
		{"meta.db of no bytes", in("meta.db", func([]byte) []byte { return nil })},
		{"meta.db older", in("meta.db", func([]byte) []byte { return d.older })},
		{"meta.db cut", in("meta.db", cut)},
		{"meta.db cut by its last page", in("meta.db", func(b []byte) []byte { return b[:8192] })},
		{"meta.db overwritten", in("meta.db", func(b []byte) []byte {
			at := 8192 + d.r.IntN(len(b)-8192-4096)
			copy(b[at:], bytes.Repeat([]byte("garbage "), 512))
			return b
		})},
		{"slates.db cut", in("slates.db", cut)},
		{"slates.db lost", func(dir string) error { return os.Remove(filepath.Join(dir, "slates.db")) }},
	}
}

// check starts a server on a damaged folder and compares its answers; every other time the folder
// is repaired before.
func (d *restore) check(ctx context.Context, dir string) error {
	if d.starts%2 == 1 {
		if err := d.repair(ctx, dir); err != nil {
			return err
		}
	}
	s, err := d.start(ctx, dir, d.addr, crashFlags()...)
	if err != nil {
		return err
	}
	defer s.kill()
	d.starts++
	if err := d.compare(ctx, s.api); err != nil {
		return fmt.Errorf("%w; log: %s", err, s.log)
	}
	return s.stop()
}

func (d *restore) repair(ctx context.Context, dir string) error {
	d.repairs++
	if out, err := exec.CommandContext(ctx, d.binary, "data", "repair", "--data", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("data repair: %w: %s", err, out)
	}
	return nil
}

// compare requests everything that was acknowledged.
func (d *restore) compare(ctx context.Context, a *api) error {
	for i := range len(d.want) {
		name := fmt.Sprint("c", i)
		_, got, err := a.search(ctx, name, gaussian(5, restoreDim, uint64(i)), 5)
		if err != nil {
			return fmt.Errorf("collection %s: %w", name, err)
		}
		if !reflect.DeepEqual(got, d.want[name]) {
			return fmt.Errorf("collection %s answers %v, it was %v", name, got, d.want[name])
		}
	}
	for id, want := range d.files {
		got, err := a.content(ctx, id)
		if err != nil {
			return fmt.Errorf("file %s: %w", id, err)
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("file %s has another content", id)
		}
	}
	var ready struct {
		Found map[string]int `json:"found"`
	}
	if err := a.get(ctx, "/readyz", &ready); err != nil {
		return err
	}
	for kind, n := range ready.Found {
		d.found[kind] += n
	}
	return nil
}
