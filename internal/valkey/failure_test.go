package valkey_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/echomq/emqctl/internal/executor"
	"github.com/echomq/emqctl/internal/valkey"
	"github.com/echomq/emqctl/internal/valkeytest"
)

const secret = "s3cr3t/w#rd"

// TestOpenFails makes every connection that must fail, with a password, and
// looks for it in whatever comes back.
func TestOpenFails(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	webTLS := httptest.NewUnstartedServer(http.NotFoundHandler())
	webTLS.Config.ErrorLog = log.New(io.Discard, "", 0)
	webTLS.StartTLS()
	t.Cleanup(webTLS.Close)
	host := func(url string) string { return url[strings.Index(url, "//")+2:] }

	plain := valkeytest.Start(t)
	locked := valkeytest.Start(t, "--requirepass", "another")
	clients := valkeytest.Start(t, "--maxclients", "1")
	for answer := ""; answer != "+PONG"; {
		hog, err := net.Dial("tcp", clients.Addr)
		if err != nil {
			t.Fatal(err)
		}
		hog.Write([]byte("PING\r\n"))
		buf := make([]byte, 5)
		hog.Read(buf)
		if answer = string(buf); answer == "+PONG" {
			t.Cleanup(func() { hog.Close() })
		} else {
			hog.Close()
		}
	}
	ca, other := valkeytest.NewCA(t), valkeytest.NewCA(t)
	cert, key := ca.Issue("server", time.Now().Add(time.Hour))
	old, oldKey := ca.Issue("old", time.Now().Add(-time.Hour))
	overTLS := ca.StartTLS(cert, key, "no")
	mutual := ca.StartTLS(cert, key, "yes")
	expired := ca.StartTLS(old, oldKey, "no")
	foreign, foreignKey := other.Issue("client", time.Now().Add(time.Hour))

	hole := valkeytest.StartProxy(t, "")
	free, err := valkeytest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	banner := serveLines(t, "SSH-2.0-OpenSSH_9.2p1\r\n")
	quiet := serveLines(t, "")
	parrot := serveLines(t, "-ERR unknown command 'AUTH', with args beginning with: '"+secret+"'\r\n-ERR x\r\n-ERR x\r\n")
	sentinel := serveLines(t, "+OK\r\n*2\r\n$4\r\nmode\r\n$8\r\nsentinel\r\n|*2\r\n$4\r\nmode\r\n$8\r\nsentinel\r\n")
	denied := serveLines(t, "-DENIED Valkey is running in protected mode because...\r\n")

	for _, c := range []struct {
		name string
		o    valkey.Options
		kind valkey.Kind
		msg  string // after the address
		hint string
	}{
		{"nothing-listens", valkey.Options{URL: fmt.Sprintf("127.0.0.1:%d", free)}, valkey.KindRefused, "nothing listens there", "--url"},
		{"unknown-host", valkey.Options{URL: "no-such-host.invalid"}, valkey.KindHost, "the host name is not known", ""},
		{"no-socket", valkey.Options{URL: "unix://" + filepath.Join(t.TempDir(), "none.sock")}, valkey.KindSocket, "no unix socket is there", ""},
		{"web-server", valkey.Options{URL: host(web.URL)}, valkey.KindHTTP, "a web server answered, want Valkey or Redis", "6379"},
		{"web-server-over-tls", valkey.Options{URL: "rediss://" + host(webTLS.URL), Insecure: true}, valkey.KindHTTP, "a web server answered", ""},
		{"tls-to-a-web-server", valkey.Options{URL: "rediss://" + host(web.URL)}, valkey.KindHTTP, "a web server answered", ""},
		{"plain-to-a-tls-web-server", valkey.Options{URL: host(webTLS.URL)}, valkey.KindTLS, "the server speaks TLS", ""},
		{"banner", valkey.Options{URL: banner}, valkey.KindProtocol, `found an answer that begins "SSH-2.0-OpenSSH_"`, ""},
		{"black-hole", valkey.Options{URL: hole.Addr, Timeout: 300 * time.Millisecond}, valkey.KindTimeout, "the connection was accepted, and no answer came within 300ms", ""},
		{"black-hole-tls", valkey.Options{URL: hole.Addr, TLS: true, Timeout: 300 * time.Millisecond}, valkey.KindTimeout, "no connection within 300ms", "--timeout"},
		{"unroutable", valkey.Options{URL: "192.0.2.1:6379", Timeout: 300 * time.Millisecond}, "", "", ""},
		{"closes-at-once", valkey.Options{URL: quiet}, valkey.KindCut, "the server closed the connection", ""},
		{"plain-to-tls", valkey.Options{URL: overTLS.Addr}, valkey.KindTLS, "the server speaks TLS, found a connection without", "--tls"},
		{"tls-to-plain", valkey.Options{URL: "rediss://" + plain.Addr}, valkey.KindTLS, "the server speaks no TLS, found a connection with", "redis://"},
		{"unknown-authority", valkey.Options{URL: "rediss://" + overTLS.Addr}, valkey.KindCertificate, "signed by an unknown authority", "--cacert"},
		{"other-authority", valkey.Options{URL: "rediss://" + overTLS.Addr, CACert: other.File}, valkey.KindCertificate, "signed by an unknown authority", ""},
		{"other-name", valkey.Options{URL: overTLS.Addr, CACert: ca.File, SNI: "other.test"}, valkey.KindCertificate, "the server's certificate is for another name", "--sni"},
		{"expired", valkey.Options{URL: expired.Addr, CACert: ca.File}, valkey.KindCertificate, "expired", ""},
		{"no-client-certificate", valkey.Options{URL: mutual.Addr, CACert: ca.File}, valkey.KindCertificate, "our certificate, or the want of one", "--cert"},
		{"foreign-client-certificate", valkey.Options{URL: mutual.Addr, CACert: ca.File, Cert: foreign, Key: foreignKey}, valkey.KindCertificate, "our certificate, or the want of one", ""},
		{"certificate-without-key", valkey.Options{URL: mutual.Addr, Cert: foreign}, valkey.KindFile, "", ""},
		{"key-of-another", valkey.Options{URL: mutual.Addr, Cert: foreign, Key: key}, valkey.KindFile, "", ""},
		{"no-such-file", valkey.Options{URL: mutual.Addr, CACert: "nowhere.pem"}, valkey.KindFile, "", ""},
		{"no-certificate-in-file", valkey.Options{URL: mutual.Addr, CACert: key}, valkey.KindFile, "", ""},
		{"tls-over-a-socket", valkey.Options{URL: "/run/x.sock", TLS: true}, valkey.KindAddress, "", ""},
		{"wrong-password", valkey.Options{URL: locked.Addr}, valkey.KindAuth, "the user or the password is wrong", "--password-file"},
		{"wrong-user", valkey.Options{URL: locked.Addr, User: "nobody"}, valkey.KindAuth, "the user or the password is wrong", ""},
		{"no-password", valkey.Options{URL: locked.Addr, Password: "-"}, valkey.KindAuth, "the server wants a password", "EMQCTL_PASSWORD"},
		{"needless-password", valkey.Options{URL: plain.Addr}, valkey.KindAuth, "found a password, and the server has none", "give no password"},
		{"user-without-password", valkey.Options{URL: plain.Addr, User: "u", Password: "-"}, valkey.KindAuth, "the user or the password is wrong", ":password@host"},
		{"auth-unknown", valkey.Options{URL: parrot}, valkey.KindServer, `the server answered "ERR (withheld: it repeats the password)"`, ""},
		{"protected-mode", valkey.Options{URL: denied}, valkey.KindAuth, "the server is in protected mode", ""},
		{"database", valkey.Options{URL: plain.Addr, DB: 16, Password: "-"}, valkey.KindDatabase, "the server has no database of that number", ""},
		{"no-cluster", valkey.Options{URL: plain.Addr, Cluster: true, Password: "-"}, valkey.KindCluster, "the server is no part of a cluster", ""},
		{"sentinel", valkey.Options{URL: sentinel}, valkey.KindSentinel, "a sentinel answered", ""},
		{"too-many-clients", valkey.Options{URL: clients.Addr, Password: "-"}, valkey.KindBusy, "the server has as many clients as it takes", ""},
		{"password-in-url", valkey.Options{URL: "redis://:" + secret + "@" + plain.Addr}, valkey.KindAddress, "", "%23"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.o.Password == "" {
				c.o.Password = secret
			} else {
				c.o.Password = ""
			}
			limit := 5 * time.Second
			if c.o.Timeout > 0 {
				limit = c.o.Timeout
			}
			began := time.Now()
			client, err := valkey.Open(context.Background(), c.o)
			if took := time.Since(began); took > limit+time.Second {
				t.Errorf("took %s, want at most %s", took, limit)
			}
			var e *valkey.Error
			if client != nil || !errors.As(err, &e) {
				t.Fatalf("Open succeeds, or ends in %v, want an *Error", err)
			}
			if c.kind != "" && e.Kind != c.kind || !strings.Contains(e.Msg, c.msg) || !strings.Contains(e.Hint, c.hint) {
				t.Errorf("found %s, %q, hint %q, want %s, %q, hint %q", e.Kind, e.Msg, e.Hint, c.kind, c.msg, c.hint)
			}
			if e.Addr != "" && !strings.HasPrefix(e.Msg, e.Addr+": ") {
				t.Errorf("message %q does not open with %s", e.Msg, e.Addr)
			}
			if all := fmt.Sprintf("%v %+v %#v %v", err, e, e, e.Hint); strings.Contains(all, "s3cr3t") || strings.Contains(all, "w#rd") {
				t.Errorf("the secret is in %s", all)
			}
		})
	}
}

