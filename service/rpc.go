package service

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"connectrpc.com/connect"

	"thresher/service/catalog"
	"thresher/service/oip"
	"thresher/service/oip/inferencepb"
	"thresher/service/problem"
)

// rpc answers the Open Inference Protocol over gRPC: the same searches, turns, limits, tokens
// and deadlines as over HTTP, because a call is an HTTP/2 request.
type rpc struct {
	s      *Server
	calls  *http.ServeMux
	errors *connect.ErrorWriter
}

// RPC returns the handler of gRPC, for a listener of its own.
func (s *Server) RPC() http.Handler {
	p := &rpc{s: s, errors: connect.NewErrorWriter()}
	options := []connect.HandlerOption{
		connect.WithReadMaxBytes(int(s.o.Limits.Body)),
		connect.WithCompression("deflate", noInflater, newDeflater),
	}
	mux := http.NewServeMux()
	mux.Handle(inferencepb.NewGRPCInferenceServiceHandler(p, options...))
	mux.Handle(healthProcedure, connect.NewUnaryHandlerSimple(healthProcedure, p.Check, options...))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		_ = p.errors.Write(w, r, connect.NewError(connect.CodeUnimplemented, problem.New(problem.UnknownPath, "there is no method %s", r.URL.Path)))
	})
	p.calls = mux
	return p
}

// call is one gRPC call.
type call struct {
	*request
	w    *callWriter
	body *callBody
	turn *turn // of the message being answered, or nil
}

type callKey struct{}

// callOf returns the call of a method's context.
func callOf(ctx context.Context) *call {
	c := ctx.Value(callKey{}).(*call)
	c.Request = c.WithContext(ctx)
	return c
}

// ServeHTTP answers one call.
func (p *rpc) ServeHTTP(raw http.ResponseWriter, r *http.Request) {
	s := p.s
	x, r := beginExchange(raw, r)
	r = s.traced(x, r, raw.Header())
	w := &callWriter{writer{ResponseWriter: raw, control: http.NewResponseController(raw), pace: s.pace}}
	x.paced = &paced{body: r.Body, control: w.control, pace: s.pace}
	defer s.watch(x, r, &w.writer)()
	defer s.recover(x, &w.writer, r)
	w.Header().Set("X-Request-Id", x.id)
	if kind := r.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/grpc") || strings.HasPrefix(kind, "application/grpc-web") {
		s.fail(x, &w.writer, r, problem.New(problem.UnsupportedMedia, "this address answers gRPC, not %q", kind).In("Content-Type").Within([]string{"application/grpc"}))
		return
	}
	// An answer is compressed as its request is, not whenever the client accepts it. The
	// request is decompressed before it is read.
	coding := r.Header.Get("Grpc-Encoding")
	r.Header.Del("Grpc-Encoding")
	if r.Header.Del("Grpc-Accept-Encoding"); opener(coding) != nil {
		r.Header.Set("Grpc-Accept-Encoding", coding)
	}
	leave, err := p.admit(x, w, r)
	if err != nil {
		_ = p.errors.Write(w, r, p.failed(x, r, err))
		return
	}
	defer leave()
	r, end, err := s.attend(x, nil, r, p.needs(r.URL.Path))
	if err != nil {
		_ = p.errors.Write(w, r, p.failed(x, r, err))
		return
	}
	defer end()
	x.client = s.clientOf(x, r)
	c := &call{request: &request{Request: r, x: x}, w: w}
	c.body = &callBody{ReadCloser: r.Body, p: p, c: c, coding: coding}
	defer c.body.endMessage()
	r = r.WithContext(context.WithValue(r.Context(), callKey{}, c))
	c.Request, r.Body = r, c.body
	if _, known := p.calls.Handler(r); known != "/" {
		x.route = known
	}
	p.calls.ServeHTTP(w, r)
	if code := w.Header().Get(http.TrailerPrefix + "Grpc-Status"); x.err == nil && code != "" && code != "0" {
		p.unreadable(x, code, w.Header().Get(http.TrailerPrefix+"Grpc-Message"))
	}
}

