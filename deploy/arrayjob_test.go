package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	batch "k8s.io/api/batch/v1"
)

// arrayFolder returns a folder with data/items.jsonl and data/users.jsonl, of 40 vectors each.
func arrayFolder(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"items", "users"} {
		var lines bytes.Buffer
		for i := range 40 {
			line, err := json.Marshal(map[string]any{"id": name + strconv.Itoa(i), "vector": []int{i % 7, i % 5, i % 3, len(name)}})
			if err != nil {
				t.Fatal(err)
			}
			lines.Write(append(line, '\n'))
		}
		if err := os.WriteFile(filepath.Join(root, "data", name+".jsonl"), lines.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// runIn runs the program in root, of which the environment has nothing else than more.
func runIn(t *testing.T, ctx context.Context, root string, args ...string) {
	t.Helper()
	if text, err := (command{args: args}).in(ctx, root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, text)
	}
}

// wantOneSearch compares the parts in data/parts, joined, with the answers of one search.
func wantOneSearch(t *testing.T, ctx context.Context, root, vectors, queries string) {
	t.Helper()
	runIn(t, ctx, root, "check", "/data/parts", "--out", "/data/joined.parquet")
	runIn(t, ctx, root, "search", "--vectors", vectors, "--queries", queries, "-k", "10", "--out", "/data/whole.parquet")
	joined, whole := read(t, filepath.Join(root, "data/joined.parquet")), read(t, filepath.Join(root, "data/whole.parquet"))
	if joined != whole {
		t.Error("the parts joined are not the file of one search")
	}
}

// TestSlurmScript runs the script as the tasks of an array, without Slurm, one of them twice.
func TestSlurmScript(t *testing.T) {
	ctx, root := t.Context(), arrayFolder(t)
	runIn(t, ctx, root, "build", "--vectors", "/data/items.jsonl", "--metric", "ip", "--out", "/data/items.thresher")
	bin := t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "thresher")); err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("slurm/search.sh")
	if err != nil {
		t.Fatal(err)
	}
	task := func(i int, more ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, "bash", script, "-k", "10")
		cmd.Dir = filepath.Join(root, "data")
		cmd.Env = append([]string{
			"PATH=" + bin + ":" + os.Getenv("PATH"), "THRESHER_COSTS=builtin", "THRESHER_BACKEND=cpu",
			"VECTORS=items.thresher", "QUERIES=users.jsonl", "PARTS=parts", "SLURM_CPUS_PER_TASK=1",
			fmt.Sprint("SLURM_ARRAY_TASK_ID=", i),
		}, more...)
		return cmd.CombinedOutput()
	}
	for _, i := range []int{3, 0, 1, 0} {
		if text, err := task(i, "SLURM_ARRAY_TASK_MAX=3"); err != nil {
			t.Fatalf("task %d: %v\n%s", i, err, text)
		}
	}
	missing, err := (command{args: []string{"check", "/data/parts"}}).in(ctx, root).CombinedOutput()
	if err == nil || !strings.Contains(string(missing), "1 of 4 parts are missing: 2") {
		t.Errorf("%v\n%s", err, missing)
	}
	if text, err := task(2, "SLURM_ARRAY_TASK_MAX=2", "PARTS_OF=4"); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	wantOneSearch(t, ctx, root, "/data/items.thresher", "/data/users.jsonl")
	if text, err := task(0); err == nil || !strings.Contains(string(text), "SLURM_ARRAY_TASK_MAX") {
		t.Errorf("without the size of the array: %v\n%s", err, text)
	}
}

// TestIndexedJob runs what the pods of the Job run, without a cluster.
func TestIndexedJob(t *testing.T) {
	all := objects(t, "kubernetes/search.yaml")
	if len(all) != 1 {
		t.Fatalf("%d objects", len(all))
	}
	job, ok := all[0].(*batch.Job)
	if !ok {
		t.Fatalf("%T", all[0])
	}
	checkPod(t, &job.Spec.Template.Spec, nil)
	if mode := job.Spec.CompletionMode; mode == nil || *mode != batch.IndexedCompletion {
		t.Error("the Job is not indexed")
	}
	ctx, root := t.Context(), arrayFolder(t)
	runIn(t, ctx, root, "build", "--vectors", "/data/items.jsonl", "--metric", "ip", "--out", "/data/items.thresher")
	if err := os.Mkdir(filepath.Join(root, "data/parts"), 0o755); err != nil {
		t.Fatal(err)
	}
	run := started(t, &job.Spec.Template.Spec.Containers[0])
	for i := range int(*job.Spec.Completions) {
		args := make([]string, len(run.args))
		for j, a := range run.args {
			args[j] = strings.ReplaceAll(strings.ReplaceAll(a, "$(JOB_COMPLETION_INDEX)", strconv.Itoa(i)), "users.parquet", "users.jsonl")
		}
		if text, err := (command{args, run.variables}).in(ctx, root).CombinedOutput(); err != nil {
			t.Fatalf("pod %d: %v\n%s", i, err, text)
		}
	}
	wantOneSearch(t, ctx, root, "/data/items.thresher", "/data/users.jsonl")
}
