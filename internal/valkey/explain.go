package valkey

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"

	"github.com/echomq/emqctl/internal/escape"
)

// explain says in plain words why a connection could not be made, or ended.
// head is what the server had sent first.
func (c *Client) explain(err error, addr, head string) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	say := func(k Kind, hint, format string, args ...any) *Error {
		return &Error{Kind: k, Addr: addr, Msg: addr + ": " + fmt.Sprintf(format, args...), Hint: hint}
	}
	switch {
	case strings.HasPrefix(head, "HTTP/"):
		return say(KindHTTP, "give the address of the server itself, port 6379 unless told otherwise", "a web server answered, want Valkey or Redis")
	case err == errTLS, strings.HasPrefix(head, "\x15\x03"):
		return say(KindTLS, "use rediss:// or --tls", "the server speaks TLS, found a connection without")
	case errors.Is(err, errPlain):
		return say(KindTLS, "use redis:// and no TLS flags", "the server speaks no TLS, found a connection with")
	case errors.Is(err, context.Canceled):
		return say(KindCanceled, "", "given up")
	case errors.Is(err, errUsed), errors.Is(err, errClosed):
		return say(KindClosed, "", "the connection is closed")
	}
	if e := c.explainTLS(err, say); e != nil {
		return e
	}
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && !dns.IsTimeout:
		return say(KindHost, "see whether it is spelled as its owner spells it", "the host name is not known")
	case errors.Is(err, errSilent):
		return say(KindTimeout, "", "the server sent nothing for %s", c.timeout)
	case isTimeout(err):
		return say(KindTimeout, "see whether a firewall drops the packets, or give it longer by --timeout", "no connection within %s", c.timeout)
	case c.addr.Socket != "" && isKind(c.addr.Socket, os.ModeDir):
		return say(KindSocket, "", "found a directory, want a unix socket")
	case c.addr.Socket != "" && isKind(c.addr.Socket, 0):
		return say(KindSocket, "", "found a file, want a unix socket")
	case c.addr.Socket != "" && (errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTSOCK)):
		return say(KindSocket, "", "no unix socket is there")
	case errors.Is(err, os.ErrPermission):
		return say(KindSocket, "", "no permission to connect")
	case isErrno(err, syscall.ECONNREFUSED, 10061):
		return say(KindRefused, "start the server, or give another address by --url", "nothing listens there: the connection was refused")
	case isErrno(err, syscall.EHOSTUNREACH, 10065), isErrno(err, syscall.ENETUNREACH, 10051):
		return say(KindUnreachable, "", "there is no way to the host")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), isErrno(err, syscall.ECONNRESET, 10054), isErrno(err, syscall.EPIPE, 10053), errors.Is(err, net.ErrClosed):
		return say(KindCut, "", "the server closed the connection")
	}
	if head != "" && !strings.ContainsRune("+-:$*_,#(%~|>!=", rune(head[0])) {
		return say(KindProtocol, "", "found an answer that begins %s, want Valkey or Redis", escape.Quote(head[:min(len(head), 16)]))
	}
	if errors.Is(err, errGarbage) {
		return say(KindProtocol, "", "found an answer that nothing asked for, want one reply a command")
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return say(KindUnreachable, "", "%s", strings.TrimPrefix(op.Err.Error(), op.Op+": "))
	}
	return say(KindProtocol, "", "%s", err)
}

// isKind tells whether a path is of a type: 0 is a regular file.
func isKind(path string, typ os.FileMode) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Type() == typ
}

func (c *Client) explainTLS(err error, say func(Kind, string, string, ...any) *Error) *Error {
	var header tls.RecordHeaderError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verify *tls.CertificateVerificationError
	var remote *net.OpError
	switch {
	case errors.As(err, &header):
		if strings.HasPrefix(string(header.RecordHeader[:]), "HTTP") {
			return say(KindHTTP, "give the address of the server itself, port 6379 unless told otherwise", "a web server answered, want Valkey or Redis")
		}
		return say(KindTLS, "use redis:// and no TLS flags", "the server speaks no TLS, found a connection with")
	case errors.As(err, &authority):
		return say(KindCertificate, "give the authority that signed it by --cacert", "the server's certificate is signed by an unknown authority")
	case errors.As(err, &name):
		return say(KindCertificate, "give the name that it is for by --sni", "the server's certificate is for another name: %s", strings.TrimPrefix(err.Error(), "tls: failed to verify certificate: "))
	case errors.As(err, &invalid), errors.As(err, &verify):
		return say(KindCertificate, "", "the server's certificate is not valid: %s", strings.TrimPrefix(err.Error(), "tls: failed to verify certificate: "))
	case errors.As(err, &remote) && remote.Op == "remote error":
		alert := strings.TrimPrefix(remote.Err.Error(), "tls: ")
		if strings.Contains(alert, "certificate") || strings.Contains(alert, "unknown") || alert == "handshake failure" || alert == "error decrypting message" {
			return say(KindCertificate, "give a client certificate that the server knows by --cert and --key", "the server refused our certificate, or the want of one: %s", alert)
		}
		return say(KindTLS, "", "the server ended the TLS handshake: %s", alert)
	}
	if msg, ok := strings.CutPrefix(err.Error(), "tls: "); ok {
		return say(KindTLS, "", "no TLS agreement: %s", msg)
	}
	return nil
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.Is(err, errSlow) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}

