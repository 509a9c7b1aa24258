//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"time"
)

// offline is a writer of batches: it creates them, cancels some, and compares their answers
// with those of an undisturbed server.
type offline struct {
	r       *rand.Rand
	inputs  []*input
	under   []*job // running, or done and not yet deleted
	pending *job
	made    int
	count   map[string]int
}

// input is a file of queries with its answers.
type input struct {
	name          string
	data          []byte
	search        map[string]any // options of a matrix search
	id            string
	lines         int // of the answers
	output, fails []byte
}

// job is a batch.
type job struct {
	*input
	key       string
	id        string
	cancelled bool
	compared  bool
}

const (
	baseName = "base"
	maxJobs  = 3 // at once
)

func newBatches(seed uint64) *offline {
	b := &offline{r: rand.New(rand.NewPCG(seed, 5)), count: map[string]int{}}
	queries := gaussian(500, 32, seed+10)
	for i, options := range []map[string]any{{"k": 3}, {"k": 10, "delta": .1, "include": []string{"certificate"}}, {"k": 5, "method": "exact"}} {
		b.inputs = append(b.inputs, &input{name: fmt.Sprintf("input-%d.jsonl", i), data: requestLines(queries, options, i)})
	}
	b.inputs = append(b.inputs, &input{name: "input.npy", data: queries.npy(), search: map[string]any{"k": 4}})
	return b
}

// requestLines returns requests of one query each, a few of them invalid.
func requestLines(queries *matrix, options map[string]any, salt int) []byte {
	var b bytes.Buffer
	for i := range queries.rows() {
		row := queries.row(i)
		if i%97 == salt {
			row = row[:5] // wrong dimension
		}
		search := map[string]any{"queries": [][]float32{row}}
		for name, value := range options {
			search[name] = value
		}
		line := jsonBody(map[string]any{
			"custom_id": fmt.Sprint("line ", i), "method": "POST", "url": "/v1/collections/" + baseName + "/search", "body": search,
		}, "")
		if i%101 == 50 {
			line.data = line.data[:20]
		}
		b.Write(append(line.data, '\n'))
	}
	return b.Bytes()
}

// prepare makes the collection, uploads the inputs, and has the undisturbed server answer each
// of them.
func (b *offline) prepare(ctx context.Context, a *api) error {
	got, err := a.call(ctx, "PUT", "/v1/collections/"+baseName+"?metric=ip&wait=true", gaussian(3000, 32, 7).body(""))
	if err != nil {
		return err
	}
	if err := got.into(nil, 201); err != nil {
		return err
	}
	for _, in := range b.inputs {
		got, err := a.call(ctx, "POST", "/v1/files", upload(in.name, in.data, ""))
		if err != nil {
			return err
		}
		var f fileInfo
		if err := got.into(&f, 200); err != nil {
			return err
		}
		in.id = f.ID
		j := &job{input: in, key: "undisturbed " + in.name}
		if err := b.create(ctx, a, j); err != nil {
			return err
		}
		done, err := b.wait(ctx, a, j)
		if err != nil {
			return err
		}
		if in.output, in.fails, err = b.answers(ctx, a, &done); err != nil {
			return err
		}
		in.lines = bytes.Count(in.output, []byte("\n"))
		if n := bytes.Count(in.fails, []byte("\n")); in.lines+n != 500 || done.Status != "completed" {
			return fmt.Errorf("undisturbed, %s is %s with %d answers and %d errors", in.name, done.Status, in.lines, n)
		}
		if err := b.remove(ctx, a, &done); err != nil {
			return err
		}
	}
	return nil
}

func (b *offline) create(ctx context.Context, a *api, j *job) error {
	spec := map[string]any{"input_file_id": j.input.id, "endpoint": "/v1/collections/" + baseName + "/search", "completion_window": "24h"}
	if j.search != nil {
		spec["search"] = j.search
	}
	got, err := a.call(ctx, "POST", "/v1/batches", jsonBody(spec, j.key))
	if err != nil {
		return err
	}
	var made batchInfo
	if err := got.into(&made, 200); err != nil {
		return fmt.Errorf("batch of %s: %w", j.name, err)
	}
	j.id = made.ID
	return nil
}

