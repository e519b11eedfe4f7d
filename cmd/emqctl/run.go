package main

import (
	"context"
	"errors"
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
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
		os.Exit(codeInterrupted)
	}
}