// unreadable records a call that failed before its method: the method does not exist, or the
// message is malformed or too large.
func (p *rpc) unreadable(x *exchange, code, message string) {
	kind := problem.Malformed
	switch code {
	case "8": // RESOURCE_EXHAUSTED
		kind = problem.BodyTooLarge
	case "12": // UNIMPLEMENTED
		kind = problem.UnknownPath
	}
	x.err = problem.New(kind, "%s", message)
	if p.s.o.Metrics != nil {
		p.s.o.Metrics.Rejected(string(kind))
	}
}

// admit admits a call, until leave.
func (p *rpc) admit(x *exchange, w http.ResponseWriter, r *http.Request) (leave func(), err error) {
	if err := p.s.checkHost(r); err != nil {
		return nil, err
	}
	need := p.needs(r.URL.Path)
	if err := p.s.permit(x, w, r, need); err != nil || need == open {
		return func() {}, err
	}
	if err := p.s.checkConnection(r.Context()); err != nil {
		return nil, err
	}
	return p.s.enter()
}

// needs returns the scope that a call needs; those that need none are also answered while
// draining.
func (p *rpc) needs(path string) scope {
	switch path {
	case inferencepb.GRPCInferenceServiceServerLiveProcedure, inferencepb.GRPCInferenceServiceServerReadyProcedure, healthProcedure:
		return open
	}
	return read
}

// fail converts the error of a method.
func (p *rpc) fail(c *call, err error) error {
	if err == nil {
		return nil
	}
	return p.failed(c.x, c.Request, err)
}

// failed converts an error to a status, and records it for the log and the metrics.
func (p *rpc) failed(x *exchange, r *http.Request, err error) *connect.Error {
	if x.revoked.Load() {
		err = errRevoked()
	}
	x.err = err
	if ctx := r.Context(); ctx.Err() == context.Canceled && !x.revoked.Load() && p.s.stopped.Err() == nil {
		return connect.NewError(connect.CodeCanceled, err)
	}
	found := problem.Of(err)
	if p.s.o.Metrics != nil {
		p.s.o.Metrics.Rejected(string(found.Kind))
	}
	status := connect.NewError(codeOf(found.Kind), found)
	status.Meta().Set("problem-type", problem.TypePrefix+string(found.Kind))
	return status
}

// codeOf returns the gRPC code of a kind of problem.
func codeOf(k problem.Kind) connect.Code {
	switch k {
	case problem.BodyTooLarge, problem.OutOfMemory, problem.DiskFull, problem.QueueFull:
		return connect.CodeResourceExhausted
	case problem.NameTaken:
		return connect.CodeAlreadyExists
	}
	switch status := k.Status(); status {
	case http.StatusUnauthorized:
		return connect.CodeUnauthenticated
	case http.StatusForbidden:
		return connect.CodePermissionDenied
	case http.StatusNotFound:
		return connect.CodeNotFound
	case http.StatusMethodNotAllowed:
		return connect.CodeUnimplemented
	case http.StatusConflict:
		return connect.CodeFailedPrecondition
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return connect.CodeDeadlineExceeded
	case http.StatusTooManyRequests:
		return connect.CodeResourceExhausted
	case http.StatusServiceUnavailable:
		return connect.CodeUnavailable
	default:
		if status < 500 {
			return connect.CodeInvalidArgument
		}
	}
	return connect.CodeInternal
}

// use returns the requested version of a model, by default the newest, in use.
func (p *rpc) use(c *call, name, version string) (*catalog.Version, error) {
	c.SetPathValue("name", name)
	c.SetPathValue("version", version)
	return p.s.model(c.request)
}

func (p *rpc) ServerLive(context.Context, *inferencepb.ServerLiveRequest) (*inferencepb.ServerLiveResponse, error) {
	return &inferencepb.ServerLiveResponse{Live: true}, nil
}

