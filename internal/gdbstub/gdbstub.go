package gdbstub

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience bounds a connection's making, and an answer.
const patience = time.Minute

// Stub is a program under the stub. All its threads stop together.
type Stub struct {
	conn net.Conn
	r    *bufio.Reader
}

// Start runs a program, stopped before its first instruction, and ends it with
// the test. env is added to the test's own environment.
func Start(t testing.TB, qemu string, env []string, exe string, args ...string) *Stub {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	cmd := exec.Command(qemu, append([]string{"-g", strconv.Itoa(port), exe}, args...)...)
	cmd.Env = append(cmd.Environ(), env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // its error: it was killed
	})
	var conn net.Conn
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if conn, err = net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			break
		}
		if time.Since(begin) > patience {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = conn.Close() })
	s := &Stub{conn, bufio.NewReader(conn)}
	// It reports threads, and all registers, only to a client that asks for its features.
	for _, q := range []string{"qSupported:multiprocess-;qXfer:features:read+", "qXfer:features:read:target.xml:0,ffb"} {
		if _, err := s.Ask(q); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Ask sends a packet and returns the answer's contents.
func (s *Stub) Ask(packet string) (string, error) {
	sum := byte(0)
	for i := range len(packet) {
		sum += packet[i]
	}
	_ = s.conn.SetDeadline(time.Now().Add(patience))
	if _, err := fmt.Fprintf(s.conn, "$%s#%02x", packet, sum); err != nil {
		return "", err
	}
	resumes := strings.ContainsRune("cCs?", rune(packet[0]))
	for {
		answer, err := s.answer()
		// A second thread that has stopped is told of late.
		if err != nil || resumes || !strings.HasPrefix(answer, "T") {
			return answer, err
		}
	}
}

func (s *Stub) answer() (string, error) {
	if _, err := s.r.ReadString('$'); err != nil {
		return "", err
	}
	answer, err := s.r.ReadString('#')
	if err != nil {
		return "", err
	}
	if _, err := io.CopyN(io.Discard, s.r, 2); err != nil { // the checksum: TCP has its own
		return "", err
	}
	_, err = s.conn.Write([]byte{'+'})
	return strings.TrimSuffix(answer, "#"), err
}

// Break sets a breakpoint, Clear removes it.
func (s *Stub) Break(addr uint64) error { return s.ok(fmt.Sprintf("Z0,%x,4", addr)) }

// Clear removes a breakpoint.
func (s *Stub) Clear(addr uint64) error { return s.ok(fmt.Sprintf("z0,%x,4", addr)) }

func (s *Stub) ok(packet string) error {
	answer, err := s.Ask(packet)
	if err == nil && answer != "OK" {
		err = fmt.Errorf("the stub answers %q to %s", answer, packet)
	}
	return err
}

// Continue lets all threads run, the one that stopped with the signal that it was
// stopped by (0 for none), until one stops by a signal, which is 5 (SIGTRAP) for a
// breakpoint. That thread is the one whose registers are read.
func (s *Stub) Continue(with int) (signal int, err error) {
	packet := "c"
	if with != 0 {
		packet = fmt.Sprintf("C%02x", with)
	}
	answer, err := s.Ask(packet)
	if err != nil {
		return 0, err
	}
	if len(answer) < 3 || answer[0] != 'T' && answer[0] != 'S' {
		return 0, fmt.Errorf("the program has not stopped: %q", answer)
	}
	n, err := strconv.ParseUint(answer[1:3], 16, 8)
	return int(n), err
}

// Bytes sends a packet whose answer is in hexadecimal digits, and decodes it.
func (s *Stub) Bytes(packet string) ([]byte, error) {
	answer, err := s.Ask(packet)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(answer, "E") {
		return nil, fmt.Errorf("the stub answers %s to %s", answer, packet)
	}
	return hex.DecodeString(answer)
}

// Words reads the general registers, in the stub's order and each as 64 bits: on
// arm64 x0 to x30, sp, pc.
func (s *Stub) Words(n int) ([]uint64, error) {
	b, err := s.Bytes("g")
	if err != nil {
		return nil, err
	}
	if len(b) < 8*n {
		return nil, fmt.Errorf("the stub sends %d bytes of registers", len(b))
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return out, nil
}

// ReadMemory fills p with the memory at addr.
func (s *Stub) ReadMemory(addr uint64, p []byte) error {
	const most = 1024 // far below the size of a packet
	for len(p) > 0 {
		n := min(len(p), most)
		b, err := s.Bytes(fmt.Sprintf("m%x,%x", addr, n))
		if err != nil {
			return err
		}
		if len(b) != n {
			return fmt.Errorf("%d bytes of %d at %#x", len(b), n, addr)
		}
		copy(p, b)
		p, addr = p[n:], addr+uint64(n)
	}
	return nil
}
