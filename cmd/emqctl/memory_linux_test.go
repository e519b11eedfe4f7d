//go:build !race

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/echomq/emqctl/internal/valkeytest"
)

// peakOf has the arguments of the program whose peak is asked for. A process
// begins with the peak of the one that starts it, so it is not started by this
// process, with all the memory of its tests, but by a fresh one.
const peakOf = "EMQCTL_TEST_PEAK_OF"

// printPeak runs the program and prints its peak memory in KiB.
func printPeak(t *testing.T, args []string) {
	cmd := exec.Command("emqctl", args...)
	cmd.Stdin = os.Stdin
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != codeNo {
		t.Fatal(err)
	}
	fmt.Println(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
}

// TestMemory holds the peak memory of the program to 64 MiB, for many lines
// and for the worst of long ones.
func TestMemory(t *testing.T) {
	if args := os.Getenv(peakOf); args != "" {
		printPeak(t, strings.Fields(args))
		return
	}
	line := "emq:{quotes}:job:JOB0KHTOWnGLuC\n"
	worst := "emq:{" + strings.Repeat("\x01", maxLine/2) + "}:de:" + strings.Repeat("\x02", maxLine/2-20) + "\n"
	for _, tt := range []struct {
		name  string
		args  []string
		line  string
		times int
	}{
		{"many-lines", []string{"decode-key", "-o", "json"}, line, 1_000_000},
		{"huge-lines", []string{"decode-key", "-o", "json"}, worst, 30},
		{"huge-lines-tsv", []string{"slot", "-o", "tsv"}, worst, 30},
		{"endless-line", []string{"decode-id", "-o", "json"}, strings.Repeat("a", 1<<20), 300},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestMemory$")
			cmd.Env = append(os.Environ(), peakOf+"="+strings.Join(tt.args, " "))
			block := bytes.Repeat([]byte(tt.line), max(1, min(tt.times, (1<<16)/len(tt.line))))
			var readers []io.Reader
			for left := tt.times * len(tt.line); left > 0; left -= len(block) {
				readers = append(readers, bytes.NewReader(block[:min(left, len(block))]))
			}
			cmd.Stdin = io.MultiReader(readers...)
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			line, _, _ := strings.Cut(string(out), "\n")
			peak, err := strconv.Atoi(line)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("peak %d KiB", peak)
			if peak > 64<<10 {
				t.Errorf("peak memory %d KiB, want at most %d", peak, 64<<10)
			}
		})
	}
}

// TestEnqueueMemory holds enqueue to a few times the longest payload that is on
// its way, however many there are.
func TestEnqueueMemory(t *testing.T) {
	server := valkeytest.Start(t)
	const size = maxPayloadLine - 100
	line := `{"payload":"` + strings.Repeat("a", size) + "\"}\n"
	for _, tt := range []struct {
		name, args string
		in         []string
		most       int // MiB
	}{
		{"ndjson", "--ndjson -o json", []string{line, line, line}, 400},
		{"lines", "--lines -o tsv", []string{line, line, line}, 400},
		{"whole", "- -o tsv", []string{line, line}, 340},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestMemory$")
		cmd.Env = append(os.Environ(), peakOf+"=enqueue q --timeout 60s --url "+server.Addr+" "+tt.args)
		var readers []io.Reader
		for _, s := range tt.in {
			readers = append(readers, strings.NewReader(s))
		}
		cmd.Stdin = io.MultiReader(readers...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", tt.name, err, out)
		}
		peak, err := strconv.Atoi(strings.Fields(string(out))[0])
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d MiB", tt.name, peak>>10)
		if peak>>10 > tt.most {
			t.Errorf("%s: peak of %d MiB, want at most %d", tt.name, peak>>10, tt.most)
		}
		valkeytest.Do(server.Client(), "FLUSHALL")
	}
}
