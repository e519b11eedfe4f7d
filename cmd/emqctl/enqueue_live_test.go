package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/slot"
	"github.com/echomq/emqctl/internal/valkeytest"
)

// mint returns ids in mint order.
func mint(t testing.TB, n, node int) []string {
	t.Helper()
	m, err := brandedid.NewMinter(func() time.Time { return testClock }, node)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, n)
	for i := range ids {
		id, err := m.Mint(brandedid.JobNamespace)
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = id.String()
	}
	return ids
}

// document is a record as a map, without what a rehearsal and a live run may
// say differently.
func documents(t *testing.T, out string) []map[string]any {
	t.Helper()
	var docs []map[string]any
	dec := json.NewDecoder(strings.NewReader(out))
	for {
		var d map[string]any
		if err := dec.Decode(&d); err == io.EOF {
			return docs
		} else if err != nil {
			t.Fatal(err)
		}
		for _, field := range []string{"engine", "executed", "fence", "store", "observed"} {
			if _, ok := d[field]; !ok {
				t.Errorf("no field %s in %v", field, d)
			}
			delete(d, field)
		}
		docs = append(docs, d)
	}
}

// TestEnqueueLive holds a rehearsal and a real server to the same document,
// and what the rehearsal says that the store holds to what the server does.
func TestEnqueueLive(t *testing.T) {
	const fence = "echomq:4.0.0"
	server := valkeytest.Start(t)
	c := server.Client()
	ids := mint(t, 20, 3)
	binary := "\x00\xff\r\n\"'\\" + strings.Repeat("\xfe", 1000)
	for i, tt := range []struct {
		in   string
		args []string
	}{
		{"", []string{"hello", "--id", ids[0]}},
		{"", []string{"again", "--id", ids[0]}},
		{"", []string{"", "--id", ids[1]}},
		{binary, []string{"-", "--id", ids[2]}},
		{"", []string{"x", "--id", "USR0KHTOWnGLuC"}},
		{"", []string{"x", "--id", "JOB-42"}},
		{"", []string{"x", "--id", "JOB-42", "--no-host-gate"}},
		{"", []string{"x", "--id", "JOBzzzzzzzzzzz", "--no-host-gate"}},
		{`{"id":"","payload":"x"}`, []string{"--ndjson", "--no-host-gate"}},
		{"", []string{"x", "--id", ids[3], "--at", "2030-01-01T00:00:00Z"}},
		{"", []string{"x", "--id", ids[4], "--in", "90s"}},
		{"", []string{"x", "--id", ids[5], "--group", "PRT0KHTOWnGLuC"}},
		{"", []string{"x", "--id", ids[6], "--fence", fence, "--claim-fence"}},
		{"{\"id\":\"" + ids[7] + "\",\"payload\":{\"a\":1}}\nno\n{\"id\":\"" + ids[7] + "\",\"payload\":1}\n", []string{"--ndjson"}},
		{"", []string{"a", "b"}},
	} {
		// Each case in a queue of its own, so that both begin empty; but the
		// second repeats the first.
		queue := fmt.Sprint("q", max(i, 1))
		args := append([]string{"enqueue", queue, "-o", "json"}, tt.args...)
		want, _, wantCode := runAt(testClock, append(args, "--rehearse"), strings.NewReader(tt.in), nil)
		if i == 1 {
			first := []string{"enqueue", queue, "-o", "json", "--ndjson", "--rehearse"}
			both := fmt.Sprintf("{\"id\":%q,\"payload\":\"hello\"}\n{\"id\":%q,\"payload\":\"again\"}\n", ids[0], ids[0])
			want, _, wantCode = runAt(testClock, first, strings.NewReader(both), nil)
			_, want, _ = strings.Cut(want, "\n")
		}
		got, errw, code := runAt(testClock, append(args, "--url", server.Addr), strings.NewReader(tt.in), nil)
		if code != wantCode || errw != "" {
			t.Errorf("%q: code %d, rehearsed %d; stderr %q", args, code, wantCode, errw)
		}
		if diff := cmp.Diff(documents(t, want), documents(t, got)); diff != "" {
			t.Errorf("%q (-rehearsed +live):\n%s", args, diff)
		}
		for _, r := range records(t, got) {
			if r.Store != nil || r.Observed != nil || len(r.Keys) > 0 && (!*r.Executed || !strings.HasPrefix(*r.Engine, "valkey 8")) {
				t.Errorf("%q: %+v", args, r)
			}
		}
		// The store after the last job of the case.
		rehearsed := records(t, want)
		for _, k := range rehearsed[len(rehearsed)-1].Store {
			if k.Type == "string" || slices.Contains(tt.args, "--in") && k.Type == "zset" {
				continue // the fence; a time by the server's clock
			}
			if diff := cmp.Diff(k, held(t, c, *k.Key)); diff != "" {
				t.Errorf("%q, %s (-rehearsed +live):\n%s", args, *k.Key, diff)
			}
		}
	}
	if v, err := valkeytest.Do(c, "GET", "{emq}:version").ToString(); err != nil || v != fence {
		t.Errorf("the fence is %q, %v, want it claimed", v, err)
	}
	out, _, code := runAt(testClock, []string{"enqueue", "fenced", "x", "--url", server.Addr, "--fence", "echomq:3.0.0"}, strings.NewReader(""), nil)
	if n, err := valkeytest.Do(c, "EXISTS", "emq:{fenced}:pending").AsInt64(); code != codeNo || n != 0 || err != nil {
		t.Errorf("another fence: code %d, %d, %v: %s", code, n, err, out)
	}
}

