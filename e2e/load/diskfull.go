//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func prepareDiskFull(*flag.FlagSet) func(context.Context, *run) error {
	return func(ctx context.Context, r *run) error { return r.diskFull(ctx) }
}

// diskFull makes the disk full for a server, in the ways this machine allows.
func (r *run) diskFull(ctx context.Context) error {
	p := newPage(r, "diskfull")
	p.machine()
	p.printf("A server while nothing can be written, and afterwards:")
	for _, s := range shortages() {
		p.say("- " + s.says)
	}
	if err := r.withoutRoom(ctx, &limited{filepath.Join(r.folder, "limited")}); err != nil {
		return err
	}
	how := "with RLIMIT_FSIZE"
	ran, err := r.inSmallDisk(ctx)
	switch {
	case !ran:
		fmt.Fprintf(r.out, "without a small disk, which this machine does not permit: %v\n", err)
	case err != nil:
		return err
	default:
		how += ", and on a full disk (tmpfs)"
	}
	p.later("All seen %s.", how)
	return p.end()
}

// shortage is a way to run out of disk space, and the expected behaviour.
type shortage struct {
	says string
	meet func(*full, context.Context) error
}

func shortages() []shortage {
	return []shortage{
		{"an upload is refused with 507 disk-full, and leaves nothing; a smaller one is stored", (*full).upload},
		{"a collection that cannot be built says so, and its name is free; an append that cannot leaves the version before, which answers", (*full).build},
		{"a batch stands still, saying disk-full, and goes on when there is room, to the answers of one that never stood", (*full).batch},
		{"where the database cannot grow, 507 disk-full; what was acknowledged stays", (*full).database},
		{"a server killed without room starts without room, and has all of it", (*full).restart},
	}
}

// full is a server that is short of disk space.
type full struct {
	*run
	room
	*server
	addr string
	kept map[string][]byte // acknowledged files, by id
	keys int
}

// withoutRoom tries all shortages on a server in a room.
func (r *run) withoutRoom(ctx context.Context, space room) (err error) {
	f := &full{run: r, room: space, kept: map[string][]byte{}}
	if f.addr, err = freeAddress(); err != nil {
		return err
	}
	if err := f.startServer(ctx); err != nil {
		return fmt.Errorf("%s: %w", space.name(), err)
	}
	defer func() { f.kill() }()
	for _, s := range shortages() {
		if err := s.meet(f, ctx); err != nil {
			return fmt.Errorf("%s: %s: %w; log: %s", space.name(), s.says, err, f.log)
		}
		if err := f.checkFiles(ctx); err != nil {
			return fmt.Errorf("%s: after %s: %w; log: %s", space.name(), s.says, err, f.log)
		}
		fmt.Fprintf(r.out, "%s: %s\n", space.name(), s.says)
	}
	return f.stop()
}

// startServer starts the server; batches are retried soon.
func (f *full) startServer(ctx context.Context) (err error) {
	f.server, err = f.start(ctx, f.data(), f.addr, "--costs", "builtin", "--batches-chunk", "64")
	return err
}

// store uploads a file and returns the answer.
func (f *full) store(ctx context.Context, data []byte) (*answer, error) {
	f.keys++
	name := fmt.Sprint("file", f.keys)
	got, err := f.call(ctx, "POST", "/v1/files", upload(name, data, "key "+name))
	if err != nil {
		return nil, err
	}
	if got.status != 200 {
		return got, nil
	}
	var info fileInfo
	if err := got.into(&info, 200); err != nil {
		return nil, err
	}
	f.kept[info.ID] = data
	return got, nil
}

// diskFullType is the type of the problem for a full disk.
const diskFullType = "/problems/disk-full"

// isFull fails unless an answer says that the disk is full.
func isFull(got *answer) error {
	if got.status != 507 || got.problem().Type != diskFullType {
		return fmt.Errorf("status %d, not 507 %s: %.300s", got.status, diskFullType, got.data)
	}
	return nil
}

