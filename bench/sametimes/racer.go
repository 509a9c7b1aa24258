package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// racer is a process of bench/racer that has prepared a set.
type racer struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *json.Decoder
}

// start runs a racer on one thread and waits until it has prepared the vectors. The caller must close it.
func start(ctx context.Context, program, atoms, queries string) (*racer, error) {
	r := &racer{process: exec.CommandContext(ctx, program, "-atoms", atoms, "-queries", queries)}
	r.process.Env = append(os.Environ(), "GOMAXPROCS=1")
	r.process.Stderr = os.Stderr
	var err error
	if r.in, err = r.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.out = json.NewDecoder(out)
	if err := r.process.Start(); err != nil {
		return nil, err
	}
	var prepared json.RawMessage
	if err := r.out.Decode(&prepared); err != nil {
		_ = r.close()
		return nil, fmt.Errorf("%s did not prepare %s: %w", program, atoms, err)
	}
	return r, nil
}

// search returns the seconds of count searches, of which the first is of batch first of the queries.
func (r *racer) search(c cell, first, count int) (float64, error) {
	request := map[string]any{"m": c.m, "k": c.k, "first": first, "count": count, "method": "auto", "delta": .01}
	if err := json.NewEncoder(r.in).Encode(request); err != nil {
		return 0, err
	}
	var said struct {
		Seconds float64 `json:"seconds"`
	}
	if err := r.out.Decode(&said); err != nil {
		return 0, fmt.Errorf("%s ended: %w", r.process.Path, err)
	}
	if !(said.Seconds > 0) {
		return 0, fmt.Errorf("%s took %v seconds", r.process.Path, said.Seconds)
	}
	return said.Seconds, nil
}

// close ends the process.
func (r *racer) close() error {
	if err := r.in.Close(); err != nil {
		return err
	}
	return r.process.Wait()
}
