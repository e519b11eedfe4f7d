package scripts_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/echomq/emqctl/internal/scripts"
	"github.com/echomq/emqctl/internal/valkeytest"
)

func operands(line string) (string, []scripts.Operand) {
	words := strings.Fields(line)
	var args []scripts.Operand
	for _, w := range words[1:] {
		switch w {
		case "?":
			args = append(args, scripts.Operand{})
		case "...":
			args = append(args, scripts.Operand{Many: true})
		default:
			args = append(args, scripts.Operand{Text: w, Known: true})
		}
	}
	return words[0], args
}

func TestKeys(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"GET k", "0R"},
		{"SET k v GET", "0RW"},
		{"TIME", ""},
		{"DEL a b c", "0W 1W 2W"},
		{"DEL ...", "0W"},
		{"DEL a ... b", "0W 1W 2W"},
		{"MSET a 1 b 2", "0W 2W"},
		{"MSET ...", "0W?"},
		{"HSET k ...", "0W"},
		{"HSET ...", "0W"},
		{"BLPOP a b 0", "0RW 1RW"},
		{"BLPOP ... 0", "0RW"},
		{"BLPOP ... ", "0RW"},
		{"LMOVE a b LEFT RIGHT", "0RW 1W"},
		{"ZUNIONSTORE d 2 a b WEIGHTS 1 2 x", "0W 2R 3R"},
		{"ZUNIONSTORE d ? a b WEIGHTS 1 2", "0W 2R? 3R?"},
		{"ZINTER 2 ... WITHSCORES", "1R"},
		{"XREAD COUNT 1 STREAMS a b 0 0", "3R 4R"},
		{"XREADGROUP GROUP g c STREAMS a >", "4R"},
		{"XREAD STREAMS ...", "1R?"},
		{"SORT l BY w_* GET # GET o_* STORE d", "0R 2R* 6R* 8W"},
		{"SORT l BY nosort STORE d", "0R 4W"},
		{"SORT l ? ?", "0R 2RW?"},
		{"MIGRATE h p k 0 5000", "2RW"},
		{"MIGRATE h p  0 5000 KEYS a b", "2RW 5RW 6RW"},
		{"EVALSHA s 2 a b c", "2RW 3RW"},
		{"GEORADIUS k 1 2 3 m STORE d", "0R 6W"},
		{"OBJECT ENCODING k", "1"},
		{"OBJECT ? k", "1?"},
		{"PUBLISH c m", "0ch"},
		{"LCS a b", "0R 1R"},
		{"BITOP AND d a b", "1W 2R 3R"},
		{"MSETEX 2 a 1 b 2 EX 5", "1W 3W"},
		{"HEXPIRE k 5 FIELDS 1 f", "0W"},
	} {
		name, args := operands(tt.line)
		c := scripts.LookupCommand(name, args)
		if c == nil {
			t.Errorf("LookupCommand(%q) = nil", tt.line)
			continue
		}
		var got []string
		for _, k := range c.Keys(args) {
			s := strconv.Itoa(k.Arg)
			if k.Access&scripts.AccessRead != 0 {
				s += "R"
			}
			if k.Access&scripts.AccessWrite != 0 {
				s += "W"
			}
			if k.Channel {
				s += "ch"
			}
			if k.Pattern {
				s += "*"
			}
			if k.Maybe {
				s += "?"
			}
			got = append(got, s)
		}
		if g := strings.Join(got, " "); g != tt.want {
			t.Errorf("Keys(%q) = %q, want %q", tt.line, g, tt.want)
		}
	}
	if c := scripts.LookupCommand("NOSUCH", nil); c != nil {
		t.Errorf("LookupCommand(NOSUCH) = %v", c)
	}
}

// text reads a reply's status or bulk string, and whole numbers.
func text(v any) string { return fmt.Sprint(v) }

// pairs reads a map from either protocol.
func pairs(v any) map[string]any {
	out := make(map[string]any)
	switch v := v.(type) {
	case map[string]any:
		return v
	case []any:
		for i := 0; i+1 < len(v); i += 2 {
			out[text(v[i])] = v[i+1]
		}
	}
	return out
}

func flags(v any) []string {
	var out []string
	for _, f := range v.([]any) {
		out = append(out, text(f))
	}
	return out
}

// specText writes a server's key specification and ours in one notation.
func specText(s scripts.KeySpec) string {
	access := ""
	if s.Access&scripts.AccessRead != 0 {
		access += "R"
	}
	if s.Access&scripts.AccessWrite != 0 {
		access += "W"
	}
	switch {
	case s.Unknown:
		return "unknown " + access
	case s.Channel:
		return fmt.Sprintf("channel %d..%d", s.Begin, s.Last)
	case s.Counted:
		return fmt.Sprintf("%d counted %s", s.Begin, access)
	}
	return fmt.Sprintf("%s%d..%d/%d limit %d %s", s.Keyword, s.Begin, s.Last, s.Step, s.Limit, access)
}