func (p *rpc) ServerReady(context.Context, *inferencepb.ServerReadyRequest) (*inferencepb.ServerReadyResponse, error) {
	return &inferencepb.ServerReadyResponse{Ready: p.s.ready() == nil}, nil
}

func (p *rpc) ServerMetadata(context.Context, *inferencepb.ServerMetadataRequest) (*inferencepb.ServerMetadataResponse, error) {
	return oip.NewServerMetadata("thresher", p.s.o.Release).Message(), nil
}

// ModelReady reports a model that does not exist or cannot be searched as not ready.
func (p *rpc) ModelReady(ctx context.Context, m *inferencepb.ModelReadyRequest) (*inferencepb.ModelReadyResponse, error) {
	v, err := p.use(callOf(ctx), m.GetName(), m.GetVersion())
	if err != nil {
		return &inferencepb.ModelReadyResponse{}, nil
	}
	v.Release()
	return &inferencepb.ModelReadyResponse{Ready: true}, nil
}

func (p *rpc) ModelMetadata(ctx context.Context, m *inferencepb.ModelMetadataRequest) (*inferencepb.ModelMetadataResponse, error) {
	c := callOf(ctx)
	v, err := p.use(c, m.GetName(), m.GetVersion())
	if err != nil {
		return nil, p.fail(c, err)
	}
	defer v.Release()
	info := v.Info()
	return oip.NewModel(info.Name, []int64{info.Version}, v.Dim(), naming(v)).Message(), nil
}

func (p *rpc) ModelConfig(ctx context.Context, m *inferencepb.ModelConfigRequest) (*inferencepb.ModelConfigResponse, error) {
	c := callOf(ctx)
	v, err := p.use(c, m.GetName(), m.GetVersion())
	if err != nil {
		return nil, p.fail(c, err)
	}
	defer v.Release()
	return oip.NewModelConfig(v.Info().Name, v.Dim(), naming(v)).Message(), nil
}

func (p *rpc) ModelStatistics(ctx context.Context, m *inferencepb.ModelStatisticsRequest) (*inferencepb.ModelStatisticsResponse, error) {
	var all []oip.ModelStatistics
	if c := callOf(ctx); m.GetName() != "" {
		v, err := p.use(c, m.GetName(), m.GetVersion())
		if err != nil {
			return nil, p.fail(c, err)
		}
		defer v.Release()
		all = append(all, p.s.statisticsOf(v.Info()))
	} else {
		all = p.s.allStatistics()
	}
	answer := &inferencepb.ModelStatisticsResponse{}
	for _, m := range all {
		answer.ModelStats = append(answer.ModelStats, m.Message())
	}
	return answer, nil
}

func (p *rpc) RepositoryIndex(_ context.Context, m *inferencepb.RepositoryIndexRequest) (*inferencepb.RepositoryIndexResponse, error) {
	answer := &inferencepb.RepositoryIndexResponse{}
	for _, m := range p.s.modelIndex(m.GetReady()) {
		answer.Models = append(answer.Models, m.Message())
	}
	return answer, nil
}

// healthProcedure is the procedure of gRPC's health checking protocol.
const healthProcedure = "/grpc.health.v1.Health/Check"

// Check answers health checks of the server, "", and of the inference service.
func (p *rpc) Check(_ context.Context, m *inferencepb.HealthCheckRequest) (*inferencepb.HealthCheckResponse, error) {
	if name := m.GetService(); name != "" && name != inferencepb.GRPCInferenceServiceName {
		return nil, connect.NewError(connect.CodeNotFound, problem.New(problem.UnknownPath, "there is no service %s", strconv.Quote(name)))
	}
	if p.s.ready() != nil {
		return &inferencepb.HealthCheckResponse{Status: inferencepb.HealthCheckResponse_NOT_SERVING}, nil
	}
	return &inferencepb.HealthCheckResponse{Status: inferencepb.HealthCheckResponse_SERVING}, nil
}
