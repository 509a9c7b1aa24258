//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// earlier is a packed folder of commit 0f538cbe with what that program said of it, made by
// `load crash -before PROGRAM -pack FILE`.
//
//go:embed testdata/before-0f538cbe.tar.gz
var earlier []byte

// upgrade is a drill: servers open copies of a folder that an earlier program left when it was
// killed, and are themselves killed during their first start, several times over. In the end all is
// there that the earlier program had listed, and can be used.
type upgrade struct {
	*run
	r    *rand.Rand
	addr string
	dir  string // of the earlier program
	said said

	copies, kills, early int
}

// said is what the earlier program said of its folder.
type said struct {
	Answers map[string]any      // by path; those of contents are their hashes
	Lists   map[string][]string // ids in their order, by path
	Games   map[string]int      // tournaments that have not ended, with the requests for duels
	Slate   string              // one that has no feedback
	// Input is the id of a file of queries, Finished that of a batch of them, and Running those of
	// others, which were being answered at the end. Late has the rows of collections that were being
	// built at the end, by name.
	Input    string
	Finished string
	Running  []string
	Late     map[string]int64
}

const (
	upgradeDim = 8
	// upgradeRows is how many queries a batch of the drill has.
	upgradeRows = 2000
	slates      = "/v1/collections/named/slates"
	// saidName is the file that describes a packed folder, beside the folder.
	saidName = "said.json"
)

// upgradeFlags let a folder be kept for years.
func upgradeFlags() []string { return append(crashFlags(), "--slates-keep", "200000h") }

// upgrades runs the drill.
func (c *crash) upgrades(ctx context.Context) (*upgrade, error) {
	u := &upgrade{run: c.run, r: rand.New(rand.NewPCG(c.o.seed, 14)), addr: c.addr, copies: c.o.upgrades}
	var err error
	if c.o.before == "" {
		err = u.unpack(earlier)
	} else {
		err = u.stock(ctx, c.o.before)
	}
	if err == nil && c.o.pack != "" {
		err = u.pack(c.o.pack)
	}
	for i := 0; err == nil && i < u.copies; i++ {
		err = u.round(ctx, i)
	}
	if err != nil {
		err = fmt.Errorf("a folder of an earlier program, seed %d: %w", c.o.seed, err)
	}
	return u, err
}

// round opens a copy of the folder.
func (u *upgrade) round(ctx context.Context, i int) error {
	dir := filepath.Join(u.folder, fmt.Sprint("upgraded", i))
	if err := os.CopyFS(dir, os.DirFS(u.dir)); err != nil {
		return err
	}
	for range 2 + u.r.IntN(4) {
		if err := u.killed(ctx, dir); err != nil {
			return err
		}
	}
	for _, use := range []func(context.Context, *api) error{u.compare, u.goOn} {
		s, err := u.start(ctx, dir, u.addr, upgradeFlags()...)
		if err != nil {
			return err
		}
		if err := use(ctx, s.api); err != nil {
			s.kill()
			return fmt.Errorf("%w; log: %s", err, s.log)
		}
		if err := s.stop(); err != nil {
			return err
		}
		if out, err := exec.CommandContext(ctx, u.binary, "data", "check", "--data", dir).CombinedOutput(); err != nil {
			return fmt.Errorf("data check: %w: %s", err, out)
		}
	}
	return errors.Join(nothingLeft(dir), os.RemoveAll(dir))
}

// killed starts a server and kills it, most often before it is ready.
func (u *upgrade) killed(ctx context.Context, dir string) error {
	s, err := u.launch(dir, u.addr, upgradeFlags()...)
	if err != nil {
		return err
	}
	defer s.kill()
	if err := pause(ctx, time.Duration(u.r.Int64N(int64(200*time.Millisecond)))); err != nil {
		return err
	}
	u.kills++
	if got, err := s.call(ctx, "GET", "/readyz", nil); err != nil || got.status != 200 {
		u.early++
	}
	return s.alive()
}

