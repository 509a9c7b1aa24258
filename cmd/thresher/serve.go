package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"thresher/backend"
	"thresher/batch"
	"thresher/choice"
	"thresher/config"
	"thresher/internal/cli"
	"thresher/service"
	"thresher/service/metrics"
	"thresher/service/trace"
)

func newServeCommand(a *app) *cobra.Command {
	var demo bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve searches and offline jobs over HTTP",
		Long: `Serve searches and offline jobs over HTTP: collections under /v1, the Open Inference
Protocol under /v2 and, with --grpc-listen, over gRPC, metrics under /metrics, a web
page at /, the description of the API at /openapi.yaml.

All data is stored in one folder, ./thresher-data unless --data names another; a
restarted server continues with what it finds there. Listening on an address that
other machines can reach needs a token or --insecure.

SIGTERM and SIGINT stop the server: it refuses new requests for a moment, so that
load balancers notice, finishes running searches, and stops offline jobs at the end
of a chunk. A second signal stops it at once. SIGHUP reloads tokens and the
certificate.

With --read-only the server is a replica: it has no data folder, fetches the
collections that --collection names to a cache, is ready once they are there and
verified, and refuses to change anything. SIGHUP makes it look for other versions.`,
		Example: `  thresher serve --demo
  thresher serve --data /var/lib/thresher --roots /srv/vectors
  thresher serve --read-only --collection films=s3://bucket/films.thresher
  thresher serve --listen :8080 --tokens "ci:write:$(printf %s "$TOKEN" | sha256sum | cut -c-64)"`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runServe(cmd.Context(), demo) },
	}
	cmd.Flags().BoolVar(&demo, "demo", false, "create the collection demo from the doc comments of Go's standard library, and print how to search it")
	addSettings(cmd, append(config.ServerKeys(), "threads", "dense_limit", "read_limit", "cache", "backend", "device", "kernels", "costs")...)
	return cmd
}

// closeWait bounds the time to close the server after it stopped serving, and so, together with the
// limit of draining and the seconds that service.Server.Close takes besides, the time from SIGTERM to the end of the process,
// whatever still runs (docs/operations.md and the grace periods in deploy).
const closeWait = 9 * time.Second

// traceWait bounds the time to export the last traces.
const traceWait = 5 * time.Second

func (a *app) runServe(ctx context.Context, demo bool) (err error) {
	if err := a.Config.CheckServer(); err != nil {
		return err
	}
	if demo && a.Config.Server.ReadOnly {
		return errors.New("serve: --demo makes a collection, and --read-only serves those that are made elsewhere")
	}
	c := &a.Config.Server
	hangups, ignore := catchHangups()
	defer ignore()
	certs := &certificates{}
	if err := certs.read(c); err != nil {
		return err
	}
	cert := certs.config()
	pool, err := a.openPool(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if !errors.Is(err, service.ErrRunning) { // which may use the backends for ever
			err = errors.Join(err, pool.close())
		}
	}()
	for _, s := range unusedGPUs(pool.unused) {
		a.Log.Warn("a GPU is not used", "reason", s)
	}

	registry := metrics.NewRegistry()
	counted, err := metrics.New(registry)
	if err != nil {
		return err
	}
	counted.LimitLabels(c.MetricsCollections)
	o := a.serviceOptions()
	var copies *replicas
	if c.ReadOnly {
		var end func()
		if copies, o.Dir, end, err = a.openReplicas(); err == nil {
			defer end()
			o.ReadOnly, o.Linked = true, true
			o.Roots, err = copies.roots()
		}
		if err != nil {
			return fmt.Errorf("serve: %w", err)
		}
	}
	if o.Extensions, err = choice.CountedExtensions(c, registry, counted); err != nil {
		return err
	}
	shares := service.Divide(o.Memory, o.Limits, o.Extensions)
	a.checkShares(a.serverMemory(), shares)
	cli.LowerHeap(cli.HeapOf(o.Memory))
	pool.runBytes = min(maxRunBytes, shares.Computing/2)
	pool.spare = func(int64) int64 { return shares.Computing / 4 } // so that three of them run at once
	if o.Traces, err = trace.FromEnvironment(ctx, o.Release, a.Log); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceWait)
		defer cancel()
		if err := o.Traces.Close(closing); err != nil {
			a.Log.Warn("traces", "error", err) // only logged: the requests were served
		}
	}()
	o.Open, o.Place, o.Metrics, o.Scrape = pool.openEngine, pool.placeChanging, counted, metrics.NewPages(registry)
	o.Backend, o.Device, o.Unused = pool.first().Name(), backend.Describe(pool.first()).Device, pool.unusedGPUs
	s, err := service.Open(ctx, o)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWait)
		defer cancel()
		err = errors.Join(err, s.Close(closing))
	}()
	if err := metrics.Watch(registry, s.State()); err != nil {
		return err
	}

	at, err := listen(c.Listen, c.GRPCListen)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	url := "http://" + reachable(at.http.Addr())
	if cert != nil {
		url = "https://" + reachable(at.http.Addr())
	}
	made := func() {}
	if copies != nil {
		copies.s = s
		copies.begin(c.Replicas[0].Name)
		made = s.AwaitShown(func() string { return *copies.fetching.Load() })
	}
	if demo {
		made = s.Await("the collection " + demoName)
		fmt.Fprintf(a.Err, "the collection %s is loaded or built before the server says that it serves\n", demoName)
	} else {
		a.announce(url, at)
	}
	serve := func(ctx context.Context) error { return s.Serve(ctx, at.http, at.grpc, cert) }
	return serveUntil(ctx, serve, func(ctx context.Context) error {
		if copies != nil {
			return a.serveReplicas(ctx, copies, made, func(ctx context.Context) { a.reloads(ctx, hangups, s, certs, copies) })
		}
		var err error
		if demo {
			err = a.loadDemo(ctx, s, url, func() { made(); a.announce(url, at) })
		}
		if err == nil {
			a.reloads(ctx, hangups, s, certs, nil)
		}
		return err
	})
}

