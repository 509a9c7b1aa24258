//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// listing asks for everything there is.
func (u *upgrade) listing(ctx context.Context, a *api) (answers map[string]any, lists map[string][]string, err error) {
	answers, lists = map[string]any{}, map[string][]string{}
	ask := func(path string) {
		if err == nil {
			answers[path], err = answerTo(ctx, a, path)
		}
	}
	for _, path := range listedPaths() {
		if lists[path], err = namesIn(ctx, a, path); err != nil {
			return nil, nil, err
		}
		for _, name := range lists[path] {
			ask(path + "/" + name)
			switch path {
			case "/v1/collections":
				ask(path + "/" + name + searching)
				ask(path + "/" + name + "/slates")
			case "/v1/files":
				ask(path + "/" + name + contentSuffix)
			}
		}
	}
	return answers, lists, err
}

const (
	searching     = "/search?k=5&method=exact"
	contentSuffix = "/content"
)

// listedPaths are those that list what a server has, in an order in which it can be deleted.
func listedPaths() []string {
	return []string{"/v1/batches", "/v1/files", "/v1/tournaments", "/v1/collections"}
}

// namesIn lists the names or ids of a kind of thing.
func namesIn(ctx context.Context, a *api, path string) (names []string, err error) {
	var page struct{ Data []struct{ Name, ID string } }
	list := path
	if path != "/v1/collections" {
		list += "?limit=100"
	}
	err = a.get(ctx, list, &page)
	for _, x := range page.Data {
		names = append(names, x.Name+x.ID)
	}
	return names, err
}

// answerTo returns the answer to a request of a path, without what depends on when it was asked; of
// contents their hash.
func answerTo(ctx context.Context, a *api, path string) (any, error) {
	method, b := "GET", (*body)(nil)
	if strings.HasSuffix(path, searching) {
		method, b = "POST", gaussian(4, upgradeDim, 6).body("")
	}
	got, err := a.call(ctx, method, path, b)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(path, contentSuffix) {
		return fmt.Sprintf("%x", sha256.Sum256(got.data)), got.into(nil, 200)
	}
	var v map[string]any
	if err := got.into(&v, 200); err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	delete(v, "took_ms")
	return v, nil
}

// differs says where an answer lacks what an earlier one said; "" if nowhere. Members that the
// earlier one does not have may be there.
func differs(earlier, now any) string {
	was, ok := earlier.(map[string]any)
	is, still := now.(map[string]any)
	if !ok || !still {
		list, ok := earlier.([]any)
		others, still := now.([]any)
		if !ok || !still || len(list) != len(others) {
			if reflect.DeepEqual(earlier, now) {
				return ""
			}
			return fmt.Sprintf(" was %v and is %v", earlier, now)
		}
		for i := range list {
			if at := differs(list[i], others[i]); at != "" {
				return fmt.Sprintf("[%d]%s", i, at)
			}
		}
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if at := differs(was[name], is[name]); at != "" {
			return "." + name + at
		}
	}
	return ""
}

// compare asks for all that the earlier program had listed, and waits for what it had begun.
func (u *upgrade) compare(ctx context.Context, a *api) error {
	for _, path := range slices.Sorted(maps.Keys(u.said.Answers)) {
		now, err := answerTo(ctx, a, path)
		if err != nil {
			return err
		}
		if at := differs(u.said.Answers[path], now); at != "" {
			return fmt.Errorf("%s: %s", path, at)
		}
	}
	for path, was := range u.said.Lists {
		names, err := namesIn(ctx, a, path)
		if err != nil {
			return err
		}
		if names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(was, name) }); !slices.Equal(names, was) {
			return fmt.Errorf("%s lists %v, it was %v", path, names, was)
		}
	}
	for name, rows := range u.said.Late {
		info, err := a.settled(ctx, name)
		if err == nil && (info.State != "ready" || info.Error != "" || info.Count != rows) {
			err = fmt.Errorf("collection %s is %+v, and %d rows were acknowledged", name, info, rows)
		}
		if err != nil {
			return err
		}
	}
	for _, id := range u.said.Running {
		if err := u.sameAnswers(ctx, a, id); err != nil {
			return fmt.Errorf("batch %s: %w", id, err)
		}
	}
	return nil
}

// answersOf returns what the lines of a batch's output say of queries, vectors and scores. Another program may do more
// or less for an answer, and say more of it.
func answersOf(output []byte) ([]byte, error) {
	var all bytes.Buffer
	to := json.NewEncoder(&all)
	for from := json.NewDecoder(bytes.NewReader(output)); ; {
		var line struct {
			Query  *int64    `json:"query"`
			IDs    []int64   `json:"ids"`
			Scores []float32 `json:"scores"`
		}
		err := from.Decode(&line)
		if err == io.EOF {
			return all.Bytes(), nil
		}
		if err == nil && (line.Query == nil || line.IDs == nil) {
			err = fmt.Errorf("a line without query or ids before byte %d", from.InputOffset())
		}
		if err == nil {
			err = to.Encode(line)
		}
		if err != nil {
			return nil, err
		}
	}
}

// sameAnswers waits for a batch, which must have the answers of the finished one or, if its time is
// over, the first of them.
func (u *upgrade) sameAnswers(ctx context.Context, a *api, id string) error {
	b := newBatches(0)
	var first batchInfo
	if err := a.get(ctx, "/v1/batches/"+u.said.Finished, &first); err != nil {
		return err
	}
	want, _, err := b.answers(ctx, a, &first)
	if err != nil {
		return err
	}
	info, err := b.wait(ctx, a, &job{id: id})
	if err != nil {
		return err
	}
	raw, _, err := b.answers(ctx, a, &info)
	if err != nil {
		return err
	}
	got, err := answersOf(raw)
	if err != nil {
		return err
	}
	if want, err = answersOf(want); err != nil {
		return err
	}
	if versions := bytes.Count(raw, []byte(`"answers_version"`)); versions > 0 && versions != bytes.Count(raw, []byte("\n")) {
		return fmt.Errorf("%d of its lines state a version of answers, and others do not", versions)
	}
	switch {
	case info.Status == "completed" && bytes.Equal(got, want), info.Status == "expired" && bytes.HasPrefix(want, got):
		return nil
	}
	return fmt.Errorf("it is %s, with %d bytes of answers that differ from the finished one's at byte %d: %+v", info.Status, len(got), differ(got, want), info.Errors)
}
