package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/echomq/emqctl/internal/valkey"
)

// complain shows an error that is no answer, on standard error: a line for
// people with its hint, or one JSON object for programs.
func (e *env) complain(cmd *cobra.Command, err error, args []string) {
	var usage *usageError
	kind := "failed"
	hint := ""
	switch err := err.(type) {
	case *usageError:
		usage, kind, hint = err, "usage", err.hint
	case *ioError:
		kind = "io"
	case *valkey.Error:
		kind, hint = string(err.Kind), err.Hint
	}
	if errors.Is(err, errInterrupted) {
		kind = "interrupted"
	}
	if e.output == outputJSON || !e.began && wantsJSON(args) {
		var o struct {
			Error struct {
				Kind    string  `json:"kind"`
				Message string  `json:"message"`
				Hint    *string `json:"hint"`
			} `json:"error"`
		}
		o.Error.Kind, o.Error.Message = kind, err.Error()
		if hint != "" {
			o.Error.Hint = &hint
		}
		e.Err.Write(append(marshal(nil, o), '\n'))
		return
	}
	if usage != nil && usage.help {
		cmd.SetOut(e.Err)
		cmd.Help()
		e.Err.Write([]byte("\n"))
	}
	if !e.began {
		e.paintErr = newPalette(e.color.on(e.Err, e.getenv))
	}
	p := page{paint: &e.paintErr}
	p.str("emqctl: ").ink(e.paintErr.bad, clean(err.Error())).end()
	if hint != "" {
		p.str("hint: ").str(clean(hint)).end()
	}
	e.Err.Write(p.buf)
}

// talk writes a line about the answer to standard error.
func (e *env) talk(line string) {
	e.Err.Write([]byte("emqctl: " + clean(line) + "\n"))
}

// wantsJSON looks for -o json on a command line that cobra refused.
func wantsJSON(args []string) bool {
	if slices.Contains(args, "-ojson") || slices.Contains(args, "-o=json") || slices.Contains(args, "--output=json") {
		return true
	}
	for i, arg := range args[:max(len(args)-1, 0)] {
		if (arg == "-o" || arg == "--output") && args[i+1] == "json" {
			return true
		}
	}
	return false
}