// listeners are the addresses that the service is reached at.
type listeners struct{ http, grpc net.Listener } // grpc: nil for none

// listen opens the listeners of two addresses; without one for gRPC there is none.
func listen(http, grpc string) (at listeners, err error) {
	if at.http, err = net.Listen("tcp", http); err != nil || grpc == "" {
		return at, err
	}
	if at.grpc, err = net.Listen("tcp", grpc); err != nil {
		return at, errors.Join(fmt.Errorf("gRPC: %w", err), at.http.Close())
	}
	return at, nil
}

// announce prints where the service is and where its data lies.
func (a *app) announce(url string, at listeners) {
	folder, err := filepath.Abs(a.Config.Server.Data)
	if err != nil {
		folder = a.Config.Server.Data
	}
	if a.Config.Server.ReadOnly {
		fmt.Fprintf(a.Out, "thresher serves %s, read-only\n", url)
	} else {
		fmt.Fprintf(a.Out, "thresher serves %s, data in %s\n", url, folder)
	}
	if at.grpc != nil {
		fmt.Fprintf(a.Out, "thresher serves gRPC on %s\n", reachable(at.grpc.Addr()))
	}
}

// serveUntil serves until ctx ends or a background task fails.
func serveUntil(ctx context.Context, serve, background func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() {
		err := background(ctx)
		if err != nil && ctx.Err() == nil {
			stop()
			done <- err
			return
		}
		done <- nil
	}()
	err := serve(ctx)
	stop()
	return errors.Join(err, <-done)
}

// reachable returns an address that a client on this machine can use.
func reachable(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("localhost", fmt.Sprint(tcp.Port))
	}
	return addr.String()
}

// serviceOptions converts the settings to options of the service.
func (a *app) serviceOptions() service.Options {
	c := &a.Config.Server
	build := readBuildInfo()
	o := service.Options{
		Dir: c.Data, Backups: service.Backups{Folder: c.BackupFolder, Keep: c.BackupKeep}, Roots: c.Roots, Origins: c.Origins, OpenMetrics: c.OpenMetrics, Proxies: c.Proxies,
		AnyHost: c.Insecure || !c.Loopback(),
		Memory:  a.serverMemory().Bytes, Limits: a.serviceLimits(),
		Timeouts: service.Timeouts{
			Header: c.HeaderTimeout, Body: c.BodyTimeout, Idle: c.IdleTimeout, Search: c.SearchTimeout, Drain: c.DrainTimeout, LameDuck: c.LameDuck,
		},
		Coalesce:         &batch.CoalescerOptions{Window: c.CoalesceWindow, MaxQueries: c.CoalesceQueries, MaxWaiting: c.MaxSearches},
		Turn:             c.Turn,
		BatchConcurrency: c.BatchConcurrency, BatchChunk: c.BatchChunk,
		Retention: service.Retention{Files: c.FileKeep, Batches: c.BatchKeep},
		Threads:   a.Config.Threads,
		Version:   build, Release: build.Version, Revision: build.Revision, Log: a.Log, Audit: a.Audit,
	}
	if o.Timeouts.Search == 0 {
		o.Timeouts.Search = -1
	}
	if o.Timeouts.Drain == 0 {
		o.Timeouts.Drain = -1
	}
	o.Limits.Connections = a.serverConnections(o.Memory)
	o.Tokens = tokens(c)
	return o
}

// serviceLimits converts the settings to limits of the service.
func (a *app) serviceLimits() service.Limits {
	c := &a.Config.Server
	l := service.Limits{
		Body: c.MaxBody, Bodies: c.MaxBodies, Answers: c.MaxAnswers, Upload: c.MaxUpload, Files: c.MaxFiles, Dense: a.Config.DenseLimit, Read: a.Config.ReadLimit, Memory: c.MaxMemory,
		Queries: c.MaxQueries, K: c.MaxK, Results: c.MaxResults, Listed: c.MaxListed, Collections: c.MaxCollections,
		Searches: c.MaxSearches, Waiting: c.MaxWaiting, Rate: c.MinRate,
		ClientRate: float64(c.ClientRate), ClientBurst: c.ClientBurst, ClientSearches: c.ClientSearches,
	}
	if l.Waiting == 0 {
		l.Waiting = -1
	}
	return l
}
