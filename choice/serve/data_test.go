package serve_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"thresher/choice/serve"
	"thresher/choice/serve/choiceapi"
	"thresher/choice/serve/servetest"
	"thresher/service"
	"thresher/service/api"
	"thresher/service/extension"
	"thresher/service/problem"
	"thresher/service/servicetest"
	"thresher/store"
)

// slatesName is the database of slates in the data folder.
const slatesName = "slates.db"

// full makes tournaments and slates, and returns what the server holds.
func full(s *servetest.Site) map[string]string {
	s.T.Helper()
	news(s, 1, 60)
	var made deal
	s.Do("POST", slatesOfNews+"/recommend", `{"users":["ann"],"k":2}`).Want(200).Into(&made)
	s.Do("POST", slatesOfNews+"/feedback", map[string]any{"slate_id": made.Slates[0].ID, "rewards": []int{1}}).Want(200)
	var ids []string
	for _, key := range []string{"one", "two"} {
		var t struct{ ID string }
		order := []string{"a", "b", "c"}
		s.Do("POST", "/v1/tournaments", map[string]any{"arms": order, "mode": "online", "horizon": 100000, "testing": "sweep"}, "Idempotency-Key", key).Want(201).Into(&t)
		for range 3 {
			var issued choiceapi.Duels
			s.Do("POST", "/v1/tournaments/"+t.ID+"/next", `{"count":2}`).Want(200).Into(&issued)
			s.Do("POST", "/v1/tournaments/"+t.ID+"/report", judge(order, issued.Duels)).Want(200)
		}
		ids = append(ids, t.ID)
	}
	return holds(s, ids)
}

// holds requests what a server holds of slates and of these tournaments, by kind and name. A tournament that is lost or
// cannot be played is the kind of its problem.
func holds(s *servetest.Site, tournaments []string) map[string]string {
	s.T.Helper()
	got := map[string]string{}
	var info struct{ Users, Slates int }
	s.Do("GET", slatesOfNews, nil).Want(200).Into(&info)
	got["slates"] = fmt.Sprint(info)
	for _, id := range tournaments {
		a := s.Do("GET", "/v1/tournaments/"+id, nil)
		var t struct {
			Type  string
			State struct{ Duels int }
		}
		a.Into(&t)
		got["tournament "+id] = fmt.Sprint(a.Status, t.Type, t.State.Duels)
		if a.Status != http.StatusOK && t.Type != "/problems/tournament-unplayable" && t.Type != "/problems/unknown-tournament" {
			s.T.Errorf("tournament %s: %d %s", id, a.Status, a.Body)
		}
	}
	return got
}