// serveLines answers whatever comes with a text, the parts between bars one
// after another, and closes the connection.
func serveLines(t *testing.T, text string) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for i, part := range strings.Split(text, "|") {
					if i > 0 || strings.HasPrefix(part, "-") || strings.HasPrefix(part, "+") {
						c.Read(make([]byte, 1024))
					}
					c.Write([]byte(part))
				}
				if text != "" {
					time.Sleep(200 * time.Millisecond)
				}
			}()
		}
	}()
	return l.Addr().String()
}

func TestOpenSucceeds(t *testing.T) {
	t.Parallel()
	ca := valkeytest.NewCA(t)
	cert, key := ca.Issue("server", time.Now().Add(time.Hour))
	client, clientKey := ca.Issue("client", time.Now().Add(time.Hour))
	overTLS, mutual := ca.StartTLS(cert, key, "no"), ca.StartTLS(cert, key, "yes")
	sock := filepath.Join(t.TempDir(), "v.sock")
	socket := valkeytest.Start(t, "--unixsocket", sock, "--requirepass", secret)
	if o, err := exec.Command("valkey-cli", "-s", sock, "-a", secret, "ACL", "SETUSER", "open", "on", "nopass", "~*", "+@all").Output(); err != nil || strings.TrimSpace(string(o)) != "OK" {
		t.Fatalf("ACL SETUSER: %s, %v", o, err)
	}
	old := valkeytest.Start(t, "--rename-command", "HELLO", "")
	v := verb(t, "enqueue")
	for name, o := range map[string]valkey.Options{
		"ca":          {URL: "valkeys://" + overTLS.Addr, CACert: ca.File},
		"sni":         {URL: overTLS.Addr, CACert: ca.File, SNI: "valkey.test"},
		"insecure":    {URL: overTLS.Addr, Insecure: true},
		"client":      {URL: "rediss://" + mutual.Addr + "/5", CACert: ca.File, Cert: client, Key: clientKey},
		"socket":      {URL: "unix://:s3cr3t%2Fw%23rd@" + sock + "?db=3"},
		"socket-path": {URL: sock, Password: secret, DB: 4},
		"no-hello":    {URL: old.Addr},
		"nopass":      {URL: sock, User: "open", DB: 7},
		"user":        {URL: "redis://default:s3cr3t%2Fw%23rd@" + socket.Addr, DB: 6},
	} {
		t.Run(name, func(t *testing.T) {
			if o.DB == 0 {
				o.DB = -1
			}
			c := open(t, o)
			for want := int64(1); want >= 0; want-- {
				if got := c.Run(context.Background(), []executor.Call{enqueueCall(v, name, jobID(1), "x")}); got[0] != (executor.Outcome{State: executor.Replied, Reply: want}) {
					t.Errorf("Run: %+v, want %d", got[0], want)
				}
			}
			if want := map[string]int{"client": 5, "socket": 3, "socket-path": 4, "user": 6, "nopass": 7}[name]; c.DB() != want {
				t.Errorf("DB() = %d, want %d", c.DB(), want)
			}
		})
	}
}

func TestOpenCanceled(t *testing.T) {
	t.Parallel()
	hole := valkeytest.StartProxy(t, "")
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	began := time.Now()
	_, err := valkey.Open(ctx, valkey.Options{URL: hole.Addr})
	var e *valkey.Error
	if !errors.As(err, &e) || e.Kind != valkey.KindCanceled || time.Since(began) > 2*time.Second {
		t.Errorf("Open = %v after %s, want canceled", err, time.Since(began))
	}
}
