package service

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"thresher/service/api"
	"thresher/service/servicetest"
)

// rowsBefore are the rows of each collection of that folder.
const rowsBefore = `{"id":"long","vector":[9,1,0,0]}
{"id":"near","vector":[1,1,0.2,0]}
{"id":"far","vector":[-1,2,0,3]}
{"id":"small","vector":[0.1,0.1,0,0]}
`

// order returns the ids of a collection, best first, for the query [1, 1, 0.2, 0], and its metric.
func (s *site) order(name string) (ids, metric string) {
	s.t.Helper()
	var info api.Collection
	s.do("GET", "/v1/collections/"+name, nil).want(200).into(&info)
	var found struct{ Results []struct{ IDs []string } }
	s.do("POST", "/v1/collections/"+name+"/search", `{"queries":[[1,1,0.2,0]],"k":9,"cut_k":true,"method":"exact"}`).want(200).into(&found)
	return strings.Join(found.Results[0].IDs, " "), info.Metric
}

// soonAfter is an hour after the folder was written: keys of requests are forgotten after a day.
func soonAfter() time.Time { return time.Date(2026, 11, 28, 19, 44, 0, 0, time.UTC) }

// TestDataOfBefore opens the data folder of a commit when inner products were the default metric:
// collections plain and keyed, made without a metric, and angles, by cosine; the rows as a file,
// and a batch of searches with its output. What was made without a metric, when that meant inner products, still means
// them: collections, rows added to them and removed, replacements, repeated requests, batches.
func TestDataOfBefore(t *testing.T) {
	for _, lost := range []string{"", "meta.db"} { // without the database the notes tell
		t.Run("without "+lost, func(t *testing.T) {
			dir := servicetest.Unpack(t, filepath.Join("testdata", "data-0f538cbe.tar.gz"))
			if lost != "" {
				if err := os.Remove(filepath.Join(dir, lost)); err != nil {
					t.Fatal(err)
				}
			}
			s := startIn(t, dir, func(o *Options) { o.Now = soonAfter })
			const lines = "application/x-ndjson"
			type seen struct{ Name, IDs, Metric string }
			check := func(after, name, ids, metric string) {
				t.Helper()
				got := seen{Name: name}
				got.IDs, got.Metric = s.order(name)
				if d := cmp.Diff(seen{name, ids, metric}, got); d != "" {
					t.Errorf("%s:\n%s", after, d)
				}
			}
			check("opened", "plain", "long near far small", "ip")
			check("opened", "angles", "near small long far", "cosine")

			var again api.Collection
			s.do("PUT", "/v1/collections/keyed?ids=id&wait=true&seed=7", []byte(rowsBefore), "Content-Type", lines, "Idempotency-Key", "made-once").want(201).into(&again)
			if again.Version != 1 || again.Metric != "ip" {
				t.Errorf("repeated: %+v", again)
			}

			for _, name := range []string{"plain", "angles"} {
				s.do("POST", "/v1/collections/"+name+"/rows?wait&ids=id", []byte(`{"id":"longest","vector":[0,90,0,0]}`+"\n"), "Content-Type", lines).want(200)
			}
			check("added", "plain", "longest long near far small", "ip")
			check("added", "angles", "near small long longest far", "cosine")
			s.do("DELETE", "/v1/collections/plain/rows?wait", `{"ids":["long"]}`).want(200)
			check("removed", "plain", "longest near far small", "ip")
			for _, name := range []string{"plain", "angles"} {
				s.do("PUT", "/v1/collections/"+name+"?wait&replace=true&ids=id", []byte(rowsBefore), "Content-Type", lines).want(201)
			}
			check("replaced", "plain", "long near far small", "ip")
			check("replaced", "angles", "near small long far", "cosine")
			s.do("PUT", "/v1/collections/plain?wait&replace=true&ids=id&metric=Euclid", []byte(rowsBefore), "Content-Type", lines).want(201)
			check("replaced by another metric", "plain", "near small far long", "l2")

			p := s.do("PUT", "/v1/collections/fresh?wait&replace=true&ids=id", []byte(rowsBefore), "Content-Type", lines).problem(400, "invalid-value")
			if p.Field != "metric" || !strings.Contains(p.Detail, "collection fresh is new, and no metric is given: ip (largest inner product), cosine") {
				t.Errorf("%+v", p)
			}

			var files struct {
				Data []struct{ ID, Purpose string }
			}
			s.do("GET", "/v1/files", nil).want(200).into(&files)
			for _, f := range files.Data {
				if f.Purpose != "batch_output" {
					continue
				}
				var line struct {
					Response struct{ Body json.RawMessage }
				}
				s.do("GET", "/v1/files/"+f.ID+"/content", nil).want(200).into(&line)
				if !strings.Contains(string(line.Response.Body), `"ids":["long","near"]`) {
					t.Errorf("the batch's output is %s", line.Response.Body)
				}
				return
			}
			t.Errorf("no output of a batch among %+v", files.Data)
		})
	}
}
