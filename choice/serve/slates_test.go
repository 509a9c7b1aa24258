package serve_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"thresher/backend"
	"thresher/batch"
	"thresher/choice/serve"
	"thresher/choice/serve/servetest"
	"thresher/cpu"
	"thresher/internal/vectors"
	"thresher/service"
	"thresher/service/servicetest"
)

// topics returns n rows of topic coverages of dimension dim.
func topics(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 2))
	x := make([]float32, n*dim)
	for i := range x {
		x[i] = 0.9 * r.Float32() * r.Float32()
	}
	return x
}

const (
	dim     = 8 // of the vectors of these tests
	npyType = "application/x-npy"
)

const slatesOfNews = "/v1/collections/news/slates"

// news creates a collection suitable for slates.
func news(s *servetest.Site, seed uint64, n int) {
	s.T.Helper()
	s.Do("PUT", "/v1/collections/news?metric=ip&wait&replace=true", servicetest.NPY(topics(seed, n), dim), "Content-Type", npyType).Want(201)
}

// dealt is a slate as clients see it.
type dealt struct {
	User  any
	ID    string `json:"slate_id"`
	Items []struct {
		ID          int64
		Mean, Width float64
		Value       float64 `json:"cum_value"`
	}
	UCB, Alpha float64
}

type deal struct {
	Version  int64
	Excluded map[string]struct {
		Count int
		IDs   []int64
	}
	Slates []dealt
}

type taken struct {
	ID                    string `json:"slate_id"`
	User                  any
	Rewards, Observations int
}

