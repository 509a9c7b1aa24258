//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
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

// listing asks for everything there is.
func (u *upgrade) listing(ctx context.Context, a *api) (answers map[string]any, lists map[string][]string, err error) {
	answers, lists = map[string]any{}, map[string][]string{}
	ask := func(path string) {
		if err == nil {
			answers[path], err = answerTo(ctx, a, path)
		}
	}
	for _, kind := range []string{"collections", "files", "batches", "tournaments"} {
		path := "/v1/" + kind
		if lists[path], err = namesIn(ctx, a, path); err != nil {
			return nil, nil, err
		}
		for _, name := range lists[path] {
			ask(path + "/" + name)
			switch kind {
			case "collections":
				ask(path + "/" + name + searching)
				ask(path + "/" + name + "/slates")
			case "files":
				ask(path + "/" + name + contentSuffix)
			}
		}
	}
	return answers, lists, err
}

const (
	searching     = "/search?k=5&method=exact"
	contentSuffix = "/content"
)

// namesIn lists the names or ids of a kind of thing.
func namesIn(ctx context.Context, a *api, path string) (names []string, err error) {
	var page struct{ Data []struct{ Name, ID string } }
	list := path
	if path != "/v1/collections" {
		list += "?limit=100"
	}
	err = a.get(ctx, list, &page)
	for _, x := range page.Data {
		names = append(names, x.Name+x.ID)
	}
	return names, err
}

// answerTo returns the answer to a request of a path, without what depends on when it was asked; of
// contents their hash.
func answerTo(ctx context.Context, a *api, path string) (any, error) {
	method, b := "GET", (*body)(nil)
	if strings.HasSuffix(path, searching) {
		method, b = "POST", gaussian(4, upgradeDim, 6).body("")
	}
	got, err := a.call(ctx, method, path, b)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(path, contentSuffix) {
		return fmt.Sprintf("%x", sha256.Sum256(got.data)), got.into(nil, 200)
	}
	var v map[string]any
	if err := got.into(&v, 200); err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	delete(v, "took_ms")
	return v, nil
}

// differs says where an answer lacks what an earlier one said; "" if nowhere. Members that the
// earlier one does not have may be there.
func differs(earlier, now any) string {
	was, ok := earlier.(map[string]any)
	is, still := now.(map[string]any)
	if !ok || !still {
		list, ok := earlier.([]any)
		others, still := now.([]any)
		if !ok || !still || len(list) != len(others) {
			if reflect.DeepEqual(earlier, now) {
				return ""
			}
			return fmt.Sprintf(" was %v and is %v", earlier, now)
		}
		for i := range list {
			if at := differs(list[i], others[i]); at != "" {
				return fmt.Sprintf("[%d]%s", i, at)
			}
		}
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if at := differs(was[name], is[name]); at != "" {
			return "." + name + at
		}
	}
	return ""
}

// compare asks for all that the earlier program had listed, and waits for what it had begun.
func (u *upgrade) compare(ctx context.Context, a *api) error {
	for _, path := range slices.Sorted(maps.Keys(u.said.Answers)) {
		now, err := answerTo(ctx, a, path)
		if err != nil {
			return err
		}
		if at := differs(u.said.Answers[path], now); at != "" {
			return fmt.Errorf("%s: %s", path, at)
		}
	}
	for path, was := range u.said.Lists {
		names, err := namesIn(ctx, a, path)
		if err != nil {
			return err
		}
		if names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(was, name) }); !slices.Equal(names, was) {
			return fmt.Errorf("%s lists %v, it was %v", path, names, was)
		}
	}
	for name, rows := range u.said.Late {
		info, err := a.settled(ctx, name)
		if err == nil && (info.State != "ready" || info.Error != "" || info.Count != rows) {
			err = fmt.Errorf("collection %s is %+v, and %d rows were acknowledged", name, info, rows)
		}
		if err != nil {
			return err
		}
	}
	for _, id := range u.said.Running {
		if err := u.sameAnswers(ctx, a, id); err != nil {
			return fmt.Errorf("batch %s: %w", id, err)
		}
	}
	return nil
}

// answersOf returns what the lines of a batch's output say of queries, vectors and scores. Another program may do more
// or less for an answer, and say more of it.
func answersOf(output []byte) ([]byte, error) {
	var all bytes.Buffer
	to := json.NewEncoder(&all)
	for from := json.NewDecoder(bytes.NewReader(output)); ; {
		var line struct {
			Query  *int64    `json:"query"`
			IDs    []int64   `json:"ids"`
			Scores []float32 `json:"scores"`
		}
		err := from.Decode(&line)
		if err == io.EOF {
			return all.Bytes(), nil
		}
		if err == nil && (line.Query == nil || line.IDs == nil) {
			err = fmt.Errorf("a line without query or ids before byte %d", from.InputOffset())
		}
		if err == nil {
			err = to.Encode(line)
		}
		if err != nil {
			return nil, err
		}
	}
}

// sameAnswers waits for a batch, which must have the answers of the finished one or, if its time is
// over, the first of them.
func (u *upgrade) sameAnswers(ctx context.Context, a *api, id string) error {
	b := newBatches(0)
	var first batchInfo
	if err := a.get(ctx, "/v1/batches/"+u.said.Finished, &first); err != nil {
		return err
	}
	want, _, err := b.answers(ctx, a, &first)
	if err != nil {
		return err
	}
	info, err := b.wait(ctx, a, &job{id: id})
	if err != nil {
		return err
	}
	raw, _, err := b.answers(ctx, a, &info)
	if err != nil {
		return err
	}
	got, err := answersOf(raw)
	if err != nil {
		return err
	}
	if want, err = answersOf(want); err != nil {
		return err
	}
	if versions := bytes.Count(raw, []byte(`"answers_version"`)); versions > 0 && versions != bytes.Count(raw, []byte("\n")) {
		return fmt.Errorf("%d of its lines state a version of answers, and others do not", versions)
	}
	switch {
	case info.Status == "completed" && bytes.Equal(got, want), info.Status == "expired" && bytes.HasPrefix(want, got):
		return nil
	}
	return fmt.Errorf("it is %s, with %d bytes of answers that differ from the finished one's at byte %d: %+v", info.Status, len(got), differ(got, want), info.Errors)
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
	for _, path := range []string{"/v1/batches", "/v1/files", "/v1/tournaments", "/v1/collections"} {
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