// checkFiles compares the files with those acknowledged, and fails for any others.
func (f *full) checkFiles(ctx context.Context) error {
	if err := errors.Join(f.alive(), f.sane()); err != nil {
		return err
	}
	if err := noStrays(ctx, f.api, f.data()); err != nil {
		return err
	}
	listed, err := f.files(ctx)
	if err != nil {
		return err
	}
	if len(listed) != len(f.kept) {
		return fmt.Errorf("%d files are listed, %d were acknowledged", len(listed), len(f.kept))
	}
	for id, data := range f.kept {
		got, err := f.content(ctx, id)
		if err != nil {
			return fmt.Errorf("file %s: %w", id, err)
		}
		if !bytes.Equal(got, data) {
			return fmt.Errorf("file %s has %d bytes, which are not the %d that were acknowledged", id, len(got), len(data))
		}
	}
	return nil
}

const someRoom = 1 << 20

func (f *full) upload(ctx context.Context) error {
	if err := f.take(f.pid(), someRoom); err != nil {
		return err
	}
	for range 3 {
		got, err := f.store(ctx, make([]byte, 4*someRoom))
		if err != nil {
			return err
		}
		if err := isFull(got); err != nil {
			return err
		}
	}
	if err := f.stores(ctx, someRoom/8); err != nil {
		return err
	}
	if err := f.giveBack(f.pid()); err != nil {
		return err
	}
	return f.stores(ctx, 4*someRoom)
}

// stores fails unless a file can be stored.
func (f *full) stores(ctx context.Context, size int) error {
	got, err := f.store(ctx, bytes.Repeat([]byte{byte(f.keys)}, size))
	if err != nil {
		return err
	}
	return got.into(nil, 200)
}

func (f *full) build(ctx context.Context) error {
	const rows, dim = 4000, 64 // 1 MB, and more when built
	first, more, many := gaussian(500, dim, 1), gaussian(rows, dim, 2), gaussian(rows*5/4, dim, 3)
	put := func(name string, m *matrix) (*answer, error) {
		return f.call(ctx, "PUT", "/v1/collections/"+name+"?metric=ip&wait=true", m.body(""))
	}
	got, err := put("kept", first)
	if err != nil {
		return err
	}
	if err := got.into(nil, 201); err != nil {
		return err
	}
	// The rows fit; the built collection does not.
	if err := f.take(f.pid(), rows*dim*4+64<<10); err != nil {
		return err
	}
	if got, err = put("large", more); err != nil {
		return err
	}
	if err := isFull(got); err != nil {
		return err
	}
	// The log has no room for so many, nor for their key.
	if got, err = f.call(ctx, "POST", "/v1/collections/kept/rows?wait=true", many.body("append")); err != nil {
		return err
	}
	if err := isFull(got); err != nil {
		return err
	}
	if err := f.answers(ctx, "kept", first); err != nil {
		return err
	}
	if err := f.giveBack(f.pid()); err != nil {
		return err
	}
	if got, err = put("large", more); err != nil {
		return err
	}
	if err := got.into(nil, 201); err != nil {
		return err
	}
	if err := f.answers(ctx, "large", more); err != nil {
		return err
	}
	for range 2 { // under the key of the one that was refused, then of one that is done
		if got, err = f.call(ctx, "POST", "/v1/collections/kept/rows?wait=true", many.body("append")); err != nil {
			return err
		}
		if err := got.into(nil, 200); err != nil {
			return err
		}
	}
	both := &matrix{dim, slices.Concat(first.data, many.data)}
	if err := f.answers(ctx, "kept", both); err != nil {
		return err
	}
	return f.fewFiles("kept", "large")
}

// answers compares a collection, whose ids are row numbers, with its rows.
func (f *full) answers(ctx context.Context, name string, m *matrix) error {
	ids := make([]int64, m.rows())
	for i := range ids {
		ids[i] = int64(i)
	}
	queries := gaussian(3, m.dim, 9)
	_, results, err := f.search(ctx, name, queries, 5)
	if err != nil {
		return err
	}
	for i, result := range results {
		if top := best(m, ids, queries.row(i), 5); !slices.Equal(top, result.IDs) {
			return fmt.Errorf("a search of %s finds %v, which should be %v", name, result.IDs, top)
		}
	}
	return nil
}

