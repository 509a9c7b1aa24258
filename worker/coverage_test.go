//go:build unix

package worker

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/collection"
	"thresher/tasks"
)

// TestShard: a collection is described as the other doors describe it, with ids and without.
func TestShard(t *testing.T) {
	const n, dim = 600, 4
	c := newClient(t, testOptions(t))
	rows := randomRows(1, n, dim)
	handle := c.built(rows, dim)
	built, err := collection.Build(t.Context(), rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1, NoCodes: true})
	if err != nil {
		t.Fatal(err)
	}
	some := tasks.ShardSample(n)
	ids := make([]string, some)
	for i := range ids {
		ids[i] = fmt.Sprintf("n%d", i*(n-1)/(some-1))
	}
	for _, x := range []struct {
		fields object
		want   tasks.Shard
	}{
		{object{"handle": handle}, tasks.ShardOf(built, nil)},
		{object{"handle": handle, "ids": ids}, tasks.ShardOf(built, func(row int) string { return fmt.Sprintf("n%d", row) })},
	} {
		var got tasks.Shard
		if c.must(&got, "shard", x.fields); got != x.want {
			t.Errorf("%v, want %v", got, x.want)
		}
	}
	if r := c.call("shard", object{"handle": handle, "ids": ids[1:]}); r.Error == nil || r.Error.Argument != "ids" {
		t.Errorf("too few ids: %+v", r.Error)
	}
	if r := c.call("shard", object{"handle": handle + 1}); r.Error == nil || r.Error.Kind != unknownHandle {
		t.Errorf("unknown handle: %+v", r.Error)
	}
	c.finish()
}

// TestAnswers: a file of answers comes in columns; what is no such file is refused by its name.
func TestAnswers(t *testing.T) {
	c := newClient(t, testOptions(t))
	write := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const covers = `{"queries":"ab","count":2,"metric":"ip","k":3,"method":"adaptive","shards":[{"digest":"c","rows":9}]}`
	path := write("part.json", `{"answers_version":2,"took_ms":1,"covers":`+covers+`,"results":[`+
		`{"ids":["x","y"],"rows":[7,2],"scores":[3,1],"scores64":[3.5,1.25],"complete":true,"guarantee":"probabilistic","delta":0.125},`+
		`{"ids":["z"],"rows":[4],"scores":[2],"scores64":[2],"complete":false,"guarantee":"bound","delta":0}]}`)
	var reply answersReply
	r := c.must(&reply, "answers", object{"path": path})
	if got := elements[int64](r.bytes["lims"]); !slices.Equal(got, []int64{0, 2, 3}) {
		t.Errorf("lims %v", got)
	}
	if got := elements[int64](r.bytes["rows"]); !slices.Equal(got, []int64{7, 2, 4}) {
		t.Errorf("rows %v", got)
	}
	if got := elements[float64](r.bytes["scores64"]); !slices.Equal(got, []float64{3.5, 1.25, 2}) {
		t.Errorf("scores64 %v", got)
	}
	if string(r.bytes["id_text"]) != "xyz" || reply.Rounded || !json.Valid(reply.Covers) {
		t.Errorf("ids %q, %+v", r.bytes["id_text"], reply)
	}
	first, second := readCertificate(r.bytes["certificates"]), readCertificate(r.bytes["certificates"][certificateBytes:])
	if first.Method != "adaptive" || first.Guarantee != "probabilistic" || first.Delta != .125 || first.StoppedBy != "done" || second.StoppedBy != "deadline" {
		t.Errorf("certificates %+v, %+v", first, second)
	}
	for says, text := range map[string]string{
		"a problem that the service stated: 404 Not Found": `{"title":"Not Found","status":404}`,
		"no answers":                   `{"answers_version":2,"took_ms":1,"results":[]}`,
		"there are no scores":          `{"answers_version":2,"took_ms":1,"results":[{"ids":[1],"complete":true}]}`,
		"a vector has no finite score": `{"answers_version":2,"took_ms":1,"results":[{"ids":[1],"scores":[null],"complete":true}]}`,
		"states no queries":            `{"answers_version":2,"took_ms":1,"covers":{},"results":[{"ids":[1],"scores":[1],"complete":true}]}`,
	} {
		bad := write("bad.json", text)
		if r := c.call("answers", object{"path": bad}); r.Error == nil || !strings.Contains(r.Error.Message, says) || !strings.Contains(r.Error.Message, "bad.json") {
			t.Errorf("%+v, want %q and the name", r.Error, says)
		}
	}
	if r := c.call("answers", object{"path": "part.json"}); r.Error == nil || r.Error.Argument != "path" {
		t.Errorf("a relative path: %+v", r.Error)
	}
	c.finish()
}
