package service

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"thresher/service/api"
	"thresher/service/client"
	"thresher/service/fair"
	"thresher/service/oip"
	"thresher/service/oip/inferencepb"
)

// ranked returns the rows by descending inner product with q, and the products by row.
func ranked(rows, q []float32) (order []int, scores []float64) {
	scores = make([]float64, len(rows)/len(q))
	for i := range scores {
		order = append(order, i)
		for c, v := range q {
			scores[i] += float64(v) * float64(rows[i*len(q)+c])
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return order, scores
}

func idsText(ids ...int) string { return strings.ReplaceAll(fmt.Sprint(ids), " ", ",") }

// TestGoals: every query of a search gets what its own goal asks for, whichever form the body
// has.
func TestGoals(t *testing.T) {
	s := start(t, nil)
	rows := s.fill()
	queries := gaussian(21, 6*dim)
	var order [6][]int
	var scores [6][]float64
	for j := range order {
		order[j], scores[j] = ranked(rows, queries[j*dim:(j+1)*dim])
	}
	between := func(j, a int) float64 { return (scores[j][order[j][a]] + scores[j][order[j][a+1]]) / 2 }
	goals := fmt.Sprintf(`[{},{"k":5},{"min_score":%v},{"max_score":%v,"k":3},{"exclude":%s},{"candidates":[%d,%d,7,7],"exclude":[%d]}]`,
		between(2, 3), between(3, 9), idsText(order[4][0], order[4][2], order[4][2]), order[5][1], order[5][0], order[5][0])
	want := [][]int{
		order[0][:2], order[1][:5], order[2][:2], order[3][10:13], {order[4][1], order[4][3]}, order[5][1:3],
	}
	vectors := make([][]float32, len(order))
	for j := range vectors {
		vectors[j] = queries[j*dim : (j+1)*dim]
	}
	body, err := json.Marshal(map[string]any{"queries": vectors, "k": 2, "method": "certain", "include": []string{"certificate"}, "goals": json.RawMessage(goals)})
	if err != nil {
		t.Fatal(err)
	}
	params := url.Values{"k": {"2"}, "method": {"certain"}, "goals": {goals}}
	for form, a := range map[string]*answer{
		"JSON": s.do("POST", searchFilms, string(body)).want(200),
		"npy":  s.do("POST", searchFilms+"?"+params.Encode(), npy(queries, dim), "Content-Type", npyType).want(200),
	} {
		var r results
		a.into(&r)
		for j, x := range r.Results {
			if got := fmt.Sprint(x.IDs); got != fmt.Sprint(want[j]) || !x.Complete {
				t.Errorf("%s, query %d: %s, want %v", form, j, got, want[j])
			}
		}
		if form == "JSON" {
			if got := fmt.Sprint(r.Results[5].Certificate["candidates"]); got != "map[given:2 right:1]" {
				t.Errorf("candidates %s", got)
			}
		}
	}
	c, err := client.New(s.url, &client.Options{HTTP: s.client, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	limit := between(3, 9)
	found, err := c.Search(t.Context(), "films", api.Search{Queries: vectors[3:4], K: 9, Goals: []api.QueryGoal{{K: 3, MaxScore: &limit, Exclude: []api.ID{api.IntID(int64(order[3][10]))}}}})
	if err != nil || fmt.Sprint(found.Results[0].IDs) != fmt.Sprint(order[3][11:14]) {
		t.Errorf("%v (%v), want %v", found.Results, err, order[3][11:14])
	}
}

// TestGoalsByName: goals name atoms as the collection does.
func TestGoalsByName(t *testing.T) {
	s := start(t, nil)
	s.do("PUT", "/v1/collections/films?metric=ip&ids=id&wait", []byte("{\"id\":\"a/b\",\"v\":[1,0]}\n{\"id\":\"c\",\"v\":[0,1]}\n{\"id\":\"d\",\"v\":[0,2]}\n"), "Content-Type", "application/x-ndjson").want(201)
	a := s.do("POST", searchFilms, `{"queries":[[2,1],[1,2]],"k":1,"goals":[{"exclude":["a/b"],"candidates":["c"]},{}]}`).want(200)
	if text := string(a.body); strings.Count(text, `"ids":["d"]`) != 2 {
		t.Errorf("answered %s", text)
	}
	p := s.do("POST", searchFilms, `{"queries":[[2,1]],"goals":[{"candidates":["c","nobody"]}]}`).problem(400, "unknown-id")
	if p.Field != "goals[0].candidates" || p.Index == nil || *p.Index != 1 || !strings.Contains(p.Detail, `"nobody"`) {
		t.Errorf("%+v", p)
	}
	p = s.do("POST", searchFilms, `{"queries":[[2,1]],"goals":[{"exclude":[1]}]}`).problem(400, "unknown-id")
	if p.Field != "goals[0].exclude" || !strings.Contains(p.Detail, "goals[0]: exclude are integers, and the ids of the collection are strings") {
		t.Errorf("%+v", p)
	}
}

func TestBadGoals(t *testing.T) {
	s := start(t, func(o *Options) { o.Limits.Listed, o.Limits.Results = 3, 100 })
	s.fill()
	for _, x := range []struct{ goals, kind, field, says string }{
		{`[{}]`, "invalid-value", "goals", "goals has 1 entries for 2 queries"},
		{`[{},{"exclude":[300]}]`, "unknown-id", "goals[1].exclude", "goals[1]: there are 300 vectors, numbered from 0, and none has the id 300"},
		{`[{"candidates":[4,-1]},{}]`, "unknown-id", "goals[0].candidates", "none has the id -1"},
		{`[{"k":301},{}]`, "over-limit", "goals[0].k", "goals[0]: k is 301 and the collection has 300 vectors"},
		{`[{"k":60},{"k":41}]`, "over-limit", "goals", "sum up to 101 results, a search may have at most 100"},
		{`[{"exclude":[1,2]},{"candidates":[1,2]}]`, "over-limit", "goals", "list 4 ids, those of a search at most 3"},
		{`[{"min_score":1e999},{}]`, "invalid-value", "goals[0].min_score", "beyond the range"},
		{`[{"min_score":NaN},{}]`, "malformed-body", "goals[0].min_score", "min_score"},
		{`[{},{"k":9,"min_score":2,"max_score":1.5}]`, "invalid-value", "goals[1].max_score", "1.5"},
	} {
		body := `{"queries":[[1,1,1,1,1,1,1,1],[2,1,1,1,1,1,1,1]],"goals":` + x.goals + `}`
		p := s.do("POST", searchFilms, body).problem(400, x.kind)
		if p.Field != x.field || !strings.Contains(p.Detail, x.says) {
			t.Errorf("%s: field %q: %s", x.goals, p.Field, p.Detail)
		}
	}
}

// TestGoalsTogether: searches with different goals share runs, and each gets the answer that
// it gets alone.
func TestGoalsTogether(t *testing.T) {
	s := start(t, nil)
	rows := s.fill()
	const clients = 12
	var bodies, alone [clients]string
	took := regexp.MustCompile(`"took_ms":[^,]*,`)
	ask := func(i int) string {
		return took.ReplaceAllString(string(s.do("POST", searchFilms, bodies[i]).want(200).body), "")
	}
	for i := range bodies {
		q := gaussian(uint64(40+i), dim)
		order, scores := ranked(rows, q)
		middle := math.Abs(scores[order[4]]) / 2
		goal := []string{
			`{}`, fmt.Sprintf(`{"min_score":%v}`, middle), `{"exclude":` + idsText(order[:3]...) + `}`, `{"candidates":` + idsText(order[2:9]...) + `}`,
			fmt.Sprintf(`{"max_score":%v}`, middle), `{"exclude":` + idsText(order[1], 5) + `,"candidates":` + idsText(7, 8, 9, order[0]) + `}`,
		}[i%6]
		text, err := json.Marshal([][]float32{q})
		if err != nil {
			t.Fatal(err)
		}
		bodies[i] = fmt.Sprintf(`{"queries":%s,"k":4,"method":"certain","goals":[%s],"include":["certificate","rounds"]}`, text, goal)
		alone[i] = ask(i)
	}
	runs := func() int64 {
		var all struct {
			Models []oip.ModelStatistics `json:"model_stats"`
		}
		s.do("GET", "/v2/models/films/stats", nil).want(200).into(&all)
		return all.Models[0].ExecutionCount
	}
	for round := range 200 {
		before := runs()
		var together [clients]string
		var all sync.WaitGroup
		for i := range bodies {
			all.Go(func() { together[i] = ask(i) })
		}
		all.Wait()
		for i := range together {
			if together[i] != alone[i] {
				t.Fatalf("round %d: %s\nalone:\n%s\nwith others:\n%s", round, bodies[i], alone[i], together[i])
			}
		}
		if runs()-before < clients {
			return
		}
	}
	t.Errorf("%d searches at once never shared a run", clients)
}

// TestGoalsOverInference: the inputs of the Open Inference Protocol are the goals of a JSON body.
func TestGoalsOverInference(t *testing.T) {
	s := start(t, nil)
	rows := s.fill()
	q := gaussian(51, 2*dim)
	a, scores := ranked(rows, q[:dim])
	b, _ := ranked(rows, q[dim:])
	least := float32((scores[a[3]] + scores[a[4]]) / 2)
	lists := []int64{int64(b[0]), int64(a[0]), -1, int64(b[1])} // row by row
	ask := with(asking("films", q), map[string]*inferencepb.InferParameter{"k": wholeParam(2), "method": textParam("certain")})
	floors := []float32{least, float32(math.Inf(-1))}
	ask.Inputs = append(ask.Inputs,
		&inferencepb.ModelInferRequest_InferInputTensor{Name: "ks", Datatype: "INT32", Shape: []int64{2}, Contents: &inferencepb.InferTensorContents{IntContents: []int32{5, 2}}},
		&inferencepb.ModelInferRequest_InferInputTensor{Name: "floors", Datatype: "FP32", Shape: []int64{2}, Contents: &inferencepb.InferTensorContents{Fp32Contents: floors}},
		&inferencepb.ModelInferRequest_InferInputTensor{Name: "exclude", Datatype: "INT64", Shape: []int64{2, 2}, Contents: &inferencepb.InferTensorContents{Int64Contents: lists}},
	)
	if slices.Contains(a[1:4], b[0]) {
		t.Fatal("the queries share a vector; choose another seed")
	}
	want := []int64{int64(a[1]), int64(a[2]), int64(a[3]), int64(b[0]), int64(b[2]), -1}
	answer, err := s.calls().ModelInfer(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	if got := idsOf(t, answer); !slices.Equal(got, want) {
		t.Errorf("over gRPC %v, want %v", got, want)
	}
	vectors, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"parameters":{"k":2,"method":"certain"},"inputs":[{"name":"queries","datatype":"FP32","shape":[2,%d],"data":%s},{"name":"ks","datatype":"INT32","shape":[2],"data":[5,2]},`+
		`{"name":"floors","datatype":"FP32","shape":[2],"data":[%v,null]},{"name":"exclude","datatype":"INT64","shape":[2,2],"data":[[%d,%d],[-1,%d]]}],"outputs":[{"name":"ids"}]}`,
		dim, vectors, least, lists[0], lists[1], lists[3])
	var got struct{ Outputs []struct{ Data []int64 } }
	s.do("POST", "/v2/models/films/infer", body).want(200).into(&got)
	if !slices.Equal(got.Outputs[0].Data, want) {
		t.Errorf("over HTTP %v, want %v", got.Outputs[0].Data, want)
	}
	bad := strings.Replace(body, fmt.Sprintf("[-1,%d]", lists[3]), "[-1,300]", 1)
	if a := s.do("POST", "/v2/models/films/infer", bad).want(400); !strings.Contains(string(a.body), "300 vectors, numbered from 0, and none has the id 300") {
		t.Errorf("%s", a.body)
	}
}

// TestListedIDsTakeMemory: the ids that goals list are part of the memory of answers, for which a
// search waits.
func TestListedIDsTakeMemory(t *testing.T) {
	list := strings.TrimSuffix(strings.Repeat("7,", 1<<19/listedBytes), ",")
	goals := oneQuery(`,"goals":[{"candidates":[` + list + `]}]`)
	stated := statedBody(t, gaussian(3, dim), "[["+list+"]]", `,"k":1`)
	// half returns a server, and another holder of half the memory for answers.
	half := func() (*site, *fair.Hold) {
		s := start(t, func(o *Options) { o.Limits.Answers = 1 << 20 })
		s.fill()
		other := s.answers.Hold("another", 1<<20, nil)
		if err := other.Grow(t.Context(), 1<<19); err != nil {
			t.Fatal(err)
		}
		if err := other.Settle(); err != nil {
			t.Fatal(err)
		}
		return s, other
	}
	s, other := half()
	for path, body := range map[string]string{searchFilms: goals, recallFilms: stated} {
		inTime(t, func(deadline time.Duration) (late bool) {
			s.o.Timeouts.Search = deadline
			return !strings.Contains(s.do("POST", path, body).problem(504, "deadline").Detail, "limits.answers")
		})
	}
	other.Release()
	s, other = half()
	s.do("POST", searchFilms, oneQuery(`,"goals":[{"candidates":[7,7]}]`)).want(200)
	other.Release()
	s.do("POST", searchFilms, goals).want(200)
	s.do("POST", recallFilms, stated).want(200)
	s.stopAll()
	if n := s.answers.Used(); n != 0 {
		t.Errorf("%d bytes of answers are held", n)
	}
}
