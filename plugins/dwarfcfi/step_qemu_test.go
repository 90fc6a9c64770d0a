package dwarfcfi

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/cfi/cfitest"
)

var qemuBuilds = []string{
	"aarch64-linux-gnu-gcc -O0", "aarch64-linux-gnu-gcc -O2 -mbranch-protection=standard",
	"clang --target=aarch64-linux-gnu -Os -mbranch-protection=standard",
}

// pacMask is Linux's mask for user space with 48 bits of addresses (NT_ARM_PAC_MASK).
const pacMask = 0x007f_0000_0000_0000

// TestStepARM64 steps through arm64 programs from main on under qemu's GDB stub,
// which takes long for each instruction. Return addresses are signed in some
// (R11).
func TestStepARM64(t *testing.T) {
	testneed.Tool(t, "aarch64-linux-gnu-gcc")
	testneed.Tool(t, "qemu-aarch64")
	code := machineCode{
		arch: unwind.ARM64,
		kind: func(code []byte) kindOfInstruction {
			switch w := binary.LittleEndian.Uint32(code); {
			case w>>26 == 0x25, w&0xffff_fc1f == 0xd63f_0000: // bl, blr
				return call
			case w == 0xd65f_03c0, w == 0xd65f_0bff, w == 0xd65f_0fff: // ret, retaa, retab
				return ret
			}
			return other
		},
		entered: func(_ *tracer, regs *registerFile) (cfa, ra uint64) {
			return regs[unwind.ARM64SP], regs[unwind.ARM64LR]
		},
	}
	for r := unwind.Register(19); r <= unwind.ARM64FP; r++ {
		code.saved = append(code.saved, r)
	}
	code.enough = 2_000
	stepAll(t, &code, qemuBuilds, startQEMU, "-static", "-DNOSIGNAL")
}

// stub is a program under qemu's GDB stub (GDB manual, appendix E, remote
// serial protocol).
type stub struct {
	conn net.Conn
	r    *bufio.Reader
	exe  string
}

func startQEMU(t *testing.T, exe string) target {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	cmd := exec.Command("qemu-aarch64", "-g", strconv.Itoa(port), exe)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s := &stub{exe: exe}
	for range 200 {
		if s.conn, err = net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.conn.Close() })
	s.r = bufio.NewReader(s.conn)
	file, err := cfitest.Load(exe, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range file.Funcs {
		if f.Name == "main" {
			at := fmt.Sprintf("0,%x,4", f.Start)
			for _, q := range []string{"Z" + at, "c", "z" + at} {
				if answer, err := s.ask(q); err != nil || answer != "OK" && !strings.HasPrefix(answer, "T05") {
					t.Fatalf("%s: %q, %v", q, answer, err)
				}
			}
		}
	}
	return s
}

// ask sends a packet and gives the answer.
func (s *stub) ask(q string) (string, error) {
	sum := byte(0)
	for i := range len(q) {
		sum += q[i]
	}
	_ = s.conn.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := fmt.Fprintf(s.conn, "$%s#%02x", q, sum); err != nil {
		return "", err
	}
	if _, err := s.r.ReadString('$'); err != nil {
		return "", err
	}
	answer, err := s.r.ReadString('#')
	if err != nil {
		return "", err
	}
	if _, err := s.r.Discard(2); err != nil {
		return "", err
	}
	_, err = s.conn.Write([]byte{'+'})
	return strings.TrimSuffix(answer, "#"), err
}

func (s *stub) step() (stepResult, error) {
	answer, err := s.ask("s")
	switch {
	case err != nil:
		return stepResult{}, err
	case strings.HasPrefix(answer, "T05"), strings.HasPrefix(answer, "S05"):
		return stepResult{}, nil
	case len(answer) >= 3 && answer[0] == 'W':
		status, err := strconv.ParseUint(answer[1:3], 16, 8)
		return stepResult{ended: true, status: int(status)}, err
	}
	return stepResult{}, fmt.Errorf("the program stopped: %s", answer)
}

func (s *stub) bytes(q string) ([]byte, error) {
	answer, err := s.ask(q)
	if err == nil && strings.HasPrefix(answer, "E") {
		err = errors.New(answer)
	}
	if err != nil {
		return nil, err
	}
	return hex.DecodeString(answer)
}

func (s *stub) registers() (r registerFile, err error) {
	b, err := s.bytes("g")
	if err != nil || len(b) < 33*8 {
		return r, fmt.Errorf("%d bytes of registers: %w", len(b), err)
	}
	for i := range 33 { // x0 to x30, sp, pc: in DWARF's order
		r[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return r, nil
}

func (s *stub) read(addr uint64, p []byte) int {
	// The stub answers all or nothing, and a stack may end in any page.
	for n := min(len(p), 1024); n > 0; n /= 2 {
		if b, err := s.bytes(fmt.Sprintf("m%x,%x", addr, n)); err == nil && len(b) > 0 {
			return copy(p, b)
		}
	}
	return 0
}

// images gives the program, which is static: all code is known from the start.
func (s *stub) images() (unwind.ImageDelta, []unwind.Range, error) {
	file, err := cfitest.Load(s.exe, 0)
	if err != nil {
		return unwind.ImageDelta{}, nil, err
	}
	return unwind.ImageDelta{Arch: unwind.ARM64, OS: "linux", PACMask: pacMask, Added: []unwind.Image{file.Image(1)}},
		[]unwind.Range{{Start: 0, End: ^uint64(0)}}, nil
}