// held reads a key from a server in the form of a record.
func held(t *testing.T, c valkeytest.Client, key string) heldContract {
	t.Helper()
	typ, err := valkeytest.Do(c, "TYPE", key).ToString()
	if err != nil {
		t.Fatal(err)
	}
	element := func(s string) (e textOrBase64) {
		e.Text, e.Base64 = bytesField(s)
		return e
	}
	h := heldContract{Key: &key, Type: typ, Entries: []entryContract{}}
	named := func(name, value string) {
		n := element(name)
		h.Entries = append(h.Entries, entryContract{&n, element(value)})
	}
	switch typ {
	case "hash":
		row, err := valkeytest.Do(c, "HGETALL", key).AsStrMap()
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range []string{"attempts", "group", "payload", "state"} {
			if v, ok := row[field]; ok {
				named(field, v)
				delete(row, field)
			}
		}
		if len(row) > 0 {
			t.Errorf("%s has more fields: %v", key, row)
		}
	case "zset":
		list, err := valkeytest.Do(c, "ZRANGE", key, "0", "-1", "WITHSCORES").AsZScores()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range list {
			named(m.Member, strconv.FormatFloat(m.Score, 'f', -1, 64))
		}
	case "list":
		list, err := valkeytest.Do(c, "LRANGE", key, "0", "-1").AsStrSlice()
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range list {
			h.Entries = append(h.Entries, entryContract{Value: element(v)})
		}
	}
	h.Size = len(h.Entries)
	return h
}

