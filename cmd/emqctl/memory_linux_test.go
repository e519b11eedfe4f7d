//go:build !race

package main

import (
	"bytes"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestMemory holds the peak memory of the program to 64 MiB, for many lines
// and for the worst of long ones.
func TestMemory(t *testing.T) {
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
			cmd := exec.Command("emqctl", tt.args...)
			block := bytes.Repeat([]byte(tt.line), max(1, min(tt.times, (1<<16)/len(tt.line))))
			var readers []io.Reader
			for left := tt.times * len(tt.line); left > 0; left -= len(block) {
				readers = append(readers, bytes.NewReader(block[:min(left, len(block))]))
			}
			cmd.Stdin = io.MultiReader(readers...)
			if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != codeNo {
				t.Fatal(err)
			}
			peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss // KiB
			t.Logf("peak %d KiB", peak)
			if peak > 64<<10 {
				t.Errorf("peak memory %d KiB, want at most %d", peak, 64<<10)
			}
		})
	}
}
