package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"unsafe"

	"github.com/spf13/cobra"
)

// payloadOptions say where payloads come from: one of them does.
type payloadOptions struct {
	Payloads []string
	File     string
	HasFile  bool
	Lines    bool
	NDJSON   bool
	Null     bool
}

const (
	// maxPayloadLine is the longest line of --lines and --ndjson.
	maxPayloadLine = 64 << 20
	// maxPayload is what a server takes for one argument unless it is told
	// otherwise: proto-max-bulk-len.
	maxPayload = 512 << 20
	// What is read at a time is handed on at either bound, and where the input
	// pauses.
	chunkJobs  = 500
	chunkBytes = 1 << 20
)

func (o *payloadOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.File, "payload-file", "", "the payload is all of this FILE")
	f.BoolVar(&o.Lines, "lines", false, "a payload a line on standard input; an empty line is one too")
	f.BoolVar(&o.NDJSON, "ndjson", false, "a job a line on standard input, as JSON")
	f.BoolVarP(&o.Null, "null", "0", false, "with --lines: payloads end in NUL, not newline")
}

// bulk reports whether payloads come as a stream.
func (o *payloadOptions) bulk() bool { return o.Lines || o.NDJSON }

// stdin reports whether standard input is read.
func (o *payloadOptions) stdin() bool {
	return o.bulk() || len(o.Payloads) == 1 && o.Payloads[0] == "-"
}

// check holds the options to one source, and an id to one payload.
func (o *payloadOptions) check(hasID bool) error {
	operands := o.Payloads
	if o.bulk() && len(operands) == 1 && operands[0] == "-" {
		operands = nil
	}
	var sources []string
	for _, s := range []struct {
		name  string
		given bool
	}{{"a PAYLOAD", len(operands) > 0}, {"--payload-file", o.HasFile}, {"--lines", o.Lines}, {"--ndjson", o.NDJSON}} {
		if s.given {
			sources = append(sources, s.name)
		}
	}
	switch {
	case len(sources) == 0:
		return &usageError{msg: "no payload given, want a PAYLOAD, - for standard input, --payload-file FILE, --lines or --ndjson", hint: "as in emqctl enqueue QUEUE PAYLOAD; see emqctl enqueue --help"}
	case len(sources) > 1:
		return &usageError{msg: "found " + strings.Join(sources, " and ") + ", want one of them"}
	case hasID && (o.bulk() || len(operands) > 1):
		return &usageError{msg: "--id names one job, and there are many payloads", hint: `--ndjson takes an "id" for each`}
	case o.Null && !o.Lines:
		return &usageError{msg: "-0 divides payloads of --lines, which is not given"}
	}
	return nil
}

// read hands jobs to send, some at a time, until it refuses them.
func (o *payloadOptions) read(e *env, opts enqueueOptions, send func([]job) bool) error {
	one := func(payload string) {
		send([]job{{queue: opts.Queue, id: opts.ID, given: opts.HasID, payload: payload}})
	}
	switch {
	case o.HasFile:
		f, err := os.Open(o.File)
		if err != nil {
			return &ioError{"reading --payload-file " + quote(o.File), err}
		}
		defer f.Close()
		payload, err := readPayload(f, "reading --payload-file "+quote(o.File))
		if err != nil {
			return err
		}
		one(payload)
	case o.bulk():
		return o.stream(e.In, opts, send)
	case o.stdin():
		payload, err := readPayload(e.In, "reading standard input")
		if err != nil {
			return err
		}
		one(payload)
	default:
		var jobs []job
		for _, p := range o.Payloads {
			jobs = append(jobs, job{queue: opts.Queue, id: opts.ID, given: opts.HasID, payload: p})
		}
		send(jobs)
	}
	return nil
}

// readPayload reads a whole stream as one payload.
func readPayload(r io.Reader, doing string) (string, error) {
	// A file's length is known: the first block is to hold it. Others come in
	// blocks, since one that grows step by step takes several times as much.
	block := 4 << 20
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Size() <= maxPayload {
			block = int(info.Size()) + 1
		}
	}
	var blocks [][]byte
	n := 0
	for n <= maxPayload {
		b := make([]byte, min(block, maxPayload+1))
		read, err := io.ReadFull(r, b)
		if n += read; read > 0 {
			blocks = append(blocks, b[:read])
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			break
		}
		if err != nil {
			return "", &ioError{doing, err}
		}
	}
	switch {
	case n > maxPayload:
		return "", &usageError{msg: fmt.Sprintf("%s: found more than %d bytes, which is all that a server takes for a payload", doing, maxPayload)}
	case len(blocks) == 0:
		return "", nil
	case len(blocks) == 1:
		return unsafe.String(&blocks[0][0], n), nil // it is not written to again
	}
	var all strings.Builder
	all.Grow(n)
	for i, b := range blocks {
		all.Write(b)
		blocks[i] = nil
	}
	return all.String(), nil
}

// stream cuts standard input into jobs. What one read brings is handed on
// before the next is waited for, so that a stream that pauses is done up to
// there.
func (o *payloadOptions) stream(in io.Reader, opts enqueueOptions, send func([]job) bool) error {
	r := bufio.NewReaderSize(in, 256<<10)
	sep := byte('\n')
	if o.Null {
		sep = 0
	}
	var jobs []job
	size := 0
	flush := func() bool {
		ok := len(jobs) == 0 || send(jobs)
		jobs, size = make([]job, 0, len(jobs)), 0
		return ok
	}
	for n := int64(1); ; n++ {
		line, tooLong, err := readLine(r, sep)
		if err != nil && err != io.EOF {
			flush()
			return &ioError{"reading standard input", err}
		}
		if err == io.EOF && line == "" && !tooLong {
			flush()
			return nil
		}
		j := job{queue: opts.Queue, payload: line, line: n}
		switch {
		case tooLong:
			j.payload = ""
			j.refuse("line", "line-length", maxPayloadLine, fmt.Sprintf("line %d is longer than %d bytes", n, maxPayloadLine), fmt.Sprintf("--payload-file takes up to %d bytes", maxPayload))
		case o.NDJSON:
			j.parse(line)
		}
		jobs = append(jobs, j)
		size += len(line)
		if err == io.EOF {
			flush()
			return nil
		}
		if len(jobs) == chunkJobs || size >= chunkBytes || r.Buffered() == 0 {
			if !flush() {
				return nil
			}
		}
	}
}

// readLine returns the next line without its end. At the end of the input it
// returns io.EOF, with a last line that has no end.
func readLine(r *bufio.Reader, sep byte) (line string, tooLong bool, err error) {
	part, err := r.ReadSlice(sep)
	if err == nil {
		return string(trimEnd(part, sep)), false, nil
	}
	long := append([]byte(nil), part...)
	for err == bufio.ErrBufferFull {
		part, err = r.ReadSlice(sep)
		if tooLong = tooLong || len(long)+len(part) > maxPayloadLine+2; tooLong {
			long = nil
			continue
		}
		long = append(long, part...)
	}
	if err == nil {
		long = trimEnd(long, sep)
	}
	if tooLong = tooLong || len(long) > maxPayloadLine; tooLong {
		return "", true, err
	}
	return unsafe.String(unsafe.SliceData(long), len(long)), false, err // long is not written to again
}

// trimEnd cuts the end of a line off, and one \r before a newline.
func trimEnd(line []byte, sep byte) []byte {
	if n := len(line) - 1; n >= 0 && line[n] == sep {
		line = line[:n]
		if n--; sep == '\n' && n >= 0 && line[n] == '\r' {
			line = line[:n]
		}
	}
	return line
}
