package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/columns"
	"thresher/config"
	"thresher/dataset"
	"thresher/internal/fetch"
	"thresher/segments/folder"
)

// openSearched is openVectors of the vectors that a method is about to search among. The segments of a folder are then searched where they
// lie, mapped, one after the other; but those methods and settings to which their codes do not belong, and GPUs, take the rows as one
// block in memory.
func (a *app) openSearched(ctx context.Context, path string, method batch.Method) (input, error) {
	const flag = "vectors"
	switch {
	case a.Config.Backend == backendCUDA || !walkable(method):
		return a.openVectors(ctx, flag, path)
	case fetch.Is(path):
		return a.openURLs(ctx, flag, path, func(path string) (input, error) { return a.openWalked(ctx, flag, path, method) })
	case folder.Is(path):
		return a.openWalked(ctx, flag, path, method)
	}
	return a.openVectors(ctx, flag, path)
}

// openWalked opens a folder for a search whose method is walkable.
func (a *app) openWalked(ctx context.Context, flag, path string, method batch.Method) (input, error) {
	b := &backends{}
	if a.Config.Backend == backendAuto {
		card, unused, err := a.openCard(ctx)
		if err != nil {
			return input{}, err
		}
		if card != nil {
			a.closeUnused(card.backend)
			return a.openFolderInput(ctx, flag, path)
		}
		b.unused = unused
	}
	var err error
	if b.first, err = a.openCPU(); err != nil {
		return input{}, err
	}
	if b.costs, err = a.costs(ctx, b.first); err != nil {
		return input{}, errors.Join(err, b.close())
	}
	in := a.inputOf(flag, path, nil)
	if in.folder, err = openFolder(ctx, path, b); err != nil {
		return in, err
	}
	in.walked = a.walks(in.folder.Form(), method)
	return in, nil
}

// walkable reports whether the codes of segments serve a method.
func walkable(method batch.Method) bool {
	return slices.Contains([]batch.Method{batch.Auto, batch.Exact, batch.Certain, batch.Adaptive}, method)
}

// walks reports whether settings agree with those by which a folder's segments are made, as far as answers depend on them.
func (a *app) walks(f folder.Form, method batch.Method) bool {
	basis, err := collection.ParseBasis(a.Config.Basis)
	switch {
	case err != nil || basis != f.Basis:
		return false
	case method == batch.Exact || method == batch.Certain:
		return true
	}
	return a.Config.Origin("seed").Kind == config.FromDefault || a.Config.Seed == f.Seed
}

// allow makes searches return only vectors for which an expression over their columns is true, and returns their rows.
func (v *vectorsFolder) allow(e *columns.Expr) (rows []int64, err error) {
	if v.among, err = v.now.Select(e); err != nil {
		return nil, err
	}
	rows = v.among.IDs()
	v.place(rows)
	return rows, nil
}

// counted reports whether the numbers of the vectors are those of their rows.
func (v *vectorsFolder) counted() bool {
	n := len(v.numbers)
	return n == 0 || v.numbers[n-1] == int64(n-1)
}

// place replaces numbers of vectors by their rows.
func (v *vectorsFolder) place(numbers []int64) {
	if v.counted() {
		return
	}
	for i, number := range numbers {
		row, _ := slices.BinarySearch(v.numbers, number)
		numbers[i] = int64(row)
	}
}

// numbersOf returns the numbers of rows; those of rows that are not there are no vector's.
func (v *vectorsFolder) numbersOf(rows []int64) []int64 {
	if v.counted() || rows == nil {
		return rows
	}
	numbers := make([]int64, len(rows))
	for i, row := range rows {
		if numbers[i] = row; row >= 0 && row < int64(len(v.numbers)) {
			numbers[i] = v.numbers[row]
		} else if row >= 0 {
			numbers[i] = v.numbers[len(v.numbers)-1] + 1 + row
		}
	}
	return numbers
}

// folderWalk searches a folder from segment to segment. Requests and answers have row numbers, the places of the vectors in the order of
// the folder, as those of one block of them do; its Filter is what the folder allows.
type folderWalk struct{ *vectorsFolder }

// openWalk is openEngine of a folder whose segments are walked.
func (a *app) openWalk(in input, opt *dataset.Options, ask func(*atoms) (batch.Request, error)) (*engine, error) {
	begun := time.Now()
	metric, err := in.metric(a.Config.Metric)
	if err != nil {
		return nil, err
	}
	r, err := in.open(opt) // which refuses columns, and says how the ids are called
	if err != nil {
		return nil, err
	}
	defer r.Close()
	a.logUnread(in, r)
	v := in.folder
	if v.rows.Len() == 0 {
		return nil, fmt.Errorf("%s: no vectors", in.name)
	}
	if err := in.checkNames(v.ids); err != nil {
		return nil, dataset.Placed(r, err)
	}
	form := v.Form()
	of := &atoms{
		N: v.rows.Len(), Dim: v.rows.Dim(), Metric: metric, Seed: form.Seed, Change: v.rows.Change(), elem: form.Elem,
		rows: v.rows, names: v.ids, columns: dataset.LayoutOf(r), idColumn: dataset.LayoutOf(r).IDs,
	}
	var mapped []*collection.Collection
	for _, h := range v.now.Holdings() {
		mapped = append(mapped, h.Segment.Collection())
	}
	of.beyond = readAhead(mapped...)
	if _, err := ask(of); err != nil {
		return nil, err
	}
	of.load = v.took + time.Since(begun)
	return &engine{walk: &folderWalk{v}, atoms: of, backends: v.backends}, nil
}

// search answers a request.
func (w *folderWalk) search(ctx context.Context, req batch.Request) (*batch.Response, error) {
	req.Filter = nil // what is allowed is selected
	req.Exclude = w.numbersOf(req.Exclude)
	if req.ExcludeSelf {
		m := max(len(req.Queries), len(req.Queries64)) / w.rows.Dim()
		if req.Selves == nil {
			req.Selves = make([]int64, m)
			for j := range req.Selves {
				req.Selves[j] = req.SelfFirst + int64(j)
			}
		}
		req.Selves = w.numbersOf(req.Selves)
	}
	if !w.counted() {
		req.Goals = slices.Clone(req.Goals)
		filters := map[batch.Wanted][]int64{}
		for j := range req.Goals {
			g := &req.Goals[j]
			g.Exclude, g.Candidates = w.numbersOf(g.Exclude), w.numbersOf(g.Candidates)
			if g.Filter == nil {
				continue
			}
			wanted := req.WantedOf(g) // lists that share their memory go on doing so
			wanted.K = 0
			if filters[wanted] == nil {
				filters[wanted] = w.numbersOf(g.Filter)
			}
			g.Filter = filters[wanted]
		}
	}
	var resp *batch.Response
	var err error
	if w.among != nil {
		resp, err = w.among.Search(ctx, req)
	} else {
		resp, err = w.now.Search(ctx, req)
	}
	if resp != nil {
		for j := range resp.Answers {
			w.place(resp.Answers[j].IDs)
		}
	}
	return resp, err
}

// threads is how many threads search.
func (b *backends) threads() int { return backend.Describe(b.first).Threads }
