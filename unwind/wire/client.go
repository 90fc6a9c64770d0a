package wire

import (
	"context"
	"errors"
	"io"

	"github.com/clewdbg/clew/unwind"
	pb "github.com/clewdbg/clew/unwind/wire/unwindv1"
	"google.golang.org/grpc"
)

// Client calls an unwinder on the other side of a connection. It is safe for
// concurrent use.
//
// Errors are [*ContractError] (the other side's messages contradict
// themselves), [*RequestError] (the caller's fault), [*StrategyError] (the strategy itself returned one), the
// context's own, or a gRPC status with code Unavailable or Canceled (the other
// side is gone).
type Client struct {
	rpc pb.UnwinderClient
}

var _ unwind.Unwinder = (*Client)(nil)

// NewClient makes a client on a connection.
func NewClient(conn grpc.ClientConnInterface) *Client {
	return &Client{rpc: pb.NewUnwinderClient(conn)}
}

var answerLimit = grpc.MaxCallRecvMsgSize(MaxAnswer)

// Describe implements [unwind.Unwinder].
func (c *Client) Describe(ctx context.Context) (unwind.Description, error) {
	p, err := c.rpc.Describe(ctx, &pb.DescribeRequest{}, answerLimit)
	if err != nil {
		return unwind.Description{}, callError(ctx, "Describe", err)
	}
	return describeFromWire(p)
}

// Update implements [unwind.Unwinder].
func (c *Client) Update(ctx context.Context, delta unwind.ImageDelta) ([]unwind.ImageReport, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the stream where sending failed
	stream, err := c.rpc.Update(ctx, answerLimit)
	if err != nil {
		return nil, callError(ctx, "Update", err)
	}
	p, err := transmit(stream, func(send func(*pb.UpdateChunk) error) error { return sendDelta(&delta, send) })
	if err != nil {
		return nil, callError(ctx, "Update", err)
	}
	return reportsFromWire(delta.Added, p)
}

// Yield implements [unwind.Unwinder].
func (c *Client) Yield(ctx context.Context, ranges unwind.RangeSet) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.rpc.Yield(ctx)
	if err != nil {
		return callError(ctx, "Yield", err)
	}
	_, err = transmit(stream, func(send func(*pb.YieldChunk) error) error { return sendRanges(ranges, send) })
	return callError(ctx, "Yield", err)
}

// transmit sends all messages and receives the answer. Sending fails with EOF
// when the server has answered already, mostly with an error; the answer says
// why.
func transmit[Req, Res any](stream grpc.ClientStreamingClient[Req, Res], all func(send func(*Req) error) error) (*Res, error) {
	if err := all(stream.Send); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return stream.CloseAndRecv()
}

// Walk implements [unwind.Unwinder]. It takes as many round trips as the limit
// of a message's size asks for, one as a rule.
func (c *Client) Walk(ctx context.Context, requests []unwind.WalkRequest) ([]unwind.WalkResult, error) {
	var results []unwind.WalkResult
	for first := 0; first < len(requests); {
		batch, err := nextBatch(requests[first:])
		if err != nil {
			return nil, err
		}
		n := len(batch.GetRequests())
		answer, err := c.rpc.Walk(ctx, batch, answerLimit)
		if err != nil {
			return nil, callError(ctx, "Walk", err)
		}
		part, err := answerFromWire(requests[first:first+n], answer)
		if err != nil {
			return nil, err
		}
		if n == len(requests) {
			return part, nil
		}
		results = append(results, part...)
		first += n
	}
	return results, nil
}

// nextBatch takes requests, at least one, until a message is full.
func nextBatch(requests []unwind.WalkRequest) (*pb.WalkBatch, error) {
	batch := &pb.WalkBatch{}
	total := 0
	for i := range requests {
		p, size, err := requestToWire(&requests[i])
		if err != nil {
			return nil, err
		}
		if total += size; i > 0 && total > MaxRequest {
			break
		}
		batch.Requests = append(batch.Requests, p)
	}
	return batch, nil
}
