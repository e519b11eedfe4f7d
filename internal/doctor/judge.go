package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/echomq/emqctl/internal/valkey"
)

// info is the reply to INFO, a value a name.
type info map[string]string

func parseInfo(text string) info {
	i := info{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			i[name] = value
		}
	}
	return i
}

func (i info) number(name string) int64 {
	n, _ := strconv.ParseInt(i[name], 10, 64)
	return n
}

// version is the engine's name with its version.
func (i info) version() string {
	switch {
	case i["valkey_version"] != "":
		return "valkey " + i["valkey_version"]
	case i["redis_version"] != "":
		return "redis " + i["redis_version"]
	}
	return ""
}

// databases are the numbers of those that have keys, in order.
func (i info) databases() []int {
	var list []int
	for name := range i {
		if n, err := strconv.Atoi(strings.TrimPrefix(name, "db")); err == nil && strings.HasPrefix(name, "db") {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list
}

func serverTime(reply any) (time.Time, bool) {
	list, _ := reply.([]any)
	if len(list) != 2 {
		return time.Time{}, false
	}
	s, _ := list[0].(string)
	us, _ := list[1].(string)
	seconds, err := strconv.ParseInt(s, 10, 64)
	micros, err2 := strconv.ParseInt(us, 10, 64)
	return time.UnixMicro(seconds*1e6 + micros), err == nil && err2 == nil
}

// count is a number with the word for one or the word for more.
func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// cachedDetail says how many scripts are cached.
func cachedDetail(cached, all int) string {
	are := "are"
	if cached == 1 {
		are = "is"
	}
	return fmt.Sprintf("%d of our %s %s cached", cached, count(all, "script", "scripts"), are)
}

// clock judges how far the server is ahead, as of the middle of a round trip.
func clock(node string, ahead, trip time.Duration) Check {
	c := Check{Name: "clock", Status: OK, Node: node}
	way := "ahead of"
	if ahead < 0 {
		ahead, way = -ahead, "behind"
	}
	doubt := (trip / 2).Round(time.Millisecond)
	switch off := ahead.Round(time.Millisecond); {
	case off > 0 && off > doubt && doubt > 0:
		c.Detail = fmt.Sprintf("%s %s this machine, give or take %s", off, way, doubt)
	case off > 0 && off > doubt:
		c.Detail = fmt.Sprintf("%s %s this machine", off, way)
	case doubt > 0:
		c.Detail = fmt.Sprintf("agrees with this machine, give or take %s", doubt)
	default:
		c.Detail = "agrees with this machine, to the millisecond"
	}
	if ahead-trip/2 > clockSlack {
		c.Status = Warning
		c.Advice = "leases and delays go by the server's clock, ids, repeats and absolute times by the host's: have both follow one source"
	}
	return c
}

func latency(node string, took time.Duration) Check {
	c := Check{Name: "latency", Status: OK, Node: node, Detail: fmt.Sprintf("a PING takes %s, the middle of %d", took.Round(time.Microsecond), pings)}
	if took > latencySlack {
		c.Status, c.Advice = Warning, "a lease has to outlast many round trips"
	}
	return c
}

// memory judges the limit and what happens at it.
func memory(node string, i info) Check {
	limit, used, policy := i.number("maxmemory"), i.number("used_memory"), i["maxmemory_policy"]
	if policy == "" {
		return Check{Name: "memory", Status: Unknown, Node: node, Detail: "INFO does not tell maxmemory_policy"}
	}
	evicting := policy != "noeviction"
	c := Check{Name: "memory", Status: OK, Node: node}
	switch {
	case limit == 0:
		c.Detail = fmt.Sprintf("%d bytes used, no limit, policy %s", used, policy)
		if evicting {
			c.Advice = "once it has a limit, this policy deletes keys: a queue wants noeviction"
		}
		return c
	case strings.HasPrefix(policy, "volatile-"):
		c.Status = Warning
		c.Detail = fmt.Sprintf("%d of %d bytes used, policy %s: at the limit keys with a TTL are deleted, among them the locks of jobs at work", used, limit, policy)
		c.Advice = "set maxmemory-policy noeviction"
	case evicting:
		c.Status = Warning
		c.Detail = fmt.Sprintf("%d of %d bytes used, policy %s: at the limit any key is deleted, and a queue loses jobs without a word", used, limit, policy)
		c.Advice = "set maxmemory-policy noeviction: a full server then refuses writes, and nothing is lost"
	default:
		c.Detail = fmt.Sprintf("%d of %d bytes used, policy %s", used, limit, policy)
	}
	if used*10 > limit*9 && !evicting {
		c.Status = Warning
		c.Detail += ": more than nine tenths"
		c.Advice = "at the limit the server refuses writes"
	}
	return c
}

// persistence judges what a restart would lose. saves is the setting save,
// nil when it could not be read.
func persistence(node string, i info, saves *string) Check {
	c := Check{Name: "persistence", Status: OK, Node: node}
	aof, known := i["aof_enabled"]
	if !known {
		c.Status, c.Detail = Unknown, "INFO does not tell aof_enabled"
		return c
	}
	parts := []string{"append-only file " + map[bool]string{true: "on", false: "off"}[aof == "1"]}
	switch {
	case saves == nil:
		parts = append(parts, "whether snapshots are on could not be asked")
	case *saves == "":
		parts = append(parts, "no snapshots")
	default:
		parts = append(parts, "snapshots by "+*saves)
	}
	switch {
	case aof == "1":
	case saves == nil:
		c.Status = Unknown
	case *saves == "":
		c.Status, c.Advice = Warning, "a restart loses every job: turn the append-only file on"
	default:
		c.Status, c.Advice = Warning, "a crash loses the jobs since the last snapshot, and brings finished ones back: turn the append-only file on"
	}
	for _, last := range []struct{ field, what string }{
		{"rdb_last_bgsave_status", "the last snapshot"},
		{"aof_last_write_status", "the last write of the append-only file"},
		{"aof_last_bgrewrite_status", "the last rewrite of the append-only file"},
	} {
		if s, ok := i[last.field]; ok && s != "ok" {
			parts = append(parts, last.what+" failed")
			c.Status, c.Advice = Failure, "see the server's log: it may refuse writes with MISCONF until this is mended"
		}
	}
	c.Detail = strings.Join(parts, ", ")
	return c
}

// replication judges the role and the replicas.
func replication(node string, i info) Check {
	c := Check{Name: "replication", Status: OK, Node: node}
	switch i["role"] {
	case "":
		c.Status, c.Detail = Unknown, "INFO does not tell the role"
		return c
	case "master":
	default:
		c.Status, c.Detail, c.Advice = Failure, "a replica, which refuses every verb", "give the address of the primary"
		if i["master_link_status"] == "down" {
			c.Detail += "; its link to the primary is down"
		}
		return c
	}
	n := i.number("connected_slaves")
	late := 0
	for s := range n {
		if !strings.Contains(i[fmt.Sprintf("slave%d", s)], "state=online") {
			late++
		}
	}
	switch {
	case n == 0:
		c.Detail = "a primary without replicas"
	case late > 0:
		c.Status, c.Detail, c.Advice = Warning, fmt.Sprintf("a primary with %d replicas, %d of them not in step", n, late), "a failover to such a replica loses jobs"
	default:
		c.Detail = fmt.Sprintf("a primary, replicas in step: %d", n)
	}
	return c
}

// fence judges the fence of our own database.
func fence(f valkey.Fence, db int, want string) Check {
	c := Check{Name: "fence", Status: OK}
	switch {
	case f.State == valkey.FenceUnreadable:
		c.Status, c.Detail = Unknown, reason(f.Reason)
	case f.State == valkey.FenceAbsent:
		c.Detail = fmt.Sprintf("absent in database %d", db)
		c.Advice = "the first host that connects claims it"
		if want != "" {
			c.Status = Warning
			c.Detail += fmt.Sprintf(", want %q", want)
		}
	case want != "" && f.Value != want:
		c.Status = Warning
		c.Detail = fmt.Sprintf("%q in database %d, want %q", f.Value, db, want)
		c.Advice = "hosts of another version refuse to work here"
	default:
		c.Detail = fmt.Sprintf("%q in database %d", f.Value, db)
	}
	return c
}
