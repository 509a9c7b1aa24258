package service

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/collection"
)

// seeds counts the seeds of the collection files of a folder.
func (s *site) seeds() map[uint64]int {
	s.t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.o.Dir, collectionsName, "*.thresher"))
	if err != nil {
		s.t.Fatal(err)
	}
	all := map[uint64]int{}
	for _, path := range paths {
		info, err := collection.Stat(path)
		if err != nil {
			s.t.Fatal(err)
		}
		all[info.Seed]++
	}
	return all
}

// TestSeedsAreDrawn: every version draws a secret seed unless one is given.
func TestSeedsAreDrawn(t *testing.T) {
	s := start(t, nil)
	put := func(name, params string) {
		t.Helper()
		if text := s.do("PUT", "/v1/collections/"+name+"?metric=ip&wait"+params, npy(gaussian(1, 9*dim), dim), "Content-Type", npyType).want(201).body; strings.Contains(string(text), "seed") {
			t.Errorf("%s", text)
		}
	}
	only := func(n int) uint64 {
		t.Helper()
		all := s.seeds()
		if len(all) != n || all[0]+all[1] > 0 {
			t.Fatalf("seeds %v, want %d of them", all, n)
		}
		return slices.Max(slices.Collect(maps.Keys(all)))
	}
	put("a", "")
	first := only(1)
	put("b", "")
	only(2)
	s.do("DELETE", "/v1/collections/b", nil).want(204)
	put("a", "&replace")
	if again := only(1); again == first {
		t.Error("the next version has the seed of the one before")
	}
	s.do("DELETE", "/v1/collections/a", nil).want(204)
	put("c", "&seed=7")
	put("c", "&seed=7&replace")
	if all := s.seeds(); all[7] != 1 || len(all) != 1 {
		t.Error(all)
	}
	// A repeated request under its key has the same fingerprint, whatever seed was drawn.
	for range 2 {
		s.do("PUT", "/v1/collections/d?metric=ip&wait", npy(gaussian(1, 9*dim), dim), "Content-Type", npyType, "Idempotency-Key", "k").want(201)
	}
}

// TestReadersAreNotToldOfTheRotation: certificates for clients that may not write contain the
// guarantee, and nothing that depends on codes.
func TestReadersAreNotToldOfTheRotation(t *testing.T) {
	const dim = 32
	s := start(t, guarded)
	s.token = "w-secret"
	s.do("PUT", "/v1/collections/films?metric=ip&wait", npy(gaussian(1, 2000*dim), dim), "Content-Type", npyType).want(201)
	body := map[string]any{"queries": [][]float32{gaussian(3, dim)}, "k": 3, "method": "adaptive", "include": []string{"certificate", "rounds"}}
	members := func(token string) (all []string, rounds int) {
		t.Helper()
		s.token = token
		var found struct {
			Results []struct {
				Certificate map[string]json.RawMessage
				Rounds      []json.RawMessage
			}
		}
		s.do("POST", "/v1/collections/films/search", body).want(200).into(&found)
		return slices.Sorted(maps.Keys(found.Results[0].Certificate)), len(found.Results[0].Rounds)
	}
	told, rounds := members("w-secret")
	if !slices.Contains(told, "pulls") || !slices.Contains(told, "threshold") || rounds == 0 {
		t.Error(told, rounds)
	}
	told, rounds = members("r-secret")
	want := []string{"backend", "delta", "epsilon", "exact", "guarantee", "method", "open_bound", "query_change", "stopped_by"} // the text of a float32 is no float32
	if told = slices.DeleteFunc(told, func(m string) bool { return m == "fallback" || m == "law" }); !slices.Equal(told, want) || rounds != 0 {
		t.Error(told, rounds)
	}

	infer := `{"inputs":[{"name":"queries","shape":[1,32],"datatype":"FP32","data":[1` + strings.Repeat(",0", 31) + `]}],"outputs":[{"name":"pulls"}]}`
	for token, withheld := range map[string]bool{"w-secret": false, "r-secret": true} {
		s.token = token
		var got struct{ Outputs []struct{ Data []int64 } }
		s.do("POST", "/v2/models/films/infer", infer).want(200).into(&got)
		if n := got.Outputs[0].Data[0]; withheld != (n == -1) {
			t.Error(token, n)
		}
		npz := s.do("POST", "/v1/collections/films/search?k=2", npy(gaussian(3, dim), dim), "Content-Type", npyType, "Accept", npzType).want(200).body
		minusOne := strings.Repeat("\xff", 8)
		if withheld != strings.Contains(string(npz), minusOne) {
			t.Errorf("%s: npz of %d bytes", token, len(npz))
		}
	}
}
