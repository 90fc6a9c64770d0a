package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// belowPSS is the proportional set size in bytes of all processes below one but for
// the program, as far as they are there.
func belowPSS(pid int, program string) (sum int64) {
	below, _ := children(pid) // processes come and go
	for _, child := range below {
		pss, _, _ := held(child, program)
		sum += pss
	}
	return sum
}

// status is a field in kilobytes of a process's status, in bytes; 0 where it is gone.
func status(pid int, field string) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == field {
			kb, _ := strconv.ParseInt(f[1], 10, 64)
			return kb << 10
		}
	}
	return 0
}

// usedCPU is the processor time that a process and all below it have used, but for the
// program (proc_pid_stat(5): utime, stime, and those of children that have ended).
func usedCPU(pid int, program string) (time.Duration, error) {
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil || exe == program {
		return 0, err
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	const first, last, tick = 11, 15, 10 * time.Millisecond // behind the name, which ends with the last ")"
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < last {
		return 0, errors.New("/proc/PID/stat is too short")
	}
	var sum time.Duration
	for _, f := range fields[first:last] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * tick
	}
	below, err := children(pid)
	for _, child := range below {
		more, childErr := usedCPU(child, program)
		sum, err = sum+more, errors.Join(err, childErr)
	}
	return sum, err
}

// ownCPU is the processor time that this process has used.
func ownCPU() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
