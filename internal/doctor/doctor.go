// Package doctor looks at a server as a home for queues, and judges what it
// finds. It sends read commands only: no script is loaded, the fence is not
// claimed, and what a user may do is asked of ACL DRYRUN, which runs nothing.
//
// [Examine] gives checks, each with one of four judgments:
//
//	ok       as it should be, or a choice that costs no job
//	warning  jobs can be lost, late or refused
//	failure  verbs are refused now, or what was required is not so
//	unknown  it could not be asked; the detail says why
//
// A right that is missing makes a check unknown and the next one goes on. A
// node that does not answer has one check, with Err.
//
// The checks are, of the whole:
//
//	cluster      every slot has an owner
//	fence        what {emq}:version says, in every database that has keys
//	rights       which verbs the connected user may run
//
// and of each primary:
//
//	server          what it is
//	commands        whether it knows every command of the verbs
//	hash-field-ttl  whether it knows HPEXPIRE, by which a lock field expires
//	module          whether it knows EMQ.ENQUEUE
//	scripts         which verbs are in its script cache
//	clock           how far its clock is from this one
//	latency         how long a PING takes
//	memory          its limit, and whether it evicts keys
//	persistence     what a restart would lose
//	replication     its role and its replicas
package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/echomq/emqctl/internal/scripts"
	"github.com/echomq/emqctl/internal/valkey"
)

// Status is a judgment.
type Status string

// The four judgments.
const (
	OK      Status = "ok"
	Warning Status = "warning"
	Failure Status = "failure"
	Unknown Status = "unknown"
)

// Check is one thing that was looked at.
type Check struct {
	Name   string
	Status Status
	Node   string // "" for what is not of one node
	Detail string
	Advice string // "" for none

	Scripts []Script // of scripts
	Verbs   []Right  // of rights
	Err     error    // the node did not answer
}

// Script says whether a verb is in a script cache.
type Script struct {
	Verb   string `json:"verb"`
	SHA1   string `json:"sha1"`
	Cached bool   `json:"cached"`
}

// Require is what has to be so.
type Require struct {
	Fence   string // this very version; "" for any
	Module  bool
	Scripts []string // names of verbs
}

// Options say what to look at.
type Options struct {
	Verbs    []*scripts.Verb
	Queue    string // for whose keys rights are asked; "" for an example
	Expected string // the fence that is expected, "" for any
	Require  Require
	Now      func() time.Time
	// OtherDB reads the fence of another database.
	OtherDB func(ctx context.Context, db int) (valkey.Fence, error)
}

// Client is what is needed of a [valkey.Client].
type Client interface {
	Addr() string
	DB() int
	Cluster() bool
	Server() string
	Primaries(ctx context.Context) ([]valkey.Primary, error)
	Fence(ctx context.Context) (valkey.Fence, error)
	DoOn(ctx context.Context, addr string, args ...string) (any, error)
	DoAll(ctx context.Context, reads []valkey.Read) []valkey.Answer
}

// Examine looks at a server, or at every primary of a cluster. It always
// returns checks.
func Examine(ctx context.Context, c Client, o Options) []Check {
	x := &exam{ctx: ctx, c: c, Options: o}
	nodes := x.nodes()
	databases := []int{}
	for _, addr := range nodes {
		databases = append(databases, x.node(addr)...)
	}
	x.fence(databases)
	x.rights()
	return x.checks
}

type exam struct {
	Options
	ctx    context.Context
	c      Client
	checks []Check
}

func (x *exam) add(c Check) { x.checks = append(x.checks, c) }

// say adds a check of a node.
func (x *exam) say(name, node string, s Status, advice, format string, args ...any) {
	x.add(Check{Name: name, Status: s, Node: node, Advice: advice, Detail: fmt.Sprintf(format, args...)})
}

// unknown adds a check that could not be made.
func (x *exam) unknown(name, node string, err error, advice string) {
	c := Check{Name: name, Status: Unknown, Node: node, Advice: advice, Detail: reason(err)}
	if Silent(err) {
		c.Err = err
	}
	x.add(c)
}

