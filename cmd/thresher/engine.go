package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"thresher/backend"
	"thresher/batch"
	"thresher/dataset"
	"thresher/gpu"
)

// engine is a collection ready to be searched with the settings of the command line.
type engine struct {
	*batch.Engine
	atoms    *atoms
	backends *backends
}

// openEngine reads or opens the atoms, prepares them as method requires, and loads them on the
// backend that answers m queries, -1 for an unknown number, like the request that ask returns
// for these atoms. The caller closes the engine.
func (a *app) openEngine(ctx context.Context, in input, opt *dataset.Options, method batch.Method, m int64, ask func(*atoms) (batch.Request, error)) (*engine, error) {
	o, err := a.buildOptions(method)
	if err != nil {
		return nil, err
	}
	if method == batch.PrefixF32 && in.isCollection() {
		return nil, fmt.Errorf("--method prefix-f32: %s lacks the raw coordinates that this method reads; name the file of vectors it was built from", in.name)
	}
	e := &engine{}
	if e.backends, err = a.openBackends(ctx); err != nil {
		return nil, err
	}
	if e.atoms, err = a.loadAtoms(ctx, in, opt, o); err != nil {
		return nil, errors.Join(err, e.close())
	}
	req, err := ask(e.atoms)
	if err == nil {
		err = e.backends.choose(ctx, a, e.atoms.Collection, req, m)
	}
	if err != nil {
		return nil, errors.Join(err, e.close())
	}
	begun := time.Now()
	if e.Engine, err = batch.Open(ctx, e.atoms.Collection, e.backends.first, e.backends.options(a)); err != nil {
		return nil, errors.Join(err, e.close())
	}
	e.atoms.build += time.Since(begun)
	return e, nil
}

// unusedGPUs says of each GPU that is there and does not search, or not any more, why.
func (e *engine) unusedGPUs() []string {
	return unusedGPUs(e.backends.unused, gpu.LeftOut(e.backends.first), e.Instead())
}

// threads is the number of threads of the backend.
func (e *engine) threads() int { return backend.Describe(e.backends.first).Threads }

// close closes what is open.
func (e *engine) close() error {
	var err error
	if e.Engine != nil {
		err = e.Engine.Close()
	}
	if e.atoms != nil {
		err = errors.Join(err, e.atoms.Close())
	}
	return errors.Join(err, e.backends.close())
}
