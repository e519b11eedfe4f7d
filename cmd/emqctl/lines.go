package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/semaphore"

	"github.com/echomq/emqctl/internal/escape"
)

// item is one thing to answer.
type item struct {
	text string
	// bad says why there is nothing to answer; text is then what was given,
	// or "" when that is longer than maxLine.
	bad    *problem
	line   int64 // of input, or the number of the operand; from 1
	offset int   // in the line, where --extract found it
}

// answerer is a record that computes itself from an item. One is used again
// and again by the worker that owns it.
type answerer interface {
	tabular
	read(it item, now time.Time)
}

// batcher is an answerer that finds out together what it needs for many items:
// it is shown some items, and then reads each of them in that order.
type batcher interface {
	answerer
	prepare(items []item, now time.Time)
}

// batchLen is how many items a batcher is shown at a time.
const batchLen = 128

// inputOptions are the flags of a command that answers items.
type inputOptions struct {
	Null    bool // -0
	Print0  bool
	Escaped bool
	Extract bool
	Strict  bool

	Bare bool // the command's text is bare values, without notes
}

func (o *inputOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVarP(&o.Null, "null", "0", false, "items on standard input end in NUL")
	f.BoolVar(&o.Print0, "print0", false, "records of tsv and --format end in NUL")
	f.BoolVar(&o.Escaped, "escaped", false, `items are in the notation of valkey-cli: \xHH \n "..."`)
	f.BoolVar(&o.Strict, "strict", false, "a note makes the exit code 1")
}

// end is what ends a record of tsv and --format.
func (o *inputOptions) end() byte {
	if o.Print0 {
		return 0
	}
	return '\n'
}

// check refuses options that cannot be had together, or do nothing.
func (o *inputOptions) check(e *env) error {
	switch {
	case o.Extract && o.Escaped:
		return &usageError{msg: "--extract and --escaped cannot both be had", hint: "--extract undoes the escapes of quoted keys itself"}
	case o.Print0 && e.output != outputTSV && e.template == nil:
		return &usageError{msg: "--print0 is for -o tsv and --format"}
	}
	return nil
}

func (o *inputOptions) extractFlag(cmd *cobra.Command, what string) {
	cmd.Flags().BoolVar(&o.Extract, "extract", false, "items are text, such as logs: answer each "+what+" in it")
}

// answerInput answers the operands, or standard input when there are none or
// the only one is -, each item by one record, in order. extract finds the
// items in a line of text for --extract.
func (e *env) answerInput(ctx context.Context, o inputOptions, operands []string, newRecord func() answerer, extract func(line string, found func(off int, s string))) error {
	if err := e.check(newRecord()); err != nil {
		return err
	}
	if err := o.check(e); err != nil {
		return err
	}
	a := &answering{
		env: e, opts: o, now: e.now, newRecord: newRecord, extract: extract,
		sep: '\n', end: o.end(),
	}
	if o.Null {
		a.sep = 0
	}
	var err error
	if len(operands) > 0 && !(len(operands) == 1 && operands[0] == "-") {
		err = a.operands(operands)
	} else {
		if len(operands) == 0 && isTerminal(e.In) {
			return &usageError{msg: "nothing to read: standard input is a terminal", hint: "give operands, pipe one item a line, or type them after -", help: true}
		}
		err = a.stream(ctx, e.In)
	}
	if err != nil && err != errClosed {
		return err
	}
	if err == nil && a.answered == 0 {
		what := "nothing on standard input"
		if o.Extract {
			what = "nothing found"
		}
		e.talk(what)
	}
	if o.Bare {
		return e.strictNotes(a.verdict, o.Strict)
	}
	return a.verdict.err(o.Strict)
}

// answering is one run of answerInput.
type answering struct {
	env       *env
	opts      inputOptions
	now       func() time.Time
	newRecord func() answerer
	extract   func(line string, found func(off int, s string))
	sep, end  byte

	verdict  verdict
	answered int
}

// worker answers blocks, one at a time.
type worker struct {
	*answering
	record answerer
	batch  batcher // record, when it is one
	items  []item  // waiting for it
	render func(dst []byte) ([]byte, error)
	dst    []byte
	said   verdict
	count  int
	now    time.Time
	err    error
}

func (a *answering) newWorker() *worker {
	r := a.newRecord()
	w := &worker{answering: a, record: r, render: a.env.rendering(r, a.end)}
	w.batch, _ = r.(batcher)
	return w
}

// operands answers operands: they are items as they are, or lines of text for
// --extract.
func (a *answering) operands(operands []string) error {
	w := a.newWorker()
	w.now = a.now()
	for i, s := range operands {
		if info, err := os.Stat(s); err == nil && info.Mode().IsRegular() {
			a.env.talk(quote(s) + " is a file, and its name was read; its lines are read from standard input: <" + s)
		}
		w.line(s, int64(i+1))
		if len(w.dst) > blockLen {
			if err := a.write(w.take(nil)); err != nil {
				return err
			}
		}
	}
	return a.write(w.take(nil))
}

// line answers a line, or what is to be extracted from it.
func (w *worker) line(s string, n int64) {
	if w.extract != nil && w.opts.Extract {
		w.extract(s, func(off int, s string) {
			w.answer(item{text: s, line: n, offset: off})
		})
		return
	}
	it := item{text: s, line: n}
	if w.opts.Escaped {
		text, err := escape.Unescape(s)
		if err != nil {
			it.bad = newProblem("escape", err.(*escape.Error).Off, err.Error(), "")
		} else {
			it.text = text
		}
	}
	w.answer(it)
}

