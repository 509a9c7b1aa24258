//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// backupOptions say how many backups are made of a busy server, and how.
type backupOptions struct {
	backups int
	plain   bool
	longest time.Duration
	seed    uint64
}

func prepareBackup(fs *flag.FlagSet) func(context.Context, *run) error {
	var o backupOptions
	fs.IntVar(&o.backups, "backups", 20, "how many backups are made, restored and compared")
	fs.BoolVar(&o.plain, "plain", false, "copy the folder file by file in place of making backups; then the drill fails unless something is lost")
	fs.DurationVar(&o.longest, "longest", 300*time.Millisecond, "longest time between two backups")
	fs.Uint64Var(&o.seed, "seed", 1, "of the instants and of what is judged")
	return func(ctx context.Context, r *run) error { return r.backupDrill(ctx, &o) }
}

// bout is a tournament that is judged without a pause, in reports large enough that its log is often
// replaced by a snapshot.
type bout struct {
	r  *rand.Rand
	id string

	mu           sync.Mutex
	acknowledged []duelResult
}

// boutArms is how many arms it has, maxReported how many results one report of a drill repeats.
const (
	boutArms    = 300
	maxReported = 1000
	// lastCompared is how many of the results before a backup are looked for in it.
	lastCompared = 2000
)

func (b *bout) create(ctx context.Context, a *api) error {
	arms := make([]string, boutArms)
	for i := range arms {
		arms[i] = fmt.Sprint("arm ", i)
	}
	spec := map[string]any{"arms": arms, "mode": "online", "horizon": 100_000_000, "testing": "sweep", "lease_seconds": 3600, "seed": b.r.Uint64() >> 12}
	got, err := a.call(ctx, "POST", "/v1/tournaments", jsonBody(spec, ""))
	if err != nil {
		return err
	}
	var made struct{ ID string }
	err = got.into(&made, 201)
	b.id = made.ID
	return err
}

// judge judges until ctx ends.
func (b *bout) judge(ctx context.Context, a *api) error {
	for ctx.Err() == nil {
		if err := b.round(ctx, a); err != nil && ctx.Err() == nil {
			return fmt.Errorf("tournament %s: %w", b.id, err)
		}
	}
	return nil
}

// round asks for duels and reports their results.
func (b *bout) round(ctx context.Context, a *api) error {
	path := "/v1/tournaments/" + b.id
	var issued struct {
		Duels []struct {
			ID uint64 `json:"duel_id"`
		}
	}
	counts := []int{20, 150, 300}
	if err := a.post(ctx, path+"/next", map[string]int{"count": counts[b.r.IntN(len(counts))]}, &issued); err != nil {
		return err
	}
	var results []duelResult
	for _, d := range issued.Duels {
		results = append(results, duelResult{d.ID, b.r.IntN(2) == 0})
	}
	if len(results) == 0 {
		return nil
	}
	if err := a.post(ctx, path+"/report", results, nil); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.acknowledged = append(b.acknowledged, results...)
	return nil
}

// known returns the results that were acknowledged until now.
func (b *bout) known() []duelResult {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.acknowledged[:len(b.acknowledged):len(b.acknowledged)]
}

// lost counts the acknowledged results that a server does not have; all of them if it cannot play the
// tournament.
func (b *bout) lost(ctx context.Context, a *api, want []duelResult) (n int, err error) {
	var is struct {
		State struct{ Duels, Waiting int64 }
	}
	got, err := a.call(ctx, "GET", "/v1/tournaments/"+b.id, nil)
	if err != nil {
		return 0, err
	}
	if got.into(&is, 200) != nil {
		return len(want), nil
	}
	if missing := int64(len(want)) - is.State.Duels - is.State.Waiting; missing > 0 {
		return int(missing), nil
	}
	want = want[max(0, len(want)-lastCompared):]
	for len(want) > 0 {
		part := want[:min(len(want), maxReported)]
		want = want[len(part):]
		var answer struct {
			Receipts []struct{ Status string }
		}
		if err := a.post(ctx, "/v1/tournaments/"+b.id+"/report?lenient", part, &answer); err != nil {
			return 0, err
		}
		for _, r := range answer.Receipts {
			if r.Status != "repeated" && r.Status != "settled" {
				n++
			}
		}
	}
	return n, nil
}