// fewFiles fails if the folder of collections has more than one version of any.
func (f *full) fewFiles(names ...string) error {
	return eventually(context.Background(), func() error {
		entries, err := os.ReadDir(filepath.Join(f.data(), "collections"))
		if err != nil {
			return err
		}
		bases := map[string]bool{}
		for _, e := range entries {
			base, _, _ := strings.Cut(e.Name(), ".")
			bases[base] = true
		}
		if len(bases) != len(names) {
			return fmt.Errorf("the folder of %v holds %v", names, entries)
		}
		return nil
	})
}

func (f *full) batch(ctx context.Context) error {
	queries := gaussian(400, 64, 3)
	input := requestLines(queries, map[string]any{"k": 400, "method": "exact"}, 1)
	input = bytes.ReplaceAll(input, []byte("/"+baseName+"/"), []byte("/large/"))
	got, err := f.store(ctx, input)
	if err != nil {
		return err
	}
	var file fileInfo
	if err := got.into(&file, 200); err != nil {
		return err
	}
	b := &offline{count: map[string]int{}}
	undisturbed, _, err := f.scored(ctx, b, file.ID, nil)
	if err != nil {
		return err
	}
	disturbed, stood, err := f.scored(ctx, b, file.ID, func() error { return f.take(f.pid(), 512<<10) })
	if err != nil {
		return err
	}
	if !stood {
		return errors.New("a batch without room was never seen to stand still")
	}
	if !bytes.Equal(undisturbed, disturbed) {
		return fmt.Errorf("the answers differ at byte %d of %d", differ(undisturbed, disturbed), len(undisturbed))
	}
	return nil
}

// scored has a batch answer a file and returns the answers. With take, the space is released
// once the batch reports that it has none.
func (f *full) scored(ctx context.Context, b *offline, id string, take func() error) (output []byte, stood bool, err error) {
	if take != nil {
		if err := take(); err != nil {
			return nil, false, err
		}
	}
	var made, info batchInfo
	spec := map[string]any{"input_file_id": id, "endpoint": "/v1/collections/large/search", "completion_window": "24h"}
	if err := f.post(ctx, "/v1/batches", spec, &made); err != nil {
		return nil, false, err
	}
	waiting, stop := patiently(ctx, callWait, errSlow)
	defer stop()
	for !info.final() {
		if err := f.get(ctx, "/v1/batches/"+made.ID, &info); err != nil {
			return nil, false, err
		}
		if take != nil && !stood && info.Errors != nil && len(info.Errors.Data) > 0 && info.Errors.Data[0].Code == "disk-full" {
			stood = true
			if err := f.giveBack(f.pid()); err != nil {
				return nil, false, err
			}
		}
		if waiting.Err() != nil {
			return nil, stood, fmt.Errorf("after %v the batch is %+v", callWait, info)
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return nil, false, err
		}
	}
	if info.Status != "completed" {
		return nil, stood, fmt.Errorf("the batch is %s: %+v", info.Status, info.Errors)
	}
	if output, _, err = b.answers(ctx, f.api, &info); err != nil {
		return nil, stood, err
	}
	return output, stood, b.remove(ctx, f.api, &info)
}

func (f *full) database(ctx context.Context) error {
	info, err := os.Stat(filepath.Join(f.data(), "meta.db"))
	if err != nil {
		return err
	}
	// not one byte more for the database
	left := info.Size()
	if _, ok := f.room.(*small); ok {
		left = 256 << 10
	}
	if err := f.take(f.pid(), left); err != nil {
		return err
	}
	refused := 0
	const most = 4000
	for range most {
		got, err := f.store(ctx, []byte("a small file"))
		if err != nil {
			return err
		}
		if got.status == 200 {
			continue
		}
		if err := isFull(got); err != nil {
			return err
		}
		if refused++; refused == 20 {
			break
		}
	}
	if refused == 0 {
		return fmt.Errorf("%d files were stored and the database never grew", most)
	}
	return nil
}

// restart kills and restarts the server; a limit ends with the process, so it is set again.
func (f *full) restart(ctx context.Context) error {
	f.kill()
	if err := f.startServer(ctx); err != nil {
		return err
	}
	if err := f.checkFiles(ctx); err != nil {
		return err
	}
	if _, ok := f.room.(*limited); ok {
		return nil
	}
	if err := f.giveBack(f.pid()); err != nil {
		return err
	}
	return f.stores(ctx, 4*someRoom)
}
