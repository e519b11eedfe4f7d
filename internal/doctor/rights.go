package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/echomq/emqctl/internal/trace"
	"github.com/echomq/emqctl/internal/valkey"
)

// May says whether a user may run a verb.
type May string

// What a user may do of a verb.
const (
	MayAll    May = "all"     // every command of it
	MayPart   May = "part"    // it begins, and fails at what is missing; what it wrote before stays
	MayNot    May = "none"    // nothing: no EVALSHA, or not one of its writes
	MayUnsure May = "unknown" // it could not be asked
)

// Right is what the user may do of a verb.
type Right struct {
	Verb    string   `json:"verb"`
	May     May      `json:"may"`
	Missing []string `json:"missing"` // commands, each with its key
}

// SampleQueue stands for a queue where none was given.
const SampleQueue = "quotes"

// hashFieldTTL is what hosts set the lock field of a row with.
const hashFieldTTL = "HPEXPIRE"

// traces of the verbs, in their order.
func (x *exam) traces() []*trace.Trace {
	var list []*trace.Trace
	for _, v := range x.Verbs {
		t, err := trace.Of(trace.Script{Path: v.Path, Text: v.Source, Verb: v})
		if err != nil {
			t = &trace.Trace{Verb: v} // not one of ours
		}
		list = append(list, t)
	}
	return list
}

// commands asks whether a node knows what the verbs send.
func (x *exam) commands(addr string) {
	users := map[string][]string{}
	names := []string{"EVALSHA"}
	for _, t := range x.traces() {
		for _, s := range t.Steps {
			name, _, _ := strings.Cut(s.Command, " ")
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			if !slices.Contains(users[name], t.Verb.Name) {
				users[name] = append(users[name], t.Verb.Name)
			}
		}
	}
	slices.Sort(names[1:])
	names = append(names, hashFieldTTL, valkey.NativeEnqueue)
	reply, err := x.c.DoOn(x.ctx, addr, append([]string{"COMMAND", "INFO"}, names...)...)
	if err != nil {
		for _, name := range []string{"commands", "hash-field-ttl"} {
			x.unknown(name, addr, err, "")
		}
		x.unknown("module", addr, err, "")
		x.requireModule()
		return
	}
	list, _ := reply.([]any)
	knows := func(i int) bool {
		if i >= len(list) {
			return false
		}
		about, _ := list[i].([]any)
		return len(about) > 0
	}
	last := len(names) - 2
	var missing []string
	for i, name := range names[:last] {
		if !knows(i) {
			missing = append(missing, name)
		}
	}
	switch {
	case len(missing) == 0:
		x.say("commands", addr, OK, "", "all %d commands of the verbs", last)
	case missing[0] == "EVALSHA":
		x.say("commands", addr, Failure, "the verbs are scripts", "the server does not know EVALSHA")
	default:
		x.say("commands", addr, Failure, "", "the server does not know %s, which %s wants", strings.Join(missing, ", "), strings.Join(users[missing[0]], ", "))
	}
	if knows(last) {
		x.say("hash-field-ttl", addr, OK, "", "HPEXPIRE: the lock field of a row expires by itself")
	} else {
		x.say("hash-field-ttl", addr, Warning, "Valkey has it from 9.0, Redis from 7.4; until then a host that tracks jobs has to untrack them",
			"no HPEXPIRE: the lock field of a row never expires, and remove_job refuses the job until it is deleted")
	}
	if !knows(last + 1) {
		x.say("module", addr, OK, "", "no %s: enqueue goes by its script", valkey.NativeEnqueue)
	} else {
		x.say("module", addr, OK, "", "%s%s", valkey.NativeEnqueue, x.modules(addr))
	}
	x.requireModule()
}