// TestEnqueueBytes stores payloads to the byte, reads them back by valkey-cli,
// and finds the queue in mint order.
func TestEnqueueBytes(t *testing.T) {
	server := valkeytest.Start(t)
	c := server.Client()
	var all [256]byte
	for i := range all {
		all[i] = byte(i)
	}
	big := strings.Repeat(string(all[:]), 10<<20/256)
	file := filepath.Join(t.TempDir(), "payload")
	if err := os.WriteFile(file, []byte(big), 0o600); err != nil {
		t.Fatal(err)
	}
	ids := mint(t, 4, 1)
	for i, tt := range []struct {
		in   string
		args []string
		want string
	}{
		{big, []string{"-"}, big},
		{"", []string{"--payload-file", file}, big},
		{"\x00", []string{"-"}, "\x00"},
		{"", []string{"\xff"}, "\xff"},
	} {
		args := append([]string{"enqueue", "bytes", "--url", server.Addr, "--id", ids[i], "-o", "tsv"}, tt.args...)
		if out, errw, code := runAt(testClock, args, strings.NewReader(tt.in), nil); code != 0 || errw != "" {
			t.Fatalf("%q: code %d: %s%s", args, code, out, errw)
		}
		got, err := valkeytest.Do(c, "HGET", "emq:{bytes}:job:"+ids[i], "payload").ToString()
		if err != nil || got != tt.want {
			t.Errorf("%q: %d bytes, %v, want %d the same", args, len(got), err, len(tt.want))
		}
		cli, err := exec.Command("valkey-cli", "-p", port(server), "HGET", "emq:{bytes}:job:"+ids[i], "payload").Output()
		if err != nil || string(cli) != tt.want+"\n" {
			t.Errorf("%q: valkey-cli reads %d bytes, %v", args, len(cli), err)
		}
	}

	// A bulk of minted ids: BYLEX is the order of the lines.
	out, _, code := runAt(testClock, []string{"enqueue", "bulk", "--lines", "--url", server.Addr, "--format", "{{.id}}"}, strings.NewReader(strings.Repeat("x\n", 10_000)), nil)
	want := strings.Fields(out)
	got, err := valkeytest.Do(c, "ZRANGE", "emq:{bulk}:pending", "-", "+", "BYLEX").AsStrSlice()
	if code != 0 || err != nil || len(want) != 10_000 || !slices.Equal(got, want) {
		t.Errorf("code %d, %v: %d of %d members in mint order", code, err, len(got), len(want))
	}
	if n, err := valkeytest.Do(c, "ZCOUNT", "emq:{bulk}:pending", "0", "0").AsInt64(); err != nil || n != 10_000 {
		t.Errorf("%d members at score 0, %v", n, err)
	}
}

func port(s *valkeytest.Server) string {
	_, port, _ := strings.Cut(s.Addr, ":")
	return port
}

// TestEnqueuePrint gives what is printed to a shell and to valkey-cli --pipe,
// and finds the same rows as if it had been run.
func TestEnqueuePrint(t *testing.T) {
	server := valkeytest.Start(t)
	c := server.Client()
	cli, err := exec.LookPath("valkey-cli")
	if err != nil {
		t.Skip(err)
	}
	bin := t.TempDir()
	shim := fmt.Sprintf("#!/bin/sh\nexec %s -p %s \"$@\"\n", cli, port(server))
	if err := os.WriteFile(filepath.Join(bin, "valkey-cli"), []byte(shim), 0o700); err != nil {
		t.Fatal(err)
	}
	payloads := []string{"plain", "", "it's \"quoted\" $HOME `id` \\n", "é日", "\x00\x01\xff\r\n", "-x", strings.Repeat("\xfe", 300<<10), strings.Repeat("a'", 100<<10), "*", "\x1b[31m", "%s%n"}
	ids := mint(t, len(payloads), 2)
	for _, form := range []string{"cli", "resp"} {
		for _, more := range [][]string{nil, {"--at", "2030-01-01T00:00:00Z"}, {"--group", "PRT0KHTOWnGLuC"}} {
			valkeytest.Do(c, "FLUSHALL")
			valkeytest.Do(c, "SCRIPT", "FLUSH")
			var in strings.Builder
			for i, p := range payloads {
				line, _ := json.Marshal(map[string]any{"id": ids[i], "payload_base64": []byte(p)})
				in.Write(append(line, '\n'))
			}
			args := append([]string{"enqueue", "it's", "--ndjson", "--print", form}, more...)
			environ := []string{"EMQCTL_URL=redis://user:s3cret@" + server.Addr}
			out, errw, code := runAt(testClock, args, strings.NewReader(in.String()), environ)
			if code != 0 || errw != "" || strings.Contains(out, "s3cret") {
				t.Fatalf("code %d: %s", code, errw)
			}
			cmd := exec.Command("sh", "-e")
			if form == "resp" {
				cmd = exec.Command(filepath.Join(bin, "valkey-cli"), "--pipe")
			} else if i := strings.IndexFunc(out, func(r rune) bool { return r < ' ' && r != '\n' }); i >= 0 {
				t.Errorf("a control character is printed at byte %d", i)
			}
			cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
			cmd.Stdin = strings.NewReader(out)
			if answer, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("--print %s: %v: %s", form, err, answer)
			}
			for i, p := range payloads {
				got, err := valkeytest.Do(c, "HGET", "emq:{it's}:job:"+ids[i], "payload").ToString()
				if err != nil || got != p {
					t.Errorf("--print %s %q: %q is stored, %v, want %q", form, more, clip(got), err, clip(p))
				}
			}
		}
	}
}

