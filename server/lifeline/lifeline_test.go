package lifeline

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/clewdbg/clew/internal/testneed"
)

func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// stop stops a process, and waits until it stands.
func stop(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for range 500 {
		if state, _ := status(cmd.Process.Pid); state == "T" {
			return
		}
		time.Sleep(interval)
	}
	t.Fatal("the process does not stop")
}

func TestServeKillsWhenItsInputEnds(t *testing.T) {
	cmd := sleeper(t)
	Serve(strings.NewReader(fmt.Sprintf("kill %d\n", cmd.Process.Pid)), nil)
	err := cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Errorf("the process was not killed: %v", err)
	}
}

func TestServeSparesAfterDone(t *testing.T) {
	cmd := sleeper(t)
	Serve(strings.NewReader(fmt.Sprintf("kill %d\nnonsense\nkill x\ndone\n", cmd.Process.Pid)), nil)
	if state, _ := status(cmd.Process.Pid); state == "" || state == "Z" {
		t.Errorf("state %q", state)
	}
}

// TestServeSpares: a process that was left is not harmed, as little as one that was never named.
func TestServeSpares(t *testing.T) {
	cmd := sleeper(t)
	Serve(strings.NewReader(fmt.Sprintf("kill %[1]d\nspare %[1]d\n", cmd.Process.Pid)), nil)
	if state, _ := status(cmd.Process.Pid); state == "" || state == "Z" {
		t.Errorf("state %q", state)
	}
}

func TestServeContinuesWhatStaysStopped(t *testing.T) {
	cmd := sleeper(t)
	stop(t, cmd)
	Serve(strings.NewReader(fmt.Sprintf("continue %d\n", cmd.Process.Pid)), nil)
	if state, _ := status(cmd.Process.Pid); state == "T" || state == "" {
		t.Errorf("state %q", state)
	}
}

// A process with the same ID is not the same process.
func TestServeLeavesAnotherProcessAlone(t *testing.T) {
	cmd := sleeper(t)
	w := guarded{pid: cmd.Process.Pid, started: "1", kill: true}
	w.serve()
	if state, _ := status(cmd.Process.Pid); state == "" || state == "Z" {
		t.Errorf("state %q", state)
	}
}

func TestLearn(t *testing.T) {
	w := guarded{patches: map[uint64]Patch{}}
	for _, line := range []string{"attach 12", "patch 12 0x401000 90cc ccdd", "patch 12 0x402000 90 cc", "forget 12 0x402000", "forget 12 x", "patch 12 nonsense 90", "patch 12 0x401000 88"} {
		word, _, _ := strings.Cut(line, " ")
		w.learn(word, line)
	}
	if p := w.patches[0x401000]; !w.attaching || len(w.patches) != 1 || string(p.Original) != "\x90\xcc" || string(p.Written) != "\xcc\xdd" {
		t.Errorf("%+v", w)
	}
	if w.learn(wordContinue, "continue 12"); w.attaching {
		t.Error("its breakpoints are known, and are searched for")
	}
}

// TestRestore: what holds something else than was written is left as it is.
func TestRestore(t *testing.T) {
	testneed.Ptrace(t)
	mine := []byte{1, 2, 3, 4}
	at := uint64(uintptr(unsafe.Pointer(&mine[0])))
	w := guarded{pid: os.Getpid(), patches: map[uint64]Patch{
		at: {Addr: at, Original: []byte{9}, Written: []byte{1}}, at + 2: {Addr: at + 2, Original: []byte{9}, Written: []byte{7}},
	}}
	if w.restore(); !bytes.Equal(mine, []byte{9, 2, 3, 4}) {
		t.Errorf("%v", mine)
	}
}

// TestCrash: what a crash in Delve's readers means is told, and nothing in its trace is done.
func TestCrash(t *testing.T) {
	cmd := sleeper(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	Serve(strings.NewReader(fmt.Sprintf("launch 12 34 \"/a\\x1bb\"\npanic: damaged\n\tkill %d\n\ngoroutine 5 [running]:\n"+
		"github.com/go-delve/delve/pkg/proc.(*BinaryInfo).loadDebugInfoMaps(0x1)\n", cmd.Process.Pid)), w)
	told, err := io.ReadAll(r)
	if text := string(told); err != nil || !strings.Contains(text, `could not read /a\\x1bb`) || !strings.Contains(text, "panic: damaged") || !strings.HasSuffix(text, `"terminated","seq":0,"type":"event"}`) {
		t.Errorf("%v: %s", err, text)
	}
	if state, _ := status(cmd.Process.Pid); state == "" || state == "Z" {
		t.Errorf("state %q", state)
	}
	for _, trace := range []string{"panic: x\n\ngoroutine 1 [running]:\nmain.main()\n", "github.com/go-delve/delve/pkg/proc.(*BinaryInfo).x()\n"} {
		var l lastWords
		for line := range strings.Lines(trace) {
			l.hear(strings.TrimSuffix(line, "\n"))
		}
		if l.delves {
			t.Errorf("it is taken for Delve's: %s", trace)
		}
	}
}
