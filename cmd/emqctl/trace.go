package main

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/echomq/emqctl/internal/scripts"
	"github.com/echomq/emqctl/internal/trace"
	lua "github.com/echomq/emqctl/scripts"
)

type traceOptions struct {
	Verb    string
	List    bool
	File    string
	SHA     string
	Scripts string
	Source  bool
	Queue   string
	ID      string
	Args    []string // NAME=VALUE
	Empty   []string // the options that were given with nothing in them
}

func newTraceCmd(e *env) *cobra.Command {
	var opts traceOptions
	cmd := &cobra.Command{
		Use:   "trace VERB",
		Short: "Read a verb's script: its declared keys, and every key it touches in order",
		Long: `Read the script of a verb without running it. The record has two beats: the
handle, with the keys it declares in KEYS[] and the values it takes in ARGV; and
the steps, the store commands in order, each with the condition it stands under
and the keys it touches. A key is declared, or derived from a declared key, an
argument, a popped member, a row's field; out of a reply, spelled out, or
unknown with the reason: it is never guessed.

--queue, --id and --arg bind the patterns to real keys, with their slots.
--file traces any script, with our header or without; --scripts takes a folder
of yours in the place of the protocol's verbs.

See help law for what the findings mean.`,
		Example: `  emqctl trace enqueue
  emqctl trace complete --queue quotes --id JOB0KHTOWnGLuC
  emqctl trace --list
  emqctl trace gclaim -o json`,
		Args: operands(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				opts.Verb = args[0]
			}
			cmd.Flags().Visit(func(f *pflag.Flag) {
				if f.Value.String() == "" {
					opts.Empty = append(opts.Empty, f.Name)
				}
			})
			return runTrace(e, opts)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return verbNames(opts.Scripts), cobra.ShellCompDirectiveNoFileComp
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&opts.List, "list", false, "trace every verb")
	f.StringVar(&opts.File, "file", "", "trace this script, - for standard input")
	f.StringVar(&opts.SHA, "sha", "", "name the verb whose script has this digest")
	f.StringVar(&opts.Scripts, "scripts", "", "take the verbs from this folder")
	f.BoolVar(&opts.Source, "source", false, "print the script instead")
	f.StringVar(&opts.Queue, "queue", "", "bind {q}")
	f.StringVar(&opts.ID, "id", "", "bind <id>")
	f.StringArrayVar(&opts.Args, "arg", nil, "bind another name, NAME=VALUE; may be given often")
	return cmd
}

// verbNames returns the names of the verbs, for completions and messages.
func verbNames(dir string) []string {
	reg, err := loadScripts(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, v := range reg.Verbs() {
		names = append(names, v.Name)
	}
	return names
}

// loadScripts reads the protocol's verbs, or those of a folder.
func loadScripts(dir string) (*scripts.Registry, error) {
	if dir == "" {
		return scripts.Load(lua.FS)
	}
	reg, err := scripts.Load(os.DirFS(dir))
	var bad *scripts.Error
	if errors.As(err, &bad) && bad.Line > 0 {
		return nil, fmt.Errorf("--scripts: %s:%d:%d: %s", filepath.Join(dir, bad.Path), bad.Line, bad.Col, bad.Msg)
	} else if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading scripts: %s: no such folder", dir)
	} else if err != nil {
		return nil, fmt.Errorf("--scripts %s: %w", dir, err)
	}
	return reg, nil
}

