package testneed

import (
	"errors"
	"syscall"
	"testing"
)

func TestPtraceLeavesNoChild(t *testing.T) {
	Ptrace(t)
	pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
	if !errors.Is(err, syscall.ECHILD) {
		t.Errorf("a child is left: pid %d, %v", pid, err)
	}
}
