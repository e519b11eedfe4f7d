package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/echomq/emqctl/internal/embedded"
	"github.com/echomq/emqctl/internal/escape"
)

// printForm is the value of --print.
type printForm string

const (
	printCLI  printForm = "cli"
	printRESP printForm = "resp"
)

func (p *printForm) String() string { return string(*p) }
func (p *printForm) Type() string   { return "cli|resp" }

func (p *printForm) Set(s string) error {
	switch printForm(s) {
	case printCLI, printRESP:
		*p = printForm(s)
		return nil
	}
	return errors.New("want cli or resp")
}

// printCommands writes, for every job that passes the host's gate, the exact
// command that would be sent, and before the first one the load of the script.
// It connects to nothing, and an address is not part of what it prints: there
// can be no password in it.
func printCommands(e *env, a *admission, opts enqueueOptions) error {
	native := a.wantVia == viaNative
	var said verdict
	var buf []byte
	loaded := native
	var failed error
	err := opts.read(e, opts, func(jobs []job) bool {
		buf = buf[:0]
		for i := range jobs {
			j := &jobs[i]
			if j.status != "" || !a.gate(j) {
				said |= (&enqueueRecord{job: j}).verdict()
				e.talk(j.refusalLine())
				continue
			}
			if !loaded {
				loaded = true
				buf = opts.Print.appendLoad(buf, a.script.Source)
			}
			buf = opts.Print.appendCommand(buf, a.words(j, native))
		}
		_, failed = e.Out.Write(buf)
		return failed == nil
	})
	switch {
	case failed == errClosed:
		return said.err(opts.Strict)
	case failed != nil:
		return failed
	case err != nil:
		return err
	}
	return said.err(opts.Strict)
}

// refusalLine says on a line of its own why a job is not printed: of a stream
// which job it is too.
func (j *job) refusalLine() string {
	line := fmt.Sprintf("%s: %s: %s", j.status, j.err.Kind, j.err.Message)
	if j.line == 0 {
		return line
	}
	if j.in != "line" {
		line = fmt.Sprintf("line %d: %s", j.line, line)
	}
	if j.given || j.id != "" {
		line += ": id " + quote(j.id)
	}
	return line
}

// words is a job's command, as it is sent.
func (a *admission) words(j *job, native bool) []string {
	words := []string{"EVALSHA", a.script.SHA1}
	if native {
		words = []string{embedded.Native}
	}
	words = append(words, strconv.Itoa(len(j.keys)))
	return append(append(words, j.keys...), j.args...)
}

// appendLoad appends the command that loads a script, whose digest EVALSHA
// names.
func (p printForm) appendLoad(dst []byte, source string) []byte {
	if p == printRESP {
		return appendRESP(dst, []string{"SCRIPT", "LOAD", source})
	}
	// A here-document hands the source over to the byte: it ends in a newline,
	// and no line of a script is the delimiter.
	dst = append(dst, "valkey-cli -x SCRIPT LOAD <<'END OF SCRIPT'\n"...)
	dst = append(dst, source...)
	return append(dst, "END OF SCRIPT\n"...)
}

func (p printForm) appendCommand(dst []byte, words []string) []byte {
	if p == printRESP {
		return appendRESP(dst, words)
	}
	return append(appendShell(dst, words), '\n')
}

// appendRESP appends a command as the bytes of the wire.
func appendRESP(dst []byte, words []string) []byte {
	dst = append(dst, '*')
	dst = strconv.AppendInt(dst, int64(len(words)), 10)
	for _, w := range words {
		dst = append(dst, "\r\n$"...)
		dst = strconv.AppendInt(dst, int64(len(w)), 10)
		dst = append(dst, "\r\n"...)
		dst = append(dst, w...)
	}
	return append(dst, "\r\n"...)
}

// maxOperand is the longest argument that is given on a command line; systems
// take 128 KiB.
const maxOperand = 64 << 10

// appendShell appends a line for a POSIX shell. Words that a terminal can show
// are operands. Any others, and long ones, go through standard input in
// valkey-cli's own notation, in which every byte can be written; printf is
// part of the shell, and has no bound.
func appendShell(dst []byte, words []string) []byte {
	total := 0
	plain := true
	for _, w := range words {
		total += len(w)
		plain = plain && utf8.ValidString(w) && escape.String(w) == backslashed(w)
	}
	if plain && total <= maxOperand {
		dst = append(dst, "valkey-cli"...)
		for _, w := range words {
			dst = appendShellWord(append(dst, ' '), w)
		}
		return dst
	}
	line := make([]byte, 0, total+total/2)
	for i, w := range words {
		if i > 0 {
			line = append(line, ' ')
		}
		line = append(escape.Append(append(line, '"'), w), '"')
	}
	dst = append(dst, "printf '%s\\n' "...)
	return append(appendShellWord(dst, string(line)), " | valkey-cli"...)
}

// backslashed is what escape.String makes of a word that has only printable
// characters.
func backslashed(w string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(w)
}

// appendShellWord appends a word in single quotes, where it needs them.
func appendShellWord(dst []byte, w string) []byte {
	const safe = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/:,+@%"
	if w != "" && strings.Trim(w, safe) == "" {
		return append(dst, w...)
	}
	dst = append(dst, '\'')
	dst = append(dst, strings.ReplaceAll(w, "'", `'\''`)...)
	return append(dst, '\'')
}
