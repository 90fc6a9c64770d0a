package gdbstub_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/gdbstub"
)

// answersVariable makes this test's executable play qemu: "qemu -g PORT EXE". It holds
// the answers, a line for each: the packet, a space, its answers between bars.
const answersVariable = "CLEW_TEST_STUB"

func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv(answersVariable); ok {
		if err := serve(os.Args[2], text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serve answers the packets of one client, unknown ones with "", and ends with it.
func serve(port, text string) error {
	answers := make(map[string]string)
	for line := range strings.Lines(text) {
		packet, answer, _ := strings.Cut(strings.TrimSpace(line), " ")
		answers[packet] = answer
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		return err
	}
	conn, err := l.Accept()
	if err != nil {
		return err
	}
	for r := bufio.NewReader(conn); ; {
		if _, err := r.ReadString('$'); err != nil {
			return nil // the client has gone
		}
		packet, err := r.ReadString('#')
		if err != nil {
			return err
		}
		var sum [2]byte
		if _, err := r.Read(sum[:]); err != nil {
			return err
		}
		packet = strings.TrimSuffix(packet, "#")
		if want := checksum(packet); string(sum[:]) != want {
			return fmt.Errorf("%s has checksum %s, not %s", packet, sum[:], want)
		}
		for _, answer := range strings.Split(answers[packet], "|") {
			if _, err := fmt.Fprintf(conn, "+$%s#%s", answer, checksum(answer)); err != nil {
				return err
			}
		}
	}
}

func checksum(packet string) string {
	sum := 0
	for _, b := range []byte(packet) {
		sum += int(b)
	}
	return fmt.Sprintf("%02x", sum&0xff)
}

func start(t *testing.T, answers ...string) *gdbstub.Stub {
	t.Helper()
	return gdbstub.Start(t, os.Args[0], []string{answersVariable + "=" + strings.Join(answers, "\n")}, "program")
}

func TestBreakpoints(t *testing.T) {
	s := start(t, "Z0,401000,4 OK", "z0,401000,4 OK", "Z0,0,4 E14")
	if err := s.Break(0x401000); err != nil {
		t.Error(err)
	}
	if err := s.Clear(0x401000); err != nil {
		t.Error(err)
	}
	if err := s.Break(0); err == nil || !strings.Contains(err.Error(), "E14") {
		t.Errorf("a refused breakpoint: %v", err)
	}
}

func TestContinue(t *testing.T) {
	s := start(t, "c T05thread:01;", "C0b S0b", "C05 W07", "C06 T")
	for with, want := range map[int]int{0: 5, 11: 11} {
		if got, err := s.Continue(with); err != nil || got != want {
			t.Errorf("with signal %d: stopped by %d, %v, want %d", with, got, err, want)
		}
	}
	for _, with := range []int{5, 6} {
		if got, err := s.Continue(with); err == nil {
			t.Errorf("with signal %d: stopped by %d, want an error", with, got)
		}
	}
}

// TestLateStop: a second thread's stop comes before the answer, and is passed over.
func TestLateStop(t *testing.T) {
	s := start(t, "m10,2 T05thread:02;|abcd")
	var p [2]byte
	if err := s.ReadMemory(0x10, p[:]); err != nil || p != [2]byte{0xab, 0xcd} {
		t.Errorf("% x, %v", p, err)
	}
}

func TestWords(t *testing.T) {
	s := start(t, "g 0100000000000000efcdab8967452301")
	got, err := s.Words(2)
	if err != nil || got[0] != 1 || got[1] != 0x0123456789abcdef {
		t.Errorf("%#x, %v", got, err)
	}
	if got, err := s.Words(3); err == nil {
		t.Errorf("registers that the stub has not sent: %#x", got)
	}
}

// TestReadMemory: a piece larger than a packet comes in parts, and a refused or short
// answer is an error.
func TestReadMemory(t *testing.T) {
	const size = 1024
	s := start(t,
		fmt.Sprintf("m1000,%x %s", size, strings.Repeat("11", size)),
		fmt.Sprintf("m%x,2 2233", 0x1000+size),
		"m2000,4 E14", "m3000,4 1122", "m4000,2 zz00")
	p := make([]byte, size+2)
	if err := s.ReadMemory(0x1000, p); err != nil {
		t.Fatal(err)
	}
	if p[0] != 0x11 || p[size-1] != 0x11 || p[size] != 0x22 || p[size+1] != 0x33 {
		t.Errorf("% x", p)
	}
	for _, addr := range []uint64{0x2000, 0x3000} {
		if err := s.ReadMemory(addr, p[:4]); err == nil {
			t.Errorf("memory at %#x was read", addr)
		}
	}
	if err := s.ReadMemory(0x4000, p[:2]); err == nil {
		t.Error("invalid digits were read")
	}
}
