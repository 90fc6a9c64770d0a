// Command deadlock takes two locks in both orders.
package main

import (
	"fmt"
	"sync"
	"time"
)

type account struct {
	sync.Mutex
	balance int
}

func transfer(from, to *account) {
	from.Lock()
	defer from.Unlock()
	time.Sleep(100 * time.Millisecond)
	to.Lock()
	defer to.Unlock()
	from.balance--
	to.balance++
}

func report(accounts ...*account) {
	for _, a := range accounts {
		a.Lock()
		defer a.Unlock()
	}
}

func main() {
	a, b := new(account), new(account)
	go transfer(a, b)
	go transfer(b, a)
	time.Sleep(300 * time.Millisecond)
	for range 40 {
		go report(a, b)
	}
	time.Sleep(100 * time.Millisecond)
	fmt.Println("ready")
	time.Sleep(time.Hour)
}
