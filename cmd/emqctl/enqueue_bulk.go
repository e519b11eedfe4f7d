package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"
)

// A batch is what is sent at once: all that was read while the store worked on
// the last one, up to either bound. A rehearsal takes fewer jobs, for its pace.
const (
	batchJobs     = 2000
	batchRehearse = 500
	batchBytes    = 4 << 20
)

// inFlightBytes bounds the payloads that were read and whose records are not
// written. A larger one has the way to itself: it and the next that is read are
// all that is held.
const inFlightBytes = 4 * batchBytes

const memoryLimit = 96 << 20

// enqueueAll takes all jobs through the admission and writes their records, in
// order. One goroutine reads and gates, one gathers batches, one gives them to the
// store, and this one writes: while the store works on a batch, the next is read
// and the last one written. So few are held at a time, whatever the length of the
// input.
func enqueueAll(ctx context.Context, e *env, a *admission, opts enqueueOptions) error {
	// The live heap is some batches: collecting it at twice their size would
	// cost a tenth of the time.
	defer debug.SetGCPercent(debug.SetGCPercent(200))
	// What huge payloads leave behind is collected at once.
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(memoryLimit))
	if !a.rehearsal {
		// A server on the same machine wants a core for itself.
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(1, min(runtime.GOMAXPROCS(0), runtime.NumCPU()-1))))
	}
	run, stop := context.WithCancel(ctx)
	defer stop()
	read, admitted := make(chan []job), make(chan admittedBatch)
	readErr := make(chan error, 1)
	room := semaphore.NewWeighted(inFlightBytes)
	go func() {
		defer close(read)
		readErr <- opts.read(e, opts, func(jobs []job) bool {
			if len(jobs) == 0 {
				return true
			}
			for i := range jobs {
				jobs[0].weight += int64(len(jobs[i].payload))
				if jobs[i].status == "" {
					a.gate(&jobs[i])
				}
			}
			jobs[0].weight = min(jobs[0].weight, inFlightBytes)
			if room.Acquire(run, jobs[0].weight) != nil {
				return false
			}
			select {
			case read <- jobs:
				return true
			case <-run.Done():
				return false
			}
		})
	}()
	g := &gatherer{batchJobs, make(chan []job), make(chan []job)}
	if a.rehearsal {
		g.most = batchRehearse
	}
	go g.run(run, read)
	go a.admitAll(run, g, admitted)
	w := &enqueueWriter{env: e, record: enqueueRecord{admission: a, short: opts.bulk()}, progress: e.newProgress(a, opts)}
	w.render = e.rendering(&w.record, '\n')
	var err error
	for b := range admitted {
		if err != nil {
			continue // let it end
		}
		if err = w.write(b); err != nil {
			stop()
		}
		for i := range b.jobs {
			room.Release(b.jobs[i].weight)
		}
	}
	w.progress.end(ctx.Err() != nil || err != nil)
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err == errClosed {
		if a.rehearsal || !opts.bulk() {
			return w.said.err(opts.Strict)
		}
		// Nothing is amiss with a look that is cut short, but with a load.
		e.talk("nobody reads the records: the load has stopped, and the same lines with ids complete it")
		return errUndone
	}
	if err != nil {
		return err
	}
	// The reader has ended, or else it waits for a stream that is not needed.
	if err := <-readErr; err != nil {
		return err
	}
	if w.written == 0 {
		e.talk("nothing on standard input")
	}
	return w.said.err(opts.Strict)
}

// gatherer joins jobs into batches while nobody takes them.
type gatherer struct {
	most int        // jobs in a batch
	some chan []job // takes a batch of any length
	full chan []job // takes one that has grown as far as it may
}

// run gathers what comes from in. It closes its channels in the end.
func (g *gatherer) run(ctx context.Context, in <-chan []job) {
	defer close(g.some)
	defer close(g.full)
	var batch []job
	size := 0
	for in != nil || len(batch) > 0 {
		from, some, full := in, g.some, g.full
		switch {
		case len(batch) == 0:
			some, full = nil, nil
		case len(batch) >= g.most || size >= batchBytes:
			from = nil
		default:
			full = nil
		}
		select {
		case jobs, ok := <-from:
			if !ok {
				in = nil
				continue
			}
			if batch == nil {
				batch = jobs
			} else {
				batch = append(batch, jobs...)
			}
			for i := range jobs {
				size += len(jobs[i].payload)
			}
		case some <- batch:
			batch, size = nil, 0
		case full <- batch:
			batch, size = nil, 0
		case <-ctx.Done():
			return
		}
	}
}

// enqueueWriter writes records.
type enqueueWriter struct {
	env      *env
	record   enqueueRecord
	render   func([]byte) ([]byte, error)
	buf      []byte
	said     verdict
	written  int
	progress *progress
}

func (w *enqueueWriter) write(b admittedBatch) error {
	w.buf = w.buf[:0]
	for i := range b.jobs {
		w.record.take(&b.jobs[i], &b)
		w.said |= w.record.verdict()
		if n := len(b.jobs[i].payload); n > blockLen && w.env.output == outputJSON {
			w.buf = slices.Grow(w.buf, n+n/8+blockLen)
		}
		var err error
		if w.buf, err = w.render(w.buf); err != nil {
			return err
		}
		if w.written == 0 && i == 0 && !w.record.short {
			w.buf = w.env.undivided(w.buf)
		}
		if len(w.buf) > 4*blockLen {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	w.record.job = nil
	w.written += len(b.jobs)
	w.progress.show(w.written)
	return w.flush()
}

func (w *enqueueWriter) flush() error {
	_, err := w.env.Out.Write(w.buf)
	w.buf = w.buf[:0]
	if cap(w.buf) > 32*blockLen {
		w.buf = nil // what one huge record made is not kept
	}
	return err
}

// progress is a line on standard error that says how far a bulk load is.
type progress struct {
	env   *env
	pace  string
	start time.Time
	last  time.Time
	shown int // the length of the line
}

// newProgress returns nil where there is nobody to see it: standard error is
// no terminal, or records go to the same one.
func (e *env) newProgress(a *admission, opts enqueueOptions) *progress {
	if !opts.bulk() || !isTerminal(e.Err) || isTerminal(e.Out.(*answerWriter).w) {
		return nil
	}
	p := &progress{env: e, start: e.now()}
	if a.rehearsal {
		p.pace = "; the embedded store does about 5,000, a server many more"
	}
	return p
}

func (p *progress) show(n int) {
	if p == nil {
		return
	}
	now := p.env.now()
	if now.Sub(p.last) < 200*time.Millisecond || now.Sub(p.start) < time.Second {
		return
	}
	line := fmt.Sprintf("%d jobs, %.0f a second%s", n, float64(n)/now.Sub(p.start).Seconds(), p.pace)
	fmt.Fprintf(p.env.Err, "\r%-*s", p.shown, line)
	p.last, p.shown = now, max(p.shown, len(line))
}

// end ends the line, or clears it for what is said next.
func (p *progress) end(clear bool) {
	switch {
	case p == nil || p.shown == 0:
	case clear:
		fmt.Fprintf(p.env.Err, "\r%*s\r", p.shown, "")
	default:
		fmt.Fprintln(p.env.Err)
	}
}
