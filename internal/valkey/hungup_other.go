//go:build !unix

package valkey

// hungUp is not known here before something is sent.
func (m *meter) hungUp() bool { return false }
