// Package crash has a program write a report when it crashes: the whole stacks of all its goroutines and threads, through C code and
// back, with the one that died first.
//
//	func main() {
//		if err := crash.Install(crash.Options{Dir: "/var/lib/app/crashes"}); err != nil {
//			log.Print(err) // the program runs as it would without
//		}
//
// or, with environment variables, import _ "github.com/clewdbg/clew/crash/auto".
//
// It needs clew's binary beside the program, the Go standard library alone, and Linux. Nothing of it runs while the program lives: no
// signal handler, no debugger, no goroutine. Install gives the runtime a socket for its crash output ([debug.SetCrashOutput]) whose
// buffer is as small as the kernel allows, and starts a process that sleeps at the other end. When the runtime begins to print, the
// buffer fills up, and the dying thread waits in its write, with every stack in place. The stacks are copied, and the text
// is read: the program dies as it would have, with the same exit code, signal, core file and standard error.
//
// What ends a program without the runtime's word is not seen: SIGKILL, the kernel's OOM killer, os.Exit, and a fault on a thread that C has made
// and Go has never run on.
package crash
