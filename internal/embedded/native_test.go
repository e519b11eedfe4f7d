package embedded

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/executor"
	"github.com/echomq/emqctl/internal/scripts"
	lua "github.com/echomq/emqctl/scripts"
)

// TestGates holds script and native command to the published verdicts: the
// wire reads three bytes, whatever the host says of the rest.
func TestGates(t *testing.T) {
	for _, c := range []struct {
		id   string
		host brandedid.Kind // "" when it passes
		wire bool
	}{
		{"JOB0KHTOWnGLuC", "", true},
		{"USR0KHTOWnGLuC", "", false},
		{"CRS0KHTOWnGLuC", "", false},
		{"job0KHTOWnGLuC", brandedid.Namespace, false},
		{"job-42", brandedid.Length, false},
		{"JO", brandedid.Length, false},
		{"", brandedid.Length, false},
		{"JOB-42", brandedid.Length, true},
		{"JOBzzzzzzzzzzz", brandedid.Range, true},
		{"JOB0KHTOWnGL!C", brandedid.Charset, true},
		{"USRzzzzzzzzzz!", brandedid.Charset, false},
		{"JOB", brandedid.Length, true},
		{"JOB\x00\xff", brandedid.Length, true},
	} {
		var kind brandedid.Kind
		if _, err := brandedid.Parse(c.id); err != nil {
			kind = err.(*brandedid.Error).Kind
		}
		if kind != c.host {
			t.Errorf("%q: the host says %q, want %q", c.id, kind, c.host)
		}
		for _, native := range []bool{false, true} {
			s, r := newStore(t, "")
			got := s.Rehearse(context.Background(), enqueueCall(r, native, "emq:{q}:job:"+c.id, pending, c.id, "x"))
			switch {
			case c.wire && (got.State != executor.Replied || got.Reply != int64(1) || len(got.Holds) != 2):
				t.Errorf("%q, native %v: %+v, want it admitted", c.id, native, got)
			case !c.wire && (got.State != executor.Refused || got.Text != "EMQKIND job id must be JOB-namespaced" || len(s.Dump()) != 0):
				t.Errorf("%q, native %v: %+v, want it refused, and nothing stored", c.id, native, got)
			}
		}
	}
}

// TestOrder breaks several rules at once: the script and the native command
// refuse at what each checks first.
func TestOrder(t *testing.T) {
	const fence, other = "echomq:4.0.0", "echomq:3.0.0"
	const usr = "USR0KHTOWnGLuC"
	for _, c := range []struct {
		name           string
		stored         string // the fence in the store
		keys, args     []string
		script, native string // the refusal, or "" when admitted
	}{
		{"sound", fence, []string{rowA, pending}, []string{jobA, "x"}, "", ""},
		{"shape-and-all-else", other, []string{"emq:{q}:job:other", pending}, []string{usr, "x", "more"}, brandedid.WireRefusal, ShapeRefusal},
		{"one-key", fence, []string{rowA}, []string{jobA, "x"}, "ERR", ShapeRefusal},
		{"three-keys", fence, []string{rowA, pending, pending}, []string{jobA, "x"}, "", ShapeRefusal},
		{"row-and-fence-and-namespace", other, []string{"emq:{q}:job:other", pending}, []string{usr, "x"}, brandedid.WireRefusal, RowRefusal},
		{"wrong-row", fence, []string{"emq:{q}:job:other", pending}, []string{jobA, "x"}, "", RowRefusal},
		{"row-of-another-queue", fence, []string{"emq:{r}:job:" + jobA, pending}, []string{jobA, "x"}, "", RowRefusal},
		{"row-and-more", fence, []string{rowA + ":lock", pending}, []string{jobA, "x"}, "", RowRefusal},
		{"no-braces", fence, []string{"emq:q:job:" + jobA, "emq:q:pending"}, []string{jobA, "x"}, "", RowRefusal},
		{"fence-and-namespace", other, []string{"emq:{q}:job:" + usr, pending}, []string{usr, "x"}, brandedid.WireRefusal, FenceRefusal},
		{"fence", other, []string{rowA, pending}, []string{jobA, "x"}, "", FenceRefusal},
		{"fence-absent", "", []string{rowA, pending}, []string{jobA, "x"}, "", FenceRefusal},
		{"namespace", fence, []string{"emq:{q}:job:" + usr, pending}, []string{usr, "x"}, brandedid.WireRefusal, brandedid.WireRefusal},
	} {
		for _, native := range []bool{false, true} {
			s, r := newStore(t, fence)
			s.m.Del(FenceKey)
			if c.stored != "" {
				s.m.Set(FenceKey, c.stored)
			}
			call := enqueueCall(r, native, "", "", c.args...)
			call.Keys = c.keys
			want := c.script
			if native {
				want = c.native
			}
			o := s.Run(context.Background(), []executor.Call{call})[0]
			switch {
			case want == "" && (o.State != executor.Replied || o.Reply != int64(1)):
				t.Errorf("%s, native %v: %+v, want it admitted", c.name, native, o)
			case want == "ERR" && o.State != executor.Unknown && o.State != executor.Failed:
				t.Errorf("%s, native %v: %+v, want an error of the store", c.name, native, o)
			case want == "" || want == "ERR":
			case o.State != executor.Refused || !strings.HasPrefix(o.Text, want):
				t.Errorf("%s, native %v: %+v, want %q", c.name, native, o, want)
			case want != brandedid.WireRefusal && !strings.HasSuffix(o.Text, "in emqctl's own words: the command's text is not published)"):
				t.Errorf("%s: %q does not say whose words it is", c.name, o.Text)
			}
		}
	}
}

