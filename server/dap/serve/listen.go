package serve

import (
	"context"
	"net"
	"strings"
	"syscall"
)

const unixPrefix = "unix:"

// Listen listens as Delve does: "host:port", or "unix:" and a path. A socket
// file is for its owner only.
func Listen(addr string) (net.Listener, error) {
	path, ok := strings.CutPrefix(addr, unixPrefix)
	if !ok {
		return net.Listen("tcp", addr)
	}
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	return net.Listen("unix", path)
}

// Dial connects to a client that waits, by an address as in [Listen], until the context
// ends.
func Dial(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	if path, ok := strings.CutPrefix(addr, unixPrefix); ok {
		return d.DialContext(ctx, "unix", path)
	}
	return d.DialContext(ctx, "tcp", addr)
}
