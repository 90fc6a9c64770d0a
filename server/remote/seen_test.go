package remote

import (
	"errors"
	"net"
	"net/rpc"
	"net/rpc/jsonrpc"
	"testing"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/server/live"
)

// FakeServer plays a Delve server. It counts how often it is asked for its state.
type FakeServer struct{ asked, thread int }

// State implements a method of Delve's.
func (s *FakeServer) State(_ rpc2.StateIn, out *rpc2.StateOut) error {
	s.asked++
	out.State = &api.DebuggerState{CurrentThread: &api.Thread{ID: s.thread}}
	return nil
}

// SetApiVersion implements a method of Delve's.
func (*FakeServer) SetApiVersion(api.SetAPIVersionIn, *api.SetAPIVersionOut) error { return nil }

// ListBreakpoints implements a method of Delve's.
func (*FakeServer) ListBreakpoints(rpc2.ListBreakpointsIn, *rpc2.ListBreakpointsOut) error {
	return nil
}

// ExamineMemory implements a method of Delve's.
func (*FakeServer) ExamineMemory(arg rpc2.ExamineMemoryIn, out *rpc2.ExaminedMemoryOut) error {
	out.Mem = make([]byte, arg.Length)
	return nil
}

// TestOneCheck: within a request that was announced the program is looked at once more only where more was
// read; a program that has moved is not taken for one that was checked.
func TestOneCheck(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	fake, served := &FakeServer{thread: 1}, rpc.NewServer()
	if err := served.RegisterName("RPCServer", fake); err != nil {
		t.Fatal(err)
	}
	go served.ServeCodec(jsonrpc.NewServerCodec(theirs))
	p := &Program{server: server{rpc2.NewClientFromConn(ours)}, seen: seen{current: 1, pages: make(map[uint64][]byte)}}
	still := func(want error, asked int) {
		t.Helper()
		before := fake.asked
		if err := p.Still(); !errors.Is(err, want) || fake.asked-before != asked {
			t.Errorf("%v, asked %d times; want %v, %d", err, fake.asked-before, want, asked)
		}
	}
	still(nil, 1)
	still(nil, 1)
	p.NewRequest()
	still(nil, 1)
	still(nil, 0)
	if err := p.Memory().ReadMemory(0x1000, make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	still(nil, 1)
	still(nil, 0)
	fake.thread = 2
	p.NewRequest()
	still(live.ErrMoved, 1)
	still(live.ErrMoved, 1)
}
