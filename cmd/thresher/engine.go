package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/gpu"
)

// engine is a collection, or the segments of a folder, ready to be searched with the settings of the command line.
type engine struct {
	*batch.Engine // of a collection; nil where segments are walked
	walk          *folderWalk
	atoms         *atoms
	backends      *backends
}

// demand is what an engine is opened for.
type demand struct {
	method  batch.Method
	k       int   // most atoms of an answer; 0 for any number
	queries int64 // -1 if unknown
	// joins says that the atoms are searched among themselves, for which codes are always built.
	joins bool
	// searches says that all answers are of the engine's Search, which verifies the file meanwhile.
	searches bool
	// dtype is the type in which values given in float64 are kept.
	dtype dataset.Elem
}

// openEngine reads or opens the atoms, prepares them as the demand requires, and loads them on the
// backend that answers its queries, like the request that ask returns for these atoms. The caller
// closes the engine.
func (a *app) openEngine(ctx context.Context, in input, opt *dataset.Options, d demand, ask func(*atoms) (batch.Request, error)) (*engine, error) {
	if in.walked {
		return a.openWalk(in, opt, ask)
	}
	method := d.method
	o, err := a.buildOptions(method)
	if err != nil {
		return nil, err
	}
	o.Elem = in.kept(d.dtype)
	if method == batch.PrefixF32 && in.isCollection() {
		return nil, fmt.Errorf("--method prefix-f32: %s lacks the raw coordinates that this method reads; name the file of vectors it was built from", in.name)
	}
	e := &engine{}
	if e.backends, err = a.openBackends(ctx); err != nil {
		return nil, err
	}
	if e.atoms, err = a.loadAtoms(ctx, in, opt, o, e.backends.builds(a, &d)); err != nil {
		return nil, errors.Join(err, e.close())
	}
	req, err := ask(e.atoms)
	if err == nil {
		err = e.backends.choose(ctx, a, e.atoms.block, req, d.queries)
	}
	if err != nil {
		return nil, errors.Join(err, e.close())
	}
	begun := time.Now()
	if e.Engine, err = batch.Open(ctx, e.atoms.block, e.backends.first, e.backends.options(a)); err != nil {
		return nil, errors.Join(err, e.close())
	}
	e.atoms.build += time.Since(begun)
	if !d.searches {
		if err := e.verified(ctx); err != nil {
			return nil, errors.Join(err, e.close())
		}
	}
	return e, nil
}

// builds returns whether codes are built of n rows of dim columns for a demand.
func (b *backends) builds(a *app, d *demand) func(n, dim int, metric collection.Metric) bool {
	return func(n, dim int, metric collection.Metric) bool {
		if d.joins {
			return true
		}
		if a.Config.Backend == backendCUDA { // for which building has not been measured
			return d.method != batch.Exact
		}
		req := batch.Request{Method: d.method, K: d.k}
		return req.BuildingPays(n, dim, metric, d.queries, costsOf(b.first, b.costs))
	}
}

// unusedGPUs says of each GPU that is there and does not search, or not any more, why.
func (e *engine) unusedGPUs() []string {
	if e.walk != nil {
		return unusedGPUs(e.backends.unused)
	}
	return unusedGPUs(e.backends.unused, gpu.LeftOut(e.backends.first), e.Instead())
}

// threads is the number of threads of the backend.
func (e *engine) threads() int { return e.backends.threads() }

// Search answers a request. It returns no answer before the file of prepared vectors is verified.
func (e *engine) Search(ctx context.Context, req batch.Request) (*batch.Response, error) {
	if e.walk != nil {
		return e.walk.search(ctx, req)
	}
	resp, err := e.Engine.Search(ctx, req)
	if damage := e.verified(ctx); damage != nil {
		return nil, damage
	}
	return resp, err
}

// verified waits until the file of prepared vectors is verified, and returns what is wrong with it. Folders are verified as they are opened.
func (e *engine) verified(ctx context.Context) error {
	if e.walk != nil {
		return nil
	}
	return e.atoms.block.Verified(ctx)
}

// undamaged returns err, or that the file of prepared vectors is damaged if it is, which may be why: what else is done with rows than
// searches of them begins before they are verified.
func (e *engine) undamaged(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, collection.ErrCorrupt) || ctx.Err() != nil {
		return err
	}
	return cmp.Or(e.verified(ctx), err)
}

// Footprint is the memory of searches of so many queries.
func (e *engine) Footprint(req batch.Request, queries int) (batch.Footprint, error) {
	if e.walk != nil {
		return e.walk.now.Footprint(req, queries)
	}
	return e.Engine.Footprint(req, queries)
}

// Backend names what answers.
func (e *engine) Backend() string {
	if e.walk != nil {
		return e.backends.first.Name()
	}
	return e.Engine.Backend()
}

// close closes what is open, but for a folder, which is its input's.
func (e *engine) close() error {
	if e.walk != nil {
		return nil
	}
	var err error
	if e.Engine != nil {
		err = e.Engine.Close()
	}
	if e.atoms != nil {
		err = errors.Join(err, e.atoms.Close())
	}
	return errors.Join(err, e.backends.close())
}