// TestRefuses runs no script but those that emqctl carries.
func TestRefuses(t *testing.T) {
	s, r := newStore(t, "")
	v, _ := r.Lookup("enqueue")
	for _, source := range []string{
		"return dofile('/etc/passwd')",
		"while true do end",
		v.Source + "\n",
	} {
		foreign := *v
		foreign.Source, foreign.SHA1 = source, "0"
		o := s.Run(context.Background(), []executor.Call{{Verb: &foreign, Keys: []string{rowA, pending}, Args: []string{jobA, "x"}}})[0]
		if e, ok := o.Err.(*Error); o.State != executor.Failed || !ok || e.Kind != KindForeign {
			t.Errorf("%q: %+v, want it refused as foreign", source, o)
		}
	}
	schedule, _ := r.Lookup("schedule")
	o := s.Run(context.Background(), []executor.Call{{Verb: schedule, Native: true}})[0]
	if e, ok := o.Err.(*Error); o.State != executor.Failed || !ok || e.Kind != KindNative {
		t.Errorf("schedule, native: %+v, want it refused", o)
	}
	if len(s.Dump()) != 0 {
		t.Errorf("the store holds %v, want nothing", s.Dump())
	}
}

// TestScriptsAreTame holds the scripts that are run in process to what the
// package comment says of them.
func TestScriptsAreTame(t *testing.T) {
	_, r := newStore(t, "")
	for _, v := range r.Verbs() {
		for _, word := range []string{"dofile", "loadfile", "loadstring", "require", "module(", "while ", "repeat\n", "os.", "io.", "debug"} {
			for i, line := range strings.Split(v.Source, "\n") {
				code, _, _ := strings.Cut(line, "--")
				if strings.Contains(code, word) {
					t.Errorf("%s:%d has %s: %s", v.Path, i+1, word, line)
				}
			}
		}
	}
}

// TestInterrupt stops a call at its next command.
func TestInterrupt(t *testing.T) {
	s, r := newStore(t, "")
	ctx, cancel := context.WithCancel(context.Background())
	calls := []executor.Call{enqueueCall(r, false, rowA, pending, jobA, "x")}
	cancel()
	if o := s.Run(ctx, calls)[0]; o.State != executor.Failed {
		t.Errorf("before it began: %+v, want failed", o)
	}
	for _, native := range []bool{false, true} {
		calls[0].Native = native
		stops := &countdown{Context: context.Background(), left: 2}
		if o := s.Run(stops, calls)[0]; o.State != executor.Unknown {
			t.Errorf("native %v, in its midst: %+v, want unknown", native, o)
		}
		if d := s.Dump(); len(d) != 0 {
			t.Errorf("native %v: the store holds %v, want nothing", native, d)
		}
	}
}

// countdown ends after its Err has been asked so often.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestHalfRun: a script that fails keeps what it wrote, and the outcome is in
// doubt; one that fails before surely wrote nothing.
func TestHalfRun(t *testing.T) {
	s, r := newStore(t, "")
	s.m.Set(pending, "no zset")
	o := s.Run(context.Background(), []executor.Call{enqueueCall(r, false, rowA, pending, jobA, "x")})[0]
	if e, ok := o.Err.(*Error); o.State != executor.Unknown || !ok || e.Kind != KindPartial {
		t.Errorf("ZADD fails after HSET: %+v, want unknown", o)
	}
	complete, _ := r.Lookup("complete")
	s.m.Set("emq:{q}:job:b", "no hash")
	o = s.Run(context.Background(), []executor.Call{{Verb: complete, Keys: []string{"emq:{q}:active", "emq:{q}:job:b"}, Args: []string{"b", "1", "emq:{q}:"}}})[0]
	if e, ok := o.Err.(*Error); o.State != executor.Failed || !ok || e.Kind != KindServer {
		t.Errorf("HGET fails first: %+v, want failed", o)
	}
}

// TestBinary keeps every byte of a payload.
func TestBinary(t *testing.T) {
	var all [256]byte
	for i := range all {
		all[i] = byte(i)
	}
	payload := strings.Repeat(string(all[:]), 10<<20/256)
	for _, native := range []bool{false, true} {
		s, r := newStore(t, "")
		o := s.Run(context.Background(), []executor.Call{enqueueCall(r, native, rowA, pending, jobA, payload)})[0]
		if o.Reply != int64(1) || s.m.HGet(rowA, "payload") != payload {
			t.Errorf("native %v: %v, or 10 MB are not the same", native, o)
		}
	}
}

func BenchmarkEnqueue(b *testing.B) {
	s, err := New(func() time.Time { return clock }, "")
	if err != nil {
		b.Fatal(err)
	}
	r, err := scripts.Load(lua.FS)
	if err != nil {
		b.Fatal(err)
	}
	i := 0
	for b.Loop() {
		i++
		id := jobA + string(rune('a'+i%26)) + strings.Repeat("x", i%7)
		s.Rehearse(context.Background(), enqueueCall(r, false, "emq:{q}:job:"+id, pending, id, "x"))
	}
}
