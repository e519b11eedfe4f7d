package trace

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"sync"
)

// Some script folders are put together before they are loaded: a comment
// line
//
//	--- @include "includes/addJob"
//
// stands for another file, found relative to the one it stands in, with .lua
// added when it is missing. A file is taken in once, where it is first named.

// maxIncludes bounds how many files one script may draw in.
const maxIncludes = 500

// Included is a script with its includes put in.
type Included struct {
	Text  string
	lines []place
}

type place struct {
	path string
	line int
}

// At tells the file and line that a line of Text came from.
func (i *Included) At(line int) (string, int) {
	if i == nil || line < 1 || line > len(i.lines) {
		return "", line
	}
	p := i.lines[line-1]
	return p.path, p.line
}

var includeLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[ \t]*--+[ \t]*@include[ \t]+["<]([^">]+)[">]`)
})

// Include reads a script and what it includes. A script without includes is
// returned as it is. Errors are an [*Error] of kind include, or the file
// system's own for name itself.
func Include(fsys fs.FS, name string) (*Included, error) {
	b, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("reading script: %w", err)
	}
	return IncludeText(fsys, name, string(b), func(path string) string { return path })
}

// IncludeText is [Include] for a script that has been read. In errors, and in
// what [Included.At] tells, paths are as shown makes them.
func IncludeText(fsys fs.FS, name, text string, shown func(path string) string) (*Included, error) {
	in := &includer{fsys: fsys, shown: shown, done: map[string]bool{}}
	if !strings.Contains(text, "@include") {
		in.out.Text = text
		return &in.out, nil
	}
	if err := in.add(name, text); err != nil {
		return nil, err
	}
	if !in.any {
		in.out.Text = text
		in.out.lines = nil
	}
	return &in.out, nil
}

type includer struct {
	fsys  fs.FS
	shown func(string) string
	out   Included
	stack []string
	done  map[string]bool
	any   bool
	size  int
}

func (in *includer) add(name, text string) error {
	in.stack = append(in.stack, name)
	in.done[name] = true
	at := in.shown(name)
	defer func() { in.stack = in.stack[:len(in.stack)-1] }()
	var b strings.Builder
	flush := func() { in.out.Text += b.String(); b.Reset() }
	line, off := 0, 0
	for raw := range strings.Lines(text) {
		line++
		var m []string
		if strings.Contains(raw, "@include") {
			m = includeLine().FindStringSubmatch(raw)
		}
		if m == nil {
			if in.size += len(raw); in.size > MaxSource {
				return &Error{Kind: KindSize, Path: in.shown(name), Off: off, Line: line, Col: 1, Msg: fmt.Sprintf("script with its includes is more than %d bytes", MaxSource)}
			}
			off += len(raw)
			if !strings.HasSuffix(raw, "\n") && len(in.stack) > 1 {
				raw += "\n"
			}
			b.WriteString(raw)
			in.out.lines = append(in.out.lines, place{at, line})
			continue
		}
		in.any = true
		fail := func(format string, args ...any) error {
			return &Error{Kind: KindInclude, Path: in.shown(name), Off: off, Line: line, Col: 1, Msg: fmt.Sprintf(format, args...)}
		}
		target, body, err := in.open(name, m[1])
		if err != nil {
			return fail("include %q is not there: %v", m[1], cause(err))
		}
		for i, s := range in.stack {
			if s == target {
				var way []string
				for _, s := range append(in.stack[i:len(in.stack):len(in.stack)], target) {
					way = append(way, in.shown(s))
				}
				return fail("include %q goes in a circle: %s", m[1], strings.Join(way, " -> "))
			}
		}
		off += len(raw)
		if in.done[target] {
			b.WriteString("\n")
			in.out.lines = append(in.out.lines, place{at, line})
			continue
		}
		if len(in.done) > maxIncludes {
			return fail("more than %d files are included", maxIncludes)
		}
		flush()
		if err := in.add(target, body); err != nil {
			return err
		}
	}
	flush()
	return nil
}

func (in *includer) open(from, name string) (target, body string, err error) {
	target = path.Join(path.Dir(from), name)
	if !strings.HasSuffix(target, ".lua") {
		target += ".lua"
	}
	if target == ".." || strings.HasPrefix(target, "../") || path.IsAbs(target) {
		return target, "", errors.New("it lies outside the folder")
	}
	b, err := fs.ReadFile(in.fsys, target)
	return target, string(b), err
}

// cause is the reason of a path error without the path, which was just said.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
