// Command loaded is a server: each request takes a lock and hashes some data.
package main

import (
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

func main() {
	var mu sync.Mutex
	counts := make(map[[32]byte]int)
	for range 300 {
		go func() { time.Sleep(time.Hour) }()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", l.Addr())
	panic(http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.Sum256(make([]byte, 64<<10))
		mu.Lock()
		counts[sum]++
		n := counts[sum]
		mu.Unlock()
		fmt.Fprintf(w, "%x %d\n", sum, n)
	})))
}
