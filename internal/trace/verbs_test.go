package trace

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/echomq/emqctl/internal/scripts"
	"github.com/echomq/emqctl/internal/valkeytest"
)

// TestVerbsRandom calls every verb many times on random states of a queue and
// holds its trace to what MONITOR shows. The draws are the same in each run.
func TestVerbsRandom(t *testing.T) {
	reg, err := scripts.Load(os.DirFS("../../scripts"))
	if err != nil {
		t.Fatal(err)
	}
	srv := valkeytest.Start(t)
	c := srv.Client()
	m := startMonitor(t, srv.Addr)
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	id := func() string { return "JOB0KHTOWnGLu" + pick("A", "B", "C", "D", "E") }
	group := func() string { return "PRT0KHTOWnGLu" + pick("X", "Y", "Z") }
	const b = "emq:{q}:"
	maybe := func(p float64, args ...string) {
		if r.Float64() < p {
			do(c, args...)
		}
	}
	calls, commands, metAll, stepsAll := 0, 0, 0, 0
	for _, v := range reg.Verbs() {
		tr, err := Of(Script{Path: v.Path, Text: v.Source, Verb: v})
		if err != nil {
			t.Fatal(err)
		}
		met := map[int]bool{}
		forms := v.Forms
		if len(forms) == 0 {
			forms = []string{""}
		}
		for n := range 150 {
			do(c, "FLUSHALL")
			for range 4 {
				j := id()
				row := b + "job:" + j
				maybe(.8, "HSET", row, "state", pick("pending", "active", "awaiting_children", "dead"), "attempts", pick("1", "2"), "payload", "p")
				maybe(.5, "HSET", row, "group", group())
				maybe(.2, "HSET", row, "lock", "1")
				maybe(.2, "SET", row+":lock", "1")
				maybe(.5, "SET", row+":dependencies", pick("1", "2", "0"))
				maybe(.3, "HSET", row+":processed", id(), "r")
				maybe(.2, "HSET", row, "stalled", pick("0", "3"))
				for _, s := range []string{"pending", "active", "schedule", "dead"} {
					maybe(.4, "ZADD", b+s, "1", j)
				}
				g := group()
				maybe(.5, "ZADD", b+"g:"+g+":pending", "0", j)
				maybe(.4, "RPUSH", b+"ring", g)
				maybe(.2, "SADD", b+"paused", g)
				maybe(.3, "HSET", b+"glimit", g, pick("1", "3"))
				maybe(.4, "HSET", b+"gactive", g, pick("1", "2"))
				maybe(.3, "HSET", b+"gweight", g, pick("1", "2"))
			}
			maybe(.6, "HSET", b+"meta", "paused", "1")
			maybe(.4, "HSET", b+"meta", "concurrency", pick("1", "9"), "max", pick("1", "5"))
			maybe(.5, "SET", b+"limiter", pick("1", "7"), "PX", "5000")
			maybe(.4, "SET", b+"de:d", id())
			maybe(.4, "ZADD", b+"repeat", "1", "nightly")
			maybe(.4, "HSET", b+"repeat:nightly", "every_ms", "5", "template", "t")

			form := forms[n%len(forms)]
			in := func(fs []string) bool { return len(fs) == 0 || slices.Contains(fs, form) }
			names := map[string]string{"id": id(), "group": group(), "parent": id(), "child": id(), "name": "nightly", "did": pick("", "d"), "state": pick("pending", "active")}
			if r.Float64() < .15 {
				names["id"] = "USR0KHTOWnGLuC"
			}
			fill := func(p string) string {
				for {
					i := strings.IndexByte(p, '<')
					if i < 0 {
						return p
					}
					e := i + strings.IndexByte(p[i:], '>')
					w := names[p[i+1:e]]
					p = p[:i] + w + p[e+1:]
				}
			}
			pairs := r.IntN(4)
			var keys, argv []string
			for _, k := range v.Keys {
				if !in(k.Forms) {
					continue
				}
				if k.Repeated {
					for range pairs {
						names["child"], names["state"] = id(), pick("pending", "active", "dead")
						keys = append(keys, fill(k.Pattern))
					}
					continue
				}
				keys = append(keys, fill(k.Pattern))
			}
			value := func(a scripts.Arg) string {
				switch {
				case a.Base == "queue":
					return b
				case a.Base == "job":
					return b + "job:"
				}
				switch a.Name {
				case "id", "child", "parent", "job":
					if w := names[a.Name]; w != "" && !a.Repeated {
						return w
					}
					return id()
				case "group":
					if a.Repeated {
						return group()
					}
					return names["group"]
				case "token":
					return pick("1", "2")
				case "mode":
					return pick("in", "at")
				case "arm", "form":
					if strings.HasPrefix(form, "cross") {
						return pick("xq:fp", "xq:id", "xq")
					}
					return pick("sq:fp", "sq:id")
				case "policy":
					return pick("fp", "id")
				case "force":
					return pick("", "force")
				case "did", "dedup":
					return names["did"]
				case "keep":
					return pick("", "2")
				case "max", "max_stalled", "max_attempts", "limit", "size", "budget", "weight":
					return pick("0", "1", "2", "100")
				case "children", "count", "n":
					return strconv.Itoa(pairs)
				case "metric":
					return pick("completed", "failed")
				}
				return pick("5", "1000", "30000")
			}
			var tuple []scripts.Arg
			for _, a := range v.Args {
				if !in(a.Forms) {
					continue
				}
				if a.Repeated {
					tuple = append(tuple, a)
					continue
				}
				argv = append(argv, value(a))
			}
			if v.Name == "complete" && strings.HasPrefix(form, "cross") {
				argv[5] = "xq"
			}
			if len(tuple) > 0 {
				for range pairs {
					for _, a := range tuple {
						argv = append(argv, value(a))
					}
				}
			}
			var callErr error
			observed := m.lua(t, c, func() {
				args := append([]string{"EVAL", v.Source, strconv.Itoa(len(keys))}, keys...)
				_, callErr = do(c, append(args, argv...)...)
			})
			calls++
			commands += len(observed)
			check := tr.Allows
			if callErr != nil && !strings.Contains(callErr.Error(), "nil") && !strings.HasPrefix(callErr.Error(), "EMQ") {
				check = tr.AllowsPrefix
				if n < 3 {
					t.Logf("%s: %v", v.Name, callErr)
				}
			}
			if err := check(observed, keys, argv); err != nil {
				t.Errorf("%s %v %v: %v\n%v", v.Name, keys, argv, err, observed)
				break
			}
			for _, o := range observed {
				if !predicted(tr, o, keys, argv, met) {
					t.Errorf("%s: %s is not predicted", v.Name, o)
				}
			}
		}
		metAll, stepsAll = metAll+len(met), stepsAll+len(tr.Steps)
		if len(met) < len(tr.Steps) {
			var miss []string
			for _, s := range tr.Steps {
				if !met[s.N] {
					miss = append(miss, fmt.Sprintf("%d:%s", s.Line, s.Command))
				}
			}
			t.Errorf("%s: %d of %d steps met, not %v", v.Name, len(met), len(tr.Steps), miss)
		}
	}
	t.Logf("%d verbs, %d calls, %d commands, %d of %d steps met", len(reg.Verbs()), calls, commands, metAll, stepsAll)
}