func (b *offline) step(ctx context.Context, a *api) error {
	if b.pending == nil && len(b.under) < maxJobs {
		b.made++
		b.pending = &job{input: b.inputs[b.r.IntN(len(b.inputs))], key: fmt.Sprint("batch ", b.made)}
	}
	if b.pending != nil {
		if err := b.create(ctx, a, b.pending); err != nil {
			return err
		}
		b.accept()
		return nil
	}
	for _, j := range slices.Clone(b.under) {
		if err := b.attend(ctx, a, j); err != nil {
			return err
		}
	}
	return pause(ctx, 5*time.Millisecond)
}

// accept records that the pending batch was acknowledged.
func (b *offline) accept() {
	b.under = append(b.under, b.pending)
	b.pending = nil
	b.count["batches created"]++
}

// attend compares and deletes a batch that is done, and may cancel a running one.
func (b *offline) attend(ctx context.Context, a *api, j *job) error {
	got, err := a.call(ctx, "GET", "/v1/batches/"+j.id, nil)
	if err != nil {
		return err
	}
	if got.status == 404 && j.compared {
		b.drop(j)
		return nil
	}
	var info batchInfo
	if err := got.into(&info, 200); err != nil {
		return fmt.Errorf("batch %s: %w", j.id, err)
	}
	if !info.final() {
		if j.cancelled || b.r.IntN(300) > 0 {
			return nil
		}
		j.cancelled = true
		got, err := a.call(ctx, "POST", "/v1/batches/"+j.id+"/cancel", nil)
		if err != nil {
			return err
		}
		return got.into(nil, 200, 409) // it may be done already
	}
	if !j.compared {
		if err := b.compare(ctx, a, j, &info); err != nil {
			return fmt.Errorf("batch %s of %s: %w", j.id, j.name, err)
		}
		j.compared = true
		b.count["batches "+info.Status+", answers compared"]++
	}
	if err := b.remove(ctx, a, &info); err != nil {
		return err
	}
	b.drop(j)
	return nil
}

func (b *offline) drop(j *job) {
	b.under = slices.DeleteFunc(b.under, func(o *job) bool { return o == j })
}

// compare compares the answers of a batch with the undisturbed ones: all, or a prefix if it
// was cancelled.
func (b *offline) compare(ctx context.Context, a *api, j *job, info *batchInfo) error {
	if info.Status != "completed" && !(j.cancelled && info.Status == "cancelled") {
		return fmt.Errorf("it is %s: %+v", info.Status, info.Errors)
	}
	output, fails, err := b.answers(ctx, a, info)
	if err != nil {
		return err
	}
	if info.Status == "cancelled" {
		if !bytes.HasPrefix(j.output, output) {
			return fmt.Errorf("cancelled, its %d bytes of answers are not the first of the undisturbed ones", len(output))
		}
		return nil
	}
	if !bytes.Equal(output, j.output) {
		return fmt.Errorf("its answers differ from the undisturbed ones at byte %d of %d", differ(output, j.output), len(j.output))
	}
	if !bytes.Equal(fails, j.fails) {
		return fmt.Errorf("its errors differ from the undisturbed ones at byte %d of %d", differ(fails, j.fails), len(j.fails))
	}
	if info.Counts.Total != 500 || info.Counts.Completed != j.lines || info.Counts.Failed != 500-j.lines {
		return fmt.Errorf("it counts %+v and has %d answers", info.Counts, j.lines)
	}
	return nil
}

