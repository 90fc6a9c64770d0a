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
	stuck := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
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
			if path == "/slow" {
				go func() { _, _ = bufio.NewReader(c).ReadString('\n') }()
			}
		}
	}
	report()
}