// reason is an error without the address, which the check has.
func reason(err error) string {
	var v *valkey.Error
	if errors.As(err, &v) {
		return strings.TrimPrefix(v.Msg, v.Addr+": ")
	}
	return err.Error()
}

// Silent tells a server that did not answer from one that answered with an
// error.
func Silent(err error) bool {
	var v *valkey.Error
	if !errors.As(err, &v) {
		return err != nil
	}
	return !slices.Contains([]valkey.Kind{
		valkey.KindPermission, valkey.KindServer, valkey.KindReadOnly, valkey.KindMemory, valkey.KindBusy,
		valkey.KindMisconf, valkey.KindCluster, valkey.KindLoading, valkey.KindDatabase,
	}, v.Kind)
}

// nodes are the primaries, or the one server that was given when the user may
// not ask for them.
func (x *exam) nodes() []string {
	list, err := x.c.Primaries(x.ctx)
	if err != nil {
		x.unknown("cluster", "", err, "only the node that was given is looked at")
		return []string{x.c.Addr()}
	}
	var nodes, failed []string
	owned, lost := 0, 0
	for _, p := range list {
		n := 0
		for _, r := range p.Slots {
			n += int(r[1]-r[0]) + 1
		}
		owned += n
		if p.Failed {
			lost += n
			failed = append(failed, p.Addr)
		}
		if !slices.Contains(nodes, p.Addr) {
			nodes = append(nodes, p.Addr)
		}
	}
	if x.c.Cluster() {
		const slots = 16384
		switch {
		case len(failed) > 0:
			failed = slices.Compact(failed)
			x.say("cluster", "", Failure, "bring it back, or promote a replica of it: valkey-cli CLUSTER FAILOVER TAKEOVER", "%d of %s failed, and %s not served: %s", len(failed), count(len(nodes), "primary", "primaries"), count(lost, "slot is", "slots are"), strings.Join(failed, ", "))
		case owned < slots:
			x.say("cluster", "", Failure, "see valkey-cli --cluster check", "%s, and %s that none of them owns", count(len(nodes), "primary", "primaries"), count(slots-owned, "slot", "slots"))
		default:
			x.say("cluster", "", OK, "", "%s all slots", count(len(nodes), "primary owns", "primaries own"))
		}
	}
	return nodes
}

// node makes the checks of one node, and returns the databases that have keys.
func (x *exam) node(addr string) []int {
	took, err := x.ping(addr)
	if err != nil && Silent(err) {
		x.unknown("server", addr, err, "nothing else was asked of this node")
		return nil
	}
	info, denied := x.info(addr)
	x.server(addr, info)
	x.commands(addr)
	x.scripts(addr)
	x.clock(addr)
	if err != nil {
		x.unknown("latency", addr, err, "")
	} else {
		x.add(latency(addr, took))
	}
	if denied != nil {
		for _, name := range []string{"memory", "persistence", "replication"} {
			x.unknown(name, addr, denied, "")
		}
		return nil
	}
	x.add(memory(addr, info))
	x.add(persistence(addr, info, x.saves(addr)))
	x.add(replication(addr, info))
	return info.databases()
}

const pings = 5

// ping returns the middle one of some round trips.
func (x *exam) ping(addr string) (time.Duration, error) {
	var took []time.Duration
	for range pings {
		start := x.Now()
		if _, err := x.c.DoOn(x.ctx, addr, "PING"); err != nil {
			return 0, err
		}
		took = append(took, x.Now().Sub(start))
	}
	slices.Sort(took)
	return took[pings/2], nil
}

func (x *exam) info(addr string) (info, error) {
	reply, err := x.c.DoOn(x.ctx, addr, "INFO")
	text, _ := reply.(string)
	return parseInfo(text), err
}