// TestSlates: settings, slates that respect them, feedback that counts once, also after a
// restart, and their deletion.
func TestSlates(t *testing.T) {
	dir := t.TempDir()
	s := servetest.Start(t, dir, nil)
	news(s, 1, 60)
	var items []string
	for i := range 50 {
		items = append(items, fmt.Sprintf(`{"id":%d,"costs":[%d],"groups":["g%d"]}`, i, 1+i%7, i%3))
	}
	var info struct {
		Object        string
		Items         []any
		Users, Slates int
		Lambda        float64
	}
	s.Do("GET", slatesOfNews, nil).Want(200).Into(&info)
	if info.Object != "slates" || info.Lambda != 1 || len(info.Items) != 0 {
		t.Errorf("%+v", info)
	}
	s.Do("PUT", slatesOfNews, `{"items":[`+strings.Join(items, ",")+`]}`).Want(200).Into(&info)
	if len(info.Items) != 50 {
		t.Errorf("%+v", info)
	}
	const ask = `{"users":["ann",7],"k":3,"budgets":[6],"group_limits":{"g0":1,"g1":0}}`
	var d deal
	one := s.Do("POST", slatesOfNews+"/recommend", ask, "Idempotency-Key", "first").Want(200)
	one.Into(&d)
	if len(d.Slates) != 2 || d.Version != 1 || d.Slates[0].User != "ann" || d.Slates[1].User != 7. {
		t.Fatalf("%+v", d)
	}
	if e := d.Excluded; e["unaffordable"].Count != 7 || e["barred"].Count+e["unaffordable"].Count < 20 || e["unlisted"].Count != 10 || e["unlisted"].IDs[0] != 50 {
		t.Errorf("%+v", e)
	}
	for _, slate := range d.Slates {
		cost, zero := 0, 0
		for _, it := range slate.Items {
			cost += 1 + int(it.ID)%7
			if it.ID%3 == 0 {
				zero++
			}
			if it.ID%3 == 1 || it.ID >= 50 {
				t.Errorf("vector %d is in a slate", it.ID)
			}
		}
		if len(slate.Items) == 0 || len(slate.Items) > 3 || cost > 6 || zero > 1 || slate.Alpha <= 0 {
			t.Errorf("%+v", slate)
		}
	}
	var again deal
	s.Do("POST", slatesOfNews+"/recommend", ask, "Idempotency-Key", "first").Want(200).Into(&again)
	if again.Slates[0].ID != d.Slates[0].ID {
		t.Error("the key has other slates")
	}
	s.Do("POST", slatesOfNews+"/recommend", `{"users":["bob"]}`, "Idempotency-Key", "first").Problem(422, "idempotency-key-reused")
	s.Stop()

	s = servetest.Start(t, dir, nil)
	ann := d.Slates[0]
	body := fmt.Sprintf(`{"slate_id":%q,"rewards":[0.5]}`, ann.ID)
	want := taken{ann.ID, "ann", 1, 1}
	for range 2 {
		var got taken
		if s.Do("POST", slatesOfNews+"/feedback", body).Want(200).Into(&got); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	p := s.Do("POST", slatesOfNews+"/feedback", fmt.Sprintf(`{"slate_id":%q,"rewards":[1]}`, ann.ID)).Problem(409, "conflict")
	if p.Field != "rewards" {
		t.Errorf("%+v", p)
	}
	var many struct{ Feedback []taken }
	s.Do("POST", slatesOfNews+"/feedback", fmt.Sprintf(`{"feedback":[%s,{"slate_id":%q,"rewards":[1]}]}`, body, d.Slates[1].ID)).Want(200).Into(&many)
	if len(many.Feedback) != 2 || many.Feedback[0] != want || many.Feedback[1].User != 7. {
		t.Errorf("%+v", many)
	}
	var after deal
	s.Do("POST", slatesOfNews+"/recommend", `{"users":["ann"],"k":2,"algo":"lsb","delta":0.2}`).Want(200).Into(&after)
	if len(after.Slates) != 1 || after.Slates[0].Alpha != 0 || len(after.Slates[0].Items) != 2 || after.Slates[0].Items[0].Mean == 0 {
		t.Errorf("%+v", after)
	}
	s.Do("GET", slatesOfNews, nil).Want(200).Into(&info)
	if info.Users != 2 || info.Slates != 3 || len(info.Items) != 50 {
		t.Errorf("%+v", info)
	}
	text := string(s.Do("GET", "/metrics", nil).Body)
	for _, line := range []string{`thresher_slates_total{algo="lsb",collection="news"} 1`, `thresher_slate_observations_total{collection="news"} 2`, `thresher_slate_rewards_total{collection="news"} 1.5`} {
		if !strings.Contains(text, line) {
			t.Errorf("no %s", line)
		}
	}

	// A forgotten user is a new one, also after a restart.
	for range 2 {
		s.Do("DELETE", slatesOfNews+"/users", `{"users":["7","nobody"]}`).Want(204)
	}
	s.Stop()
	s = servetest.Start(t, dir, nil)
	s.Do("GET", slatesOfNews, nil).Want(200).Into(&info)
	if info.Users != 1 || info.Slates != 2 || len(info.Items) != 50 {
		t.Errorf("%+v", info)
	}
	s.Do("POST", slatesOfNews+"/feedback", fmt.Sprintf(`{"slate_id":%q,"rewards":[1]}`, d.Slates[1].ID)).Problem(404, "unknown-slate")
	s.Do("POST", slatesOfNews+"/feedback", body).Want(200)

	// A new version keeps the states; the collection's deletion deletes them.
	news(s, 2, 30)
	s.Do("POST", slatesOfNews+"/recommend", `{"users":["ann"]}`).Want(200)
	s.Do("DELETE", "/v1/collections/news", nil).Want(204)
	s.Do("GET", slatesOfNews, nil).Problem(404, "unknown-collection")
	s.Do("POST", slatesOfNews+"/feedback", body).Problem(404, "unknown-collection")
	news(s, 1, 60)
	s.Do("POST", slatesOfNews+"/feedback", body).Problem(404, "unknown-slate")
	s.Do("GET", slatesOfNews, nil).Want(200).Into(&info)
	if info.Users != 0 || info.Slates != 0 || len(info.Items) != 0 {
		t.Errorf("%+v", info)
	}
	s.Do("POST", slatesOfNews+"/recommend", `{"users":["ann"]}`).Want(200)
	s.Do("DELETE", slatesOfNews, nil).Want(204)
	s.Do("GET", slatesOfNews, nil).Want(200).Into(&info)
	if info.Slates != 0 {
		t.Errorf("%+v", info)
	}
}

// TestSlatesRefuse: each invalid request gets its status, kind, field, index and limit.
func TestSlatesRefuse(t *testing.T) {
	s := servetest.Start(t, t.TempDir(), func(o *service.Options, own *serve.Options) {
		o.Limits = service.Limits{Body: 1 << 16}
		own.SlateUsers, own.SlateItems = 2, 5
	})
	negative := vectors.Gaussian(rand.New(rand.NewPCG(1, 1)), 300*dim, 1)
	s.Do("PUT", "/v1/collections/films?metric=ip&wait=true", servicetest.NPY(negative, dim), "Content-Type", npyType).Want(201)
	news(s, 1, 20)
	var d deal
	s.Do("POST", slatesOfNews+"/recommend", `{"users":["a","b"],"k":2}`).Want(200).Into(&d)
	id := d.Slates[0].ID
	const films = "/v1/collections/films/slates"
	const none = -1
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		problem, field           string
		index                    int
		limit                    string
	}{
		{"collection", "POST", "/v1/collections/none/slates/recommend", `{"users":[1]}`, 404, "unknown-collection", "name", none, ""},
		{"collection of settings", "PUT", "/v1/collections/none/slates", `{}`, 404, "unknown-collection", "name", none, ""},
		{"collection to forget", "DELETE", "/v1/collections/none/slates", "", 404, "unknown-collection", "name", none, ""},
		{"collection of feedback", "POST", "/v1/collections/none/slates/feedback", `{"slate_id":"s","rewards":[1]}`, 404, "unknown-collection", "name", none, ""},
		{"vectors", "POST", films + "/recommend", `{"users":[1]}`, 409, "conflict", "rows", 0, "[0 1]"},
		{"vectors for settings", "PUT", films, `{}`, 409, "conflict", "rows", 0, "[0 1]"},
		{"garbage", "POST", slatesOfNews + "/recommend", "\x00\xff", 400, "malformed-body", "", none, ""},
		{"no body", "POST", slatesOfNews + "/recommend", "", 400, "malformed-body", "", none, ""},
		{"body too large", "POST", slatesOfNews + "/recommend", strings.Repeat(" ", 1<<16+1), 413, "body-too-large", "", none, "65536"},
		{"users", "POST", slatesOfNews + "/recommend", `{"users":[1,2,3]}`, 400, "over-limit", "users", none, "2"},
		{"k", "POST", slatesOfNews + "/recommend", `{"users":[1],"k":6}`, 400, "over-limit", "k", none, "5"},
		{"algorithm", "POST", slatesOfNews + "/recommend", `{"users":[1],"algo":"ucb"}`, 400, "unknown-method", "algo", none, "[afsm lsb mod]"},
		{"budgets", "POST", slatesOfNews + "/recommend", `{"users":[1],"budgets":[1]}`, 400, "invalid-value", "budgets", none, "0"},
		{"collection of users", "DELETE", "/v1/collections/none/slates/users", `{"users":[1]}`, 404, "unknown-collection", "name", none, ""},
		{"nobody to forget", "DELETE", slatesOfNews + "/users", `{"users":[]}`, 400, "invalid-value", "users", none, ""},
		{"users to forget", "DELETE", slatesOfNews + "/users", `{"users":[1,2,3]}`, 400, "over-limit", "users", none, "2"},
		{"user to forget", "DELETE", slatesOfNews + "/users", `{"users":[1,""]}`, 400, "invalid-value", "users", 1, ""},
		{"a user to forget", "DELETE", slatesOfNews + "/users", `{"user":1}`, 400, "unknown-field", "user", none, "[users]"},
		{"group", "POST", slatesOfNews + "/recommend", `{"users":[1],"group_limits":{"x":1}}`, 400, "invalid-value", "group_limits", none, ""},
		{"parameter", "POST", slatesOfNews + "/recommend?k=3", `{"users":[1]}`, 400, "unknown-field", "k", none, ""},
		{"deadline", "POST", slatesOfNews + "/recommend", `{"users":[1],"timeout_ms":1e-3}`, 504, "deadline", "timeout_ms", none, ""},
		{"item", "PUT", slatesOfNews, `{"items":[{"id":1},{"id":20}]}`, 400, "unknown-id", "items", 1, ""},
		{"cost", "PUT", slatesOfNews, `{"items":[{"id":1,"costs":[-1]}]}`, 400, "invalid-value", "items", 0, "[0, 1e60]"},
		{"items", "PUT", slatesOfNews, `{"items":[` + strings.Repeat(`{"id":1},`, 20) + `{"id":1}]}`, 400, "over-limit", "items", none, "20"},
		{"lambda", "PUT", slatesOfNews, `{"lambda":3}`, 409, "conflict", "lambda", none, "1"},
		{"slate", "POST", slatesOfNews + "/feedback", `{"slate_id":"slate-0","rewards":[1]}`, 404, "unknown-slate", "slate_id", none, ""},
		{"rewards", "POST", slatesOfNews + "/feedback", `{"slate_id":"` + id + `","rewards":[1,0,1]}`, 400, "over-limit", "rewards", none, "2"},
		{"reward", "POST", slatesOfNews + "/feedback", `{"slate_id":"` + id + `","rewards":[1,NaN]}`, 400, "invalid-value", "rewards", 1, ""},
		{"slate of several", "POST", slatesOfNews + "/feedback", `{"feedback":[{"slate_id":"` + id + `","rewards":[1]},{"slate_id":"s","rewards":[1]}]}`, 404, "unknown-slate", "feedback", 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.In(t)
			p := s.Do(c.method, c.path, c.body).Problem(c.status, c.problem)
			if p.Field != c.field || p.Detail == "" || c.index >= 0 && (p.Index == nil || *p.Index != c.index) || c.limit != "" && fmt.Sprint(p.Limit) != c.limit {
				t.Errorf("%+v", p)
			}
		})
	}
	s.Do("POST", slatesOfNews+"/recommend", []byte("users=1"), "Content-Type", "text/plain").Problem(415, "unsupported-media")
	if text := string(s.Do("GET", "/metrics", nil).Body); !strings.Contains(text, `{reason="internal"} 0`) {
		t.Error("the server counts failures of its own")
	}
}

