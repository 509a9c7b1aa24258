package offline

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"thresher/service/files"
	"thresher/service/problem"
)

// TestExpireBatches: batches that ended before a time go, and their files stay; what is not final stays
// however old it is.
func TestExpireBatches(t *testing.T) {
	l := newLab(t, Options{})
	done := l.submit("a.fvecs", fvecs(gaussian(1, 1)), Spec{})
	done = l.wait(done.ID)
	g := block(l.atlas.shelf["films"])
	running := l.submit("b.fvecs", fvecs(gaussian(1, 1)), Spec{})
	<-g.entered
	expire := func(before time.Time) (told []string) {
		t.Helper()
		if err := l.m.Expire(t.Context(), before, func(b Batch) { told = append(told, b.ID) }); err != nil {
			t.Fatal(err)
		}
		return told
	}
	if told := expire(time.Unix(*done.CompletedAt, 0)); told != nil {
		t.Errorf("none ended before that, and %v went", told)
	}
	later := time.Now().Add(1000 * time.Hour)
	if d := cmp.Diff([]string{done.ID}, expire(later)); d != "" {
		t.Error(d)
	}
	if _, err := l.m.Get(done.ID); kindOf(err) != problem.UnknownBatch {
		t.Error(err)
	}
	if l.content(done.OutputFileID) == "" || l.get(running.ID).Status.Final() {
		t.Error("more went than the batch that has ended")
	}

	output := files.File{Name: running.ID + "_output.jsonl", Purpose: outputPurpose}
	if !l.m.Delivering(output) {
		t.Error("an output of the running batch may be removed")
	}
	for _, other := range []files.File{{Name: done.ID + "_output.jsonl", Purpose: outputPurpose}, {Name: output.Name, Purpose: "batch"}} {
		if l.m.Delivering(other) {
			t.Errorf("%+v is said to be in use", other)
		}
	}
	g.release <- nil
	l.wait(running.ID)
	if l.m.Delivering(output) {
		t.Error("an output of a final batch is said to be in use")
	}
}