func clip(s string) string { return s[:min(len(s), 40)] }

// TestEnqueueBreaks loads jobs through a proxy that cuts connections, before
// and after the request has gone, while the server forgets its scripts and is
// restarted. Every line has one record, in order; what is called enqueued is
// stored, what is called failed is not; and the same file completes it.
func TestEnqueueBreaks(t *testing.T) {
	// Always: every second would let the server reply before it has written,
	// and forget what it said when it is killed.
	server := valkeytest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	proxy := valkeytest.StartProxy(t, server.Addr)
	const n = 12_000
	runs := 4
	if testing.Short() {
		runs = 1
	}
	for run := range runs {
		queue := fmt.Sprint("run", run)
		ids := mint(t, n, run)
		r, w := io.Pipe()
		go func() {
			defer w.Close()
			b := bufio.NewWriterSize(w, 20<<10) // some 400 lines a batch
			defer b.Flush()
			for i, id := range ids {
				fmt.Fprintf(b, "{\"id\":%q,\"payload\":\"p%d\"}\n", id, i)
				switch i {
				case 2000:
					valkeytest.Do(server.Client(), "SCRIPT", "FLUSH")
				case 4000:
					proxy.CutReplies(100 * run)
				case 6000:
					proxy.CutRequests(50_000 * run)
				case 8000:
					if run == 1 {
						server.Kill()
						server.Restart()
					}
				case 10_000:
					proxy.CutAll()
				}
			}
		}()
		args := []string{"enqueue", queue, "--ndjson", "-o", "json", "--url", proxy.Addr}
		out, errw, code := runAt(testClock, args, r, nil)
		got := records(t, out)
		if len(got) != n || errw != "" {
			t.Fatalf("run %d: code %d, %d records, want %d; stderr %q", run, code, len(got), n, errw)
		}
		c := server.Client()
		count := map[string]int{}
		for i, g := range got {
			if *g.ID != ids[i] {
				t.Fatalf("run %d: record %d is of %s, want %s", run, i, *g.ID, ids[i])
			}
			count[g.Status]++
		}
		stored := map[string]bool{}
		members, err := valkeytest.Do(c, "ZRANGE", "emq:{"+queue+"}:pending", "0", "-1").AsStrSlice()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range members {
			stored[m] = true
		}
		for i, g := range got {
			if g.Status == "enqueued" && !stored[ids[i]] || g.Status == "failed" && stored[ids[i]] {
				t.Errorf("run %d: %s is %s, and stored: %v", run, ids[i], g.Status, stored[ids[i]])
			}
		}
		t.Logf("run %d: code %d, %v, %d stored", run, code, count, len(stored))

		var again strings.Builder
		for i, id := range ids {
			fmt.Fprintf(&again, "{\"id\":%q,\"payload\":\"p%d\"}\n", id, i)
		}
		out, errw, code = runAt(testClock, []string{"enqueue", queue, "--ndjson", "-o", "json", "--url", server.Addr}, strings.NewReader(again.String()), nil)
		clear(count)
		for _, g := range records(t, out) {
			count[g.Status]++
		}
		if code != 0 || errw != "" || count["enqueued"] != n-len(stored) || count["duplicate"] != len(stored) {
			t.Errorf("run %d, again: code %d, %v, stderr %q", run, code, count, errw)
		}
		members, err = valkeytest.Do(c, "ZRANGE", "emq:{"+queue+"}:pending", "-", "+", "BYLEX").AsStrSlice()
		if err != nil || !slices.Equal(members, ids) {
			t.Errorf("run %d: %d members, %v, want the %d ids in mint order", run, len(members), err, n)
		}
	}
}