// TestSlatesOfACollectionThatIsGone: leftovers of an interrupted deletion are removed, and
// nothing else.
func TestSlatesOfACollectionThatIsGone(t *testing.T) {
	dir := t.TempDir()
	s := servetest.Start(t, dir, nil)
	news(s, 1, 20)
	var d deal
	s.Do("POST", slatesOfNews+"/recommend", `{"users":["a"]}`).Want(200).Into(&d)
	if err := serve.CatalogOf(s.Extensions[1]).Delete("news"); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	s = servetest.Start(t, dir, func(_ *service.Options, o *serve.Options) { o.SlateKeep = time.Hour })
	news(s, 1, 20)
	s.Do("POST", slatesOfNews+"/feedback", map[string]any{"slate_id": d.Slates[0].ID, "rewards": []float64{1}}).Problem(404, "unknown-slate")
	if _, err := os.Stat(filepath.Join(dir, "slates.db")); err != nil {
		t.Error(err)
	}
}

// TestSlatesOfTheNextCollection: a new collection does not find leftovers of a deleted one of
// the same name; an existing one keeps its own.
func TestSlatesOfTheNextCollection(t *testing.T) {
	s := servetest.Start(t, t.TempDir(), nil)
	news(s, 1, 20)
	feedback := func() map[string]any {
		var d deal
		s.Do("POST", slatesOfNews+"/recommend", `{"users":["a"]}`).Want(200).Into(&d)
		return map[string]any{"slate_id": d.Slates[0].ID, "rewards": []float64{1}}
	}
	old := feedback()
	news(s, 2, 20)
	s.Do("POST", slatesOfNews+"/feedback", old).Want(200)
	if err := serve.CatalogOf(s.Extensions[1]).Delete("news"); err != nil {
		t.Fatal(err)
	}
	news(s, 3, 20)
	s.Do("POST", slatesOfNews+"/feedback", old).Problem(404, "unknown-slate")
	var info struct{ Users int }
	if s.Do("GET", slatesOfNews, nil).Want(200).Into(&info); info.Users != 0 {
		t.Errorf("%d users", info.Users)
	}
	s.Do("POST", slatesOfNews+"/feedback", feedback()).Want(200)
}

