package testkit

import (
	"runtime"
	"syscall"
	"testing"
)

// SameAddresses has what this thread executes from now on loaded at the same addresses each time.
func SameAddresses(t testing.TB) {
	t.Helper()
	runtime.LockOSThread()
	const addrNoRandomize = 0x0040000
	before, _, errno := syscall.RawSyscall(syscall.SYS_PERSONALITY, 0xffffffff, 0, 0)
	if errno == 0 {
		_, _, errno = syscall.RawSyscall(syscall.SYS_PERSONALITY, before|addrNoRandomize, 0, 0)
	}
	if errno != 0 {
		t.Fatalf("personality: %v", errno)
	}
	t.Cleanup(func() {
		_, _, _ = syscall.RawSyscall(syscall.SYS_PERSONALITY, before, 0, 0)
		runtime.UnlockOSThread()
	})
}
