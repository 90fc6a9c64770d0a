package dwarfcfi

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/cfi/cfitest"
)

// Most builds are static: stepping through the loader takes long and is the
// same each time.
var stepBuilds = []string{
	"gcc -O0 -static", "gcc -O1", "gcc -O2 -fcf-protection=full -Wl,-z,now", "gcc -O3 -static", "gcc -Os -static",
	"gcc -O2 -fno-omit-frame-pointer -static", "gcc -O0 -mstackrealign -static", "gcc -O2 -mstackrealign -static",
	"gcc -O2 -fstack-clash-protection -static", "gcc -O1 -maccumulate-outgoing-args -static",
	"gcc -O2 -fno-asynchronous-unwind-tables -g -Wl,--no-eh-frame-hdr", "clang -O0 -static", "clang -O2", "clang -Os -fno-omit-frame-pointer -static",
}

func TestStep(t *testing.T) {
	testneed.CC(t)
	testneed.Ptrace(t)
	stepAll(t, &machineCode{
		arch:  unwind.AMD64,
		saved: []unwind.Register{3, 6, 12, 13, 14, 15},
		kind:  kindAMD64,
		entered: func(tr *tracer, regs *registerFile) (cfa, ra uint64) {
			return regs[unwind.AMD64RSP] + 8, tr.word(regs[unwind.AMD64RSP])
		},
		redZone: 128,
		enough:  10_000,
	}, stepBuilds, startTraced)
}

func kindAMD64(code []byte) kindOfInstruction {
	for i := 0; i < len(code)-1; i++ {
		switch c := code[i]; {
		case c == 0xf2 || c == 0xf3 || c == 0x3e || c == 0x2e || c == 0x66 || c&0xf0 == 0x40: // prefixes
			continue
		case c == 0xe8 || c == 0xff && code[i+1]>>3&7 == 2:
			return call
		case c == 0xc3 || c == 0xc2:
			return ret
		}
		break
	}
	return other
}

// traced is a process under ptrace.
type traced struct {
	pid     int
	mem     *os.File
	dir     string
	deliver int             // the signal that comes next
	known   map[string]bool // mappings that were told of
	maps    []unwind.Range  // executable ones
	nextID  unwind.ImageID
}

// startTraced starts a program and locks the test to its thread, which is the
// tracer.
func startTraced(t *testing.T, exe string) target {
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	cmd := exec.Command(exe)
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	cmd.Env = []string{"PATH=/bin"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &traced{pid: cmd.Process.Pid, dir: t.TempDir(), known: map[string]bool{}}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended, but for a failed test
		_ = cmd.Wait()
	})
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(p.pid, &ws, 0, nil); err != nil {
		t.Fatal(err)
	}
	var err error
	if p.mem, err = os.Open(fmt.Sprintf("/proc/%d/mem", p.pid)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.mem.Close() })
	return p
}

func (p *traced) step() (stepResult, error) {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, syscall.PTRACE_SINGLESTEP, uintptr(p.pid), 0, uintptr(p.deliver), 0, 0)
	if errno != 0 {
		return stepResult{}, errno
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(p.pid, &ws, 0, nil); err != nil {
		return stepResult{}, err
	}
	p.deliver = 0
	switch {
	case ws.Exited():
		return stepResult{ended: true, status: ws.ExitStatus()}, nil
	case !ws.Stopped():
		return stepResult{}, errors.New("the program was killed")
	case ws.StopSignal() != syscall.SIGTRAP:
		p.deliver = int(ws.StopSignal())
	}
	return stepResult{signal: p.deliver != 0}, nil
}

func (p *traced) registers() (r registerFile, err error) {
	var pr syscall.PtraceRegs
	err = syscall.PtraceGetRegs(p.pid, &pr)
	copy(r[:], []uint64{pr.Rax, pr.Rdx, pr.Rcx, pr.Rbx, pr.Rsi, pr.Rdi, pr.Rbp, pr.Rsp,
		pr.R8, pr.R9, pr.R10, pr.R11, pr.R12, pr.R13, pr.R14, pr.R15, pr.Rip})
	return r, err
}

func (p *traced) read(addr uint64, b []byte) int {
	n, _ := p.mem.ReadAt(b, int64(addr)) // what cannot be read is told by n
	return n
}

// images reads the process's mappings.
func (p *traced) images() (delta unwind.ImageDelta, maps []unwind.Range, err error) {
	delta = unwind.ImageDelta{Arch: unwind.AMD64, OS: "linux"}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.pid))
	if err != nil {
		return delta, nil, err
	}
	bases := map[string]uint64{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		f := strings.Fields(line)
		low, high, _ := strings.Cut(f[0], "-")
		start, err1 := strconv.ParseUint(low, 16, 64)
		end, err2 := strconv.ParseUint(high, 16, 64)
		if err1 != nil || err2 != nil {
			return delta, nil, fmt.Errorf("maps: %q", line)
		}
		path := ""
		if len(f) > 5 {
			path = f[5]
		}
		if _, ok := bases[path]; !ok && (f[2] == "00000000") {
			bases[path] = start
		}
		if !strings.Contains(f[1], "x") || p.known[f[0]] {
			continue
		}
		p.known[f[0]] = true
		p.maps = append(p.maps, unwind.Range{Start: start, End: end})
		if path == "[vdso]" {
			path = filepath.Join(p.dir, "vdso")
			data := make([]byte, end-start)
			n := p.read(start, data)
			if err := os.WriteFile(path, data[:n], 0o600); err != nil {
				return delta, nil, err
			}
			bases[path] = start
		}
		if !strings.HasPrefix(path, "/") {
			continue
		}
		file, err := cfitest.Load(path, 0)
		if err == nil && file.Code[0].Start < bases[path] { // else it lies where it was linked to
			file, err = cfitest.Load(path, bases[path])
		}
		if err != nil {
			return delta, nil, err
		}
		p.nextID++
		delta.Added = append(delta.Added, file.Image(p.nextID))
	}
	return delta, p.maps, nil
}
