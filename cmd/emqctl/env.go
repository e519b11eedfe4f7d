package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"text/template"
	"time"

	"github.com/mattn/go-isatty"
)

// env is what every command is given: its streams, the clock, and how answers
// are shown.
type env struct {
	In       io.Reader
	Out, Err io.Writer
	now      func() time.Time
	random   func(n int) int // a number from 0 to n-1
	getenv   func(name string) string
	open     func(ctx context.Context) (store, error) // for tests: a store in the place of a server

	output   output
	format   string // the text of --format
	template *template.Template
	color    color

	paint, paintErr palette // of Out and Err

	grace time.Duration // how long a command may take to end after a signal

	began   bool        // a command's own code has been reached
	settled atomic.Bool // how answers and errors are shown
	outErr  error       // the first failed write to Out, but for a closed pipe
}

func newEnv(in io.Reader, out, errw io.Writer, environ []string) *env {
	e := &env{
		In:     in,
		Err:    errw,
		now:    time.Now,
		random: rand.IntN,
		output: outputText,
		color:  colorAuto,
		grace:  time.Second,
	}
	e.Out = &answerWriter{w: out, env: e}
	e.getenv = func(name string) string {
		for i := len(environ) - 1; i >= 0; i-- {
			if v, ok := strings.CutPrefix(environ[i], name+"="); ok {
				return v
			}
		}
		return ""
	}
	return e
}

// begin settles how answers are shown, once the flags are known.
func (e *env) begin() {
	e.began = true
	e.paint = newPalette(e.color.on(e.Out.(*answerWriter).w, e.getenv))
	e.paintErr = newPalette(e.color.on(e.Err, e.getenv))
	e.settled.Store(true)
}

// isTerminal reports whether a stream is one.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && (isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()))
}

// errClosed stops a command whose reader has gone away: quietly, as in
// `emqctl slot <keys | head -1`.
var errClosed = errors.New("standard output is closed")

// answerWriter is standard output. It turns a closed pipe into errClosed, and
// keeps any other failure for the exit code: an answer that was not written
// was not given.
type answerWriter struct {
	w       io.Writer
	env     *env
	writing atomic.Bool
}

func (a *answerWriter) Write(p []byte) (int, error) {
	a.writing.Store(true)
	n, err := a.w.Write(p)
	a.writing.Store(false)
	if err == nil {
		return n, nil
	}
	if isClosedPipe(err) {
		return n, errClosed
	}
	if a.env.outErr == nil {
		a.env.outErr = &ioError{"writing standard output", err}
	}
	return n, a.env.outErr
}

func isClosedPipe(err error) bool {
	const windowsBrokenPipe, windowsNoData = syscall.Errno(109), syscall.Errno(232)
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) ||
		os.PathSeparator == '\\' && (errors.Is(err, windowsBrokenPipe) || errors.Is(err, windowsNoData))
}

// ioError is a stream that failed.
type ioError struct {
	doing string
	err   error
}

func (e *ioError) Error() string {
	var path *os.PathError
	if errors.As(e.err, &path) {
		return e.doing + ": " + path.Err.Error()
	}
	return e.doing + ": " + e.err.Error()
}

func (e *ioError) Unwrap() error { return e.err }
