package prologue

import (
	"encoding/binary"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/arch/x86/x86asm"
)

var stepBuilds = []string{
	"gcc -O0", "gcc -O1", "gcc -O2", "gcc -O3", "gcc -Os",
	"gcc -O0 -fomit-frame-pointer", "gcc -O1 -fno-omit-frame-pointer", "gcc -O2 -fno-omit-frame-pointer", "gcc -Os -fno-omit-frame-pointer",
	"gcc -O2 -fstack-clash-protection", "gcc -O2 -fcf-protection=full -fPIE", "gcc -O2 -march=x86-64-v3", "gcc -O2 -mstackrealign",
	"gcc -O1 -maccumulate-outgoing-args", "gcc -O3 -march=x86-64-v3 -fno-omit-frame-pointer", "gcc -O2 -fno-shrink-wrap -fno-jump-tables",
	"clang -O0", "clang -O1", "clang -O2", "clang -Os", "clang -O2 -fno-omit-frame-pointer", "clang -O3 -march=x86-64-v3", "clang -O2 -fstack-clash-protection",
}

// TestStep: R4, natively under ptrace.
func TestStep(t *testing.T) {
	needTool(t, "gcc")
	stepAll(t, &testArch{
		rule: AMD64, text: Rule.AMD64String, fp: RBP, sp: RSP, saved: []Reg{RBX, R12, 13, 14, R15},
		call: func(code []byte) (bool, int) {
			in, err := x86asm.Decode(code, 64)
			return err == nil && in.Op == x86asm.CALL, in.Len
		},
		ret: func(code []byte) bool {
			in, err := x86asm.Decode(code, 64)
			return err == nil && in.Op == x86asm.RET
		},
		entered: func(s *stepper, r *registers) (uint64, uint64) { return r.r[RSP] + 8, s.word(r.r[RSP]) },
	}, stepBuilds, startPtrace)
}

// ptraced is a process under ptrace.
type ptraced struct{ pid int }

func startPtrace(t *testing.T, exe string) machine {
	// A ptrace tracer is a thread, not a process.
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	cmd := exec.Command(exe)
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &ws, 0, nil); err != nil {
		t.Fatal(err)
	}
	return &ptraced{cmd.Process.Pid}
}

func (p *ptraced) step() (bool, int, error) {
	if err := syscall.PtraceSingleStep(p.pid); err != nil {
		return false, 0, err
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(p.pid, &ws, 0, nil); err != nil {
		return false, 0, err
	}
	if ws.Exited() || !ws.Stopped() || ws.StopSignal() != syscall.SIGTRAP {
		return false, ws.ExitStatus(), nil
	}
	return true, 0, nil
}

func (p *ptraced) registers(out *registers) error {
	var r syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(p.pid, &r); err != nil {
		return err
	}
	copy(out.r[:], []uint64{r.Rax, r.Rdx, r.Rcx, r.Rbx, r.Rsi, r.Rdi, r.Rbp, r.Rsp, r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15})
	out.pc = r.Rip
	return nil
}

func (p *ptraced) word(addr uint64) (uint64, error) {
	var b [8]byte
	_, err := syscall.PtracePeekData(p.pid, uintptr(addr), b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}