func runTrace(e *env, opts traceOptions) error {
	if len(opts.Empty) > 0 {
		return &usageError{msg: "--" + opts.Empty[0] + " is empty", hint: "see emqctl trace --help"}
	}
	given := 0
	for _, is := range []bool{opts.Verb != "", opts.List, opts.File != "", opts.SHA != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return &usageError{msg: "want one of VERB, --list, --file SCRIPT and --sha SHA1", hint: "emqctl trace --list names the verbs"}
	}
	if opts.File != "" && opts.Scripts != "" {
		return &usageError{msg: "--file and --scripts cannot both be had"}
	}
	if opts.Source && (opts.List || opts.SHA != "") {
		return &usageError{msg: "--source is for VERB and --file"}
	}
	if opts.SHA != "" {
		return runTraceSHA(e, opts)
	}
	b, err := newBinding(opts)
	if err != nil {
		return err
	}
	if opts.File != "" {
		return runTraceFile(e, opts, b)
	}
	reg, err := loadScripts(opts.Scripts)
	if err != nil {
		return err
	}
	if opts.List {
		var list []record
		for _, v := range reg.Verbs() {
			r, err := newTraceRecord(opts.script(v), b)
			if err != nil {
				return err
			}
			list = append(list, &listedTraceRecord{*r})
		}
		return e.emitAll(list, false)
	}
	v, ok := reg.Lookup(opts.Verb)
	if !ok {
		u := &usageError{msg: "no verb is called " + quote(opts.Verb), hint: "emqctl trace --list names them"}
		if near := reg.Nearest(opts.Verb); len(near) > 0 {
			u.hint = "did you mean " + orList(near) + "?"
		}
		if strings.ContainsAny(opts.Verb, `/\.`) {
			u.hint = "a script in a file is traced by --file " + opts.Verb
		}
		return u
	}
	if opts.Source {
		return e.print(v.Source)
	}
	r, err := newTraceRecord(opts.script(v), b)
	if err != nil {
		return err
	}
	return e.emit(r, false)
}

// script is a verb's script, under the path where it can be found.
func (o traceOptions) script(v *scripts.Verb) trace.Script {
	dir := o.Scripts
	if dir == "" {
		dir = "scripts"
	}
	return trace.Script{Path: filepath.Join(dir, v.Path), Text: v.Source, Verb: v}
}

// runTraceFile traces a script that is anybody's.
func runTraceFile(e *env, opts traceOptions, b *binding) error {
	s, err := e.readScript(opts.File)
	var bad *trace.Error
	if errors.As(err, &bad) {
		return e.emit(brokenTraceRecord(s.Path, "", bad), false)
	} else if err != nil {
		return err
	}
	if opts.Source {
		return e.print(s.Text)
	}
	r, err := newTraceRecord(s.Script, b)
	if errors.As(err, &bad) {
		return e.emit(brokenTraceRecord(s.Path, s.Text, bad), false)
	} else if err != nil {
		return err
	}
	r.Findings = slices.Insert(r.Findings, 0, s.headerFindings(nil)...)
	return e.emit(r, false)
}

// readableScript is a script, and what is wrong with its header when it was
// meant to have one.
type readableScript struct {
	trace.Script
	header *scripts.Error
}

// headerFindings is a finding for a header that is meant to be one and does
// not parse. It comes before everything that a finding can be about.
func (s *readableScript) headerFindings(allow []trace.FindingKind) []trace.Finding {
	if s.header == nil || slices.Contains(allow, trace.FindHeader) {
		return nil
	}
	return []trace.Finding{{Kind: trace.FindHeader, Line: max(s.header.Line, 1), Col: max(s.header.Col, 1), Message: clean(s.header.Msg)}}
}

// readFile reads a file that is one: what is no regular file could be endless.
func readFile(name string) (string, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return "", &ioError{"reading " + quote(name), err}
	case info.IsDir():
		return "", &ioError{"reading " + quote(name), errors.New("it is a folder")}
	case !info.Mode().IsRegular():
		return "", &ioError{"reading " + quote(name), errors.New("it is no regular file; standard input is -")}
	case info.Size() > trace.MaxSource:
		return "", tooLarge(name, info.Size())
	}
	f, err := os.Open(name)
	if err != nil {
		return "", &ioError{"reading " + quote(name), err}
	}
	defer f.Close()
	// One read where the size is right.
	b := make([]byte, info.Size())
	n, err := io.ReadFull(f, b)
	if n == 0 && (err == nil || err == io.EOF) {
		b, err = io.ReadAll(io.LimitReader(f, trace.MaxSource+1))
		n = len(b)
	}
	if err != nil && err != io.ErrUnexpectedEOF {
		return "", &ioError{"reading " + quote(name), err}
	}
	return string(b[:n]), nil
}

// rootFS is the files below a folder, whatever bytes their names have, which
// os.DirFS refuses.
type rootFS string

func (r rootFS) Open(name string) (fs.File, error) {
	return os.Open(string(r) + filepath.FromSlash(name))
}

func (r rootFS) ReadFile(name string) ([]byte, error) {
	text, err := readFile(string(r) + filepath.FromSlash(name))
	return []byte(text), err
}