// TestSlatesOfRowsThatChange: slates are of the rows that there are, whichever were deleted or replaced, from the next request on.
func TestSlatesOfRowsThatChange(t *testing.T) {
	b := cpu.New(cpu.Options{Threads: 1})
	t.Cleanup(func() { b.Close() })
	s := servetest.Start(t, t.TempDir(), func(o *service.Options, _ *serve.Options) {
		o.Place = func(string) (backend.Backend, *batch.Options, error) { return b, &batch.Options{}, nil }
	})
	s.Do("PUT", "/v1/collections/news?wait", `{"metric":"ip","source":{"vectors":[[0.9,0,0],[0,0.5,0],[0,0,0.1],[0,0,0.2]],"ids":[10,11,12,13]}}`).Want(201)
	s.Do("DELETE", "/v1/collections/news/rows", `{"ids":[10]}`).Want(200)
	s.Do("PUT", slatesOfNews, `{"items":[{"id":12,"groups":["a"]},{"id":13,"groups":["a"]},{"id":11,"groups":["b"]}]}`).Want(200)
	ids := func() (ids []int64) {
		var d deal
		s.Do("POST", slatesOfNews+"/recommend", `{"users":["a"],"k":3}`).Want(200).Into(&d)
		for _, item := range d.Slates[0].Items {
			ids = append(ids, item.ID)
		}
		slices.Sort(ids)
		return ids
	}
	if got := ids(); !slices.Equal(got, []int64{11, 12, 13}) {
		t.Errorf("after a deletion: %v", got)
	}
	s.Do("DELETE", "/v1/collections/news/rows", `{"ids":[12]}`).Want(200)
	if got := ids(); !slices.Equal(got, []int64{11, 13}) {
		t.Errorf("after another: %v", got)
	}
}
