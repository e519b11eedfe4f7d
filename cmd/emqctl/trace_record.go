package main

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/echomq/emqctl/internal/scripts"
	"github.com/echomq/emqctl/internal/trace"
)

// traceRecord is a script, read.
type traceRecord struct {
	Verb      *string         `json:"verb"`
	Handle    *string         `json:"handle"`
	Module    *string         `json:"module"`
	Functions *string         `json:"functions"`
	Summary   *string         `json:"summary"`
	Source    string          `json:"source"`
	SHA1      string          `json:"sha1"`
	Forms     []string        `json:"forms"`
	HostReads []traceHostRead `json:"host_reads"`
	Keys      []traceKey      `json:"keys"`
	Argv      []traceArg      `json:"argv"`
	Steps     []traceStep     `json:"steps"`
	Derived   []traceDerived  `json:"derived"`
	Returns   []traceReturn   `json:"returns"`
	Refusals  []traceRefusal  `json:"refusals"`
	Notes     []trace.Note    `json:"notes"`
	Findings  []trace.Finding `json:"findings"`
	Engines   []trace.Verdict `json:"engines"`
	ACL       *trace.ACL      `json:"acl"`

	body        *trace.Block
	bodyReplies []trace.Reply
	broken      bool // the script does not parse; Findings says where
	unseen      bool // it was not even looked at
}

type traceHostRead struct {
	Command string `json:"command"`
	About   string `json:"about"`
}

type traceKey struct {
	N        int      `json:"n"`
	Name     string   `json:"name"`
	Pattern  string   `json:"pattern"`
	Store    *string  `json:"store"`
	Role     string   `json:"role"`
	Optional bool     `json:"optional"`
	Repeated bool     `json:"repeated"`
	Forms    []string `json:"forms"`
	Key      *string  `json:"key"`
	Slot     *uint16  `json:"slot"`
}

type traceArg struct {
	N        int      `json:"n"`
	Name     string   `json:"name"`
	About    string   `json:"about"`
	Base     *string  `json:"base"`
	Optional bool     `json:"optional"`
	Repeated bool     `json:"repeated"`
	Forms    []string `json:"forms"`
	Value    *string  `json:"value"`
}

type traceStep struct {
	trace.Step
	Keys []traceStepKey `json:"keys"`
}

type traceStepKey struct {
	trace.Key
	Bound *string `json:"key"`
	Slot  *uint16 `json:"slot"`
}

type traceDerived struct {
	trace.DerivedKey
	Key  *string `json:"key"`
	Slot *uint16 `json:"slot"`
}

type traceReturn struct {
	Value   string  `json:"value"`
	Meaning *string `json:"meaning"`
	Host    *string `json:"host"`
}

type traceRefusal struct {
	Class   string  `json:"class"`
	Text    string  `json:"text"`
	Meaning *string `json:"meaning"`
	Host    *string `json:"host"`
}

func newTraceRecord(s trace.Script, b *binding) (*traceRecord, error) {
	t, err := trace.Of(s)
	if err != nil {
		return nil, err
	}
	r := emptyTraceRecord(s.Path, s.Text)
	r.body, r.bodyReplies = t.Body, t.Replies
	if s.Verb != nil {
		r.contractOf(s.Verb, b)
	} else {
		for _, reply := range t.Replies {
			r.Returns = append(r.Returns, traceReturn{Value: reply.Value})
		}
		for _, refusal := range t.Refusals {
			r.Refusals = append(r.Refusals, traceRefusal{Class: refusal.Class, Text: refusal.Text})
		}
	}
	for _, step := range t.Steps {
		ts := traceStep{Step: step, Keys: []traceStepKey{}}
		for _, k := range step.Keys {
			sk := traceStepKey{Key: k}
			sk.Bound, sk.Slot = b.key(k.Pattern)
			ts.Keys = append(ts.Keys, sk)
		}
		r.Steps = append(r.Steps, ts)
	}
	for _, d := range t.Derived {
		td := traceDerived{DerivedKey: d}
		td.Key, td.Slot = b.key(d.Pattern)
		r.Derived = append(r.Derived, td)
	}
	r.Notes = append(r.Notes, t.Notes...)
	r.Findings = t.Findings(trace.Law{})
	r.Engines = t.Engines()
	acl := t.ACL(b.values["q"])
	r.ACL = &acl
	if names := b.unused(); len(names) > 0 {
		slices.Sort(names)
		return nil, &usageError{msg: fmt.Sprintf("nothing in %s is called %s", s.Path, orList(names)), hint: "the names are those of ARGV and between < and >"}
	}
	return r, nil
}