// stock has the earlier program write a folder, asks it for everything, and kills it while it
// answers batches and builds a collection.
func (u *upgrade) stock(ctx context.Context, program string) error {
	u.dir = filepath.Join(u.folder, "earlier")
	u.said = said{Games: map[string]int{}, Late: map[string]int64{}}
	old := &run{binary: program, folder: u.folder, out: u.out}
	s, err := old.start(ctx, u.dir, u.addr, upgradeFlags()...)
	if err != nil {
		return err
	}
	defer s.kill()
	for _, fill := range []func(context.Context, *api) error{u.collections, u.games, u.batches} {
		if err := fill(ctx, s.api); err != nil {
			return err
		}
	}
	if u.said.Answers, u.said.Lists, err = u.listing(ctx, s.api); err != nil {
		return err
	}
	if err := u.begin(ctx, s.api); err != nil {
		return err
	}
	s.kill()
	for _, left := range []string{"batches/*/progress", "collections/late-*.rows.npy"} {
		if paths, err := filepath.Glob(filepath.Join(u.dir, left)); err != nil || len(paths) == 0 {
			return errors.Join(err, fmt.Errorf("there is no %s: the server was killed too late", left))
		}
	}
	return nil
}

// demand sends a request that must be answered with one of these statuses.
func demand(ctx context.Context, a *api, method, path string, b *body, into any, statuses ...int) error {
	got, err := a.call(ctx, method, path, b)
	if err == nil {
		err = got.into(into, statuses...)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// collections makes collections of every metric and kind of ids, with changes, and slates.
func (u *upgrade) collections(ctx context.Context, a *api) error {
	const base = "/v1/collections/" + baseName
	var named bytes.Buffer
	for i := range 30 { // coordinates in [0, 1], as slates need them
		fmt.Fprintf(&named, `{"id":"atom %d","vector":[0.%02d,1,0,0,0,0,0,0.%d]}`+"\n", i, i, i*i%7)
	}
	var issued struct {
		Slates []struct {
			ID string `json:"slate_id"`
		}
	}
	for _, r := range []struct {
		method, path string
		b            *body
		into         any
		status       int
	}{
		{"PUT", base + "?metric=ip&wait=true", gaussian(500, upgradeDim, 1).body("a base"), nil, 201},
		{"POST", base + "/rows?wait=true", gaussian(20, upgradeDim, 2).body(""), nil, 200},
		{"DELETE", base + "/rows?wait=true", jsonBody(map[string]any{"ids": []int{3, 501}}, ""), nil, 200},
		{"PUT", "/v1/collections/angles?metric=cosine&wait=true", gaussian(40, upgradeDim, 3).body(""), nil, 201},
		{"PUT", "/v1/collections/named?metric=l2&ids=id&wait=true", bare("application/x-ndjson", named.Bytes()), nil, 201},
		{"POST", slates + "/recommend", jsonBody(map[string]any{"users": []string{"one", "two"}, "k": 3}, ""), &issued, 200},
	} {
		if err := demand(ctx, a, r.method, r.path, r.b, r.into, r.status); err != nil {
			return err
		}
	}
	u.said.Slate = issued.Slates[1].ID
	return u.reward(ctx, a, issued.Slates[0].ID)
}

// reward sends feedback for a slate.
func (u *upgrade) reward(ctx context.Context, a *api, slate string) error {
	return demand(ctx, a, "POST", slates+"/feedback", jsonBody(map[string]any{"slate_id": slate, "rewards": []float64{1, 0}}, ""), nil, 200)
}

// games plays three tournaments: one to its end, one in which duels are left with their judges.
func (u *upgrade) games(ctx context.Context, a *api) error {
	for i, keyed := range []bool{true, true, false} {
		c := newContest("earlier", keyed, u.r.Uint64())
		m := &match{name: fmt.Sprint("game ", i), seed: c.r.Uint64() >> 12}
		for n, ended := 0, false; !ended && (i == 0 || n < 40 || keyed && len(m.pending) > 0); n++ {
			var err error
			if ended, err = c.advance(ctx, a, m); err != nil {
				return err
			}
		}
		if i > 0 {
			u.said.Games[m.id] = m.steps
		}
	}
	return nil
}

// batches stores files and has one batch answered.
func (u *upgrade) batches(ctx context.Context, a *api) error {
	var f fileInfo
	for i, data := range [][]byte{nil, []byte("ten bytes."), bytes.Repeat([]byte("text\n"), 5000), gaussian(upgradeRows, upgradeDim, 4).npy()} {
		if err := demand(ctx, a, "POST", "/v1/files", upload(fmt.Sprintf("file %d.npy", i), data, ""), &f, 200); err != nil {
			return err
		}
	}
	u.said.Input = f.ID
	id, err := u.batch(ctx, a)
	if err != nil {
		return err
	}
	u.said.Finished = id
	b, err := newBatches(0).wait(ctx, a, &job{id: id})
	if err == nil && b.Status != "completed" {
		err = fmt.Errorf("batch %s is %s: %+v", id, b.Status, b.Errors)
	}
	return err
}

// batch creates a batch of the queries that all of the drill's batches have.
func (u *upgrade) batch(ctx context.Context, a *api) (id string, err error) {
	j := &job{input: &input{id: u.said.Input, search: map[string]any{"k": 4}}}
	err = newBatches(0).create(ctx, a, j)
	return j.id, err
}

// begin creates batches and, once some of one is answered, a collection.
func (u *upgrade) begin(ctx context.Context, a *api) error {
	for range 3 {
		id, err := u.batch(ctx, a)
		if err != nil {
			return err
		}
		u.said.Running = append(u.said.Running, id)
	}
	for {
		var b batchInfo
		if err := a.get(ctx, "/v1/batches/"+u.said.Running[1], &b); err != nil {
			return err
		}
		if b.Counts.Completed > 0 {
			break
		}
	}
	late := &matrix{dim: upgradeDim}
	for i := range 20_000 * upgradeDim {
		late.data = append(late.data, float32(i*i%31)) // which packs well
	}
	u.said.Late["late"] = int64(late.rows())
	return demand(ctx, a, "PUT", "/v1/collections/late?metric=ip", late.body(""), nil, 202)
}

// goOn changes everything there is, and then deletes it.
func (u *upgrade) goOn(ctx context.Context, a *api) error {
	if err := u.reward(ctx, a, u.said.Slate); err != nil {
		return err
	}
	for id, steps := range u.said.Games {
		m, c := &match{id: id, steps: steps}, newContest("now", true, 0)
		for ended := false; !ended; {
			var err error
			if ended, err = c.advance(ctx, a, m); err != nil {
				return err
			}
		}
	}
	id, err := u.batch(ctx, a)
	if err == nil {
		err = u.sameAnswers(ctx, a, id)
	}
	if err != nil {
		return err
	}
	for _, name := range []string{baseName, "angles", "late"} {
		if err := demand(ctx, a, "POST", "/v1/collections/"+name+"/rows?wait=true", gaussian(3, upgradeDim, 7).body(""), nil, 200); err != nil {
			return err
		}
	}
	row := bare("application/x-ndjson", []byte(`{"id":"new","vector":[1,1,1,1,1,1,1,1]}`+"\n"))
	if err := demand(ctx, a, "POST", "/v1/collections/named/rows?ids=id&wait=true", row, nil, 200); err != nil {
		return err
	}
	for _, path := range listedPaths() {
		names, err := namesIn(ctx, a, path)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := demand(ctx, a, "DELETE", path+"/"+name, nil, nil, 200, 204); err != nil {
				return err
			}
		}
	}
	return nil
}

// pack writes the folder with what the earlier program said of it.
func (u *upgrade) pack(path string) error {
	text, err := json.Marshal(u.said)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: saidName, Mode: 0o600, Size: int64(len(text))}); err != nil {
		return err
	}
	_, err = w.Write(text)
	if err := errors.Join(err, w.AddFS(os.DirFS(u.dir)), w.Close(), z.Close()); err != nil {
		return err
	}
	return os.WriteFile(path, packed.Bytes(), 0o644)
}

// unpack makes the folder of what pack wrote.
func (u *upgrade) unpack(packed []byte) error {
	u.dir = filepath.Join(u.folder, "earlier")
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		path := filepath.Join(u.dir, filepath.FromSlash(h.Name))
		if h.FileInfo().IsDir() {
			err = os.MkdirAll(path, 0o700)
		} else if h.Name == saidName {
			err = json.NewDecoder(r).Decode(&u.said)
		} else {
			err = writeAll(path, r)
		}
		if err != nil {
			return err
		}
	}
}

// writeAll writes a file, and the folder around it.
func writeAll(path string, r io.Reader) error {
	data, err := io.ReadAll(r)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, fs.FileMode(0o600))
}
