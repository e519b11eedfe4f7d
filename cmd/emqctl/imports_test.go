package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// allowed is who may import whom. Everything may import the standard library
// but for what a core has no business with.
var allowed = map[string][]string{
	"internal/slot":       {},
	"internal/brandedid":  {},
	"internal/escape":     {},
	"internal/scripts":    {"github.com/agnivade/levenshtein"},
	"internal/executor":   {"internal/scripts"},
	"internal/decode":     {"internal/brandedid", "internal/escape", "github.com/agnivade/levenshtein"},
	"internal/embedded":   {"internal/brandedid", "internal/executor", "internal/scripts", "scripts", "github.com/alicebob/miniredis/v2"},
	"internal/trace":      {"internal/decode", "internal/escape", "internal/scripts", "internal/slot", "github.com/yuin/gopher-lua/ast", "github.com/yuin/gopher-lua/parse"},
	"internal/valkey":     {"internal/escape", "internal/executor", "internal/scripts", "internal/slot", "github.com/redis/rueidis"},
	"internal/look":       {"internal/brandedid", "internal/decode", "internal/slot", "internal/valkey"},
	"internal/doctor":     {"internal/scripts", "internal/trace", "internal/valkey"},
	"internal/audit":      {"internal/brandedid", "internal/decode", "internal/escape", "internal/slot"},
	"internal/valkeytest": {"github.com/redis/rueidis"},
	"internal/verbtest":   {"internal/decode", "internal/scripts", "internal/valkeytest", "scripts"},
}

// impure is what no core imports, its tests aside.
var impure = []string{"os", "os/exec", "net", "log", "math/rand", "math/rand/v2"}

// cores are the packages that only compute.
var cores = []string{"internal/slot", "internal/brandedid", "internal/escape", "internal/scripts", "internal/executor", "internal/decode", "internal/trace", "internal/audit"}

func TestImports(t *testing.T) {
	const module = "github.com/echomq/emqctl/"
	root := filepath.Join("..", "..")
	err := fs.WalkDir(os.DirFS(root), "internal", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		pkg := filepath.ToSlash(filepath.Dir(path))
		list, known := allowed[pkg]
		if !known {
			t.Errorf("%s: say in this test what package %s may import", path, pkg)
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range f.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			name = strings.TrimPrefix(name, module)
			standard := !strings.Contains(name, ".") && !strings.HasPrefix(name, "internal/") && name != "scripts"
			switch {
			case standard && slices.Contains(cores, pkg) && slices.Contains(impure, name):
				t.Errorf("%s imports %s: a core only computes", path, name)
			case !standard && !slices.ContainsFunc(list, func(a string) bool { return name == a || strings.HasPrefix(name, a+"/") }):
				t.Errorf("%s imports %s, which %s may not", path, name, pkg)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
