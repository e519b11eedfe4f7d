package verbtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	lua "github.com/echomq/emqctl/scripts"

	"github.com/echomq/emqctl/internal/scripts"
)

func cases(t *testing.T) []Case {
	t.Helper()
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// TestValkey is all that needs a server, which its parts share.
func TestValkey(t *testing.T) {
	s := Start(t)
	for _, part := range []struct {
		name string
		test func(*testing.T, *Server)
	}{
		{"cases", testCases},
		{"headers", testHeaders},
		{"statements", testStatements},
		{"progress-event", testProgressEvent},
		{"reap-takes-a-hundred", testReapTakesAHundred},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, s) })
	}
}

func testCases(t *testing.T, s *Server) {
	names := map[string]bool{}
	for _, c := range cases(t) {
		if names[c.Name] {
			t.Errorf("two cases are called %s", c.Name)
		}
		names[c.Name] = true
		t.Run(c.Name, func(t *testing.T) {
			for _, d := range c.Differences(s.Run(c)) {
				t.Error(d)
			}
		})
	}
}

func testProgressEvent(t *testing.T, s *Server) {
	for _, c := range cases(t) {
		if c.Name != "update_progress/updated" {
			continue
		}
		commands := s.Run(c).Commands
		publish := commands[len(commands)-1]
		if publish[1] != "emq:{q}:events" {
			t.Errorf("the channel is %s", publish[1])
		}
		var got map[string]string
		if err := json.Unmarshal([]byte(publish[2]), &got); err != nil {
			t.Fatalf("%s: %v", publish[2], err)
		}
		want := map[string]string{"event": "progress", "job": "JOB0KHTOWnGLuC", "progress": "40%"}
		if !maps.Equal(got, want) {
			t.Errorf("the event is %v, want %v", got, want)
		}
	}
}

func testReapTakesAHundred(t *testing.T, s *Server) {
	c := Case{Verb: "reap", Keys: []string{"emq:{q}:active", "emq:{q}:pending"}, Args: []string{"emq:{q}:"}}
	for i := range 101 {
		c.Given = append(c.Given, []string{"ZADD", c.Keys[0], "1", fmt.Sprintf("JOB%011d", i)})
	}
	o := s.Run(c)
	if o.Reply != "100" || !slices.Equal(o.After[c.Keys[0]], []string{"zset", "JOB00000000100=1"}) {
		t.Errorf("reap gives %s and leaves %q", o.Reply, o.After[c.Keys[0]])
	}
}

// TestBranches holds the cases to the branches of every verb, and to every
// refusal that a header declares.
func TestBranches(t *testing.T) {
	branches, err := Branches()
	if err != nil {
		t.Fatal(err)
	}
	covered, refused := map[string]bool{}, map[string]bool{}
	for _, c := range cases(t) {
		for _, b := range c.Covers {
			covered[c.Verb+"/"+b] = true
		}
		refused[c.Verb+": "+c.Refusal] = true
	}
	total := 0
	r, err := scripts.Load(lua.FS)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range r.Verbs() {
		if len(branches[v.Name]) == 0 {
			t.Errorf("%s has no branches", v.Name)
		}
		for _, b := range branches[v.Name] {
			total++
			if !covered[v.Name+"/"+b] {
				t.Errorf("no case covers %s/%s", v.Name, b)
			}
		}
		for _, refusal := range v.Refusals {
			if !refused[v.Name+": "+refusal.Text] {
				t.Errorf("no case of %s is refused with %q", v.Name, refusal.Text)
			}
		}
	}
	t.Logf("%d of %d branches of %d verbs, in %d cases", len(covered), total, len(r.Verbs()), len(cases(t)))
}

// testStatements runs every case on a script in which each command, each
// return and each break first leaves a mark, and wants all marks.
func testStatements(t *testing.T, s *Server) {
	marked, sites := map[string]string{}, map[string][]string{}
	for _, v := range s.Registry.Verbs() {
		marked[v.Name], sites[v.Name] = mark(v.Source)
	}
	seen := map[string]bool{}
	for _, c := range cases(t) {
		s.prepare(c)
		s.do(call("EVAL", marked[c.Verb], c)...)
		hits, err := s.do("SMEMBERS", "marks").AsStrSlice()
		if err != nil {
			t.Fatal(err)
		}
		for _, hit := range hits {
			seen[c.Verb+" "+hit] = true
		}
	}
	total := 0
	for _, v := range s.Registry.Verbs() {
		for i, site := range sites[v.Name] {
			// A script runs alone, so as many members as ZCARD counted can be
			// popped; the protocol has the branch all the same.
			if v.Name == "bclaim" && strings.HasSuffix(site, ": break") {
				continue
			}
			total++
			if !seen[fmt.Sprint(v.Name, " ", i)] {
				t.Errorf("%s: no case runs %s", v.Path, site)
			}
		}
	}
	t.Logf("%d of %d statements", len(seen), total)
}

var statement = regexp.MustCompile(`redis\.call\(|\breturn\b|\bbreak\b`)

func mark(source string) (marked string, sites []string) {
	var b strings.Builder
	b.WriteString("local function hit(n) redis.call('SADD', 'marks', n) end\n" +
		"local function run(n, ...) hit(n) return redis.call(...) end\n")
	for i, line := range strings.Split(source, "\n") {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			line = statement.ReplaceAllStringFunc(line, func(s string) string {
				n := len(sites)
				sites = append(sites, "line "+strconv.Itoa(i+1)+": "+strings.TrimSpace(line))
				if s == "redis.call(" {
					return fmt.Sprintf("run(%d, ", n)
				}
				return fmt.Sprintf("hit(%d) %s", n, s)
			})
		}
		b.WriteString(line + "\n")
	}
	return b.String(), sites
}
