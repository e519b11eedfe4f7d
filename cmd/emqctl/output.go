package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// output is the value of --output.
type output string

const (
	outputText output = "text"
	outputJSON output = "json"
	outputTSV  output = "tsv"
	// outputSARIF is for lint alone.
	outputSARIF output = "sarif"
)

// outputs are those of every command.
var outputs = []string{string(outputText), string(outputJSON), string(outputTSV)}

func (o *output) String() string { return string(*o) }
func (o *output) Type() string   { return strings.Join(outputs, "|") }

func (o *output) Set(s string) error {
	switch output(s) {
	case outputText, outputJSON, outputTSV, outputSARIF:
		*o = output(s)
		return nil
	}
	return fmt.Errorf("want %s", orList(outputs))
}

// record is an answer, in all its renderings.
type record interface {
	// verdict is what the answer says, whatever its rendering.
	verdict() verdict
	// appendJSON appends one compact object, without a newline.
	appendJSON(dst []byte) []byte
	// appendText appends the lines for people.
	appendText(p *page)
	// contract returns a value of the struct, with its tags, that encoding/json
	// reads the object into.
	contract() any
}

// tabular is a record that has columns.
type tabular interface {
	record
	// appendTSV appends one line, without its end.
	appendTSV(dst []byte) []byte
}

// verdict is a set of what an answer can say besides being there.
type verdict uint8

const (
	verdictNo     verdict = 1 << iota // the answer is no
	verdictNotes                      // there are notes
	verdictUndone                     // what was asked could not be done
)

// strictNotes is [verdict.err], with a word on standard error when text shows
// no notes and they decide.
func (e *env) strictNotes(v verdict, strict bool) error {
	if strict && v&verdictNotes != 0 && v&verdictNo == 0 && e.output == outputText {
		e.talk("there are notes; -o json shows them")
	}
	return v.err(strict)
}

// err returns the error that a command ends with after answers that said v.
func (v verdict) err(strict bool) error {
	if v&verdictUndone != 0 {
		return errUndone
	}
	if v&verdictNo != 0 || strict && v&verdictNotes != 0 {
		return errNo
	}
	return nil
}

// problem is an error as records show it.
type problem struct {
	Kind    string  `json:"kind"`
	Offset  int     `json:"offset"`
	Message string  `json:"message"`
	Hint    *string `json:"hint"`
}

// note is a remark as records show it.
type note struct {
	Kind    string `json:"kind"`
	Offset  int    `json:"offset"`
	Message string `json:"message"`
}

func newProblem(kind string, offset int, message, hint string) *problem {
	p := &problem{Kind: kind, Offset: offset, Message: message}
	if hint != "" {
		p.Hint = &hint
	}
	return p
}

// rendering returns the function that appends a record, as it then stands, in
// the rendering that was asked for: the only fork between them. A record that
// is used again for many items keeps its function.
func (e *env) rendering(r record, end byte) func(dst []byte) ([]byte, error) {
	switch {
	case e.template != nil:
		return func(dst []byte) ([]byte, error) {
			b := bytes.NewBuffer(dst)
			err := executeFormat(e.template, b, r)
			return append(b.Bytes(), end), err
		}
	case e.output == outputJSON:
		return func(dst []byte) ([]byte, error) { return append(r.appendJSON(dst), '\n'), nil }
	case e.output == outputTSV:
		t := r.(tabular)
		return func(dst []byte) ([]byte, error) { return append(t.appendTSV(dst), end), nil }
	}
	return func(dst []byte) ([]byte, error) {
		p := page{buf: dst, paint: &e.paint}
		r.appendText(&p)
		return p.buf, nil
	}
}

// emit writes one record, the only one of its command, and returns what it
// says as an error.
func (e *env) emit(r record, strict bool) error {
	return e.emitAll([]record{r}, strict)
}

// emitAll writes some records of one kind, all of its command's, and returns
// what they say as an error.
func (e *env) emitAll(list []record, strict bool) error {
	var said verdict
	var buf []byte
	for i, r := range list {
		if i == 0 {
			if err := e.check(r); err != nil {
				return err
			}
		}
		var err error
		if buf, err = e.rendering(r, '\n')(buf); err != nil {
			return err
		}
		said |= r.verdict()
	}
	if err := e.print(string(e.undivided(buf))); err != nil {
		return err
	}
	return said.err(strict)
}

// print writes text that is the whole answer.
func (e *env) print(text string) error {
	if _, err := io.WriteString(e.Out, text); err != nil && err != errClosed {
		return err
	}
	return nil
}

// undivided cuts the blank line off before the first record of an answer.
func (e *env) undivided(buf []byte) []byte {
	if e.output == outputText && e.template == nil {
		return bytes.TrimPrefix(buf, []byte("\n"))
	}
	return buf
}

// check refuses a rendering that a command's records do not have, before
// anything is read.
func (e *env) check(r record) error {
	if e.output == outputSARIF {
		return &usageError{msg: "-o sarif: only lint has it, want " + orList(outputs)}
	}
	return e.checkSARIF(r)
}

// checkSARIF is check for lint, which has sarif as well.
func (e *env) checkSARIF(r record) error {
	if e.format != "" {
		if e.output != outputText {
			return &usageError{msg: "--format and -o " + string(e.output) + " cannot both be had"}
		}
		t, err := parseFormat(e.format, r.contract())
		if err != nil {
			return err
		}
		e.template = t
	}
	if _, ok := r.(tabular); !ok && e.output == outputTSV {
		return &usageError{msg: "-o tsv: this command has no columns, want text or json"}
	}
	return nil
}

// marshal renders a record that is not worth an encoder of its own.
func marshal(dst []byte, v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // a contract struct always encodes
	}
	return append(dst, strings.TrimSuffix(b.String(), "\n")...)
}