// differ returns the first index at which two texts differ.
func differ(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// ownIDs matches the ids in answers that depend on the batch.
var ownIDs = regexp.MustCompile(`(batch_req_|req_)[0-9a-f]+`)

// answers returns the answers and errors of a batch without what depends on the batch.
func (b *offline) answers(ctx context.Context, a *api, info *batchInfo) (output, fails []byte, err error) {
	for _, f := range []struct {
		id   *string
		data *[]byte
	}{{info.Output, &output}, {info.Failed, &fails}} {
		if f.id == nil {
			continue
		}
		data, err := a.content(ctx, *f.id)
		if err != nil {
			return nil, nil, err
		}
		*f.data = ownIDs.ReplaceAll(data, []byte("$1"))
	}
	return output, fails, nil
}

// remove deletes a batch and its files, unless an earlier attempt did.
func (b *offline) remove(ctx context.Context, a *api, info *batchInfo) error {
	paths := []string{"/v1/batches/" + info.ID}
	for _, id := range []*string{info.Output, info.Failed} {
		if id != nil {
			paths = append([]string{"/v1/files/" + *id}, paths...)
		}
	}
	for _, path := range paths {
		got, err := a.call(ctx, "DELETE", path, nil)
		if err != nil {
			return err
		}
		if err := got.into(nil, 200, 404); err != nil {
			return fmt.Errorf("DELETE %s: %w", path, err)
		}
	}
	return nil
}

// wait waits until a batch is done.
func (b *offline) wait(ctx context.Context, a *api, j *job) (batchInfo, error) {
	waiting, stop := patiently(ctx, callWait, errSlow)
	defer stop()
	for {
		var info batchInfo
		if err := a.get(ctx, "/v1/batches/"+j.id, &info); err != nil {
			return info, err
		}
		if info.final() {
			return info, nil
		}
		if waiting.Err() != nil {
			return info, fmt.Errorf("batch %s is %s after %v: %+v", j.id, info.Status, callWait, info.Errors)
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return info, err
		}
	}
}

func (b *offline) check(ctx context.Context, a *api) error {
	for _, j := range b.under {
		got, err := a.call(ctx, "GET", "/v1/batches/"+j.id, nil)
		if err != nil {
			return err
		}
		if got.status == 404 && j.compared {
			continue
		}
		var info batchInfo
		if err := got.into(&info, 200); err != nil {
			return fmt.Errorf("batch %s was acknowledged: %w", j.id, err)
		}
		if info.Status == "failed" || info.Status == "expired" {
			return fmt.Errorf("batch %s of %s is %s: %+v", j.id, j.name, info.Status, info.Errors)
		}
		if j.compared {
			continue
		}
		if !info.final() {
			b.count["times a batch went on after a crash"]++
		}
		// A repeated request gives the same batch.
		same := &job{input: j.input, key: j.key}
		if err := b.create(ctx, a, same); err != nil {
			return err
		}
		if same.id != j.id {
			return fmt.Errorf("batch %s, asked for again with its key, became batch %s", j.id, same.id)
		}
	}
	return nil
}

func (b *offline) finish(ctx context.Context, a *api) error {
	if b.pending != nil {
		if err := b.create(ctx, a, b.pending); err != nil {
			return err
		}
		b.accept()
	}
	for len(b.under) > 0 {
		j := b.under[0]
		if !j.compared {
			if _, err := b.wait(ctx, a, j); err != nil {
				return err
			}
		}
		if err := b.attend(ctx, a, j); err != nil {
			return err
		}
	}
	for _, in := range b.inputs {
		if err := b.removeInput(ctx, a, in); err != nil {
			return err
		}
	}
	got, err := a.call(ctx, "DELETE", "/v1/collections/"+baseName, nil)
	if err != nil {
		return err
	}
	return got.into(nil, 204)
}

func (b *offline) removeInput(ctx context.Context, a *api, in *input) error {
	got, err := a.call(ctx, "DELETE", "/v1/files/"+in.id, nil)
	if err != nil {
		return err
	}
	return got.into(nil, 200)
}

func (b *offline) done() map[string]int { return b.count }
