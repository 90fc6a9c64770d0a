package snapshot_test

import (
	"encoding/json"
	"testing"

	. "github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/unwind"
)

// BenchmarkParse reads a snapshot with 8 MiB of memory in 512 windows;
// BenchmarkUnmarshal is the peer: encoding/json, without any of the checks.
//
//	go test ./internal/unwind/snapshot -bench 'Parse|Unmarshal'
func BenchmarkParse(b *testing.B) {
	line := bigLine(b)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, err := Parse(line); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnmarshal(b *testing.B) {
	line := bigLine(b)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		var v struct {
			Memory []struct {
				Address string
				Data    []byte
			}
		}
		if err := json.Unmarshal(line, &v); err != nil || len(v.Memory) != 512 {
			b.Fatal(err)
		}
	}
}

func bigLine(b *testing.B) []byte {
	var regs unwind.Registers
	regs.Set(unwind.AMD64RIP, 1)
	s := &Snapshot{Arch: unwind.AMD64, OS: "linux", Threads: []unwind.Thread{{Registers: regs}}}
	for i := range 512 {
		data := make([]byte, 16<<10)
		for j := range data {
			data[j] = byte(i * j)
		}
		s.Memory = append(s.Memory, unwind.Window{Addr: uint64(i) << 16, Data: data})
	}
	line, err := s.Marshal()
	if err != nil {
		b.Fatal(err)
	}
	return line
}
