//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
)

// stored is a writer of files: it uploads, aborts uploads, and deletes.
type stored struct {
	r       *rand.Rand
	files   map[string]*content // by id
	order   []string            // their ids, oldest first
	pending *content            // being uploaded
	leaving string              // id of the file being deleted
	uploads int
	count   map[string]int
}

// content is an upload.
type content struct {
	name string
	data []byte
	key  string
}

// ownFiles is the prefix of the names of a stored's files.
const ownFiles = "kept-"

func newFiles(seed uint64) *stored {
	return &stored{r: rand.New(rand.NewPCG(seed, 4)), files: map[string]*content{}, count: map[string]int{}}
}

func (s *stored) prepare(context.Context, *api) error { return nil }

// fresh draws a new file.
func (s *stored) fresh() *content {
	s.uploads++
	data := make([]byte, s.r.IntN(400<<10))
	for i := range data {
		data[i] = byte(s.r.Uint32())
	}
	return &content{fmt.Sprintf("%s%d", ownFiles, s.uploads), data, fmt.Sprintf("upload %d", s.uploads)}
}

func (s *stored) step(ctx context.Context, a *api) error {
	switch {
	case s.pending != nil:
		return s.send(ctx, a)
	case s.leaving != "":
		return s.remove(ctx, a)
	}
	switch at := s.r.IntN(10); {
	case at == 0:
		return s.breakOff(ctx, a)
	case len(s.order) > 8 || at < 3 && len(s.order) > 0:
		s.leaving = s.order[s.r.IntN(len(s.order))]
		return s.remove(ctx, a)
	}
	s.pending = s.fresh()
	return s.send(ctx, a)
}

// send uploads the pending file.
func (s *stored) send(ctx context.Context, a *api) error {
	c := s.pending
	got, err := a.call(ctx, "POST", "/v1/files", upload(c.name, c.data, c.key))
	if err != nil {
		return err
	}
	var f fileInfo
	if err := got.into(&f, 200); err != nil {
		return fmt.Errorf("upload of %s: %w", c.name, err)
	}
	if f.Name != c.name || f.Bytes != int64(len(c.data)) {
		return fmt.Errorf("upload of %s, %d bytes: it is %+v", c.name, len(c.data), f)
	}
	s.files[f.ID] = c
	s.order = append(s.order, f.ID)
	s.pending = nil
	s.count["files uploaded"]++
	return nil
}

// remove deletes the leaving file; an earlier attempt may have succeeded.
func (s *stored) remove(ctx context.Context, a *api) error {
	got, err := a.call(ctx, "DELETE", "/v1/files/"+s.leaving, nil)
	if err != nil {
		return err
	}
	if err := got.into(nil, 200, 404); err != nil {
		return fmt.Errorf("deletion of file %s: %w", s.leaving, err)
	}
	delete(s.files, s.leaving)
	for i, id := range s.order {
		if id == s.leaving {
			s.order = append(s.order[:i:i], s.order[i+1:]...)
			break
		}
	}
	s.leaving = ""
	s.count["files deleted"]++
	return nil
}

// errBrokenOff ends a body that is deliberately incomplete.
var errBrokenOff = errors.New("broken off")

// breakOff sends a part of an upload, which must leave nothing.
func (s *stored) breakOff(ctx context.Context, a *api) error {
	c := s.fresh()
	form := upload(c.name, c.data, "")
	part := form.data[:s.r.IntN(len(form.data))]
	body := io.MultiReader(bytes.NewReader(part), failing{})
	ctx, stop := patiently(ctx, callWait, errSlow)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, "POST", a.url+"/v1/files", body)
	if err != nil {
		return err
	}
	req.ContentLength = int64(len(form.data))
	req.Header.Set("Content-Type", form.kind)
	resp, err := a.client.Do(req)
	if err == nil {
		err = fmt.Errorf("half of an upload was answered with status %d", resp.StatusCode)
		return errors.Join(err, resp.Body.Close())
	}
	if !errors.Is(err, errBrokenOff) {
		return fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	return nil
}

// failing is the end of an aborted body.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errBrokenOff }

func (s *stored) check(ctx context.Context, a *api) error {
	listed, err := a.files(ctx)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, f := range listed {
		if !strings.HasPrefix(f.Name, ownFiles) {
			continue
		}
		should := s.files[f.ID]
		if should == nil && s.pending != nil && f.Name == s.pending.name {
			should = s.pending
		}
		if should == nil {
			return fmt.Errorf("file %s, %s, is listed and was never acknowledged, or was deleted", f.ID, f.Name)
		}
		data, err := a.content(ctx, f.ID)
		if err != nil {
			return fmt.Errorf("file %s: %w", f.ID, err)
		}
		if f.Name != should.name || !bytes.Equal(data, should.data) {
			return fmt.Errorf("file %s, %s, has %d bytes that are not those of %s, %d bytes", f.ID, f.Name, len(data), should.name, len(should.data))
		}
		seen[f.ID] = true
	}
	for id, c := range s.files {
		if !seen[id] && id != s.leaving {
			return fmt.Errorf("file %s, %s, was acknowledged and is not there", id, c.name)
		}
	}
	return nil
}

func (s *stored) finish(ctx context.Context, a *api) error {
	if s.pending != nil {
		if err := s.send(ctx, a); err != nil {
			return err
		}
	}
	if err := s.check(ctx, a); err != nil {
		return err
	}
	for len(s.order) > 0 {
		s.leaving = s.order[0]
		if err := s.remove(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

func (s *stored) done() map[string]int { return s.count }
