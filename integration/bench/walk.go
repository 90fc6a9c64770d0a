package main

import (
	"context"
	"fmt"

	"github.com/clewdbg/clew/plugins/fpwalk"
	"github.com/clewdbg/clew/server/pluginhost"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// frameSize is how much stack a frame of the walks has, in bytes.
const frameSize = 128

// windowSize is how much of the stack goes with a request: as much as a deep stack's
// windows grow to.
const windowSize = 256 << 10

// chain makes a stack of n frames that are linked by frame pointers.
func chain(n int) (unwind.WalkRequest, error) {
	s := stackasm.New(unwind.AMD64, 0x7ffd_0000_0000)
	for i := range n {
		s.Mark(fmt.Sprint("frame", i)).Ref(fmt.Sprint("frame", i+1)).Word(0x40_0000 + uint64(i%977)*64).Pad(frameSize - 16)
	}
	s.Mark(fmt.Sprint("frame", n)).Word(0, 0).Pad(16)
	m, err := s.Assemble()
	if err != nil {
		return unwind.WalkRequest{}, err
	}
	regs, err := m.Registers(unwind.AMD64, stackasm.Values{"rip": stackasm.Num(0x40_0010), "rsp": stackasm.At("frame0"), "rbp": stackasm.At("frame0")})
	return unwind.WalkRequest{Arch: unwind.AMD64, Registers: regs, Kind: unwind.KindReturn,
		Segment: m.Segment(unwind.SegmentThread), Stack: m.Windows(), MaxFrames: 1 << 20}, err
}

// walkAll walks a stack in windows, as the assembler does, and returns the
// number of steps.
func walkAll(u unwind.Unwinder, whole unwind.WalkRequest) (steps int, err error) {
	stack, request := whole.Stack[0], whole
	for {
		sp, _ := request.Registers.SP(unwind.AMD64)
		from := sp - stack.Addr
		to := min(from+windowSize, uint64(len(stack.Data)))
		request.Stack = unwind.Windows{{Addr: sp, Data: stack.Data[from:to]}}
		results, err := u.Walk(context.Background(), []unwind.WalkRequest{request})
		if err != nil {
			return steps, err
		}
		n := len(results[0].Steps)
		steps += n
		if results[0].Stop != unwind.StopMemory || n == 0 {
			return steps, nil
		}
		request.Registers = results[0].Steps[n-1].Caller
	}
}

// walks measures the cost of running a strategy in a process of its own.
func walks(t *table) error {
	t.title = "A walk by frame pointers, in this process and through the plugin's"
	t.notes = []string{fmt.Sprintf("Frames of %d bytes, windows of %d KiB.", frameSize, windowSize>>10)}
	t.header = []string{"frames", "in-process ns/frame", "plugin ns/frame", "plugin, whole", "plugin against in-process"}
	host, err := pluginhost.New(pluginhost.Options{Plugins: []pluginhost.Config{{Name: unwind.StrategyFP}}, WalkTimeout: patience})
	if err != nil {
		return err
	}
	defer host.Close()
	for _, n := range []int{50, 10_000} {
		request, err := chain(n)
		if err != nil {
			return err
		}
		walk := func(u unwind.Unwinder) func() error {
			return func() error {
				if got, err := walkAll(u, request); err != nil || got != n {
					return fmt.Errorf("%d steps of %d: %w", got, n, err)
				}
				return nil
			}
		}
		r, err := compare(t.rounds,
			contender{name: "in-process", run: walk(fpwalk.New())},
			contender{name: "plugin", run: walk(host.Plugin(unwind.StrategyFP))})
		if err != nil {
			return err
		}
		t.row(fmt.Sprint(n), r[0].per(n), r[1].per(n), r[1].total(), r[1].to(r[0]))
	}
	return nil
}
