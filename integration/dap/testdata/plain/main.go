// Command plain is a Go program without native code, to be debugged.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
)

type point struct {
	X, Y int
	Name string
}

func main() {
	mode := "work"
	if len(os.Args) > 1 {
		mode = os.Args[1]
	}
	switch mode {
	case "work":
		fmt.Println("sum", sum(3, 4))
	case "deep":
		n := 20000
		if len(os.Args) > 2 {
			n, _ = strconv.Atoi(os.Args[2])
		}
		fmt.Println(deep(n))
	case "panic":
		var p *point
		fmt.Println(p.X)
	case "goroutines":
		n := 20
		if len(os.Args) > 2 {
			n, _ = strconv.Atoi(os.Args[2])
		}
		goroutines(n)
	case "wait":
		fmt.Println("waiting")
		for {
			time.Sleep(time.Hour)
		}
	case "exit":
		os.Exit(3)
	case "output":
		fmt.Println("to stdout")
		fmt.Fprintln(os.Stderr, "to stderr")
		time.Sleep(time.Second / 2) // Delve can lose what is written right before the end
	}
}

func sum(a, b int) int {
	p := point{a, b, "here"}
	list := []string{"one", "two", "three"}
	total := 0
	for i := range list {
		total += step(p, i) // a breakpoint goes here
	}
	return total
}

func step(p point, i int) int {
	return inlined(p.X, p.Y) + i
}

func inlined(x, y int) int {
	return x*10 + y
}

func deep(n int) int {
	if n == 0 {
		runtime.Breakpoint()
		return 0
	}
	return deep(n-1) + 1
}

func goroutines(n int) {
	var ready, done sync.WaitGroup
	stop := make(chan bool)
	for i := range n {
		ready.Add(1)
		done.Add(1)
		go func() {
			defer done.Done()
			ready.Done()
			<-stop
			fmt.Println(i)
		}()
	}
	ready.Wait()
	time.Sleep(time.Second) // until they wait, on a busy machine too
	runtime.Breakpoint()
	close(stop)
	done.Wait()
}