func (w *worker) answer(it item) {
	if w.batch == nil {
		w.answerNow(it)
		return
	}
	if w.items = append(w.items, it); len(w.items) == batchLen {
		w.flush()
	}
}

// flush answers the items that wait.
func (w *worker) flush() {
	if len(w.items) == 0 {
		return
	}
	w.batch.prepare(w.items, w.now)
	for _, it := range w.items {
		w.answerNow(it)
	}
	w.items = w.items[:0]
}

func (w *worker) answerNow(it item) {
	if len(it.text) > blockLen {
		// Room for a huge item three times over, escaped, at once: growing step
		// by step would leave several times as much behind.
		foreign := 0
		for i := 0; i < len(it.text); i++ {
			if !escape.Plain(it.text[i]) {
				foreign++
			}
		}
		w.dst = slices.Grow(w.dst, 3*(len(it.text)+5*foreign)+blockLen)
	}
	w.record.read(it, w.now)
	w.count++
	w.said |= w.record.verdict()
	var err error
	if w.dst, err = w.render(w.dst); err != nil && w.err == nil {
		w.err = err
	}
}

func lineTooLong(n int64) item {
	return item{line: n, bad: newProblem("line-length", maxLine,
		fmt.Sprintf("line %d is longer than %d bytes", n, maxLine), "")}
}

// answered is what a worker made of a block.
type answered struct {
	dst   []byte
	said  verdict
	count int
	err   error
}

// take returns what the worker has appended since the last take.
func (w *worker) take(next []byte) answered {
	w.flush()
	out := answered{w.dst, w.said, w.count, w.err}
	w.dst, w.said, w.count, w.err = next, 0, 0, nil
	return out
}

func (w *worker) block(b *block) answered {
	w.dst = b.spent[:0]
	w.now = w.answering.now()
	if b.tooLong {
		w.answer(lineTooLong(b.line))
		return w.take(nil)
	}
	text, n := b.text, b.line
	for ; text != ""; n++ {
		s := text
		i := strings.IndexByte(text, w.sep)
		if i >= 0 {
			s, text = text[:i], text[i+1:]
			if w.sep == '\n' && i > 0 && s[i-1] == '\r' {
				s = s[:i-1]
			}
		} else {
			text = ""
		}
		if len(s) > maxLine {
			w.answer(lineTooLong(n))
			continue
		}
		w.line(s, n)
	}
	return w.take(nil)
}

// write hands an answer to standard output.
func (a *answering) write(out answered) error {
	a.verdict |= out.said
	dst := out.dst
	if a.answered == 0 {
		dst = a.env.undivided(dst)
	}
	a.answered += out.count
	if len(dst) > 0 {
		if _, err := a.env.Out.Write(dst); err != nil {
			return err
		}
	}
	return out.err
}

// inFlight bounds the input, in bytes, that is being answered at a time. An
// answer can be 18 times as long as its item, so a block with a huge line has
// the workers to itself.
const inFlight = 8 * blockLen

// stream answers standard input: one goroutine reads, as many as there are
// cores answer, and this one writes in order.
func (a *answering) stream(ctx context.Context, in io.Reader) error {
	// The live heap is some blocks: collecting it at every 4 MB would cost a
	// sixth of the time, and collecting it late would keep the memory of a huge
	// line for long.
	defer debug.SetGCPercent(debug.SetGCPercent(200))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(40 << 20))

	workers := runtime.GOMAXPROCS(0)
	work := make(chan *block)
	order := make(chan *block, inFlight/blockLen)
	// Output buffers are used again, and the one that grew for huge blocks is
	// kept apart: there is one such block at a time.
	spent, huge := make(chan []byte, workers+2), make(chan []byte, 1)
	readErr := make(chan error, 1)
	room := semaphore.NewWeighted(inFlight)
	ctx, stop := context.WithCancel(ctx)
	defer stop()

	for range workers {
		go func() {
			w := a.newWorker()
			for b := range work {
				b.out <- w.block(b)
			}
		}()
	}
	go func() {
		defer close(work)
		defer close(order)
		readErr <- readBlocks(in, a.sep, func(b *block) bool {
			b.weight = min(int64(len(b.text)), inFlight)
			if room.Acquire(ctx, b.weight) != nil {
				return false
			}
			b.out = make(chan answered, 1)
			b.buffers = spent
			if b.weight > inFlight/2 {
				b.buffers = huge
			}
			select {
			case b.spent = <-b.buffers:
			default:
			}
			for _, to := range []chan *block{order, work} {
				select {
				case to <- b:
				case <-ctx.Done():
					return false
				}
			}
			return true
		})
	}()
	for {
		var b *block
		var ok bool
		select {
		case b, ok = <-order:
		case <-ctx.Done():
			return errInterrupted
		}
		if !ok {
			return <-readErr
		}
		select {
		case out := <-b.out:
			if err := a.write(out); err != nil {
				return err
			}
			if b.buffers == huge || cap(out.dst) <= 32*blockLen {
				select {
				case b.buffers <- out.dst:
				default:
				}
			}
			room.Release(b.weight)
		case <-ctx.Done():
			return errInterrupted
		}
	}
}
