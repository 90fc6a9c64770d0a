package delve_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/clewdbg/clew/server/delve/delvetest"
	"github.com/clewdbg/clew/server/delve/door"
	"github.com/clewdbg/clew/server/delve/interpose"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/stepping"
)

// TestWhileRunning: nothing that is asked of a session waits for a program that runs.
func TestWhileRunning(t *testing.T) {
	s := delvetest.Launch(t, "", "sleep")
	pid, th := s.Pid(), delvetest.Selected(t, s).CurrentThread().ThreadID()
	ctx, halt := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() {
		_, err := s.Continue(ctx)
		over <- err
	}()
	for end := time.Now().Add(10 * time.Second); !interpose.Runs(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the program does not run")
		}
	}
	fails := map[string]func() error{
		"Threads":         func() error { _, err := s.Threads(nil); return err },
		"CurrentThread":   func() error { _, err := s.CurrentThread(nil); return err },
		"Goroutines":      func() error { _, err := s.Goroutines(nil); return err },
		"Claims":          func() error { _, err := s.Claims(reading.Thread{}, 10); return err },
		"Selected":        func() error { _, err := s.Selected(); return err },
		"SelectThread":    func() error { return s.SelectThread(uint64(th)) },
		"memory":          func() error { return s.Memory().ReadMemory(0x401000, make([]byte, 1)) },
		"Planted":         func() error { _, err := s.Planted(); return err },
		"Locate":          func() error { _, err := s.Locate("main.main"); return err },
		"BreakAt":         func() error { _, err := s.BreakAt(0x401000); return err },
		"LocateNative":    func() error { _, err := s.LocateNative("write"); return err },
		"ClearBreak":      func() error { return s.ClearBreak(1) },
		"Globals":         func() error { _, err := s.Globals(); return err },
		"InsertFrame":     func() error { _, err := s.InsertFrame(&reading.RecoveredFrame{}); return err },
		"Arm":             func() error { _, err := s.Arm(&stepping.Decision{Action: stepping.Return}); return err },
		"EndStep":         s.EndStep,
		"Renew":           s.Renew,
		"StepInstruction": func() error { _, err := s.StepInstruction(); return err },
		"EntryPoint":      func() error { _, err := s.EntryPoint(); return err },
	}
	for name, ask := range fails {
		delvetest.Within(t, func() {
			if err := ask(); !errors.Is(err, door.ErrRunning) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	answers := map[string]func() bool{
		"Live": s.Live, "Launched": s.Launched, "KnowsFunctions": s.KnowsFunctions,
		"Pid":  func() bool { return s.Pid() == pid },
		"Arch": func() bool { return s.Arch() != 0 },
		"OS":   func() bool { return s.OS() != "" },
		"Gone": func() bool { return s.Gone() == nil },
		"what says nothing": func() bool {
			s.ReadAhead()
			s.KeepStack()
			s.ForgetStack()
			s.PrefetchStack(1, 10)()
			return s.Sources() == nil && s.CodeLines("x.go", 1, 9) == nil && s.Calls(0x401000, 0, nil) == nil && s.Notes() == nil && !s.Stepping()
		},
	}
	for name, right := range answers {
		delvetest.Within(t, func() {
			if !right() {
				t.Errorf("%s: another answer than at the stop", name)
			}
		})
	}
	halt()
	if err := <-over; err != nil {
		t.Error(err)
	}
	if _, err := s.Threads(nil); err != nil {
		t.Errorf("at the stop: %v", err)
	}
}
