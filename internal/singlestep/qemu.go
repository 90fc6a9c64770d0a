package singlestep

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

// Emulator is one of qemu's programs, and how its stub sends registers.
type Emulator struct {
	Path  string
	Order binary.ByteOrder
	// Registers are the DWARF numbers of those that come with the packet "g", -1
	// for others; all have 8 bytes.
	Registers []int
	// Further are registers that do not come with "g", by DWARF number: their
	// numbers for the packet "p". Of longer ones the first 8 bytes count.
	Further map[int]int
}

// The layouts of "g" (qemu's gdb-xml).
var (
	// RegistersARM64 are x0 to x30, sp and pc.
	RegistersARM64 = numbers(0, 33)
	// RegistersS390X are the status word's mask and address and r0 to r15.
	RegistersS390X = append([]int{-1, 65}, numbers(0, 16)...)
)

// FurtherARM64 are the low halves of v8 to v15, FurtherS390X f0 to f7, which have
// other numbers in DWARF.
var (
	FurtherARM64 = map[int]int{72: 42, 73: 43, 74: 44, 75: 45, 76: 46, 77: 47, 78: 48, 79: 49}
	FurtherS390X = map[int]int{16: 35, 17: 37, 18: 39, 19: 41, 20: 36, 21: 38, 22: 40, 23: 42}
)

func numbers(from, n int) (list []int) {
	for i := range n {
		list = append(list, from+i)
	}
	return list
}

// Stub is a program under qemu's debug stub (GDB manual, appendix E, remote
// serial protocol).
type Stub struct {
	emulator Emulator
	conn     net.Conn
	r        *bufio.Reader
}

// Emulate starts a program, which stands before its first instruction and ends
// with the test.
func Emulate(t testing.TB, e Emulator, exe string, args ...string) *Stub {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	cmd := exec.Command(e.Path, append([]string{"-g", strconv.Itoa(port), exe}, args...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s := &Stub{emulator: e}
	for range 1000 { // qemu comes when it comes
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
	if len(e.Further) == 0 {
		return s
	}
	// The stub knows further registers only after its features were asked for.
	for _, q := range []string{"qSupported:qXfer:features:read+", "qXfer:features:read:target.xml:0,ffb"} {
		if _, err := s.Ask(q); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Ask sends a packet and returns the answer.
func (s *Stub) Ask(q string) (string, error) {
	sum := byte(0)
	for i := range len(q) {
		sum += q[i]
	}
	_ = s.conn.SetDeadline(time.Now().Add(time.Minute))
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

// Bytes sends a packet whose answer is in hexadecimal digits, and decodes it.
func (s *Stub) Bytes(q string) ([]byte, error) {
	answer, err := s.Ask(q)
	if err == nil && strings.HasPrefix(answer, "E") {
		err = errors.New(answer)
	}
	if err != nil {
		return nil, err
	}
	return hex.DecodeString(answer)
}

// Step implements [Program].
func (s *Stub) Step() (Result, error) {
	answer, err := s.Ask("s")
	switch {
	case err != nil:
		return Result{}, err
	case strings.HasPrefix(answer, "T05"), strings.HasPrefix(answer, "S05"):
		return Result{}, nil
	case len(answer) >= 3 && answer[0] == 'W':
		status, err := strconv.ParseUint(answer[1:3], 16, 8)
		return Result{Ended: true, Status: int(status)}, err
	}
	return Result{}, fmt.Errorf("the program stopped: %s", answer)
}

// Registers implements [Program].
func (s *Stub) Registers() (r Registers, err error) {
	b, err := s.Bytes("g")
	if err != nil || len(b) < len(s.emulator.Registers)*8 {
		return r, fmt.Errorf("%d bytes of registers: %w", len(b), err)
	}
	for i, number := range s.emulator.Registers {
		if number >= 0 {
			r[number] = s.emulator.Order.Uint64(b[8*i:])
		}
	}
	for number, at := range s.emulator.Further {
		v, err := s.Bytes(fmt.Sprintf("p%x", at))
		if err != nil || len(v) < 8 {
			return r, fmt.Errorf("%d bytes of register %d: %w", len(v), at, err)
		}
		r[number] = s.emulator.Order.Uint64(v)
	}
	return r, nil
}

// Read implements [Program].
func (s *Stub) Read(addr uint64, p []byte) int {
	// The stub answers all or nothing, and a stack may end in any page.
	for n := min(len(p), 1024); n > 0; n /= 2 {
		if b, err := s.Bytes(fmt.Sprintf("m%x,%x", addr, n)); err == nil && len(b) > 0 {
			return copy(p, b)
		}
	}
	return 0
}

// RunTo implements [Program].
func (s *Stub) RunTo(addr uint64) error {
	at := fmt.Sprintf("0,%x,4", addr)
	for _, q := range []string{"Z" + at, "c", "z" + at} {
		if answer, err := s.Ask(q); err != nil || answer != "OK" && !strings.HasPrefix(answer, "T05") {
			return fmt.Errorf("%s: %q, %w", q, answer, err)
		}
	}
	return nil
}
