package service

import (
	"compress/flate"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"time"

	"connectrpc.com/connect"

	"thresher/service/extension"
	"thresher/service/oip"
	"thresher/service/oip/inferencepb"
	"thresher/service/problem"
)

// callWriter is a writer that streams.
type callWriter struct{ writer }

// Flush sends what was written.
func (w *callWriter) Flush() { _ = w.control.Flush() }

// callBody is the body of a call: messages, each of which is read as the body of a search is,
// at a minimum rate and into memory that is reserved as it arrives, and then decompressed. A
// reader of the body gets the decompressed messages one after the other.
type callBody struct {
	io.ReadCloser
	p       *rpc
	c       *call
	coding  string // of compressed messages
	message *input // nil before its first byte
	ready   []byte // the unread rest of it
}

// messagePrefix is the length of the prefix of each message: whether it is compressed, and
// its length, big-endian.
const messagePrefix = 5

// endMessage releases everything that a processed message holds.
func (b *callBody) endMessage() {
	if t := b.c.turn; t != nil {
		t.end()
		b.c.turn = nil
	}
	if b.message != nil {
		b.message.close()
		b.message = nil
	}
	b.ready, b.c.w.holds = nil, nil
	p := b.c.x.paced
	p.began, p.read = time.Time{}, 0
}

func (b *callBody) Read(p []byte) (int, error) {
	if len(b.ready) == 0 {
		if b.message != nil && b.message.buf != nil {
			b.message.s.buffers.freeBody(b.message.buf) // it was copied, into memory that is still held
			b.message.buf = nil
		}
		switch err := b.receive(); {
		case err == io.EOF:
			return 0, io.EOF
		case err != nil:
			return 0, b.p.fail(b.c, err)
		}
	}
	n := copy(p, b.ready)
	b.ready = b.ready[n:]
	return n, nil
}

// receive reads the next message; io.EOF means that there is none.
func (b *callBody) receive() error {
	var prefix [messagePrefix]byte
	s, paced := b.p.s, b.c.x.paced
	// Between messages a connection may be idle.
	paced.idle.Store(true)
	_ = paced.control.SetReadDeadline(time.Now().Add(s.o.Timeouts.Idle))
	_, err := io.ReadFull(paced.body, prefix[:])
	paced.idle.Store(false)
	if err == io.EOF {
		_ = paced.control.SetReadDeadline(time.Time{})
		return io.EOF
	} else if err != nil {
		return unread(err)
	}
	size, most := int64(binary.BigEndian.Uint32(prefix[1:])), s.o.Limits.Body
	if size > most {
		return problem.New(problem.BodyTooLarge, "the message has %d bytes, at most %d are accepted", size, most).Within(most)
	}
	in := &input{Reader: body{exactly(paced, size)}, s: s, ctx: b.c.Context(), announced: size, limit: most, lead: messagePrefix, pace: paced}
	if prefix[0]&1 != 0 {
		var err error
		if in.Reader, err = b.unpacked(in.Reader, most); err != nil {
			return err
		}
		in.announced = -1
	}
	claim := most
	if in.announced >= 0 {
		claim = in.announced
	}
	in.hold = s.bodies.Hold(b.c.client(), claim+messagePrefix+1, in.giveWay)
	b.message = in
	if _, err := in.all(); err != nil {
		return err
	}
	b.ready = in.buf.b
	b.ready[0] = prefix[0] &^ 1
	binary.BigEndian.PutUint32(b.ready[1:], uint32(len(b.ready)-messagePrefix))
	return nil
}

// unpacked returns a decompressed message of at most most bytes.
func (b *callBody) unpacked(r io.Reader, most int64) (io.Reader, error) {
	open := opener(b.coding)
	if open == nil {
		return nil, problem.New(problem.Malformed, "a message is compressed by %q (grpc-encoding); gzip and deflate are supported", b.coding).In("grpc-encoding")
	}
	return body{atMost(&unpacked{body: io.NopCloser(r), coding: b.coding, open: open}, most)}, nil
}

// exactly reads size bytes of r; fewer are an error.
func exactly(r io.Reader, size int64) io.Reader { return &sized{r: r, left: size} }

type sized struct {
	r    io.Reader
	left int64
}

func (s *sized) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n, err := s.r.Read(p[:min(int64(len(p)), s.left)])
	if s.left -= int64(n); err == io.EOF && s.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// atMost reads r and fails if it has more than most bytes.
func atMost(r io.Reader, most int64) io.Reader { return &bounded{r: r, left: most, most: most} }

