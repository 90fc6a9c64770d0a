// Package through puts a proxy before each server of Delve's tests. It is copied into
// Delve's module.
package through

import (
	"bufio"
	"fmt"
	"log"
	"net"
	"os"
	"strings"
)

// starter is the address where proxies are to be had; "" leaves the tests as they are.
var starter = os.Getenv("THROUGH_PROXY")

// Proxy returns the address of a new proxy before the server at addr.
func Proxy(addr string) string {
	if starter == "" {
		return addr
	}
	conn, err := net.Dial("tcp", starter)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintln(conn, addr)
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		log.Fatal("no proxy: ", err)
	}
	return strings.TrimSpace(answer)
}

// Pipe returns the two ends of a connection with a proxy between, that of the server
// first. It returns nil where there is to be none.
func Pipe() (server, client net.Conn) {
	if starter == "" {
		return nil, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close() // a second connection would not be answered
	client, err = net.Dial("tcp", Proxy(l.Addr().String()))
	if err == nil {
		server, err = l.Accept()
	}
	if err != nil {
		log.Fatal(err)
	}
	return server, client
}
