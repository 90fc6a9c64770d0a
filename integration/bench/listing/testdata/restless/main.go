// Command restless starts processes, threads and goroutines that soon end (fork), or
// executes itself again and again (exec).
package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

func shortLived() {
	go func() {
		runtime.LockOSThread() // and never unlocks: the thread ends
		time.Sleep(time.Millisecond)
	}()
	_ = exec.Command("true").Run()
}

func main() {
	if len(os.Args) < 3 {
		fmt.Println("ready")
	}
	if os.Args[1] == "exec" {
		go func() { select {} }()
		time.Sleep(30 * time.Millisecond)
		panic(syscall.Exec("/proc/self/exe", []string{os.Args[0], "exec", "again"}, os.Environ()))
	}
	for {
		shortLived()
	}
}