// backupDrill makes backups of a server on which three tournaments are judged, restores each, and
// compares it with what was acknowledged before it.
func (r *run) backupDrill(ctx context.Context, o *backupOptions) error {
	d := &drill{run: r, o: o, r: rand.New(rand.NewPCG(o.seed, 12)), data: filepath.Join(r.folder, "data"), to: filepath.Join(r.folder, "backups")}
	var err error
	if d.addr, err = freeAddress(); err != nil {
		return err
	}
	s, err := r.start(ctx, d.data, d.addr, append(crashFlags(), "--threads", "1", "--backup-folder", d.to, "--backup-keep", "3")...)
	if err != nil {
		return err
	}
	defer s.kill()
	if d.second, err = freeAddress(); err != nil {
		return err
	}
	for i := range uint64(3) {
		b := &bout{r: rand.New(rand.NewPCG(o.seed, 20+i))}
		if err := b.create(ctx, s.api); err != nil {
			return err
		}
		d.bouts = append(d.bouts, b)
	}
	busy, stop := context.WithCancel(ctx)
	defer stop()
	var g errgroup.Group
	for _, b := range d.bouts {
		g.Go(func() error { return b.judge(busy, s.api) })
	}
	err = d.rounds(ctx, s)
	stop()
	if err := errors.Join(err, g.Wait()); err != nil {
		return fmt.Errorf("%w; log: %s", err, s.log)
	}
	return errors.Join(d.report(), s.stop())
}

// drill is what is known of a backup drill.
type drill struct {
	*run
	o            *backupOptions
	r            *rand.Rand
	data, to     string
	addr, second string // of the busy server, and of those on what was restored
	bouts        []*bout

	made, losing, refused, lost int
}

func (d *drill) rounds(ctx context.Context, s *server) error {
	for i := range d.o.backups {
		if err := pause(ctx, time.Duration(d.r.Int64N(int64(d.o.longest)))); err != nil {
			return err
		}
		if err := d.round(ctx, s); err != nil {
			return fmt.Errorf("backup %d of %d, seed %d: %w", i+1, d.o.backups, d.o.seed, err)
		}
	}
	return nil
}

// round makes one backup, restores it and compares it.
func (d *drill) round(ctx context.Context, s *server) error {
	var before [][]duelResult
	for _, b := range d.bouts {
		before = append(before, b.known())
	}
	restored := filepath.Join(d.folder, "restored")
	defer os.RemoveAll(restored)
	take := d.restored
	if d.o.plain {
		take = d.copied
	}
	if err := take(ctx, s, restored); err != nil {
		return err
	}
	d.made++
	again, err := d.start(ctx, restored, d.second, crashFlags()...)
	if err != nil && d.o.plain && ctx.Err() == nil {
		d.refused++
		_ = exec.CommandContext(ctx, d.binary, "data", "repair", "--data", restored).Run() // the next start says what came of it
		if again, err = d.start(ctx, restored, d.second, crashFlags()...); err != nil && ctx.Err() == nil {
			d.losing++
			return nil
		}
	}
	if err != nil {
		return err
	}
	defer again.kill()
	lost := 0
	for i, b := range d.bouts {
		n, err := b.lost(ctx, again.api, before[i])
		if err != nil {
			return fmt.Errorf("tournament %s as restored: %w", b.id, err)
		}
		lost += n
	}
	if lost > 0 {
		d.losing, d.lost = d.losing+1, d.lost+lost
		if !d.o.plain {
			return fmt.Errorf("%d acknowledged results are not in the backup", lost)
		}
	}
	return nil
}

// restored makes a backup by the command, and restores it.
func (d *drill) restored(ctx context.Context, s *server, to string) error {
	out, err := d.thresher(ctx, "data", "backup", "--server", s.url, "--to", d.to, "--json")
	if err != nil {
		return err
	}
	var b struct{ Name string }
	if err := json.Unmarshal(out, &b); err != nil {
		return fmt.Errorf("%w in %s", err, out)
	}
	if _, err = d.thresher(ctx, "data", "restore", "--from", filepath.Join(d.to, b.Name), "--to", to); err != nil {
		return err
	}
	// All calls of a tournament can be exported: the command fails if one is lost.
	which := d.bouts[d.made%len(d.bouts)]
	_, err = d.thresher(ctx, "data", "export-judgments", "--data", to, "--tournament", which.id, "--out", filepath.Join(d.folder, "judged.jsonl"), "--force")
	return err
}

// thresher runs a command, which must succeed, and returns its output.
func (d *drill) thresher(ctx context.Context, args ...string) ([]byte, error) {
	out, err := exec.CommandContext(ctx, d.binary, args...).Output()
	if err != nil {
		var e *exec.ExitError
		text := ""
		if errors.As(err, &e) {
			text = string(e.Stderr)
		}
		return nil, fmt.Errorf("thresher %v: %w: %s%s", args, err, out, text)
	}
	return out, nil
}

// copied copies the folder file by file, as cp does.
func (d *drill) copied(_ context.Context, _ *server, to string) error {
	err := os.CopyFS(to, os.DirFS(d.data))
	if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
		return nil
	}
	return err
}

func (d *drill) report() error {
	judged := 0
	for _, b := range d.bouts {
		judged += len(b.known())
	}
	how := "backups"
	if d.o.plain {
		how = "plain copies"
	}
	fmt.Fprintf(d.out, "%d %s under three tournaments with %d results: %d did not start, %d had not all that was acknowledged before, %d results\n",
		d.made, how, judged, d.refused, d.losing, d.lost)
	if d.o.plain && d.losing == 0 {
		return errors.New("no plain copy lost anything: the drill would not notice a backup that does")
	}
	return nil
}
