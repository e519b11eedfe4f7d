package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf16"

	"github.com/spf13/cobra"

	"github.com/echomq/emqctl/internal/trace"
)

type lintOptions struct {
	Paths  []string
	Law    string
	Engine []string
	Allow  []string
}

const lintColumns = "file line col kind message"

const (
	lawFull   = "full"
	lawStrict = "strict"
)

func newLintCmd(e *env) *cobra.Command {
	var opts lintOptions
	cmd := &cobra.Command{
		Use:   "lint PATH...",
		Short: "Find what Lua scripts should not do: undeclared keys, and more",
		Long: `Read Lua scripts for Valkey and Redis without running them, anybody's, and print
what is wrong with them: keys that are not declared, headers that disagree with
the body, what a server refuses. A PATH is a file, a folder whose .lua files are
read, or - for standard input. Of a folder only regular files are read, and no
hidden folder (.git) or node_modules. Nothing but findings is printed; the exit
code is 1 when there are any, 2 when a script could not be looked at.

In a script without our header a key made from ARGV is undeclared. A comment
-- emqctl:allow KIND on the line, or on the line before, allows a finding.
See help law for the kinds and what they mean.

-o sarif is the format of code-scanning services.

Columns of -o tsv: ` + lintColumns,
		Example: `  emqctl lint scripts
  emqctl lint --law strict -o sarif scripts/enqueue.lua
  emqctl lint --engine dragonfly --allow derived-key scripts/promote.lua`,
		Args: operands(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := emptyList(cmd, "engine", "allow"); err != nil {
				return err
			}
			opts.Paths = args
			return runLint(cmd.Context(), e, opts)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&opts.Law, "law", lawFull, "how keys must be declared: full, or strict, where none may be derived")
	f.StringSliceVar(&opts.Engine, "engine", nil, "report what this engine refuses as well; may be given often")
	f.StringSliceVar(&opts.Allow, "allow", nil, "do not report this kind; may be given often")
	cmd.RegisterFlagCompletionFunc("law", cobra.FixedCompletions([]string{lawFull, lawStrict}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("engine", cobra.FixedCompletions(trace.Engines(), cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("allow", cobra.FixedCompletions(findingKinds(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func findingKinds() []string {
	var kinds []string
	for _, k := range trace.Kinds() {
		kinds = append(kinds, string(k.Kind))
	}
	return kinds
}

func runLint(ctx context.Context, e *env, opts lintOptions) error {
	if err := e.checkSARIF(&findingRecord{}); err != nil {
		return err
	}
	law, err := opts.law()
	if err != nil {
		return err
	}
	files, failed := lintFiles(opts.Paths)
	if len(files) == 0 && len(failed) == 0 {
		return &usageError{msg: "found no .lua file in " + quote(strings.Join(opts.Paths, " ")) + ": nothing to read"}
	}
	findings, moreFailed := e.lintAll(ctx, files, law)
	if ctx.Err() != nil {
		return errInterrupted
	}
	failed = append(failed, moreFailed...)

	if e.output == outputSARIF {
		if err := e.print(string(marshal(nil, newSARIF(findings, len(failed) == 0))) + "\n"); err != nil {
			return err
		}
	} else {
		list := make([]record, len(findings))
		for i := range findings {
			list[i] = &findings[i]
		}
		if err := e.emitAll(list, false); err != nil && err != errNo {
			return err
		}
	}
	// What could not be read wins over what was found.
	for _, err := range failed[:max(len(failed)-1, 0)] {
		e.talk(err.Error())
	}
	if len(failed) > 0 {
		return failed[len(failed)-1]
	}
	if len(findings) > 0 {
		return errNo
	}
	return nil
}

func (o lintOptions) law() (trace.Law, error) {
	var law trace.Law
	switch o.Law {
	case lawFull:
	case lawStrict:
		law.Strict = true
	default:
		return law, &usageError{msg: "--law is " + quote(o.Law) + ", want full or strict"}
	}
	for _, name := range o.Engine {
		if !slices.Contains(trace.Engines(), name) {
			return law, &usageError{msg: "--engine is " + quote(name) + ", want " + orList(trace.Engines())}
		}
	}
	law.Engines = o.Engine
	for _, kind := range o.Allow {
		if !slices.Contains(findingKinds(), kind) {
			return law, &usageError{msg: "--allow is " + quote(kind) + ", want a kind of finding", hint: "they are " + strings.Join(findingKinds(), ", ")}
		}
		law.Allow = append(law.Allow, trace.FindingKind(kind))
	}
	return law, nil
}

// lintFiles lists the scripts of files and folders, each once, in the order of
// the operands and by name within a folder.
func lintFiles(paths []string) (files []string, failed []error) {
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			files = append(files, name)
		}
	}
	for _, p := range paths {
		if p == "-" {
			add(p)
			continue
		}
		info, err := os.Stat(p)
		if err != nil {
			failed = append(failed, &ioError{"reading " + quote(p), err})
			continue
		}
		if !info.IsDir() {
			add(filepath.Clean(p))
			continue
		}
		err = filepath.WalkDir(p, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				failed = append(failed, &ioError{"reading " + quote(name), err})
				return nil
			}
			if d.IsDir() {
				if base := d.Name(); name != p && (base == "node_modules" || strings.HasPrefix(base, ".")) {
					return filepath.SkipDir
				}
				return nil
			}
			if filepath.Ext(name) != ".lua" {
				return nil
			}
			if d.Type()&fs.ModeSymlink != 0 {
				if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
					add(name)
				}
			} else if d.Type().IsRegular() {
				add(name)
			}
			return nil
		})
		if err != nil {
			failed = append(failed, err)
		}
	}
	return files, failed
}

// lintAll judges scripts, as many at a time as there are cores, in order.
func (e *env) lintAll(ctx context.Context, files []string, law trace.Law) (findings []findingRecord, failed []error) {
	// Traces are small and short-lived: collecting them less often is cheap.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	found := make([][]findingRecord, len(files))
	errs := make([]error, len(files))
	// Few goroutines, since the stack of each has to grow before it is of use.
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(len(files), runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(files) {
					return
				}
				found[i], errs[i] = e.lintFile(files[i], law)
			}
		})
	}
	wg.Wait()
	for i := range files {
		findings = append(findings, found[i]...)
		if errs[i] != nil {
			failed = append(failed, errs[i])
		}
	}
	return findings, failed
}

func (e *env) lintFile(name string, law trace.Law) ([]findingRecord, error) {
	s, err := e.readScript(name)
	var t *trace.Trace
	if err == nil {
		t, err = trace.Of(s.Script)
	}
	var findings []trace.Finding
	var bad *trace.Error
	switch {
	case errors.As(err, &bad):
		f := trace.FindingOf(bad)
		if bad.Path != s.Path {
			f.File = bad.Path
		}
		findings = []trace.Finding{f}
		err = nil
		if bad.Kind == trace.KindSize {
			err = &ioError{"reading " + quote(name), errors.New(bad.Msg)}
		}
	case err != nil:
		return nil, err
	default:
		findings = append(s.headerFindings(law.Allow), t.Findings(law)...)
	}
	records := newFindings(s.Path, findings)
	if e.output == outputSARIF {
		e.countUTF16(&s, records)
	}
	return records, err
}

// countUTF16 adds the columns that SARIF counts, in UTF-16 code units.
func (e *env) countUTF16(s *readableScript, records []findingRecord) {
	texts := map[string][]string{filepath.ToSlash(s.Path): nil}
	for i := range records {
		r := &records[i]
		lines, ok := texts[r.File]
		if lines == nil {
			text := s.Text
			if !ok || s.Included != nil && s.Path != "-" {
				text, _ = readFile(filepath.FromSlash(r.File))
			}
			lines = strings.Split(text, "\n")
			texts[r.File] = lines
		}
		r.utf16 = r.Col
		if r.Line <= len(lines) {
			line := lines[r.Line-1]
			r.utf16 = 1
			for _, c := range line[:min(r.Col-1, len(line))] {
				r.utf16 += utf16.RuneLen(c)
			}
		}
	}
}

// findingRecord is a finding with its file.
type findingRecord struct {
	File    string            `json:"file"`
	Line    int               `json:"line"`
	Col     int               `json:"col"`
	Kind    trace.FindingKind `json:"kind"`
	Message string            `json:"message"`

	utf16 int // Col in UTF-16 code units, for SARIF
}

func newFindings(file string, list []trace.Finding) []findingRecord {
	var out []findingRecord
	for _, f := range list {
		r := findingRecord{File: filepath.ToSlash(file), Line: f.Line, Col: f.Col, Kind: f.Kind, Message: f.Message}
		if f.File != "" {
			r.File = filepath.ToSlash(f.File)
		}
		out = append(out, r)
	}
	return out
}

func (r *findingRecord) verdict() verdict             { return verdictNo }
func (r *findingRecord) contract() any                { return *r }
func (r *findingRecord) appendJSON(dst []byte) []byte { return marshal(dst, r) }

func (r *findingRecord) appendTSV(dst []byte) []byte {
	dst = appendCell(dst, r.File, false)
	dst = append(dst, fmt.Sprintf("\t%d\t%d\t%s\t", r.Line, r.Col, r.Kind)...)
	return appendCell(dst, r.Message, false)
}

func (r *findingRecord) appendText(p *page) {
	p.bytes(ink{}, r.File).str(fmt.Sprintf(":%d:%d: ", r.Line, r.Col)).ink(p.paint.bad, string(r.Kind)).str(": " + r.Message).end()
}
