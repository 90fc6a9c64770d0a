package wire

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/clewdbg/clew/unwind"
	pb "github.com/clewdbg/clew/unwind/wire/unwindv1"
	"google.golang.org/grpc"
)

// Register serves an unwinder on a gRPC server. Calls of Walk may run side by
// side; they never overlap with Update or Yield, as the contract promises, not
// even those that the host has given up on.
func Register(s grpc.ServiceRegistrar, u unwind.Unwinder) {
	pb.RegisterUnwinderServer(s, &server{unwinder: u})
}

type server struct {
	pb.UnimplementedUnwinderServer
	unwinder unwind.Unwinder
	gate     sync.RWMutex // read: walks; write: changes of images and ranges
}

// Describe implements the service.
func (s *server) Describe(ctx context.Context, _ *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	d, err := s.unwinder.Describe(ctx)
	if err != nil {
		return nil, serverError(ctx, err)
	}
	return describeToWire(d), nil
}

// Update implements the service.
func (s *server) Update(stream grpc.ClientStreamingServer[pb.UpdateChunk, pb.UpdateResponse]) error {
	ctx := stream.Context()
	var b deltaBuilder
	if err := receive(stream.Recv, b.add); err != nil {
		return serverError(ctx, err)
	}
	delta, err := b.finish()
	if err != nil {
		return serverError(ctx, err)
	}
	s.gate.Lock()
	reports, err := s.unwinder.Update(ctx, delta)
	s.gate.Unlock()
	if err != nil {
		return serverError(ctx, err)
	}
	out, err := reportsToWire(delta.Added, reports)
	if err != nil {
		return serverError(ctx, err)
	}
	return stream.SendAndClose(out)
}

// Yield implements the service.
func (s *server) Yield(stream grpc.ClientStreamingServer[pb.YieldChunk, pb.YieldResponse]) error {
	ctx := stream.Context()
	var ranges unwind.RangeSet
	err := receive(stream.Recv, func(chunk *pb.YieldChunk) (err error) {
		ranges, err = appendRanges(ranges, chunk)
		return err
	})
	if err != nil {
		return serverError(ctx, err)
	}
	s.gate.Lock()
	err = s.unwinder.Yield(ctx, ranges)
	s.gate.Unlock()
	if err != nil {
		return serverError(ctx, err)
	}
	return stream.SendAndClose(&pb.YieldResponse{})
}

// Walk implements the service.
func (s *server) Walk(ctx context.Context, batch *pb.WalkBatch) (*pb.WalkAnswer, error) {
	requests := make([]unwind.WalkRequest, len(batch.GetRequests()))
	for i, p := range batch.GetRequests() {
		var err error
		if requests[i], err = requestFromWire(p); err != nil {
			return nil, serverError(ctx, err)
		}
	}
	results, err := s.walk(ctx, requests)
	if err != nil {
		return nil, serverError(ctx, err)
	}
	answer, err := answerToWire(requests, results)
	if err != nil {
		return nil, serverError(ctx, err)
	}
	return answer, nil
}

func (s *server) walk(ctx context.Context, requests []unwind.WalkRequest) ([]unwind.WalkResult, error) {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if err := ctx.Err(); err != nil {
		return nil, err // given up while it waited for an update
	}
	return s.unwinder.Walk(ctx, requests)
}

// receive feeds all messages of a client's stream to add.
func receive[T any](recv func() (*T, error), add func(*T) error) error {
	for {
		m, err := recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := add(m); err != nil {
			return err
		}
	}
}