// tournamentsOf returns the ids of the tournaments in what a server held.
func tournamentsOf(held map[string]string) (ids []string) {
	for name := range held {
		if id, ok := strings.CutPrefix(name, "tournament "); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// resume starts a server on a folder, which must hold what it did, but for tournaments, whose names it returns with the
// number of damaged parts that the server has found.
func resume(t *testing.T, dir string, want map[string]string) (lost []string, damaged int) {
	t.Helper()
	s := servetest.Start(t, dir, nil)
	defer s.Stop()
	got := holds(s, tournamentsOf(want))
	for name := range want {
		switch {
		case got[name] == want[name]:
		case strings.HasPrefix(name, "tournament "):
			lost = append(lost, name+": "+got[name])
		default:
			t.Errorf("%s: %s, it was %s\n%s", name, got[name], want[name], s.Log())
		}
	}
	return lost, s.Damaged()
}

// verdicts lists what a check finds that is not intact.
func verdicts(t *testing.T, dir string) string {
	t.Helper()
	var bad []string
	if err := service.Extensions(serve.New(serve.Options{})).Check(t.Context(), dir, func(i store.Item) {
		if i.Verdict != store.Intact {
			bad = append(bad, string(i.Verdict)+" "+i.Kind+" "+i.Name+" "+i.Detail)
		}
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(bad, "\n")
}

// copyOf copies a data folder.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestDamagedRecords zeroes four bytes of a record of each kind, in its value and in its key: the check names it, the
// server starts, says so, and has all that it had, but for a tournament whose own record it is; after that the check
// finds no other damage.
func TestDamagedRecords(t *testing.T) {
	dir := t.TempDir()
	s := servetest.Start(t, dir, nil)
	want := full(s)
	s.Stop()
	all := servicetest.Entries(t, filepath.Join(dir, extension.MetaName))
	maps.DeleteFunc(all, func(kind string, _ servicetest.Entry) bool { return !strings.HasPrefix(kind, "tournaments/") })
	if len(all) < 5 {
		t.Fatal(slices.Sorted(maps.Keys(all)))
	}
	for kind, e := range servicetest.Entries(t, filepath.Join(dir, slatesName)) {
		if strings.HasSuffix(kind, "/counts") { // damage of others is that of the users concerned
			all[kind] = e
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		name, changes := extension.MetaName, all[kind].Damages()
		if !strings.HasPrefix(kind, "tournaments/") {
			name = slatesName
			delete(changes, "key") // a record of an unknown name
		}
		for part, to := range changes {
			t.Run(kind+" "+part, func(t *testing.T) {
				copied := copyOf(t, dir)
				all[kind].Put(t, filepath.Join(copied, name), to.Key, to.Value)
				if verdicts(t, copied) == "" {
					t.Error("the check finds no damage")
				}
				own := strings.HasPrefix(kind, "tournaments/games") || kind == "tournaments/records" && part == "value"
				lost, damaged := resume(t, copied, want)
				if !own && len(lost) > 0 || len(lost) > 1 {
					t.Error("lost:", lost)
				}
				if index := kind == "tournaments/records" && part == "key"; !own && !index && damaged == 0 {
					t.Error("it does not say so")
				}
				if bad := verdicts(t, copied); own != (bad != "") {
					t.Error("the check after the start:", bad)
				}
			})
		}
	}
}

// TestMisplacedBuckets: buckets in the place of records, and records in the place of buckets, do not keep the server
// from starting, and are named. What the games of tournaments hold is checked when they are played.
func TestMisplacedBuckets(t *testing.T) {
	dir := t.TempDir()
	s := servetest.Start(t, dir, nil)
	want := full(s)
	s.Stop()
	stray := []byte("stray")
	for name, change := range map[string]func(b *bbolt.Bucket) error{
		"bucket": func(b *bbolt.Bucket) error { _, err := b.CreateBucket(stray); return err },
		"record": func(b *bbolt.Bucket) error { return b.Put(stray, []byte("{}")) },
	} {
		t.Run(name, func(t *testing.T) {
			copied, n := copyOf(t, dir), 0
			servicetest.Alter(t, filepath.Join(copied, extension.MetaName), func(tx *bbolt.Tx) error {
				root := tx.Bucket([]byte("tournaments"))
				if name == "record" {
					n++
					return change(root)
				}
				return root.ForEachBucket(func(k []byte) error {
					if string(k) == "games" {
						return nil
					}
					n++
					return change(root.Bucket(k))
				})
			})
			if bad := strings.Split(verdicts(t, copied), "\n"); n == 0 || len(bad) != n {
				t.Errorf("the check names %d of %d: %s", len(bad), n, bad)
			}
			if lost, damaged := resume(t, copied, want); len(lost) > 0 || damaged != n {
				t.Errorf("lost %s, %d damaged parts of %d", lost, damaged, n)
			}
			if bad := verdicts(t, copied); bad != "" {
				t.Error("the check after the start:", bad)
			}
		})
	}
}

// TestDamagedSectors zeroes a sector of each page of the service's database in turn: the server starts and has all but
// tournaments, which it says, and which the check named before.
func TestDamagedSectors(t *testing.T) {
	dir := t.TempDir()
	s := servetest.Start(t, dir, nil)
	want := full(s)
	s.Stop()
	whole, err := os.ReadFile(filepath.Join(dir, extension.MetaName))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 11))
	const page, sector = 4096, 512
	for at := 0; at < len(whole); at += page {
		from := at + r.IntN(page/sector)*sector
		t.Run(fmt.Sprint("at ", from), func(t *testing.T) {
			copied := copyOf(t, dir)
			broken := bytes.Clone(whole)
			clear(broken[from : from+sector])
			if err := os.WriteFile(filepath.Join(copied, extension.MetaName), broken, 0o600); err != nil {
				t.Fatal(err)
			}
			// The bytes of a snapshot are verified when it is loaded, and by the check.
			named := verdicts(t, copied)
			lost, damaged := resume(t, copied, want)
			if len(lost) > 0 && (damaged == 0 && !strings.Contains(lost[0], "tournament-unplayable") || named == "") {
				t.Error("lost without a word:", lost, named)
			}
		})
	}
}

// TestSlatesAreCut: the check names the damaged file; after a repair, or a start, tournaments are as they were, and
// slates can be made and learned from again.
func TestSlatesAreCut(t *testing.T) {
	dir := t.TempDir()
	s := servetest.Start(t, dir, nil)
	want := full(s)
	s.Stop()
	path := filepath.Join(dir, slatesName)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{len(b) / 2, len(b) / 3, 5000} {
		if err := os.WriteFile(path, b[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if bad := verdicts(t, dir); !strings.Contains(bad, "damaged database "+slatesName) {
			t.Fatal(bad)
		}
		if n != 5000 { // then the start does it
			r, err := service.Extensions(serve.New(serve.Options{})).Repair(dir, nil)
			if err != nil || len(r.Databases) != 1 || r.Databases[0].Name != slatesName {
				t.Fatal(r, err)
			}
		}
		s := servetest.Start(t, dir, nil)
		got := holds(s, tournamentsOf(want))
		for name := range want {
			if got[name] != want[name] && name != "slates" {
				t.Errorf("%s: %s, was %s", name, got[name], want[name])
			}
		}
		var made deal
		s.Do("POST", slatesOfNews+"/recommend", `{"users":["bob"],"k":2}`).Want(200).Into(&made)
		s.Do("POST", slatesOfNews+"/feedback", map[string]any{"slate_id": made.Slates[0].ID, "rewards": []int{1}}).Want(200)
		s.Stop()
	}
	if _, err := os.Stat(filepath.Join(dir, "lost+found", slatesName+".2")); err != nil {
		t.Error("what was cut is not kept:", err)
	}
}

// backedUp makes a backup and waits until it has ended.
func backedUp(s *servetest.Site) api.Backup {
	s.T.Helper()
	var begun api.Backup
	s.Do("POST", "/v1/backup", nil).Want(202).Into(&begun)
	for {
		var state api.Backups
		s.Do("GET", "/v1/backup", nil).Want(200).Into(&state)
		if last := state.Last; last != nil && last.CreatedAt.Equal(begun.CreatedAt) {
			if last.Status != api.BackupCompleted || len(last.Damaged) > 0 {
				s.T.Fatalf("%+v", last)
			}
			return *last
		}
		select {
		case <-s.T.Context().Done():
			s.T.Fatal("the backup never ended")
		case <-time.After(time.Millisecond):
		}
	}
}

// restored restores a backup, which must be sound.
func restored(t *testing.T, from string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	if _, err := service.Extensions(serve.New(serve.Options{})).RestoreBackup(t.Context(), from, dir, func(i store.Item) {
		if i.Verdict != store.Intact {
			t.Errorf("%+v", i)
		}
	}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestBackupWhileJudging: a backup has the judgments that were acknowledged before it.
func TestBackupWhileJudging(t *testing.T) {
	to := filepath.Join(t.TempDir(), "backups")
	s := servetest.Start(t, t.TempDir(), func(o *service.Options, _ *serve.Options) { o.Backups.Folder = to })
	var made struct{ ID string }
	s.Do("POST", "/v1/tournaments", `{"arms":["a","b","c","d"],"mode":"online","horizon":1000000,"testing":"sweep"}`).Want(201).Into(&made)
	at := "/v1/tournaments/" + made.ID
	judged := make(chan uint64, 1<<16) // the last duel of each call, once it is acknowledged
	stop, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		c := *s.Caller
		for {
			select {
			case <-stop:
				return
			default:
			}
			var issued choiceapi.Duels
			c.Do("POST", at+"/next", `{"count":4}`).Want(200).Into(&issued)
			c.Do("POST", at+"/report", byParity(issued.Duels)).Want(200)
			judged <- issued.Duels[len(issued.Duels)-1].ID
		}
	}()
	acknowledged := map[string]uint64{}
	for range 2 {
		for range 3 { // calls between two backups
			<-judged
		}
		last := <-judged
		acknowledged[backedUp(s).Name] = last
	}
	close(stop)
	<-over
	s.Stop()
	for name, last := range acknowledged {
		r := servetest.Start(t, restored(t, filepath.Join(to, name)), nil)
		for id := uint64(1); id <= last; id++ {
			var reported choiceapi.Reported
			r.Do("POST", at+"/report", byParity([]choiceapi.Duel{{ID: id}})).Want(200).Into(&reported)
			if is := reported.Receipts[0].Status; is != "repeated" && is != "settled" {
				t.Fatalf("%s: duel %d is %s", name, id, is)
			}
		}
		r.Stop()
	}
}

// byParity decides duels between arms that nobody can tell apart, by their numbers.
func byParity(duels []choiceapi.Duel) []choiceapi.DuelResult {
	results := make([]choiceapi.DuelResult, len(duels))
	for i, d := range duels {
		results[i] = choiceapi.DuelResult{DuelID: d.ID, AWon: of(d.ID%2 == 0)}
	}
	return results
}

// TestBackupsOfTranscripts: of the transcripts of tournaments a further backup copies those that have
// grown since the one before, and shares the others.
func TestBackupsOfTranscripts(t *testing.T) {
	to, dir := filepath.Join(t.TempDir(), "backups"), t.TempDir()
	s := servetest.Start(t, dir, func(o *service.Options, _ *serve.Options) { o.Backups.Folder = to })
	names := make([]string, 32)
	for i := range names {
		names[i] = fmt.Sprintf("arm %02d", i)
	}
	play := func(at string, calls int) {
		for range calls {
			var issued choiceapi.Duels
			s.Do("POST", at+"/next", `{"count":32}`).Want(200).Into(&issued)
			s.Do("POST", at+"/report", byParity(issued.Duels)).Want(200)
		}
	}
	var first string
	for range 8 {
		var made struct{ ID string }
		s.Do("POST", "/v1/tournaments", map[string]any{"arms": names, "mode": "online", "horizon": 1000000, "testing": "sweep"}).Want(201).Into(&made)
		first = "/v1/tournaments/" + made.ID
		play(first, 40)
	}
	whole := backedUp(s)
	play(first, 20)
	last := backedUp(s)
	var all, copied int64
	grown, shared := 0, 0
	entries, err := os.ReadDir(filepath.Join(to, last.Name, "tournaments"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		stat := func(folder string) os.FileInfo {
			info, err := os.Stat(filepath.Join(folder, "tournaments", e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			return info
		}
		is := stat(filepath.Join(to, last.Name))
		all += is.Size()
		if os.SameFile(stat(dir), is) {
			t.Errorf("%s is the live file", e.Name())
		}
		if os.SameFile(stat(filepath.Join(to, whole.Name)), is) {
			shared++
			continue
		}
		grown++
		copied += is.Size()
	}
	t.Logf("the second backup copied %d of %d bytes of transcripts", copied, all)
	if grown != 1 || shared != 7 || copied >= all/4 || last.BytesLinked < all-copied {
		t.Errorf("%d transcripts were copied and %d shared, %d of %d bytes; %d bytes were linked", grown, shared, copied, all, last.BytesLinked)
	}
	restored(t, filepath.Join(to, last.Name))
}

// TestTournamentsAreKept: what has not ended does not expire, however old it is; what has ended goes, and is told.
func TestTournamentsAreKept(t *testing.T) {
	s := servetest.Start(t, t.TempDir(), func(_ *service.Options, o *serve.Options) { o.TournamentKeep = time.Hour })
	var on, over struct{ ID string }
	s.Do("POST", "/v1/tournaments", `{"arms":["a","b"],"mode":"online","horizon":10}`).Want(201).Into(&on)
	s.Do("POST", "/v1/tournaments", `{"arms":["a","b"],"mode":"pac","delta":0.2}`).Want(201).Into(&over)
	play(t, s.Choices(), over.ID, []string{"a", "b"})
	x := s.Extensions[0].(extension.Expiring)
	for _, later := range []struct {
		by   time.Duration
		want []string
	}{{0, nil}, {2 * time.Hour, []string{over.ID}}, {2 * time.Hour, nil}} {
		var told []string
		if err := x.Expire(t.Context(), time.Now().Add(later.by-x.Keep()), func(id string) { told = append(told, id) }); err != nil || !slices.Equal(told, later.want) {
			t.Errorf("after %v: %v, %v", later.by, told, err)
		}
	}
	s.Do("GET", "/v1/tournaments/"+on.ID, nil).Want(200)
	s.Do("GET", "/v1/tournaments/"+over.ID, nil).Problem(404, "unknown-tournament")
}

// TestKeysBelongToTokens: one Idempotency-Key of two tokens is two keys.
func TestKeysBelongToTokens(t *testing.T) {
	token := func(name string) service.Token {
		return service.Token{Name: name, Write: true, Hash: sha256.Sum256([]byte(name))}
	}
	s := servetest.Start(t, t.TempDir(), func(o *service.Options, _ *serve.Options) {
		o.Tokens = []service.Token{token("one"), token("other")}
	})
	ids := map[string]bool{}
	for range 2 {
		for _, s.Token = range []string{"one", "other"} {
			var made struct{ ID string }
			s.Do("POST", "/v1/tournaments", `{"arms":["x","y"],"mode":"online","horizon":9}`, "Idempotency-Key", "k").Want(201).Into(&made)
			ids[made.ID] = true
		}
	}
	if len(ids) != 2 {
		t.Error(ids)
	}
}

// bounded is a call that is refused its turn.
type bounded struct {
	extension.Call
	values map[string]string
	room   int64 // what was asked for, -1 if nothing was
}

var errNoTurn = problem.New(problem.Deadline, "no turn")

func (b *bounded) Context() context.Context       { return context.Background() }
func (b *bounded) PathValue(name string) string   { return b.values[name] }
func (b *bounded) Page() (string, int, error)     { return "", 10, nil }
func (b *bounded) Answer(status int, v any) error { return fmt.Errorf("answered %d", status) }
func (b *bounded) AnswerText(text []byte, _ int64) error {
	return fmt.Errorf("answered %d bytes", len(text))
}
func (b *bounded) Bounded(room int64, _ func(context.Context) error) error {
	b.room = room
	return errNoTurn
}

// TestReadsTakeTurns: what reads much takes its turn among searches, and settings of slates memory for what they are
// long.
func TestReadsTakeTurns(t *testing.T) {
	s := servetest.Start(t, t.TempDir(), nil)
	news(s, 1, 2000)
	var made struct{ ID string }
	s.Do("POST", "/v1/tournaments", `{"arms":["a","b","c"],"mode":"online","horizon":1000}`).Want(201).Into(&made)
	ask := func(x extension.Extension, pattern string) int64 {
		t.Helper()
		for _, r := range x.Routes() {
			if r.Method == http.MethodGet && r.Pattern == pattern {
				b := &bounded{values: map[string]string{"id": made.ID, "name": "news"}, room: -1}
				if err := r.Handle(b, nil); err != errNoTurn {
					t.Errorf("%s without a turn: %v", pattern, err)
				}
				return b.room
			}
		}
		t.Fatalf("no route %s", pattern)
		return 0
	}
	for _, pattern := range []string{"/v1/tournaments", "/v1/tournaments/{id}"} {
		if room := ask(s.Extensions[0], pattern); room != 0 {
			t.Errorf("%s takes %d bytes", pattern, room)
		}
	}
	const settings = "/v1/collections/{name}/slates"
	small := ask(s.Extensions[1], settings)
	items := make([]string, 2000)
	for i := range items {
		items[i] = fmt.Sprintf(`{"id":%d,"costs":[1.25,2.5,3.75]}`, i)
	}
	text := `{"items":[` + strings.Join(items, ",") + `]}`
	s.Do("PUT", slatesOfNews, text).Want(200)
	if large := ask(s.Extensions[1], settings); small > 1<<10 || large < int64(len(text)) {
		t.Errorf("settings without items take %d bytes, those of %d bytes %d", small, len(text), large)
	}
}
