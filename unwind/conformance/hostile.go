package conformance

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/clewdbg/clew/unwind"
)

// hostileBatch is the number of hostile walks in one call.
const hostileBatch = 64

// checkHostile asks about frames whose registers, stack and code are anything
// but a frame's. Every answer goes through judge; a panic or a walk without end
// is an error of the call.
func checkHostile(s *session) error {
	for _, arch := range s.description.Arches {
		var batch []unwind.WalkRequest
		flush := func() error {
			_, err := s.walk(batch...)
			batch = batch[:0]
			return err
		}
		for name, stack := range hostileStacks(arch.ByteOrder()) {
			for request := range hostileRequests(arch, stack) {
				batch = append(batch, request)
				if len(batch) < hostileBatch {
					continue
				}
				if err := flush(); err != nil {
					return fmt.Errorf("%v, stack of %s: %w", arch, name, err)
				}
			}
			if err := flush(); err != nil {
				return fmt.Errorf("%v, stack of %s: %w", arch, name, err)
			}
		}
	}
	return nil
}

const (
	hostileBase  = 0x7ffc_0000_0000
	hostileWords = 64
)

// hostileStacks are windows that no program leaves behind.
func hostileStacks(order binary.ByteOrder) map[string]unwind.Windows {
	fill := func(word func(i uint64) uint64) unwind.Windows {
		data := make([]byte, hostileWords*8)
		for i := range uint64(hostileWords) {
			order.PutUint64(data[i*8:], word(i))
		}
		return unwind.Windows{{Addr: hostileBase, Data: data}}
	}
	self := func(i uint64) uint64 { return hostileBase + i*8 }
	ones := bytes.Repeat([]byte{0xff}, 256)
	return map[string]unwind.Windows{
		"nothing":                        nil,
		"empty windows":                  {{}, {Addr: hostileBase}, {Addr: ^uint64(0)}},
		"zeros":                          fill(func(uint64) uint64 { return 0 }),
		"ones":                           fill(func(uint64) uint64 { return ^uint64(0) }),
		"words that point to themselves": fill(self),
		"words that point to the next":   fill(func(i uint64) uint64 { return self(i + 1) }),
		"words that point back":          fill(func(i uint64) uint64 { return self(hostileWords - i) }),
		"unaligned words":                fill(func(i uint64) uint64 { return self(i) + 17 }),
		"code addresses":                 fill(func(i uint64) uint64 { return 0x401000 + i }),
		"records of code and next":       fill(func(i uint64) uint64 { return []uint64{self(i + 2), 0x401000 + i}[i%2] }),
		"the end of memory":              {{Addr: -uint64(len(ones)), Data: ones}, {Addr: hostileBase, Data: ones[:7]}},
		"overlapping windows":            append(fill(self), unwind.Window{Addr: hostileBase + 4, Data: ones}),
	}
}

// hostileRequests yields requests with combinations of registers that no frame
// has.
func hostileRequests(arch unwind.Arch, stack unwind.Windows) func(yield func(unwind.WalkRequest) bool) {
	const end = hostileBase + hostileWords*8
	values := []uint64{0, 1, 8, 4095, 4096, hostileBase, hostileBase + 1, hostileBase + 8, hostileBase + 16, end - 16, end - 8, end,
		0x7fff_ffff_fff8, 0x8000_0000_0000, 1 << 63, ^uint64(16), ^uint64(15), ^uint64(7), ^uint64(0)}
	segments := []unwind.Segment{{}, {Low: hostileBase, High: end}, {Low: end, High: hostileBase}, {Low: 0, High: ^uint64(0)}}
	code := [][]byte{nil, {0xc3}, bytes.Repeat([]byte{0xff}, 64), make([]byte, 64), counting(256)}
	return func(yield func(unwind.WalkRequest) bool) {
		n := 0
		for _, sp := range values {
			for _, other := range values {
				n++
				request := unwind.WalkRequest{Arch: arch, Kind: unwind.PCKind(n % 2), Stack: stack,
					Segment: segments[n/2%len(segments)], MaxFrames: 1 + n%100, AllRegisters: n%3 == 0}
				for reg := range unwind.Register(80) {
					request.Registers.Set(reg, other)
				}
				pc := values[(n*7+n/len(values))%len(values)]
				request.Registers.Set(arch.PC(), pc)
				request.Registers.Set(arch.SP(), sp)
				if c := code[n%len(code)]; c != nil && n%2 == 0 {
					request.Function = &unwind.FunctionCode{Start: pc - uint64(n%16), Exact: n%5 != 0, Code: c}
				}
				switch n % 11 {
				case 3:
					request.Registers.Forget(arch.SP())
				case 5:
					request.Registers.Forget(arch.PC())
				case 7:
					request.Registers.Forget(arch.FP())
				}
				if !yield(request) {
					return
				}
			}
		}
	}
}