func serverSpec(v any) string {
	m := pairs(v)
	fl := flags(m["flags"])
	begin, find := pairs(m["begin_search"]), pairs(m["find_keys"])
	b, f := pairs(begin["spec"]), pairs(find["spec"])
	num := func(m map[string]any, k string) int { n, _ := strconv.Atoi(text(m[k])); return n }
	s := scripts.KeySpec{Channel: slices.Contains(fl, "not_key"), Unknown: text(begin["type"]) == "unknown"}
	if slices.Contains(fl, "access") {
		s.Access |= scripts.AccessRead
	}
	for _, w := range []string{"insert", "delete", "update"} {
		if slices.Contains(fl, w) {
			s.Access |= scripts.AccessWrite
		}
	}
	s.Begin = num(b, "index")
	if text(begin["type"]) == "keyword" {
		s.Keyword, s.Begin = text(b["keyword"]), num(b, "startfrom")
	}
	if text(find["type"]) == "keynum" {
		s.Counted = true
		if num(f, "keynumidx") != 0 || num(f, "firstkey") != 1 || num(f, "keystep") != 1 {
			return fmt.Sprintf("a count of another shape: %v", f)
		}
	} else {
		s.Last, s.Step, s.Limit = num(f, "lastkey"), num(f, "keystep"), num(f, "limit")
	}
	return specText(s)
}

// TestServer holds the table to a real server: every command and subcommand
// is there, with the same key specifications and the same write flag.
func TestServer(t *testing.T) {
	c := valkeytest.Start(t).Client()
	reply, err := valkeytest.Do(c, "COMMAND").ToAny()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	var check func(row []any)
	check = func(row []any) {
		name := text(row[0])
		var args []scripts.Operand
		parent, sub, isSub := strings.Cut(name, "|")
		if isSub {
			args = []scripts.Operand{{Text: sub, Known: true}}
		}
		got := scripts.LookupCommand(parent, args)
		if got == nil {
			t.Errorf("the server has %s, the table has not", name)
			return
		}
		seen++
		fl := flags(row[2])
		if w := slices.Contains(fl, "write"); w != got.Writes() {
			t.Errorf("%s writes: %v, the server says %v", name, got.Writes(), w)
		}
		if n := slices.Contains(fl, "noscript"); n != (got.Flags&scripts.NoScript != 0) {
			t.Errorf("%s is refused in scripts: %v, the server says %v", name, !n, n)
		}
		if got.Flags&scripts.Foreign != 0 {
			t.Errorf("%s is marked as foreign, the server has it", name)
		}
		var ours, theirs []string
		for _, s := range got.Specs {
			// A plain channel is no key to the server: it has no specification.
			if !s.Channel || strings.HasPrefix(name, "s") && name != "subscribe" {
				ours = append(ours, specText(s))
			}
		}
		for _, s := range row[8].([]any) {
			theirs = append(theirs, serverSpec(s))
		}
		if !slices.Equal(ours, theirs) {
			t.Errorf("%s: key specifications\n got %q\nwant %q", name, ours, theirs)
		}
		for _, s := range row[9].([]any) {
			check(s.([]any))
		}
	}
	for _, row := range reply.([]any) {
		check(row.([]any))
	}
	t.Logf("%d commands and subcommands compared", seen)
	if seen < 350 {
		t.Errorf("only %d commands compared", seen)
	}
}

// TestServerGetKeys asks the server itself where the keys of whole calls are.
func TestServerGetKeys(t *testing.T) {
	c := valkeytest.Start(t).Client()
	for _, line := range []string{
		"GET k", "SET k v", "DEL a b c", "MSET a 1 b 2", "HSET k f v", "BLPOP a b 0", "LMOVE a b LEFT RIGHT",
		"ZUNIONSTORE d 2 a b WEIGHTS 1 2", "ZINTER 2 a b", "XREAD COUNT 1 STREAMS a b 0 0", "XADD s * f v",
		"XREADGROUP GROUP g c STREAMS a >", "SORT l BY nosort STORE d", "SORT l LIMIT 0 1 GET #",
		"MIGRATE h 1 k 0 5000", "EVALSHA s 2 a b c", "EVAL s 1 a", "FCALL f 1 a x", "GEORADIUS k 1 2 3 m STORE d", "OBJECT ENCODING k",
		"LCS a b", "BITOP AND d a b", "PFCOUNT a b", "PFMERGE d a b", "XGROUP CREATE s g $ MKSTREAM", "XINFO STREAM s", "MEMORY USAGE k",
		"LMPOP 2 a b LEFT", "BLMPOP 0 2 a b LEFT", "ZDIFFSTORE d 2 a b", "SINTERCARD 2 a b LIMIT 1", "RENAME a b", "COPY a b",
		"ZRANGESTORE d s 0 -1", "SMOVE a b m", "GETDEL k", "SPUBLISH c m", "RPOPLPUSH a b", "ZADD z 0 m", "PEXPIRE k 5",
	} {
		name, args := operands(line)
		reply, err := valkeytest.Do(c, append([]string{"COMMAND", "GETKEYS"}, strings.Fields(line)...)...).AsStrSlice()
		if name == "SPUBLISH" {
			continue
		}
		if err != nil {
			t.Errorf("COMMAND GETKEYS %s: %v", line, err)
			continue
		}
		var got []string
		for _, k := range scripts.LookupCommand(name, args).Keys(args) {
			got = append(got, args[k.Arg].Text)
		}
		// The server gives keys in the order it looks for them.
		slices.Sort(got)
		slices.Sort(reply)
		if !slices.Equal(got, reply) {
			t.Errorf("keys of %q: %q, the server says %q", line, got, reply)
		}
	}
}
