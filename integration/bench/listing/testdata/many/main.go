// Command many has as many goroutines as it is told to, some of them in C, and measures
// for how long it stands still (package clock).
//
//	many GOROUTINES IN_C FILE
package main

/*
#include <unistd.h>

static volatile int depth;

__attribute__((noinline)) static int in_c(int n) {
	if (n > 0) {
		int r = in_c(n - 1);
		depth = r;
		return r + 1;
	}
	return pause();
}
*/
import "C"

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/clewdbg/clew/integration/bench/listing/testdata/clock"
)

var never = make(chan int)

//go:noinline
func deep(n int) {
	if n > 0 {
		deep(n - 1)
		return
	}
	<-never
}

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	inC, _ := strconv.Atoi(os.Args[2])
	for i := range n - 1 {
		if i < inC {
			go C.in_c(C.int(i % 8))
		} else {
			go deep(i % 8)
		}
	}
	time.Sleep(2 * time.Second) // until they wait
	fmt.Println("ready, priority", clock.Watch(os.Args[3]))
	for {
		time.Sleep(time.Hour)
	}
}