// TestEnqueueCluster spreads one stream over queues of every node, whose slots
// move meanwhile.
func TestEnqueueCluster(t *testing.T) {
	cluster := valkeytest.StartCluster(t)
	const n = 6000
	queues := []string{"quotes", "orders", "fills", "payments", "a", "b"}
	ids := mint(t, n, 5)
	write := func(w io.Writer, i int) {
		fmt.Fprintf(w, "{\"id\":%q,\"queue\":%q,\"payload\":\"p\"}\n", ids[i], queues[i%len(queues)])
	}
	load := func(in io.Reader) map[string]int {
		t.Helper()
		out, errw, _ := runAt(testClock, []string{"enqueue", "quotes", "--ndjson", "-o", "json", "--url", cluster.Nodes[0].Addr}, in, nil)
		got := records(t, out)
		if len(got) != n || errw != "" {
			t.Fatalf("%d records, want %d; stderr %q", len(got), n, errw)
		}
		count := map[string]int{}
		for i, g := range got {
			if *g.ID != ids[i] || *g.Queue != queues[i%len(queues)] {
				t.Fatalf("record %d is of %s in %s", i, *g.ID, *g.Queue)
			}
			word := g.Status
			if g.Error != nil {
				word += " " + g.Error.Kind
			}
			count[word]++
		}
		return count
	}
	r, w := io.Pipe()
	go func() {
		defer w.Close()
		b := bufio.NewWriterSize(w, 20<<10)
		defer b.Flush()
		for i := range ids {
			write(b, i)
			if i == n/3 {
				s := slot.OfTag("quotes")
				cluster.Move(s, (cluster.Owner(s)+1)%3, nil)
			}
			if i == n/2 {
				valkeytest.Do(cluster.Client(0), "SCRIPT", "FLUSH")
			}
		}
	}()
	count := load(r)
	t.Logf("%v", count)
	// A node can forget the script in the moment after it was loaded: then it
	// surely did not run.
	if count["enqueued"]+count["failed script"] != n || count["enqueued"] == 0 {
		t.Errorf("%v, want all enqueued, or failed for want of the script", count)
	}
	var again strings.Builder
	for i := range ids {
		write(&again, i)
	}
	if second := load(strings.NewReader(again.String())); second["duplicate"] != count["enqueued"] || second["enqueued"] != count["failed script"] {
		t.Errorf("again: %v, after %v", second, count)
	}
	for q, queue := range queues {
		var want []string
		for i := q; i < n; i += len(queues) {
			want = append(want, ids[i])
		}
		c := cluster.Client(cluster.Owner(slot.OfTag(queue)))
		members, err := valkeytest.Do(c, "ZRANGE", "emq:{"+queue+"}:pending", "-", "+", "BYLEX").AsStrSlice()
		if err != nil || !slices.Equal(members, want) {
			t.Errorf("%s: %d members, %v, want %d in mint order", queue, len(members), err, len(want))
		}
	}
}

// TestEnqueueRights runs each verb as a user who may do what it needs and
// nothing more.
func TestEnqueueRights(t *testing.T) {
	server := valkeytest.Start(t)
	c := server.Client()
	for _, tt := range []struct {
		name   string
		rights []string
		args   []string
		code   int
		kind   string
		fence  string
	}{
		{"enqueue", []string{"+evalsha", "+script|load", "+exists", "+hset", "+zadd", "+hello", "+get", "~emq:{quotes}:*", "%R~{emq}:version"}, nil, 0, "", "absent"},
		{"no-fence", []string{"+evalsha", "+script|load", "+exists", "+hset", "+zadd", "+hello", "~emq:{quotes}:*"}, nil, 0, "", "unreadable"},
		{"no-evalsha", []string{"+exists", "+hset", "+zadd", "+hello", "~emq:{quotes}:*"}, nil, 2, "permission", "unreadable"},
		{"no-keys", []string{"+evalsha", "+script|load", "+exists", "+hset", "+zadd", "+hello", "~emq:{orders}:*"}, nil, 2, "permission", "unreadable"},
		{"no-zadd", []string{"+evalsha", "+script|load", "+exists", "+hset", "+hello", "~emq:{quotes}:*"}, nil, 2, "partial", "unreadable"},
	} {
		user := append([]string{"ACL", "SETUSER", tt.name, "reset", "on", ">p"}, tt.rights...)
		if err := valkeytest.Do(c, user...).Error(); err != nil {
			t.Fatal(err)
		}
		args := append([]string{"enqueue", "quotes", "x", "-o", "json", "--url", "redis://" + tt.name + ":p@" + server.Addr}, tt.args...)
		out, errw, code := runAt(testClock, args, strings.NewReader(""), nil)
		g := records(t, out)[0]
		kind := ""
		if g.Error != nil {
			kind = g.Error.Kind
		}
		if code != tt.code || kind != tt.kind || g.Fence == nil || g.Fence.Status != tt.fence || errw != "" {
			t.Errorf("%s: code %d: %s%s", tt.name, code, out, errw)
		}
		valkeytest.Do(c, "FLUSHALL")
	}
}