// requireModule makes the last check a failure when the module is required
// and not surely there.
func (x *exam) requireModule() {
	c := &x.checks[len(x.checks)-1]
	if x.Require.Module && (c.Status != OK || strings.HasPrefix(c.Detail, "no ")) {
		c.Status, c.Advice = Failure, "load the module that has the command"
	}
}

// modules names what is loaded, where the user may ask.
func (x *exam) modules(addr string) string {
	reply, err := x.c.DoOn(x.ctx, addr, "MODULE", "LIST")
	if err != nil {
		return ""
	}
	var names []string
	list, _ := reply.([]any)
	for _, m := range list {
		pairs, _ := m.([]any)
		name, version := "", ""
		for i := 0; i+1 < len(pairs); i += 2 {
			switch pairs[i] {
			case "name":
				name, _ = pairs[i+1].(string)
			case "ver":
				v, _ := pairs[i+1].(int64)
				version = " " + strconv.FormatInt(v, 10)
			}
		}
		names = append(names, name+version)
	}
	return ", modules: " + strings.Join(names, ", ")
}

// saves reads the setting save, nil when the user may not.
func (x *exam) saves(addr string) *string {
	reply, err := x.c.DoOn(x.ctx, addr, "CONFIG", "GET", "save")
	if err != nil {
		return nil
	}
	pair, _ := reply.([]any)
	if len(pair) != 2 {
		return nil
	}
	s, ok := pair[1].(string)
	if !ok {
		return nil
	}
	return &s
}

// dry is a command whose rights are asked.
type dry struct {
	args  []string
	shown string // the command with its key
	write bool
}

// rights asks what the user may do of each verb.
func (x *exam) rights() {
	addr := x.c.Addr()
	reply, err := x.c.DoOn(x.ctx, addr, "ACL", "WHOAMI")
	const elsewhere = "emqctl trace VERB lists the rights that a verb wants"
	if err != nil {
		x.unknown("rights", addr, err, elsewhere)
		return
	}
	user, _ := reply.(string)
	if _, err := x.c.DoOn(x.ctx, addr, "ACL", "DRYRUN", user, "PING"); err != nil {
		x.unknown("rights", addr, err, elsewhere)
		x.checks[len(x.checks)-1].Detail = fmt.Sprintf("the user is %q; what it may do cannot be asked: %s", user, reason(err))
		return
	}
	queue := x.Queue
	if queue == "" {
		queue = SampleQueue
	}
	x.add(x.verbRights(addr, user, queue))
}

func (x *exam) verbRights(addr, user, queue string) Check {
	var asked []dry
	index := map[string]int{} // of each command in asked
	verbs := x.traces()
	perVerb := make([][]int, len(verbs)) // the first is EVALSHA
	for v, t := range verbs {
		for _, d := range dryRuns(t, queue) {
			id := strings.Join(d.args, "\x00")
			if _, ok := index[id]; !ok {
				index[id] = len(asked)
				asked = append(asked, d)
			}
			perVerb[v] = append(perVerb[v], index[id])
		}
	}
	reads := make([]valkey.Read, len(asked))
	for i, d := range asked {
		reads[i] = valkey.Read{Addr: addr, Args: append([]string{"ACL", "DRYRUN", user}, d.args...)}
	}
	answers := x.c.DoAll(x.ctx, reads)
	c := Check{Name: "rights", Node: addr, Status: OK}
	verdicts := map[May]int{}
	byKey, byCommand := false, false
	for v, t := range verbs {
		r := Right{Verb: t.Verb.Name, May: MayAll, Missing: []string{}}
		writes := false // one of them it may
		for n, i := range perVerb[v] {
			said, _ := answers[i].Reply.(string)
			switch {
			case answers[i].Err != nil:
				r.May = MayUnsure
			case said == "OK":
				writes = writes || asked[i].write
			default:
				if strings.Contains(said, "to run the") {
					byCommand = true
				} else {
					byKey = true
				}
				if !slices.Contains(r.Missing, asked[i].shown) {
					r.Missing = append(r.Missing, asked[i].shown)
				}
				if n == 0 {
					r.May = MayNot
				} else if r.May == MayAll {
					r.May = MayPart
				}
			}
		}
		if r.May == MayPart && !writes {
			r.May = MayNot
		}
		verdicts[r.May]++
		c.Verbs = append(c.Verbs, r)
	}
	c.Detail = fmt.Sprintf("the user %q may run %d of %d verbs on the queue %q", user, verdicts[MayAll], len(verbs), queue)
	if x.Queue == "" && byKey && !byCommand {
		c.Status = Unknown
		c.Detail += ", which is an example: its keys are limited"
		c.Advice = "give the queue by --queue"
		return c
	}
	if verdicts[MayPart] > 0 {
		c.Status = Warning
		c.Detail += fmt.Sprintf("; %d can stop half-way, and what was written stays", verdicts[MayPart])
		c.Advice = "emqctl trace VERB lists the rights that a verb wants"
	}
	if verdicts[MayAll] == 0 && verdicts[MayUnsure] == 0 {
		c.Status = Warning
		c.Advice = "emqctl trace VERB lists the rights that a verb wants"
	}
	if verdicts[MayUnsure] > 0 {
		c.Status = Unknown
		c.Detail += fmt.Sprintf("; of %d it could not be asked", verdicts[MayUnsure])
	}
	return c
}

