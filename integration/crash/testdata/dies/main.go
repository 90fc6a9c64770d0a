// Command dies ends in the way that its argument names, beside goroutines that wait and others that work.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

type custom struct{ a, b int }

type number int

var sink int

//go:noinline
func overflow(n int) int { return overflow(n+1) + n }

//go:noinline
func nested() {
	defer func() { panic(fmt.Errorf("second: %w", errors.New("cause"))) }()
	panic("first")
}

var ways = map[string]func(){
	"panic":    func() { panic("boom") },
	"error":    func() { panic(fmt.Errorf("wrapped: %w", errors.New("cause"))) },
	"custom":   func() { panic(custom{1, 2}) },
	"number":   func() { panic(number(42)) },
	"nested":   nested,
	"again":    func() { defer func() { panic(recover()) }(); panic("again") },
	"nil":      func() { var p *custom; sink = p.b },
	"index":    func() { s := make([]int, len(os.Args)); sink = s[sink+17] },
	"mapfault": mapFault,
	"deadlock": func() {
		var mu sync.Mutex
		mu.Lock()
		mu.Lock()
	},
	"gostack": func() { sink = overflow(0) },
	"unlock":  func() { var mu sync.Mutex; mu.Unlock() },
	"sigquit": func() { quit(); select {} },
	"sigterm": func() { _ = syscall.Kill(os.Getpid(), syscall.SIGTERM); select {} },
	"kill":    func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} },
	"exit":    func() { os.Exit(7) },
	"goexit":  runtime.Goexit,
	"return":  func() {},
	"another": func() { done := make(chan bool); go func() { panic("of another goroutine") }(); <-done },
	"oom": func() {
		for s := []byte(nil); ; s = append(s, make([]byte, 1<<30)...) {
			sink += len(s)
		}
	},
	"sigwait": func() {
		told := make(chan os.Signal, 1)
		signal.Notify(told, syscall.SIGUSR2)
		<-told
		panic("told to")
	},
}

func mapFault() {
	m := map[int]int{}
	for range 4 {
		go func() {
			for i := 0; ; i++ {
				m[i&7]++
			}
		}()
	}
	select {}
}

// quit sends the signal to its own thread: any other could get it.
func quit() {
	runtime.LockOSThread()
	_ = syscall.Tgkill(os.Getpid(), syscall.Gettid(), syscall.SIGQUIT)
}

func work() {
	for n := 0; ; n++ {
		sink += n
		if n%1000 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
}

func main() {
	how, alone := strings.CutPrefix(os.Args[1], "alone-")
	goroutines := 20
	if s := os.Getenv("GOROUTINES"); s != "" {
		goroutines, _ = strconv.Atoi(s)
	}
	if !alone {
		var ready sync.WaitGroup
		for range goroutines {
			ready.Add(1)
			go func() { ready.Done(); select {} }()
		}
		ready.Wait()
		go work()
		time.Sleep(10 * time.Millisecond)
	}
	install()
	if way := ways[how]; way != nil {
		way()
		return
	}
	native(how)
	fmt.Println("survived")
}
