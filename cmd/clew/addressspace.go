package main

import (
	"fmt"
	"syscall"
)

// leastAddressSpace is what clew needs of it, in bytes: Go's runtime reserves most of that and uses little. With less a
// process ends wherever a thread or a stack of memory is needed, with traces of hundreds of lines.
const leastAddressSpace = 2400 << 20

// checkAddressSpace says that the address space is limited too much (ulimit -v).
func checkAddressSpace() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &limit); err != nil || limit.Cur >= leastAddressSpace {
		return nil // what has no limit is fine
	}
	return fmt.Errorf("the address space is limited to %d MiB, and clew needs %d MiB of it: raise the limit (ulimit -v)", limit.Cur>>20, leastAddressSpace>>20)
}
