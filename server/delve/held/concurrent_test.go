package held_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/delve/delvetest"
	"github.com/clewdbg/clew/server/delve/held"
)

// TestConcurrentReads: while a stack is walked under Delve's lock, clew reads the same memory as without, without breakpoints;
// what cannot be read that way waits for the lock. The walk's end waits for reads.
func TestConcurrentReads(t *testing.T) {
	s := delvetest.Launch(t, "")
	addrs, err := s.Locate("main.main")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.BreakAt(addrs...); err != nil {
		t.Fatal(err)
	}
	alone, along := make([]byte, 64), make([]byte, 64)
	if err := s.Memory().ReadMemory(addrs[0], alone); err != nil {
		t.Fatal(err)
	}
	group, unlock := delvetest.Held(t, s)
	end := s.AllowReads(group.Selected)
	delvetest.Within(t, func() { err = s.Memory().ReadMemory(addrs[0], along) })
	if err != nil || !bytes.Equal(along, alone) {
		t.Errorf("%x, %v; without a walk %x", along, err, alone)
	}
	delvetest.Within(t, func() { _, _ = s.Pid(), s.Arch() })

	failed := make(chan error)
	go func() { failed <- s.Memory().ReadMemory(0, make([]byte, 1)) }()
	select {
	case err := <-failed:
		t.Errorf("%v: a failed read has not waited for the lock", err)
	case <-time.After(50 * time.Millisecond):
	}

	reading, proceed := make(chan bool), make(chan bool)
	go held.ReadConcurrently(s.Program, func(*proc.Target) error { close(reading); <-proceed; return nil })
	<-reading
	ended := make(chan bool)
	go func() { end(); close(ended) }()
	select {
	case <-ended:
		t.Error("the walk's end has not waited for a read")
	case <-time.After(50 * time.Millisecond):
	}
	close(proceed)
	<-ended
	if held.ReadConcurrently(s.Program, func(*proc.Target) error { return nil }) {
		t.Error("memory is read though no stack is walked")
	}
	unlock()
	if <-failed == nil {
		t.Error("address 0 was read")
	}
}
