package prologue

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
)

var qemuBuilds = []string{
	"aarch64-linux-gnu-gcc -O0", "aarch64-linux-gnu-gcc -O1", "aarch64-linux-gnu-gcc -O2", "aarch64-linux-gnu-gcc -Os",
	"aarch64-linux-gnu-gcc -O2 -fomit-frame-pointer", "aarch64-linux-gnu-gcc -O2 -mbranch-protection=standard",
	"aarch64-linux-gnu-gcc -O2 -fstack-clash-protection", "aarch64-linux-gnu-gcc -O1 -fno-omit-frame-pointer",
	"clang --target=aarch64-linux-gnu -O0", "clang --target=aarch64-linux-gnu -O1", "clang --target=aarch64-linux-gnu -O2",
	"clang --target=aarch64-linux-gnu -Os -fomit-frame-pointer", "clang --target=aarch64-linux-gnu -O2 -mbranch-protection=standard",
}

// TestStepARM64: R6 and the rules of compact unwind for the innermost frame, under qemu's GDB stub.
func TestStepARM64(t *testing.T) {
	needTool(t, "aarch64-linux-gnu-gcc")
	needTool(t, "qemu-aarch64")
	a := &testArch{
		rule: ARM64, text: Rule.ARM64String, fp: X29, sp: SP,
		call: func(code []byte) (bool, int) {
			w := binary.LittleEndian.Uint32(code)
			return w>>26 == 0x25 || w&0xfffffc1f == 0xd63f0000, 4
		},
		ret: func(code []byte) bool {
			w := binary.LittleEndian.Uint32(code)
			return w == 0xd65f03c0 || w == 0xd65f0bff || w == 0xd65f0fff
		},
		entered: func(_ *stepper, r *registers) (uint64, uint64) { return r.r[SP], r.r[X30] },
	}
	for r := X19; r <= X28; r++ {
		a.saved = append(a.saved, r)
	}
	for r := D8; r <= D15; r++ {
		a.saved = append(a.saved, r)
	}
	stepAll(t, a, qemuBuilds, startQEMU)
}

// stub is a program under qemu's GDB stub (GDB manual, appendix E, remote serial protocol).
type stub struct {
	c net.Conn
	r *bufio.Reader
}

func startQEMU(t *testing.T, exe string) machine {
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
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var c net.Conn
	for range 200 {
		if c, err = net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	s := &stub{c, bufio.NewReader(c)}
	// The stub knows the vector registers only after its features were asked for.
	for _, q := range []string{"qSupported:qXfer:features:read+", "qXfer:features:read:target.xml:0,ffb"} {
		if _, err := s.ask(q); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *stub) ask(q string) (string, error) {
	sum := byte(0)
	for i := range len(q) {
		sum += q[i]
	}
	_ = s.c.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := fmt.Fprintf(s.c, "$%s#%02x", q, sum); err != nil {
		return "", err
	}
	if _, err := s.r.ReadString('$'); err != nil {
		return "", err
	}
	a, err := s.r.ReadString('#')
	if err != nil {
		return "", err
	}
	if _, err := s.r.Discard(2); err != nil {
		return "", err
	}
	_, err = s.c.Write([]byte{'+'})
	return strings.TrimSuffix(a, "#"), err
}

func (s *stub) step() (bool, int, error) {
	a, err := s.ask("s")
	if err != nil {
		return false, 0, err
	}
	switch {
	case strings.HasPrefix(a, "T05"), strings.HasPrefix(a, "S05"):
		return true, 0, nil
	case strings.HasPrefix(a, "W"):
		n, err := strconv.ParseUint(a[1:3], 16, 8)
		return false, int(n), err
	}
	return false, 0, fmt.Errorf("stub stopped: %s", a)
}

func (s *stub) bytes(q string) ([]byte, error) {
	a, err := s.ask(q)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(a, "E") {
		return nil, errors.New(a)
	}
	return hex.DecodeString(a)
}

func (s *stub) registers(out *registers) error {
	b, err := s.bytes("g")
	if err != nil {
		return err
	}
	if len(b) < 33*8 {
		return fmt.Errorf("stub sends %d bytes of registers", len(b))
	}
	for i := range 32 {
		out.r[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	out.pc = binary.LittleEndian.Uint64(b[32*8:])
	for i := range 8 {
		v, err := s.bytes(fmt.Sprintf("p%x", 34+8+i)) // after x0-x30, sp, pc, cpsr come the vector registers
		if err != nil || len(v) < 8 {
			return fmt.Errorf("register v%d: %w", 8+i, errors.Join(err, errors.New("not readable")))
		}
		out.r[int(D8)+i] = binary.LittleEndian.Uint64(v)
	}
	return nil
}

func (s *stub) word(addr uint64) (uint64, error) {
	b, err := s.bytes(fmt.Sprintf("m%x,8", addr))
	if err != nil || len(b) != 8 {
		return 0, errors.Join(err, errors.New("memory not readable"))
	}
	return binary.LittleEndian.Uint64(b), nil
}
