// Command leak starts goroutines whose result is not received once the first has come.
package main

import (
	"fmt"
	"time"
)

func fetch(replica int, result chan<- int) {
	time.Sleep(time.Duration(replica) * time.Millisecond)
	result <- replica
}

func handle() int {
	result := make(chan int)
	for replica := range 3 {
		go fetch(replica, result)
	}
	return <-result
}

func main() {
	for range 600 {
		handle()
	}
	fmt.Println("ready")
	for {
		time.Sleep(20 * time.Millisecond)
		handle()
	}
}
