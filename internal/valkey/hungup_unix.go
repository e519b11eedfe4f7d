//go:build unix

package valkey

import (
	"crypto/tls"
	"syscall"
)

// hungUp reports whether the peer has closed the connection and there is
// nothing before its end to read. Under TLS an alert often is.
func (m *meter) hungUp() bool {
	conn := m.Conn
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	c, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	var b [1]byte
	var n int
	controlErr := raw.Control(func(fd uintptr) {
		n, _, err = syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	})
	return controlErr == nil && (err == nil && n == 0 || err == syscall.ECONNRESET)
}
