package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
)

// A server with connections that are idle, and requests that wait.

func main() {
	stuck, entered := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			entered <- struct{}{}
			<-stuck
		}
		fmt.Fprintln(w, "ok")
	}))
	for i := 0; i < 8; i++ {
		for _, path := range []string{"/slow", "/fast"} {
			c, err := net.Dial("tcp", s.Listener.Addr().String())
			if err != nil {
				panic(err)
			}
			fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
			// One after the other: goroutines are started in the same order each time.
			if path == "/slow" {
				<-entered
				go func() { _, _ = bufio.NewReader(c).ReadString('\n') }()
			} else if _, err := bufio.NewReader(c).ReadString('\n'); err != nil {
				panic(err)
			}
		}
	}
	report()
}
