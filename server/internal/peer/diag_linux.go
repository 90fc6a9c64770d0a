package peer

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// A question about one socket and its answer (sock_diag(7), linux/inet_diag.h): after the header of a netlink message, the
// numbers of the machine, ports and addresses as they go over the net.
const (
	diagRequest = unix.NLMSG_HDRLEN + 56
	diagAnswer  = unix.NLMSG_HDRLEN + 72
	noCookie    = 1<<64 - 1
)

var errNoAnswer = errors.New("the kernel does not answer questions about sockets")

// ask asks the kernel for one end of a TCP connection on this machine, by both addresses. Its tables in /proc
// list all connections there are each time, which takes 10 ms where there are thousands.
func ask(local, remote netip.AddrPort) (e entry, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return e, os.NewSyscallError("socket", err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Sendto(fd, question(local, remote), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return e, os.NewSyscallError("sendto", err)
	}
	var buf [4096]byte
	n, from, err := unix.Recvfrom(fd, buf[:], unix.MSG_DONTWAIT) // the answer is there when the question has been sent
	if err != nil {
		return e, os.NewSyscallError("recvfrom", err)
	}
	if kernel, ok := from.(*unix.SockaddrNetlink); !ok || kernel.Pid != 0 {
		return e, errNoAnswer
	}
	return answered(buf[:n], local, remote)
}

// question is for the socket with these addresses.
func question(local, remote netip.AddrPort) []byte {
	m, order := make([]byte, 0, diagRequest), binary.NativeEndian
	m = order.AppendUint32(m, diagRequest)
	m = order.AppendUint16(m, unix.SOCK_DIAG_BY_FAMILY)
	m = order.AppendUint16(m, unix.NLM_F_REQUEST)
	m = order.AppendUint64(m, 0) // sequence and port
	family := byte(unix.AF_INET6)
	if local.Addr().Is4() {
		family = unix.AF_INET
	}
	m = append(m, family, unix.IPPROTO_TCP, 0, 0)
	m = order.AppendUint32(m, 1<<32-1) // in any state
	m = binary.BigEndian.AppendUint16(m, local.Port())
	m = binary.BigEndian.AppendUint16(m, remote.Port())
	for _, a := range []netip.AddrPort{local, remote} {
		var field [16]byte
		copy(field[:], a.Addr().AsSlice())
		m = append(m, field[:]...)
	}
	m = order.AppendUint32(m, 0) // on any interface
	return order.AppendUint64(m, noCookie)
}

// answered reads the answer. Where there is no such connection, the kernel may answer with the socket that listens there.
func answered(m []byte, local, remote netip.AddrPort) (e entry, err error) {
	order := binary.NativeEndian
	if len(m) >= unix.NLMSG_HDRLEN+4 && order.Uint16(m[4:]) == unix.NLMSG_ERROR {
		return e, unix.Errno(-int32(order.Uint32(m[unix.NLMSG_HDRLEN:])))
	}
	if len(m) < diagAnswer || order.Uint16(m[4:]) != unix.SOCK_DIAG_BY_FAMILY {
		return e, errNoAnswer
	}
	m = m[unix.NLMSG_HDRLEN:]
	size := net.IPv6len
	if m[0] == unix.AF_INET {
		size = net.IPv4len
	}
	end := func(port, addr int) netip.AddrPort {
		ip, _ := netip.AddrFromSlice(m[addr:][:size]) // of one of the two sizes
		return netip.AddrPortFrom(ip.Unmap(), binary.BigEndian.Uint16(m[port:]))
	}
	if end(4, 8) != local || end(6, 24) != remote {
		return e, unix.ENOENT
	}
	return entry{int(order.Uint32(m[64:])), strconv.FormatUint(uint64(order.Uint32(m[68:])), 10)}, nil
}

// unmapped is an address as IPv4 where it is one.
func unmapped(a *net.TCPAddr) netip.AddrPort {
	p := a.AddrPort()
	return netip.AddrPortFrom(p.Addr().Unmap().WithZone(""), p.Port())
}

// isOver says that the other end of a connection has ended it at once: no table has that end any more.
func isOver(c *net.TCPConn) (over bool) {
	const closed = 7 // TCP_CLOSE (linux/tcp_states.h)
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		over = err == nil && info.State == closed
	})
	return over && err == nil
}
