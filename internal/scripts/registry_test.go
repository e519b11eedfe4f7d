package scripts_test

import (
	"crypto/sha1"
	"encoding/hex"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	lua "github.com/echomq/emqctl/scripts"

	"github.com/echomq/emqctl/internal/scripts"
)

func embedded(t *testing.T) *scripts.Registry {
	t.Helper()
	r, err := scripts.Load(lua.FS)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLoadEmbedded(t *testing.T) {
	r := embedded(t)
	if n := len(r.Verbs()); n != 45 {
		t.Errorf("there are %d verbs, want 45", n)
	}
	for _, v := range r.Verbs() {
		file, err := fs.ReadFile(lua.FS, v.Path)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha1.Sum(file)
		if want := hex.EncodeToString(sum[:]); v.SHA1 != want {
			t.Errorf("the digest of %s is %s, want %s", v.Path, v.SHA1, want)
		}
		if got, ok := r.Lookup(v.Name); !ok || got != v {
			t.Errorf("Lookup(%q) = %v", v.Name, got)
		}
		if got, ok := r.BySHA1(strings.ToUpper(v.SHA1)); !ok || got != v {
			t.Errorf("BySHA1(%q) = %v", v.SHA1, got)
		}
		if line := strings.Split(v.Source, "\n")[v.Body-1]; line != "" {
			t.Errorf("%s: the body opens with %q, want an empty line", v.Path, line)
		}
	}
}

func script(verb, module string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte("-- " + verb + ": does.\n-- host  " + module + "  f/1\n-- returns  1  :ok  done\n")}
}

func TestLoadOrder(t *testing.T) {
	r, err := scripts.Load(fstest.MapFS{
		"a.lua":      script("a", "Stalled"),
		"b.lua":      script("b", "Yours"),
		"c.lua":      script("c", "Jobs"),
		"d.lua":      script("d", "Jobs"),
		"e.lua":      script("e", "Mine"),
		"README.md":  {Data: []byte("no script")},
		"old/f.lua":  {Data: []byte("not at the root")},
		"folder.lua": {Mode: fs.ModeDir},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range r.Verbs() {
		got = append(got, v.Name)
	}
	if want := []string{"c", "d", "a", "e", "b"}; !slices.Equal(got, want) {
		t.Errorf("the order is %q, want %q", got, want)
	}
}

func TestLoadErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		fsys fs.FS
		want string
	}{
		{"no-script", fstest.MapFS{"README.md": {}}, `.: found no script, want at least one .lua file`},
		{"bad-header", fstest.MapFS{"a.lua": script("a", "Jobs"), "b.lua": {Data: []byte("return 1")}}, `b.lua:1:1: the file opens with "return 1", want a header: "-- verb: what it does."`},
		{"another-name", fstest.MapFS{"a.lua": script("b", "Jobs")}, `a.lua:1:4: found the verb "b", want the file's name: "a"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := scripts.Load(tt.fsys)
			if r != nil || err == nil || err.Error() != tt.want {
				t.Errorf("Load gives %v, %v, want %s", r, err, tt.want)
			}
			if _, ok := err.(*scripts.Error); !ok {
				t.Errorf("the error is a %T", err)
			}
		})
	}
}

func TestLookupMisses(t *testing.T) {
	r := embedded(t)
	if v, ok := r.Lookup("enqeue"); ok || v != nil {
		t.Errorf("Lookup gives %v", v)
	}
	if v, ok := r.BySHA1(strings.Repeat("0", 40)); ok || v != nil {
		t.Errorf("BySHA1 gives %v", v)
	}
}

func TestNearest(t *testing.T) {
	r := embedded(t)
	for _, tt := range []struct{ name, want string }{
		{"enqeue", "enqueue genqueue"},
		{"ENQUEUE", "enqueue genqueue enqueue_flow"},
		{"extend", "extend_lock extend_locks"},
		{"claim_batch", "bclaim"},
		{"Jobs.claim_batch", "bclaim"},
		{"Lanes.bclaim", "gbclaim"},
		{"Lanes.claim", "gclaim"},
		{"gclame", "gclaim"},
		{"stalled", "sweep_stalled"},
		{"pause", "gpause queue_pause"},
		{"register", "repeat_register"},
		{"x", ""},
		{"", ""},
		{"frobnicate", ""},
	} {
		if got := strings.Join(r.Nearest(tt.name), " "); got != tt.want {
			t.Errorf("Nearest(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
}
