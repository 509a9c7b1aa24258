package service

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"thresher/choice/serve"
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

const slatesOfNews = "/v1/collections/news/slates"

// news creates a collection suitable for slates.
func (s *site) news(seed uint64, n int) {
	s.t.Helper()
	s.do("PUT", "/v1/collections/news?metric=ip&wait&replace=true", npy(topics(seed, n), dim), "Content-Type", npyType).want(201)
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
	s := startIn(t, dir, nil)
	s.news(1, 60)
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
	s.do("GET", slatesOfNews, nil).want(200).into(&info)
	if info.Object != "slates" || info.Lambda != 1 || len(info.Items) != 0 {
		t.Errorf("%+v", info)
	}
	s.do("PUT", slatesOfNews, `{"items":[`+strings.Join(items, ",")+`]}`).want(200).into(&info)
	if len(info.Items) != 50 {
		t.Errorf("%+v", info)
	}
	const ask = `{"users":["ann",7],"k":3,"budgets":[6],"group_limits":{"g0":1,"g1":0}}`
	var d deal
	one := s.do("POST", slatesOfNews+"/recommend", ask, "Idempotency-Key", "first").want(200)
	one.into(&d)
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
	s.do("POST", slatesOfNews+"/recommend", ask, "Idempotency-Key", "first").want(200).into(&again)
	if again.Slates[0].ID != d.Slates[0].ID {
		t.Error("the key has other slates")
	}
	s.do("POST", slatesOfNews+"/recommend", `{"users":["bob"]}`, "Idempotency-Key", "first").problem(422, "idempotency-key-reused")
	s.stopAll()

	s = startIn(t, dir, nil)
	ann := d.Slates[0]
	body := fmt.Sprintf(`{"slate_id":%q,"rewards":[0.5]}`, ann.ID)
	want := taken{ann.ID, "ann", 1, 1}
	for range 2 {
		var got taken
		if s.do("POST", slatesOfNews+"/feedback", body).want(200).into(&got); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	p := s.do("POST", slatesOfNews+"/feedback", fmt.Sprintf(`{"slate_id":%q,"rewards":[1]}`, ann.ID)).problem(409, "conflict")
	if p.Field != "rewards" {
		t.Errorf("%+v", p)
	}
	var many struct{ Feedback []taken }
	s.do("POST", slatesOfNews+"/feedback", fmt.Sprintf(`{"feedback":[%s,{"slate_id":%q,"rewards":[1]}]}`, body, d.Slates[1].ID)).want(200).into(&many)
	if len(many.Feedback) != 2 || many.Feedback[0] != want || many.Feedback[1].User != 7. {
		t.Errorf("%+v", many)
	}
	var after deal
	s.do("POST", slatesOfNews+"/recommend", `{"users":["ann"],"k":2,"algo":"lsb","delta":0.2}`).want(200).into(&after)
	if len(after.Slates) != 1 || after.Slates[0].Alpha != 0 || len(after.Slates[0].Items) != 2 || after.Slates[0].Items[0].Mean == 0 {
		t.Errorf("%+v", after)
	}
	s.do("GET", slatesOfNews, nil).want(200).into(&info)
	if info.Users != 2 || info.Slates != 3 || len(info.Items) != 50 {
		t.Errorf("%+v", info)
	}
	text := string(s.do("GET", "/metrics", nil).body)
	for _, line := range []string{`thresher_slates_total{algo="lsb",collection="news"} 1`, `thresher_slate_observations_total{collection="news"} 2`, `thresher_slate_rewards_total{collection="news"} 1.5`} {
		if !strings.Contains(text, line) {
			t.Errorf("no %s", line)
		}
	}

	// A forgotten user is a new one, also after a restart.
	for range 2 {
		s.do("DELETE", slatesOfNews+"/users", `{"users":["7","nobody"]}`).want(204)
	}
	s.stopAll()
	s = startIn(t, dir, nil)
	s.do("GET", slatesOfNews, nil).want(200).into(&info)
	if info.Users != 1 || info.Slates != 2 || len(info.Items) != 50 {
		t.Errorf("%+v", info)
	}
	s.do("POST", slatesOfNews+"/feedback", fmt.Sprintf(`{"slate_id":%q,"rewards":[1]}`, d.Slates[1].ID)).problem(404, "unknown-slate")
	s.do("POST", slatesOfNews+"/feedback", body).want(200)

	// A new version keeps the states; the collection's deletion deletes them.
	s.news(2, 30)
	s.do("POST", slatesOfNews+"/recommend", `{"users":["ann"]}`).want(200)
	s.do("DELETE", "/v1/collections/news", nil).want(204)
	s.do("GET", slatesOfNews, nil).problem(404, "unknown-collection")
	s.do("POST", slatesOfNews+"/feedback", body).problem(404, "unknown-collection")
	s.news(1, 60)
	s.do("POST", slatesOfNews+"/feedback", body).problem(404, "unknown-slate")
	s.do("GET", slatesOfNews, nil).want(200).into(&info)
	if info.Users != 0 || info.Slates != 0 || len(info.Items) != 0 {
		t.Errorf("%+v", info)
	}
	s.do("POST", slatesOfNews+"/recommend", `{"users":["ann"]}`).want(200)
	s.do("DELETE", slatesOfNews, nil).want(204)
	s.do("GET", slatesOfNews, nil).want(200).into(&info)
	if info.Slates != 0 {
		t.Errorf("%+v", info)
	}
}

// TestSlatesRefuse: each invalid request gets its status, kind, field, index and limit.
func TestSlatesRefuse(t *testing.T) {
	s := start(t, func(o *Options) {
		o.Limits = Limits{Body: 1 << 16}
		o.Extensions = serve.New(serve.Options{SlateUsers: 2, SlateItems: 5})
	})
	s.fill() // some values are negative
	s.news(1, 20)
	var d deal
	s.do("POST", slatesOfNews+"/recommend", `{"users":["a","b"],"k":2}`).want(200).into(&d)
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
			s.in(t)
			p := s.do(c.method, c.path, c.body).problem(c.status, c.problem)
			if p.Field != c.field || p.Detail == "" || c.index >= 0 && (p.Index == nil || *p.Index != c.index) || c.limit != "" && fmt.Sprint(p.Limit) != c.limit {
				t.Errorf("%+v", p)
			}
		})
	}
	s.do("POST", slatesOfNews+"/recommend", []byte("users=1"), "Content-Type", "text/plain").problem(415, "unsupported-media")
	if text := string(s.do("GET", "/metrics", nil).body); !strings.Contains(text, `{reason="internal"} 0`) {
		t.Error("the server counts failures of its own")
	}
}