func (x *exam) server(addr string, i info) {
	what := x.c.Server()
	if v := i.version(); v != "" {
		what = v
	}
	if what == "" {
		what = "a server that does not say what it is"
	}
	mode := "standalone"
	if x.c.Cluster() {
		mode = "part of a cluster"
	}
	detail := what + ", " + mode
	if up := i["uptime_in_seconds"]; up != "" {
		detail += ", up for " + up + " seconds"
	}
	if i["loading"] == "1" {
		x.say("server", addr, Failure, "wait until it has", "%s, still reading its data", detail)
		return
	}
	x.say("server", addr, OK, "", "%s", detail)
}

// scripts asks which verbs a node has in its script cache.
func (x *exam) scripts(addr string) {
	args := []string{"SCRIPT", "EXISTS"}
	for _, v := range x.Verbs {
		args = append(args, v.SHA1)
	}
	reply, err := x.c.DoOn(x.ctx, addr, args...)
	if err != nil {
		x.unknown("scripts", addr, err, "")
		for _, name := range x.Require.Scripts {
			x.say("script", addr, Failure, "", "%s is required, and whether it is cached could not be asked: %s", name, reason(err))
		}
		return
	}
	list, _ := reply.([]any)
	c := Check{Name: "scripts", Status: OK, Node: addr}
	var cached []string
	for i, v := range x.Verbs {
		is := i < len(list) && list[i] == int64(1)
		c.Scripts = append(c.Scripts, Script{v.Name, v.SHA1, is})
		if is {
			cached = append(cached, v.Name)
		}
	}
	c.Detail = cachedDetail(len(cached), len(x.Verbs))
	if len(cached) > 0 && len(cached) <= 8 {
		c.Detail += ": " + strings.Join(cached, ", ")
	}
	x.add(c)
	for _, name := range x.Require.Scripts {
		if slices.Contains(cached, name) {
			x.say("script", addr, OK, "", "%s is required, and is cached", name)
		} else {
			x.say("script", addr, Failure, "a first call of the verb loads it", "%s is required, and is not cached", name)
		}
	}
}

const (
	clockSlack   = time.Second
	latencySlack = 100 * time.Millisecond
)

func (x *exam) clock(addr string) {
	start := x.Now()
	reply, err := x.c.DoOn(x.ctx, addr, "TIME")
	end := x.Now()
	if err != nil {
		x.unknown("clock", addr, err, "")
		return
	}
	at, ok := serverTime(reply)
	if !ok {
		x.say("clock", addr, Unknown, "", "found a TIME of another shape, want seconds and microseconds")
		return
	}
	x.add(clock(addr, at.Sub(start.Add(end.Sub(start)/2)), end.Sub(start)))
}

// fence reads the fence of our database and of every other that has keys.
func (x *exam) fence(databases []int) {
	f, err := x.c.Fence(x.ctx)
	want := x.Expected
	if x.Require.Fence != "" {
		want = x.Require.Fence
	}
	if err != nil {
		x.unknown("fence", "", err, "")
	} else {
		x.add(fence(f, x.c.DB(), want))
	}
	if c := &x.checks[len(x.checks)-1]; x.Require.Fence != "" && c.Status != OK {
		c.Status = Failure
	}
	if x.c.Cluster() || x.OtherDB == nil {
		return
	}
	const most = 16
	for _, db := range databases[:min(len(databases), most)] {
		if db == x.c.DB() {
			continue
		}
		other, err := x.OtherDB(x.ctx, db)
		switch {
		case err != nil:
			x.say("fence", "", Unknown, "", "database %d has keys, and its fence could not be read: %s", db, reason(err))
		case other.State == valkey.FencePresent && f.State == valkey.FencePresent && other.Value != f.Value:
			x.say("fence", "", Warning, "hosts of different versions share this server", "database %d has keys, and its fence is %q: it differs from %q of database %d", db, other.Value, f.Value, x.c.DB())
		case other.State == valkey.FencePresent:
			x.say("fence", "", OK, "", "database %d has keys, and its fence is %q", db, other.Value)
		default:
			x.say("fence", "", OK, "", "database %d has keys, and no fence: %s", db, other.State)
		}
	}
}
