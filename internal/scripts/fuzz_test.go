package scripts_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	lua "github.com/echomq/emqctl/scripts"

	"github.com/echomq/emqctl/internal/scripts"
)

func FuzzParse(f *testing.F) {
	f.Add(whole)
	names, err := fs.Glob(lua.FS, "*.lua")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		source, err := fs.ReadFile(lua.FS, name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(source))
	}
	f.Fuzz(func(t *testing.T, source string) {
		lines := strings.Split(source, "\n")
		v, err := scripts.Parse("x.lua", source)
		if err == nil {
			if v.Source != source || v.Body < 2 || v.Body > len(lines)+1 {
				t.Errorf("the body of %q is on line %d", source, v.Body)
			}
			return
		}
		e, ok := errors.AsType[*scripts.Error](err)
		if !ok || v != nil {
			t.Fatalf("Parse(%q) = %v, %v", source, v, err)
		}
		if e.Line < 1 || e.Line > len(lines) || e.Col < 1 || e.Col > len(lines[e.Line-1])+1 {
			t.Errorf("the position of %v is not in %q", e, source)
		}
	})
}
