package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// run is the program: everything it touches is handed in. It returns the exit
// code.
func run(args []string, in io.Reader, out, errw io.Writer, environ []string) int {
	return newEnv(in, out, errw, environ).run(args)
}

func (e *env) run(args []string) int {
	// Without this a write to a closed pipe kills the process before the
	// answer so far can decide the code.
	signal.Ignore(syscall.SIGPIPE)
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as below nohup
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	done := make(chan struct{})
	defer close(done)
	go e.endOnSignal(ctx, stop, done)

	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	root := newRootCmd(e, name)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if errors.Is(err, errClosed) {
		return codeOK // nobody wanted the rest
	}
	if e.outErr != nil {
		e.began, err = true, e.outErr
	}
	if err == nil || errors.Is(err, errNo) || errors.Is(err, errUndone) {
		return codeOf(err)
	}
	if !e.began {
		// Cobra's own errors come before any command has begun: they are
		// about the command line.
		var usage *usageError
		if !errors.As(err, &usage) {
			err = &usageError{msg: err.Error(), hint: "see " + cmd.CommandPath() + " --help"}
		}
	}
	e.complain(cmd, err, args)
	return codeOf(err)
}

// endOnSignal sees to it that a signal ends the program: the command has a
// moment to do so itself, and a second signal ends it at once.
func (e *env) endOnSignal(ctx context.Context, stop func(), done chan struct{}) {
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	stop()
	select {
	case <-done:
	case <-time.After(e.grace):
		err := errInterrupted
		if e.Out.(*answerWriter).writing.Load() {
			err = fmt.Errorf("%w while nobody read standard output: the last record may be cut, and others missing", errInterrupted)
		}
		if e.settled.Load() {
			told := make(chan struct{})
			go func() {
				defer close(told)
				e.complain(nil, err, nil)
			}()
			select {
			case <-told:
			case <-time.After(e.grace / 4): // nor does anybody read standard error
			}
		}
		os.Exit(codeInterrupted)
	}
}
