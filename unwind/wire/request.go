package wire

import (
	"fmt"
	"math"

	"github.com/clewdbg/clew/unwind"
	pb "github.com/clewdbg/clew/unwind/wire/unwindv1"
)

const (
	// MaxRequest bounds a message to a plugin, in bytes.
	MaxRequest = 3 << 20
	// MaxAnswer bounds a message from a plugin, in bytes.
	MaxAnswer = 64 << 20

	// requestOverhead is an upper bound for a request without its memory: 42
	// registers of at most 13 bytes and some numbers.
	requestOverhead = 1 << 10
	// windowOverhead is the same for one window.
	windowOverhead = 32
	// maxCode bounds the code of a function: a longer one is not sent, since the
	// missing part might lie before PC.
	maxCode = 1 << 20
	// maxBudget bounds the windows of one request in a message.
	maxBudget = MaxRequest - maxCode - 2*requestOverhead
)

// requestToWire converts without copying memory: the message aliases r's
// windows and code. Windows beyond the limit of a message are left out; those
// given first win. size is an upper bound for the encoded message.
func requestToWire(r *unwind.WalkRequest) (out *pb.WalkRequest, size int, err error) {
	if r.MaxFrames < 1 {
		return nil, 0, &RequestError{Reason: fmt.Sprintf("it asks for %d frames", r.MaxFrames)}
	}
	// Values that only the strategy can judge are sent unchanged: an architecture
	// that it does not know, a segment that is inverted. Its answer is that it has
	// no rule.
	arch, _ := archFromWire(pb.Arch(r.Arch))
	out = &pb.WalkRequest{
		Arch:          pb.Arch(arch),
		Registers:     registersToWire(&r.Registers),
		ReturnAddress: r.Kind == unwind.KindReturn,
		MaxFrames:     uint32(min(r.MaxFrames, math.MaxInt32)),
		AllRegisters:  r.AllRegisters,
	}
	if r.Segment != (unwind.Segment{}) {
		out.Segment = &pb.Segment{Low: r.Segment.Low, High: r.Segment.High, Kind: pb.Segment_Kind(r.Segment.Kind)}
	}
	size = requestOverhead
	if f := r.Function; f != nil && len(f.Code) <= maxCode {
		out.Function = &pb.FunctionCode{Start: f.Start, Exact: f.Exact, Code: f.Code}
		size += len(f.Code)
	}
	left := maxBudget
	windows := make([]pb.Window, len(r.Stack)) // one allocation for all
	out.Stack = make([]*pb.Window, 0, len(r.Stack))
	for i, w := range r.Stack {
		left -= windowOverhead
		if left <= 0 {
			break
		}
		data := w.Data[:min(len(w.Data), left)]
		left -= len(data)
		size += len(data) + windowOverhead
		windows[i].Addr, windows[i].Data = w.Addr, data
		out.Stack = append(out.Stack, &windows[i])
	}
	return out, size, nil
}

func registersToWire(r *unwind.Registers) *pb.Registers {
	n := r.Len()
	out := &pb.Registers{Number: make([]uint32, 0, n), Value: make([]uint64, 0, n)}
	for reg, v := range r.All() {
		out.Number = append(out.Number, uint32(reg))
		out.Value = append(out.Value, v)
	}
	return out
}

// requestFromWire checks and converts. The result aliases the message.
func requestFromWire(p *pb.WalkRequest) (unwind.WalkRequest, error) {
	const method = "Walk"
	var r unwind.WalkRequest
	arch, _ := archFromWire(p.GetArch()) // a newer host's is ArchUnknown
	if n := p.GetMaxFrames(); n < 1 || n > math.MaxInt32 {
		return r, broken(method, "%d frames asked for", n)
	}
	numbers, values := p.GetRegisters().GetNumber(), p.GetRegisters().GetValue()
	if len(numbers) != len(values) {
		return r, broken(method, "%d register numbers and %d values", len(numbers), len(values))
	}
	r.Arch, r.MaxFrames, r.AllRegisters = arch, int(p.GetMaxFrames()), p.GetAllRegisters()
	for i, n := range numbers {
		setRegister(&r.Registers, n, values[i])
	}
	if p.GetReturnAddress() {
		r.Kind = unwind.KindReturn
	}
	if s := p.GetSegment(); s != nil {
		if s.GetKind() < 0 || s.GetKind() > pb.Segment_KIND_SIGNAL {
			return r, broken(method, "segment of unknown kind %d", s.GetKind())
		}
		r.Segment = unwind.Segment{Low: s.GetLow(), High: s.GetHigh(), Kind: unwind.SegmentKind(s.GetKind())}
	}
	r.Stack = make(unwind.Windows, len(p.GetStack()))
	for i, w := range p.GetStack() {
		if n := uint64(len(w.GetData())); n > 0 && n-1 > math.MaxUint64-w.GetAddr() {
			return r, broken(method, "window %d at %#x ends past the address space", i, w.GetAddr())
		}
		r.Stack[i] = unwind.Window{Addr: w.GetAddr(), Data: w.GetData()}
	}
	if f := p.GetFunction(); f != nil {
		r.Function = &unwind.FunctionCode{Start: f.GetStart(), Exact: f.GetExact(), Code: f.GetCode()}
	}
	return r, nil
}

// setRegister ignores numbers that the domain does not keep, as a side that is
// newer than this one may send them.
func setRegister(r *unwind.Registers, number uint32, v uint64) {
	if number < uint32(unwind.NoRegister) {
		r.Set(unwind.Register(number), v)
	}
}
