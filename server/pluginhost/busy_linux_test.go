package pluginhost

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestBusyBetweenCalls: a third party's plugin that is busy while nothing asks it is ended and switched off, and so is one
// that has started a process which is; one that rests, or works while it is asked, is not.
func TestBusyBetweenCalls(t *testing.T) {
	strict := rest{time.Second, 50 * time.Millisecond}
	for name, pc := range map[string]uint64{"itself": pcSpin, "what it has started": pcSpinApart} {
		h, p, sent := newHost(t, thirdPartyFake(t, 0))
		h.rest = strict
		if _, err := p.Walk(context.Background(), order(pc)); err != nil {
			t.Fatal(err)
		}
		group := pid(t, p)
		for end := time.Now().Add(time.Minute); h.Health()[0].State == StateRunning; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: it is still running", name)
			}
		}
		var busy *BusyError
		if _, err := p.Walk(context.Background(), order(pcReport)); !errors.As(err, &busy) || busy.Used < strict.allowed || busy.Over < busy.Used/8 {
			t.Errorf("%s: %v", name, err)
		}
		select {
		case told := <-sent:
			if more := sent.take(); len(more) > 0 || !strings.Contains(told, "switched off") || !strings.Contains(told, "while nothing asked it") {
				t.Errorf("%s: the user is told %q, %q", name, told, more)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%s: the user is told nothing", name)
		}
		for end := time.Now().Add(20 * time.Second); syscall.Kill(-group, 0) == nil; time.Sleep(10 * time.Millisecond) {
			if m := (meter{group: group}); len(m.members()) == 0 || time.Now().After(end) {
				break
			}
		}
		for id := range (&meter{group: group}).members() {
			if !ended(id) {
				t.Errorf("%s: process %d lives on", name, id)
			}
		}
	}
	h, p, sent := newHost(t, thirdPartyFake(t, 0))
	h.rest = strict
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
		checkWalk(t, p, 100)
	}
	time.Sleep(10 * strict.tick)
	checkWalk(t, p, 3)
	if all := sent.take(); len(all) > 0 {
		t.Errorf("one that was asked all the time: %q", all)
	}
}

// TestMeter: the time of children counts once, whether they live, have been waited for, or have not.
func TestMeter(t *testing.T) {
	const spin = `i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done`
	cmd := exec.Command("sh", "-c", "("+spin+") & ("+spin+"); wait; echo done; read line")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = out.Read(make([]byte, 1)) // it is done, or has ended
	}()
	m := meter{group: cmd.Process.Pid}
	var last time.Duration
	for waiting := true; waiting; {
		select {
		case <-done:
			waiting = false
		case <-time.After(20 * time.Millisecond):
		}
		now := m.read()
		if now < last {
			t.Errorf("%v after %v", now, last)
		}
		last = now
	}
	_ = in.Close()
	_ = cmd.Wait()
	use := cmd.ProcessState.SystemTime() + cmd.ProcessState.UserTime() // with its children
	if last < use*7/10 || last > use*13/10+50*time.Millisecond {
		t.Errorf("%v, the kernel counts %v", last, use)
	}
	if _, ok := parseStat([]byte("1 (a b) S 1")); ok {
		t.Error("half a line")
	}
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := parseStat(own); !ok || p.parent != os.Getppid() || p.group != syscall.Getpgrp() {
		t.Errorf("%+v", p)
	}
}
