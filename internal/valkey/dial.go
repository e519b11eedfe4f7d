package valkey

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"strings"
	"time"

	"github.com/echomq/emqctl/internal/escape"
)

var (
	errSilent  = errors.New("no byte moved in time")
	errSlow    = errors.New("not connected in time")
	errGarbage = errors.New("an answer that is no reply, or one that nothing asked for")
	errPlain   = errors.New("the server speaks no TLS")
	errTLS     = errors.New("the server speaks TLS")
	errUsed    = errors.New("the connection is spent")
	errClosed  = errors.New("the client is closed")
)

// tlsConfig returns nil for a connection without TLS.
func tlsConfig(o Options, a Address) (*tls.Config, error) {
	files := o.CACert != "" || o.Cert != "" || o.Key != ""
	if !a.TLS && !o.TLS && !files && o.SNI == "" && !o.Insecure {
		return nil, nil
	}
	if a.Socket != "" {
		return nil, badAddress("socket: found TLS with a unix socket, want one or the other", "")
	}
	conf := &tls.Config{ServerName: o.SNI, InsecureSkipVerify: o.Insecure, MinVersion: tls.VersionTLS12}
	if o.CACert != "" {
		pem, err := os.ReadFile(o.CACert)
		if err != nil {
			return nil, badFile("CA certificate "+escape.Quote(o.CACert), err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, &Error{Kind: KindFile, Msg: "CA certificate " + escape.Quote(o.CACert) + ": found no certificate in the file, want PEM"}
		}
	}
	if (o.Cert == "") != (o.Key == "") {
		alone := "a certificate, " + escape.Quote(o.Cert) + ","
		if o.Cert == "" {
			alone = "a key, " + escape.Quote(o.Key) + ","
		}
		return nil, &Error{Kind: KindFile, Msg: "client certificate: found " + alone + " alone, want both"}
	}
	if o.Cert != "" {
		cert, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			var path *os.PathError
			if errors.As(err, &path) {
				return nil, badFile("client certificate "+escape.Quote(path.Path), err)
			}
			return nil, badFile("client certificate "+escape.Quote(o.Cert)+" and key "+escape.Quote(o.Key), err)
		}
		conf.Certificates = []tls.Certificate{cert}
	}
	return conf, nil
}

func badFile(what string, err error) *Error {
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return &Error{Kind: KindFile, Msg: what + ": " + strings.TrimPrefix(err.Error(), "tls: ")}
}

func (c *Client) network() string {
	if c.addr.Socket != "" {
		return "unix"
	}
	return "tcp"
}

// dial connects, over TLS where that is wanted.
func (c *Client) dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, c.network(), addr)
	if err != nil || c.tls == nil {
		return conn, err
	}
	conf := c.tls.Clone()
	if conf.ServerName == "" {
		conf.ServerName, _, _ = net.SplitHostPort(addr)
	}
	// A server without TLS takes a ClientHello for the beginning of a line and
	// waits for its end. After a while of silence it is asked in plain words.
	hctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	probe := time.AfterFunc(min(time.Second, c.timeout/4), func() {
		if c.speaksPlain(hctx, addr) {
			cancel(errPlain)
		}
	})
	defer probe.Stop()
	t := tls.Client(conn, conf)
	if err := t.HandshakeContext(hctx); err != nil {
		conn.Close()
		if context.Cause(hctx) == errPlain {
			err = errPlain
		}
		return nil, err
	}
	return t, nil
}

// speaksPlain tells whether a server answers a PING without TLS.
func (c *Client) speaksPlain(ctx context.Context, addr string) bool {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	conn.SetDeadline(time.Now().Add(c.timeout))
	first := make([]byte, 1)
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	_, err = conn.Read(first)
	return err == nil && (first[0] == '+' || first[0] == '-')
}

// speaksTLS tells whether a server answers a TLS handshake, with whatever
// certificate. Nothing else is sent.
func (c *Client) speaksTLS(ctx context.Context, addr string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	err = tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx)
	var remote *net.OpError // "remote error": an alert
	return err == nil || errors.As(err, &remote) && remote.Op == "remote error"
}
