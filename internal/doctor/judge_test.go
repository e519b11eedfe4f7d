package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/echomq/emqctl/internal/valkey"
)

func TestJudge(t *testing.T) {
	none, some := "", "3600 1"
	ms := time.Millisecond
	in := func(pairs string) info { return parseInfo(strings.ReplaceAll(pairs, " ", "\r\n")) }
	const aof = "aof_enabled:1 rdb_last_bgsave_status:ok aof_last_write_status:ok aof_last_bgrewrite_status:ok"
	for name, test := range map[string]struct {
		check  Check
		status Status
		detail string // in it
	}{
		"memory-unlimited":      {memory("", in("maxmemory:0 maxmemory_policy:noeviction")), OK, "no limit"},
		"memory-unlimited-lru":  {memory("", in("maxmemory:0 maxmemory_policy:allkeys-lru")), OK, "policy allkeys-lru"},
		"memory-evicting":       {memory("", in("maxmemory:100 used_memory:1 maxmemory_policy:allkeys-random")), Warning, "loses jobs without a word"},
		"memory-volatile":       {memory("", in("maxmemory:100 used_memory:1 maxmemory_policy:volatile-lru")), Warning, "the locks of jobs at work"},
		"memory-full":           {memory("", in("maxmemory:100 used_memory:91 maxmemory_policy:noeviction")), Warning, "more than nine tenths"},
		"memory-room":           {memory("", in("maxmemory:100 used_memory:90 maxmemory_policy:noeviction")), OK, "90 of 100"},
		"memory-not-told":       {memory("", in("maxmemory:100")), Unknown, "maxmemory_policy"},
		"persistence-aof":       {persistence("", in(aof), &none), OK, "append-only file on, no snapshots"},
		"persistence-none":      {persistence("", in("aof_enabled:0"), &none), Warning, "no snapshots"},
		"persistence-snapshots": {persistence("", in("aof_enabled:0"), &some), Warning, "snapshots by 3600 1"},
		"persistence-unasked":   {persistence("", in("aof_enabled:0"), nil), Unknown, "could not be asked"},
		"persistence-failed":    {persistence("", in("aof_enabled:0 rdb_last_bgsave_status:err"), &some), Failure, "the last snapshot failed"},
		"persistence-aof-err":   {persistence("", in("aof_enabled:1 aof_last_write_status:err"), &some), Failure, "the last write of the append-only file failed"},
		"persistence-not-told":  {persistence("", in(""), nil), Unknown, "aof_enabled"},
		"replica":               {replication("", in("role:slave master_link_status:down")), Failure, "its link to the primary is down"},
		"replica-none":          {replication("", in("role:master connected_slaves:0")), OK, "without replicas"},
		"replica-online":        {replication("", in("role:master connected_slaves:1 slave0:ip=x,state=online,lag=0")), OK, "in step: 1"},
		"replica-late":          {replication("", in("role:master connected_slaves:2 slave0:ip=x,state=online slave1:ip=x,state=wait_bgsave")), Warning, "1 of them not in step"},
		"role-not-told":         {replication("", in("")), Unknown, "role"},
		"clock-ahead":           {clock("", 1500*ms, 2*ms), Warning, "1.5s ahead of"},
		"clock-behind":          {clock("", -3*time.Second, 2*ms), Warning, "3s behind"},
		"clock-in-doubt":        {clock("", 1500*ms, 2*time.Second), OK, "1.5s ahead of this machine, give or take 1s"},
		"clock":                 {clock("", -5*ms, 2*ms), OK, "5ms behind"},
		"clock-agrees":          {clock("", 0, 100*time.Microsecond), OK, "agrees with this machine, to the millisecond"},
		"clock-agrees-about":    {clock("", -ms, 20*ms), OK, "agrees with this machine, give or take 10ms"},
		"clock-exact":           {clock("", -5*ms, 10*time.Microsecond), OK, "5ms behind this machine"},
		"latency":               {latency("", 2*ms), OK, "2ms"},
		"latency-slow":          {latency("", 200*ms), Warning, "200ms"},
		"fence":                 {fence(valkey.Fence{State: valkey.FencePresent, Value: "echomq:3.0.0"}, 2, ""), OK, `"echomq:3.0.0" in database 2`},
		"fence-differs":         {fence(valkey.Fence{State: valkey.FencePresent, Value: "\x1b"}, 0, "echomq:3.0.0"), Warning, `"\x1b" in database 0, want "echomq:3.0.0"`},
		"fence-absent":          {fence(valkey.Fence{State: valkey.FenceAbsent}, 0, ""), OK, "absent"},
		"fence-absent-wanted":   {fence(valkey.Fence{State: valkey.FenceAbsent}, 0, "echomq:3.0.0"), Warning, `want "echomq:3.0.0"`},
		"fence-unreadable":      {fence(valkey.Fence{State: valkey.FenceUnreadable, Reason: &valkey.Error{Kind: valkey.KindPermission, Addr: "a:1", Msg: "a:1: no"}}, 0, "x"), Unknown, "no"},
	} {
		if test.check.Status != test.status || !strings.Contains(test.check.Detail, test.detail) {
			t.Errorf("%s: %s %q, want %s with %q", name, test.check.Status, test.check.Detail, test.status, test.detail)
		}
		if test.status == Warning && test.check.Advice == "" {
			t.Errorf("%s: a warning without advice", name)
		}
	}
}

func TestInfo(t *testing.T) {
	i := parseInfo("# Server\r\nredis_version:7.2.4\r\nvalkey_version:8.0.1\r\n\r\n# Keyspace\r\ndb10:keys=1\r\ndb2:keys=3\r\ndbx:1\r\n")
	if got := i.version(); got != "valkey 8.0.1" {
		t.Errorf("version %q", got)
	}
	if got := i.databases(); len(got) != 2 || got[0] != 2 || got[1] != 10 {
		t.Errorf("databases %v, want 2 and 10", got)
	}
}

func TestBind(t *testing.T) {
	for pattern, want := range map[string]string{
		"emq:{q}:pending":                   "emq:{x}:pending",
		"emq:{q}:job:<id>:logs":             "emq:{x}:job:JOB0KHTOWnGLuC:logs",
		"emq:{q}:g:<group>:pending":         "emq:{x}:g:PRT0KHTOWnGLuC:pending",
		"emq:{<parent_queue>}:job:<parent>": "emq:{x}:job:JOB0KHTOWnGLuC",
		"emq:{q}:repeat:<name>":             "emq:{x}:repeat:x",
		"emq:{q}:":                          "emq:{x}:",
	} {
		if got := bind(pattern, "x"); got != want {
			t.Errorf("bind(%q) = %q, want %q", pattern, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for got, want := range map[string]string{
		count(1, "primary owns", "primaries own"): "1 primary owns",
		count(3, "primary owns", "primaries own"): "3 primaries own",
		cachedDetail(0, 45):                       "0 of our 45 scripts are cached",
		cachedDetail(1, 45):                       "1 of our 45 scripts is cached",
		cachedDetail(45, 45):                      "45 of our 45 scripts are cached",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
