// Package valkeytest starts real Valkey servers for tests.
//
// A server listens on a free loopback port, keeps its files in the test's
// temporary directory, and is killed when the test ends. Where no
// valkey-server is installed a test that asks for one is skipped; with
// EMQCTL_REQUIRE_VALKEY=1 in the environment it fails instead, so that a
// continuous-integration run cannot go green by skipping its oracle.
package valkeytest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
)

// Server is a running valkey-server.
type Server struct {
	// Addr is where it listens, as host:port on loopback.
	Addr string
	// Dir is its working directory.
	Dir string

	tb     testing.TB
	argv   []string
	cmd    *exec.Cmd
	exited chan struct{}
}

// Start runs a valkey-server without persistence on a free port. The args
// follow the defaults on its command line and so override them, for example
// "--cluster-enabled", "yes".
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	bin, err := exec.LookPath("valkey-server")
	if err != nil {
		if os.Getenv("EMQCTL_REQUIRE_VALKEY") == "1" {
			tb.Fatalf("EMQCTL_REQUIRE_VALKEY=1, and %v", err)
		}
		tb.Skip("no valkey-server on PATH")
	}
	// A free port can be taken by someone else between the look and the
	// start, so a server that dies at once is tried again on another.
	for try := 1; ; try++ {
		s, err := start(tb, bin, args)
		if err == nil {
			return s
		}
		if try == 3 {
			tb.Fatal(err)
		}
	}
}

// PortOfServer stands, among the args of [Start], for the port that was found.
const PortOfServer = "<port>"

func start(tb testing.TB, bin string, args []string) (*Server, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	s := &Server{Addr: fmt.Sprintf("127.0.0.1:%d", port), Dir: tb.TempDir(), tb: tb}
	argv := append([]string{
		"--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--dir", s.Dir,
		"--save", "", "--appendonly", "no",
	}, args...)
	for i, arg := range argv {
		if arg == PortOfServer {
			argv[i] = fmt.Sprint(port)
		}
	}
	s.argv = append([]string{bin}, argv...)
	tb.Cleanup(s.Kill)
	return s, s.launch()
}

// launch starts the process and waits until it listens.
func (s *Server) launch() error {
	cmd, exited := exec.Command(s.argv[0], s.argv[1:]...), make(chan struct{})
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd, s.exited = cmd, exited
	go func() { cmd.Wait(); close(exited) }()
	for deadline := time.Now().Add(10 * time.Second); ; {
		if c, err := net.Dial("tcp", s.Addr); err == nil {
			c.Close()
			return nil
		}
		select {
		case <-exited:
			return fmt.Errorf("%s exited: %s", filepath.Base(s.argv[0]), log.String())
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s does not listen on %s", filepath.Base(s.argv[0]), s.Addr)
		}
	}
}

// Kill ends the server at once, as a crash does.
func (s *Server) Kill() {
	if s.cmd != nil {
		s.cmd.Process.Kill()
		<-s.exited
	}
}

// Restart kills the server and starts it again, on the same port with the same
// files.
func (s *Server) Restart() {
	s.tb.Helper()
	s.Kill()
	if err := s.launch(); err != nil {
		s.tb.Fatal(err)
	}
}

// FreePort returns a TCP port of the loopback interface on which nothing
// listened a moment ago.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// Client returns a client of the server that speaks to it directly: no
// client-side cache, no retries, no cluster routing. It is closed when the
// test ends.
func (s *Server) Client() rueidis.Client {
	s.tb.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress:       []string{s.Addr},
		DisableCache:      true,
		DisableRetry:      true,
		ForceSingleClient: true,
	})
	if err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(c.Close)
	return c
}

// Do sends one command and returns its reply.
func Do(c rueidis.Client, args ...string) rueidis.RedisResult {
	return c.Do(context.Background(), c.B().Arbitrary(args...).Build())
}

// Client is what [Server.Client] returns.
type Client = rueidis.Client

// Result is what [Do] returns.
type Result = rueidis.RedisResult

// Monitor is a connection on which a server shows every command it runs.
type Monitor struct {
	c     net.Conn
	lines *bufio.Scanner
}

// Monitor opens one. It is closed when the test ends.
func (s *Server) Monitor() *Monitor {
	s.tb.Helper()
	c, err := net.Dial("tcp", s.Addr)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() { c.Close() })
	m := &Monitor{c: c, lines: bufio.NewScanner(c)}
	m.lines.Buffer(nil, 1<<20)
	if _, err := c.Write([]byte("MONITOR\r\n")); err != nil || !m.lines.Scan() || m.lines.Text() != "+OK" {
		s.tb.Fatalf("MONITOR answers %q, %v", m.lines.Text(), err)
	}
	return m
}

// Until returns the lines up to the first that contains mark, which is dropped.
func (m *Monitor) Until(mark string) ([]string, error) {
	if err := m.c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return nil, err
	}
	var lines []string
	for m.lines.Scan() {
		if strings.Contains(m.lines.Text(), mark) {
			return lines, nil
		}
		lines = append(lines, strings.TrimPrefix(m.lines.Text(), "+"))
	}
	return nil, fmt.Errorf("the monitor ended without %q: %v", mark, m.lines.Err())
}