// tooLarge is the error of a script that is not read.
func tooLarge(name string, size int64) *trace.Error {
	return &trace.Error{Kind: trace.KindSize, Path: name, Line: 1, Col: 1, Msg: fmt.Sprintf("script is %d bytes, at most %d are read", size, trace.MaxSource)}
}

// readScript reads a script with what it includes, and the contract of its
// header if that is one of ours. Errors of including are a [*trace.Error].
func (e *env) readScript(name string) (readableScript, error) {
	s := readableScript{Script: trace.Script{Path: name}}
	if name == "-" {
		s.Path = "<stdin>"
		b, err := io.ReadAll(io.LimitReader(e.In, trace.MaxSource+1))
		if err != nil {
			return s, &ioError{"reading standard input", err}
		}
		s.Text = string(b)
	} else {
		text, err := readFile(name)
		if err != nil {
			return s, err
		}
		if !strings.Contains(text, "@include") {
			s.headed(text, nil)
			return s, nil
		}
		abs, err := filepath.Abs(name)
		if err != nil {
			return s, &ioError{"reading " + quote(name), err}
		}
		// Includes may lead out of the folder, so paths count from the root;
		// they are shown as the operand was given.
		root := filepath.VolumeName(abs) + string(filepath.Separator)
		shown := func(rel string) string {
			path := root + filepath.FromSlash(rel)
			if filepath.IsAbs(name) {
				return path
			}
			if near, err := filepath.Rel(filepath.Dir(abs), path); err == nil {
				return filepath.Join(filepath.Dir(name), near)
			}
			return path
		}
		in, err := trace.IncludeText(rootFS(root), filepath.ToSlash(strings.TrimPrefix(abs, root)), text, shown)
		if err != nil {
			return s, err
		}
		s.headed(in.Text, in)
		return s, nil
	}
	s.headed(s.Text, nil)
	return s, nil
}

// headed takes a script's text, and reads its header.
func (s *readableScript) headed(text string, in *trace.Included) {
	s.Text, s.Included = text, in
	var bad *scripts.Error
	if v, err := scripts.Parse(filepath.Base(s.Path), s.Text); err == nil {
		s.Verb = v
	} else if errors.As(err, &bad) && (bad.Kind != scripts.KindMissing || scripts.LooksLikeHeader(s.Text)) {
		s.header = bad
	}
}

// runTraceSHA names the verb, or the file of --scripts, with a digest.
func runTraceSHA(e *env, opts traceOptions) error {
	sha := strings.ToLower(opts.SHA)
	if raw, err := hex.DecodeString(sha); err != nil || len(raw) != sha1.Size {
		return &usageError{msg: fmt.Sprintf("--sha is %s, want the %d hex digits of a SHA-1", quote(opts.SHA), 2*sha1.Size)}
	}
	r := &shaRecord{SHA1: sha}
	fsys := fs.FS(lua.FS)
	if opts.Scripts != "" {
		fsys = os.DirFS(opts.Scripts)
	}
	err := fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".lua") {
			return err
		}
		source, err := fs.ReadFile(fsys, path)
		if err != nil {
			return err
		}
		if sum := sha1.Sum(source); hex.EncodeToString(sum[:]) == sha {
			r.Source = &path
			if v, err := scripts.Parse(path, string(source)); err == nil {
				r.Verb = &v.Name
			}
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		return &ioError{"reading --scripts", err}
	}
	return e.emit(r, false)
}

// shaRecord says which script has a digest.
type shaRecord struct {
	SHA1   string  `json:"sha1"`
	Verb   *string `json:"verb"`
	Source *string `json:"source"`
}

func (r *shaRecord) verdict() verdict {
	if r.Source == nil {
		return verdictNo
	}
	return 0
}

func (r *shaRecord) contract() any                { return *r }
func (r *shaRecord) appendJSON(dst []byte) []byte { return marshal(dst, r) }

func (r *shaRecord) appendText(p *page) {
	p.str(r.SHA1 + "  ")
	switch {
	case r.Source == nil:
		p.ink(p.paint.bad, "no script has this digest").end()
	case r.Verb == nil:
		p.bytes(p.paint.main, *r.Source).end()
	default:
		p.ink(p.paint.main, *r.Verb).about("%s", *r.Source).end()
	}
}