func emptyTraceRecord(path, text string) *traceRecord {
	sum := sha1.Sum([]byte(text))
	return &traceRecord{
		Source: filepath.ToSlash(path), SHA1: hex.EncodeToString(sum[:]),
		Forms: []string{}, HostReads: []traceHostRead{}, Keys: []traceKey{}, Argv: []traceArg{}, Steps: []traceStep{},
		Derived: []traceDerived{}, Returns: []traceReturn{}, Refusals: []traceRefusal{}, Notes: []trace.Note{},
		Findings: []trace.Finding{}, Engines: []trace.Verdict{},
	}
}

// brokenTraceRecord is the answer to a script that does not parse.
func brokenTraceRecord(path, text string, err *trace.Error) *traceRecord {
	r := emptyTraceRecord(path, text)
	r.broken, r.unseen = true, err.Kind == trace.KindSize
	r.Findings = append(r.Findings, trace.FindingOf(err))
	return r
}

// contractOf takes over what the header declares.
func (r *traceRecord) contractOf(v *scripts.Verb, b *binding) {
	handle := "@" + v.Name
	r.Verb, r.Handle, r.Module, r.Functions, r.Summary = &v.Name, &handle, &v.Module, &v.Function, &v.Summary
	r.Forms = append(r.Forms, v.Forms...)
	optional := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	list := func(s []string) []string { return append([]string{}, s...) }
	for _, h := range v.HostReads {
		r.HostReads = append(r.HostReads, traceHostRead{h.Command, h.About})
	}
	for _, k := range v.Keys {
		tk := traceKey{N: k.N, Name: k.Name, Pattern: k.Pattern, Store: optional(k.Store), Role: k.Role, Optional: k.Optional, Repeated: k.Repeated, Forms: list(k.Forms)}
		tk.Key, tk.Slot = b.key(k.Pattern)
		r.Keys = append(r.Keys, tk)
	}
	for _, a := range v.Args {
		r.Argv = append(r.Argv, traceArg{N: a.N, Name: a.Name, About: a.About, Base: optional(a.Base), Optional: a.Optional, Repeated: a.Repeated, Forms: list(a.Forms), Value: b.arg(a)})
	}
	for _, ret := range v.Returns {
		r.Returns = append(r.Returns, traceReturn{ret.Value, optional(ret.Meaning), optional(ret.Host)})
	}
	for _, ref := range v.Refusals {
		r.Refusals = append(r.Refusals, traceRefusal{ref.Class, ref.Text, optional(ref.Meaning), optional(ref.Host)})
	}
}

func (r *traceRecord) verdict() verdict {
	if r.unseen {
		return verdictUndone
	}
	if r.broken {
		return verdictNo
	}
	return 0
}

func (r *traceRecord) contract() any                { return *r }
func (r *traceRecord) appendJSON(dst []byte) []byte { return marshal(dst, r) }

// listedTraceRecord is a traceRecord whose text is one line.
type listedTraceRecord struct{ traceRecord }

func (r *listedTraceRecord) appendText(p *page) {
	name := *r.Verb
	p.ink(p.paint.main, name).pad(20 - len(name)).str(*r.Module).pad(9 - len(*r.Module))
	p.str(strings.TrimSuffix(*r.Summary, ".")).end()
}