// isErrno knows an error number by its unix and its Windows value.
func isErrno(err error, unix, windows syscall.Errno) bool {
	return errors.Is(err, unix) || runtime.GOOS == "windows" && errors.Is(err, windows)
}

// serverError says in plain words what an error reply means. keys are those
// of the command that was refused.
func serverError(addr, text string, keys []string) *Error {
	say := func(k Kind, hint, format string, args ...any) *Error {
		return &Error{Kind: k, Addr: addr, Msg: addr + ": " + fmt.Sprintf(format, args...), Hint: hint}
	}
	said := escape.Quote(text)
	word, _, _ := strings.Cut(text, " ")
	if word == "ERR" && strings.HasPrefix(text, olderError) && strings.Contains(text, ": -NOPERM ") {
		return permissionError(addr, text, keys)
	}
	switch word {
	case "WRONGPASS":
		return say(KindAuth, "see --user, --password-file and EMQCTL_PASSWORD", "the user or the password is wrong, or the user is off")
	case "NOAUTH":
		return say(KindAuth, "give one by --password-file or EMQCTL_PASSWORD", "the server wants a password")
	case "NOPERM":
		return permissionError(addr, text, keys)
	case "READONLY":
		return say(KindReadOnly, "give the address of the primary", "the server is a replica, which refuses writes")
	case "OOM":
		return say(KindMemory, "", "the server is out of memory: it has reached maxmemory")
	case "BUSY", "UNKILLABLE":
		return say(KindBusy, "wait, or have SCRIPT KILL end the script", "a script keeps the server busy beyond its time limit")
	case "LOADING":
		return say(KindLoading, "wait until it has", "the server is still reading its data")
	case "MASTERDOWN":
		return say(KindReadOnly, "give the address of the primary", "the server is a replica whose primary is down")
	case "MISCONF":
		return say(KindMisconf, "see its log", "the server has stopped writes because its snapshots fail")
	case "NOREPLICAS":
		return say(KindMisconf, "", "the server has stopped writes because too few replicas follow it")
	case "CLUSTERDOWN":
		return say(KindCluster, "see valkey-cli --cluster check", "the cluster is down: %s", said)
	case "TRYAGAIN":
		return say(KindCluster, "send it again when the slot has moved", "the slot is moving to another node, and its keys are apart")
	case "CROSSSLOT":
		return say(KindCluster, "", "the keys do not share a slot: %s", keyList(keys))
	case "MOVED", "ASK":
		return say(KindCluster, "see valkey-cli --cluster check", "the slot has moved, too often to follow")
	case "NOSCRIPT":
		return say(KindScript, "the call did not run, and is safe to send again; see who flushes the scripts", "the server does not keep the script that it was just given")
	case "DENIED", "-DENIED":
		return say(KindAuth, "", "the server is in protected mode: it has no password and takes connections from its own machine only")
	}
	switch {
	case strings.HasPrefix(text, "ERR ACL failure in script: "):
		return permissionError(addr, text, keys)
	case strings.Contains(text, "without any password configured"):
		return say(KindAuth, "give no password", "found a password, and the server has none")
	case strings.Contains(text, "invalid password"):
		return say(KindAuth, "see --user, --password-file and EMQCTL_PASSWORD", "the user or the password is wrong, or the user is off")
	case strings.Contains(text, "max number of clients"):
		return say(KindBusy, "", "the server has as many clients as it takes")
	case strings.Contains(text, "DB index is out of range"):
		return say(KindDatabase, "", "the server has no database of that number")
	case strings.Contains(text, "SELECT is not allowed in cluster mode"):
		return say(KindDatabase, "leave --db out", "a cluster has database 0 only")
	case strings.Contains(text, "cluster support disabled"):
		return say(KindCluster, "leave --cluster out", "the server is no part of a cluster")
	}
	return say(KindServer, "", "the server answered %s", said)
}

// permissionError tells which command or key a NOPERM is about, as far as the
// server says it. Of a key it says only that there is one.
func permissionError(addr, text string, keys []string) *Error {
	e := &Error{Kind: KindPermission, Addr: addr, Hint: "see what the user may do by ACL GETUSER"}
	if _, rest, ok := strings.Cut(text, "to run the '"); ok {
		command, _, _ := strings.Cut(rest, "'")
		e.Msg = addr + ": the user may not run " + strings.ToUpper(escape.String(strings.ReplaceAll(command, "|", " ")))
		return e
	}
	switch {
	case len(keys) == 1:
		e.Msg = addr + ": the user may not touch the key " + escape.Quote(keys[0])
	case len(keys) > 1:
		e.Msg = addr + ": the user may not touch one of the keys " + keyList(keys)
	default:
		e.Msg = addr + ": " + escape.String(text)
	}
	return e
}

func keyList(keys []string) string {
	quoted := make([]string, 0, len(keys))
	for i, k := range keys {
		if i == 4 {
			quoted = append(quoted, fmt.Sprintf("and %d more", len(keys)-4))
			break
		}
		quoted = append(quoted, escape.Quote(k))
	}
	return strings.Join(quoted, ", ")
}