type bounded struct {
	r          io.Reader
	left, most int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return 0, problem.New(problem.BodyTooLarge, "the message has more than %d bytes", b.most).Within(b.most)
	}
	return n, err
}

// ModelInfer answers a search.
func (p *rpc) ModelInfer(ctx context.Context, m *inferencepb.ModelInferRequest) (*inferencepb.ModelInferResponse, error) {
	c := callOf(ctx)
	answer, err := p.infer(c, m)
	return answer, p.fail(c, err)
}

// ModelStreamInfer answers a search for each message, one after the other; the answer to an
// invalid message is its error, and the following ones are answered. A stream whose token was
// removed ends with its next message, or with the one that is being answered.
func (p *rpc) ModelStreamInfer(ctx context.Context, stream *connect.BidiStream[inferencepb.ModelInferRequest, inferencepb.ModelStreamInferResponse]) error {
	c := callOf(ctx)
	for {
		m, err := stream.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if c.x.revoked.Load() {
			return p.failed(c.x, c.Request, errRevoked())
		}
		if err != nil {
			return err // reported by the body, or its messages
		}
		answer := &inferencepb.ModelStreamInferResponse{}
		if answer.InferResponse, err = p.infer(c, m); err != nil {
			answer.ErrorMessage = p.failed(c.x, c.Request, err).Message()
			answer.InferResponse = &inferencepb.ModelInferResponse{ModelName: m.GetModelName(), Id: m.GetId()}
		}
		if c.x.revoked.Load() {
			return p.failed(c.x, c.Request, errRevoked())
		}
		if p.s.draining.Err() != nil {
			return p.fail(c, errDraining())
		}
		if err := stream.Send(answer); err != nil {
			return err
		}
		c.body.endMessage()
	}
}

// infer answers one message. Its turn lasts until the call's next message, because of the
// memory of the answer.
func (p *rpc) infer(c *call, m *inferencepb.ModelInferRequest) (answer *inferencepb.ModelInferResponse, err error) {
	s, ctx := p.s, c.Context()
	v, err := p.use(c, m.GetModelName(), m.GetModelVersion())
	if err != nil {
		return nil, err
	}
	defer v.Release()
	info := v.Info()
	counted := s.statistics.Begin(info.Name, info.Version)
	defer func() { counted.End(err) }()
	end, err := s.limits.Begin(c.client())
	if err != nil {
		return nil, limited(err)
	}
	defer end()
	t, err := s.turnOf(ctx, c.client())
	if err != nil {
		return nil, err
	}
	c.turn = t
	defer t.rest()
	t.since = t.since.Add(-c.body.message.waited())
	defer s.batches.Interactive()()
	counted.Turn(t.spent())
	q, err := oip.DecodeMessage(m, v.Dim(), s.limitsOf(v))
	if err != nil {
		return nil, err
	}
	counted.Decoded(q.Search.M)
	if len(q.Search.Former) > 0 { // of a stream, which has sent its metadata, only in the first message
		c.w.Header().Set("Deprecation", extension.DeprecatedSince)
	}
	if at, ok := ctx.Deadline(); ok {
		if q.Search.Deadline, err = beforeDeadline(q.Search.Deadline, time.Until(at), t.spent()); err != nil {
			return nil, err
		}
	}
	resp, err := s.runSearch(ctx, t, info.Name, v, q.Search)
	if err != nil {
		return nil, s.explainWait(err)
	}
	counted.Found()
	c.w.carry(t.answer, c.body.message.hold)
	return q.Message(info.Name, info.Version, resp, naming(v))
}

// beforeDeadline returns the timeout of a search, counted from when the time spent began,
// whose client waits for left: the best so far must be sent before the client's deadline.
func beforeDeadline(timeout, left, spent time.Duration) (time.Duration, error) {
	if left <= 0 {
		return 0, problem.New(problem.Deadline, "the deadline of the call passed before its search began")
	}
	if left += spent - min(left/8, maxAhead); timeout > 0 {
		left = min(left, timeout)
	}
	return left, nil
}

// maxAhead bounds the time by which a search ends before its call's deadline.
const maxAhead = 20 * time.Millisecond

// noInflater returns nil: messages are decompressed before connect reads them.
func noInflater() connect.Decompressor { return nil }

// newDeflater compresses to deflate, by which gRPC means zlib.
func newDeflater() connect.Compressor {
	w, _ := zlib.NewWriterLevel(io.Discard, flate.BestSpeed) // a valid level
	return w
}
