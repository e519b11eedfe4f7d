package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// linked are the modules in a release, each a decision.
var linked = []string{
	"github.com/agnivade/levenshtein",
	"github.com/alicebob/miniredis/v2",
	"github.com/aymanbagabas/go-osc52/v2",
	"github.com/charmbracelet/colorprofile",
	"github.com/charmbracelet/lipgloss",
	"github.com/charmbracelet/x/ansi",
	"github.com/charmbracelet/x/cellbuf",
	"github.com/charmbracelet/x/term",
	"github.com/lucasb-eyer/go-colorful",
	"github.com/mattn/go-isatty",
	"github.com/mattn/go-runewidth",
	"github.com/muesli/termenv",
	"github.com/redis/rueidis",
	"github.com/rivo/uniseg",
	"github.com/spf13/cobra",
	"github.com/spf13/pflag",
	"github.com/xo/terminfo",
	"github.com/yuin/gopher-lua",
	"golang.org/x/sync",
	"golang.org/x/sys",
}

// maxBinary is what a release for linux/amd64 may weigh, in bytes.
const maxBinary = 26 << 20

// TestBinary builds a release and holds its size and the set of modules that
// are linked into it, so that neither grows unnoticed.
func TestBinary(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	path := filepath.Join(t.TempDir(), "emqctl")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", info.Size())
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" && info.Size() > maxBinary {
		t.Errorf("the program weighs %d bytes, want at most %d", info.Size(), maxBinary)
	}
	out, err := exec.Command("go", "version", "-m", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^\tdep\t(\S+)`).FindAllStringSubmatch(string(out), -1) {
		got = append(got, m[1])
	}
	slices.Sort(got)
	want := linked
	if runtime.GOOS == "windows" {
		got = slices.DeleteFunc(got, func(m string) bool { return strings.Contains(m, "mousetrap") })
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("linked modules (-want +got):\n%s", diff)
	}
}