// sampleIDs stand for the placeholders of patterns.
const (
	sampleJob   = "JOB0KHTOWnGLuC"
	sampleGroup = "PRT0KHTOWnGLuC"
)

// dryRuns are the commands of a verb with sample keys: EVALSHA first, then
// those that the script sends.
func dryRuns(t *trace.Trace, queue string) []dry {
	evalsha := dry{args: []string{"EVALSHA", t.Verb.SHA1, ""}, shown: "EVALSHA"}
	seen := map[int]bool{}
	for _, k := range t.Verb.Keys {
		if !seen[k.N] {
			seen[k.N] = true
			evalsha.args = append(evalsha.args, bind(k.Pattern, queue))
		}
	}
	evalsha.args[2] = strconv.Itoa(len(evalsha.args) - 3)
	list := []dry{evalsha}
	for _, s := range t.Steps {
		name, _, _ := strings.Cut(s.Command, " ")
		args := []string{name}
		for _, operand := range s.Operands() {
			if operand == "" {
				operand = "0" // no command is refused for the value of it
			}
			args = append(args, operand)
		}
		at := map[int][]string{} // the keys that an argument may be
		for _, k := range s.Keys {
			for _, pattern := range strings.Split(k.Pattern, " | ") {
				if key := bind(pattern, queue); k.Arg < len(args) && pattern != "" && !slices.Contains(at[k.Arg], key) {
					at[k.Arg] = append(at[k.Arg], key)
				}
			}
		}
		variants := []dry{{args, s.Command, s.Write}}
		for _, n := range slices.Sorted(maps.Keys(at)) {
			var next []dry
			for _, v := range variants {
				for _, key := range at[n] {
					with := slices.Clone(v.args)
					with[n] = key
					next = append(next, dry{with, v.shown + " " + key, s.Write})
				}
			}
			variants = next
		}
		list = append(list, variants...)
	}
	return list
}

// bind puts a queue and sample names into a pattern.
func bind(pattern, queue string) string {
	out := strings.ReplaceAll(pattern, "{q}", "{"+queue+"}")
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(out, "<")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		name, after, ok := strings.Cut(rest, ">")
		if !ok {
			return b.String() + rest
		}
		switch {
		case strings.Contains(b.String(), ":g:"):
			b.WriteString(sampleGroup)
		case strings.Contains(name, "queue"):
			b.WriteString(queue)
		case strings.HasSuffix(b.String(), "job:"):
			b.WriteString(sampleJob)
		default:
			b.WriteString("x")
		}
		out = after
	}
}