// TestEnqueueModule holds a server's own EMQ.ENQUEUE, here of a small module,
// and the embedded one to the same document.
func TestEnqueueModule(t *testing.T) {
	const fence = "echomq:4.0.0"
	server := valkeytest.Start(t, valkeytest.Module(t, fence)...)
	valkeytest.Do(server.Client(), "SET", "{emq}:version", fence)
	id := mint(t, 1, 9)[0]
	for _, via := range []string{"native", "auto"} {
		for _, tt := range []struct {
			args []string
			code int
		}{
			{[]string{"x", "--id", id}, 0},
			{[]string{"x", "--id", "USR0KHTOWnGLuC"}, 1},
			{[]string{"x", "--id", "JOB-42", "--no-host-gate"}, 0},
		} {
			args := append([]string{"enqueue", "q-" + via, "-o", "json", "--fence", fence}, tt.args...)
			want, _, _ := runAt(testClock, append(args, "--rehearse", "--via", "native"), strings.NewReader(""), nil)
			got, errw, code := runAt(testClock, append(args, "--url", server.Addr, "--via", via), strings.NewReader(""), nil)
			if diff := cmp.Diff(documents(t, want), documents(t, got)); code != tt.code || errw != "" || diff != "" {
				t.Errorf("%q: code %d, stderr %q (-rehearsed +live):\n%s", args, code, errw, diff)
			}
		}
	}
}

// TestEnqueueSecrets looks for a password in every stream of connections that
// fail.
func TestEnqueueSecrets(t *testing.T) {
	server := valkeytest.Start(t, "--requirepass", "hunter2")
	const secret = "s3cr-t"
	for _, url := range []string{
		"redis://:" + secret + "@" + server.Addr,
		"redis://user:" + secret + "@" + server.Addr,
		"redis://:" + secret + "@127.0.0.1:1",
		"rediss://:" + secret + "@" + server.Addr,
		"redis://:" + secret + "@nowhere.invalid",
		"redis://:" + secret + "#@" + server.Addr,
		"http://:" + secret + "@" + server.Addr,
		secret,
	} {
		for _, mode := range []string{"text", "json", "tsv"} {
			for _, args := range [][]string{
				{"enqueue", "quotes", "x", "--url", url, "-o", mode, "--timeout", "2s"},
				{"enqueue", "quotes", "x", "-o", mode, "--timeout", "2s"},
			} {
				environ := []string{"EMQCTL_URL=" + url, "EMQCTL_PASSWORD=" + secret}
				out, errw, code := runAt(testClock, args, strings.NewReader(""), environ)
				if code != codeFailed || url != secret && strings.Contains(out+errw, secret) {
					t.Errorf("%s -o %s: code %d: %s%s", url, mode, code, out, errw)
				}
				if url == secret && strings.Contains(out+errw, "@") {
					t.Errorf("%s: %s%s", url, out, errw)
				}
			}
		}
	}
	// With the right one it works, and is not shown either.
	out, errw, code := runAt(testClock, []string{"enqueue", "quotes", "x", "--url", server.Addr, "-o", "json"}, strings.NewReader(""), []string{"EMQCTL_PASSWORD=hunter2"})
	if code != 0 || strings.Contains(out+errw, "hunter2") {
		t.Errorf("code %d: %s%s", code, out, errw)
	}
}