// TestSlatesOfACollectionThatIsGone: leftovers of an interrupted deletion are removed, and
// nothing else.
func TestSlatesOfACollectionThatIsGone(t *testing.T) {
	dir := t.TempDir()
	s := startIn(t, dir, nil)
	s.news(1, 20)
	var d deal
	s.do("POST", slatesOfNews+"/recommend", `{"users":["a"]}`).want(200).into(&d)
	if err := s.catalog.Delete("news"); err != nil {
		t.Fatal(err)
	}
	s.stopAll()
	s = startIn(t, dir, func(o *Options) { o.Extensions = serve.New(serve.Options{SlateKeep: time.Hour}) })
	s.news(1, 20)
	s.do("POST", slatesOfNews+"/feedback", map[string]any{"slate_id": d.Slates[0].ID, "rewards": []float64{1}}).problem(404, "unknown-slate")
	if _, err := os.Stat(filepath.Join(dir, "slates.db")); err != nil {
		t.Error(err)
	}
}

// TestSlatesOfTheNextCollection: a new collection does not find leftovers of a deleted one of
// the same name; an existing one keeps its own.
func TestSlatesOfTheNextCollection(t *testing.T) {
	s := start(t, nil)
	s.news(1, 20)
	feedback := func() map[string]any {
		var d deal
		s.do("POST", slatesOfNews+"/recommend", `{"users":["a"]}`).want(200).into(&d)
		return map[string]any{"slate_id": d.Slates[0].ID, "rewards": []float64{1}}
	}
	old := feedback()
	s.news(2, 20)
	s.do("POST", slatesOfNews+"/feedback", old).want(200)
	if err := s.catalog.Delete("news"); err != nil {
		t.Fatal(err)
	}
	s.news(3, 20)
	s.do("POST", slatesOfNews+"/feedback", old).problem(404, "unknown-slate")
	var info struct{ Users int }
	if s.do("GET", slatesOfNews, nil).want(200).into(&info); info.Users != 0 {
		t.Errorf("%d users", info.Users)
	}
	s.do("POST", slatesOfNews+"/feedback", feedback()).want(200)
}

// TestRoomOfSettings: large settings are read when there is memory for them, small ones at
// once.
func TestRoomOfSettings(t *testing.T) {
	s := start(t, nil)
	s.news(1, 2000)
	release := s.fullOfAnswers()
	s.do("GET", slatesOfNews, nil).want(200)
	release()
	items := make([]string, 2000)
	for i := range items {
		items[i] = fmt.Sprintf(`{"id":%d,"costs":[1.25,2.5,3.75]}`, i)
	}
	s.do("PUT", slatesOfNews, `{"items":[`+strings.Join(items, ",")+`]}`).want(200)
	s.do("GET", slatesOfNews, nil).want(200)
	defer s.fullOfAnswers()()
	s.o.Timeouts.Search = 50 * time.Millisecond
	s.do("GET", slatesOfNews, nil).problem(504, "deadline")
}

// fullOfAnswers takes all memory of answers, and the floor of the test's client, until it is
// released.
func (s *site) fullOfAnswers() (release func()) {
	h := s.answers.Hold("address 127.0.0.1", s.o.Limits.Answers, nil)
	for _, n := range []int64{1 << 20, s.o.Limits.Answers} {
		if err := h.Grow(s.t.Context(), n); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := h.Settle(); err != nil {
		s.t.Fatal(err)
	}
	return h.Release
}
