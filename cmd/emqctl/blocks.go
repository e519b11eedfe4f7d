package main

import (
	"bytes"
	"io"
)

// maxLine is the longest line, in bytes without its end, that is taken for an
// item. A longer one is reported and passed over.
const maxLine = 1 << 20

// blockLen is how much is read at a time. What one read brings is answered
// and written before the next is waited for, so that a stream that pauses has
// been answered up to its last whole line.
const blockLen = 64 << 10

// block is some whole lines of input on their way through a worker.
type block struct {
	text    string
	line    int64 // number of the first line, from 1
	tooLong bool  // stands for one line longer than maxLine; text is ""

	out     chan answered // receives once
	weight  int64         // of inFlight
	buffers chan []byte   // where its output buffer comes from and goes to
	spent   []byte        // that buffer
}

// readBlocks cuts input into blocks that end where an item ends, one for each
// read that brings an item's end, until send refuses one.
func readBlocks(in io.Reader, sep byte, send func(*block) bool) error {
	buf := make([]byte, blockLen)
	held := 0 // bytes of an item that has not ended
	line := int64(1)
	skipping := false // inside an item that is too long
	for {
		n, err := in.Read(buf[held:min(len(buf), held+blockLen)])
		data := buf[:held+n]
		if skipping {
			if i := bytes.IndexByte(data, sep); i >= 0 {
				skipping = false
				data = data[:copy(data, data[i+1:])]
				line++
			} else {
				data = data[:0]
			}
		}
		// The held bytes have no separator in them.
		if i := bytes.LastIndexByte(data, sep); i >= 0 {
			b := &block{text: string(data[:i+1]), line: line}
			line += int64(bytes.Count(data[:i+1], []byte{sep}))
			if !send(b) {
				return nil
			}
			data = data[:copy(data, data[i+1:])]
		}
		held = len(data)
		if held > maxLine+1 { // one more for a \r that is dropped
			if !send(&block{line: line, tooLong: true}) {
				return nil
			}
			skipping, held = true, 0
		}
		if err == io.EOF {
			if held > 0 {
				send(&block{text: string(buf[:held]), line: line})
			}
			return nil
		}
		if err != nil {
			return &ioError{"reading standard input", err}
		}
		if held == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
	}
}
