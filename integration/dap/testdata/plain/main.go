// Command plain is a Go program without native code, to be debugged.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
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
	case "surroundings":
		surroundings()
	case "spawn":
		fmt.Println(exec.Command(os.Args[0], "work").Run())
	case "memory":
		memory()
	case "labels":
		pprof.Do(context.Background(), pprof.Labels("color", "blue"), func(context.Context) { sum(1, 2) })
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
	case "lines":
		lines := bufio.NewScanner(os.Stdin)
		for next(lines) {
		}
	}
}

// next waits for a line.
func next(lines *bufio.Scanner) bool {
	return lines.Scan()
}

var built = "no" // is set by the linker

// surroundings writes arguments, environment and folder of the program.
func surroundings() {
	in, err := io.ReadAll(os.Stdin)
	dir, err2 := os.Getwd()
	secret, set := os.LookupEnv("PLAIN_REMOVED")
	fmt.Printf("built %s, in %s: %q %v %v, PLAIN=%s, %q %v, %q\n", built, dir, in, err, err2, os.Getenv("PLAIN"), secret, set, os.Args[1:])
	fmt.Fprintln(os.Stderr, "an error")
}

var counter int

// memory changes what is watched.
func memory() {
	text := "some text"
	bytes := []byte("some bytes")
	for i := range 5 {
		counter += i // it changes here
	}
	fmt.Println(text, string(bytes), counter) // and is read here
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
