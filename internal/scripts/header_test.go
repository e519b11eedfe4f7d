package scripts_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/echomq/emqctl/internal/scripts"
)

const whole = `-- settle: settles a job,
--         and tells its parent.
--
-- host     Jobs   settle/4,5
-- forms    plain  child
--
-- reads    HGET emq:{q}:job:<id> parent  tells the form
--
-- KEYS[1]  base    base  emq:{q}:
-- KEYS[2]  row     hash  emq:{q}:job:<id>         the job's row
-- KEYS[3]  result  hash  emq:{q}:job:<parent>:ok  where results go,
--          one a child  [child]
-- ARGV[1]  jobs    the job base  [job base]
-- ARGV[2]  id      a child  [repeated, child]
-- ARGV[3]  result  in bytes  [child, repeated]
--
-- returns  [id, n]  {:ok, n}  settled
-- returns  0         -         not settled
-- refuses  EMQSTATE not so  {:error, :not_so}  it is not

return 1
`

func TestParse(t *testing.T) {
	got, err := scripts.Parse("settle.lua", whole)
	if err != nil {
		t.Fatal(err)
	}
	child := []string{"child"}
	want := &scripts.Verb{
		Name:     "settle",
		Module:   "Jobs",
		Function: "settle/4,5",
		Summary:  "settles a job, and tells its parent.",
		Path:     "settle.lua",
		Source:   whole,
		SHA1:     got.SHA1,
		Forms:    []string{"plain", "child"},
		Keys: []scripts.Key{
			{N: 1, Name: "base", Pattern: "emq:{q}:", Role: "base", Line: 9},
			{N: 2, Name: "row", Pattern: "emq:{q}:job:<id>", Store: "hash", Role: "the job's row", Line: 10},
			{N: 3, Name: "result", Pattern: "emq:{q}:job:<parent>:ok", Store: "hash", Role: "where results go, one a child", Optional: true, Forms: child, Line: 11},
		},
		Args: []scripts.Arg{
			{N: 1, Name: "jobs", About: "the job base", Base: "job", Line: 13},
			{N: 2, Name: "id", About: "a child", Optional: true, Repeated: true, Forms: child, Line: 14},
			{N: 3, Name: "result", About: "in bytes", Optional: true, Repeated: true, Forms: child, Line: 15},
		},
		Returns:   []scripts.Return{{Value: "[id, n]", Meaning: "settled", Host: "{:ok, n}", Line: 17}, {Value: "0", Meaning: "not settled", Line: 18}},
		Refusals:  []scripts.Refusal{{Class: "EMQSTATE", Text: "EMQSTATE not so", Meaning: "it is not", Host: "{:error, :not_so}", Line: 19}},
		HostReads: []scripts.HostRead{{Command: "HGET emq:{q}:job:<id> parent", About: "tells the form", Line: 7}},
		Body:      20,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Parse gives\n%+v, want\n%+v", got, want)
	}
}

func TestParseLineEnds(t *testing.T) {
	v, err := scripts.Parse("settle.lua", strings.ReplaceAll(whole, "\n", "\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := v.Refusals[0].Meaning, "it is not"; got != want {
		t.Errorf("the meaning is %q, want %q", got, want)
	}
}

// TestMessages holds every way to be wrong to its whole message. A bad header
// is a good one with one thing replaced.
func TestMessages(t *testing.T) {
	for _, tt := range []struct {
		name, old, new string
		want           string
		kind           scripts.Kind
	}{
		{"empty", whole, "", `x.lua:1:1: the file is empty, want a header: "-- verb: what it does."`, "missing"},
		{"no-header", whole, "return 1\n", `x.lua:1:1: the file opens with "return 1", want a header: "-- verb: what it does."`, "missing"},
		{"shebang", "-- settle", "#!lua flags=no-writes\n-- settle", `x.lua:1:1: the file opens with "#!lua flags=no-writes", want a header: "-- verb: what it does."`, "missing"},
		{"another-comment", "-- settle: settles a job,", "-- Settles a job.", `x.lua:1:1: the file opens with "-- Settles a job.", want a header: "-- verb: what it does."`, "missing"},
		{"long-comment", "-- settle:", "--[[ settle:", `x.lua:1:1: the file opens with "--[[ settle: settles a job,", want a header: "-- verb: what it does."`, "missing"},
		{"no-full-stop", "its parent.", "its parent", `x.lua:1:4: the summary is "settles a job, and tells its parent", want a sentence with its full stop`, "summary"},
		{"no-blank", "-- host", "--host", `x.lua:4:3: found "host     Jobs   settle/4,5" after "--", want a blank`, "syntax"},
		{"tab", "-- host ", "-- host\t", `x.lua:4:8: found a tab, want blanks`, "syntax"},
		{"unknown-entry", "-- reads", "-- read", `x.lua:7:4: found "read", want host, forms, reads, KEYS[n], ARGV[n], returns or refuses`, "entry"},
		{"no-host", "-- host     Jobs   settle/4,5\n", "", `x.lua:18:1: found no host, want one: host  MODULE  FUNCTIONS`, "entry"},
		{"no-reply", "-- returns  [id, n]  {:ok, n}  settled\n-- returns  0         -         not settled\n", "", `x.lua:17:1: found no reply, want one at least: returns  VALUE  HOST  MEANING`, "entry"},
		{"host-twice", "-- forms    plain  child\n", "-- host  Jobs  settle/6\n-- forms    plain  child\n", `x.lua:5:4: found host again, it is on line 4`, "duplicate"},
		{"out-of-order", "-- forms    plain  child\n--\n-- reads    HGET emq:{q}:job:<id> parent  tells the form\n", "-- reads  HGET k f  why\n-- forms  plain  child\n", `x.lua:6:4: found forms after reads, want it before`, "order"},
		{"too-few-columns", "-- host     Jobs   settle/4,5", "-- host     Jobs settle/4,5", `x.lua:4:13: found 2 columns, want "host  MODULE  FUNCTIONS", and columns stand two blanks apart`, "columns"},
		{"too-many-columns", "{:ok, n}  settled", "{:ok,  n}  settled", `x.lua:17:33: found 5 columns, want "returns  VALUE  HOST  MEANING"`, "columns"},
		{"key-without-role", "  the job's row", "", `x.lua:10:27: found 4 columns, want "KEYS[n]  NAME  TYPE  PATTERN  ROLE"`, "columns"},
		{"base-with-role", "emq:{q}:\n", "emq:{q}:  the base\n", `x.lua:9:37: found 5 columns, want "KEYS[n]  NAME  base  PATTERN"`, "columns"},
		{"no-number", "KEYS[2]", "KEYS[]", `x.lua:10:4: found "KEYS[]", want a number from 1 in brackets: KEYS[1]`, "number"},
		{"zero", "ARGV[1]", "ARGV[0]", `x.lua:13:4: found "ARGV[0]", want a number from 1 in brackets: ARGV[1]`, "number"},
		{"gap", "KEYS[2]", "KEYS[4]", `x.lua:10:4: found KEYS[4], want KEYS[2] in the form plain`, "number"},
		{"number-twice", "KEYS[2]", "KEYS[1]", `x.lua:10:4: found KEYS[1] again, it is on line 9`, "duplicate"},
		{"name-twice", "row     hash", "base    hash", `x.lua:10:13: found the name base again`, "duplicate"},
		{"bad-name", "row     hash", "Row     hash", `x.lua:10:13: found the name "Row", want a word in lower case`, "name"},
		{"bad-form", "plain  child", "plain  Child", `x.lua:5:20: found the form "Child", want a word in lower case`, "name"},
		{"form-twice", "plain  child", "plain  plain", `x.lua:5:20: found the form plain again`, "duplicate"},
		{"unknown-type", "row     hash", "row     tree", `x.lua:10:21: found the type "tree", want base or one of hash, zset, list, set, string, stream`, "store"},
		{"blank-in-pattern", "emq:{q}:job:<id>  ", "emq:{q}: job:<id>  ", `x.lua:10:27: found the pattern "emq:{q}: job:<id>", want a key with <name> for what varies`, "pattern"},
		{"open-pattern", "job:<parent>:ok", "job:<parent:ok", `x.lua:11:27: found the pattern "emq:{q}:job:<parent:ok", want a key with <name> for what varies`, "pattern"},
		{"base-without-colon", "emq:{q}:\n", "emq:{q}\n", `x.lua:9:27: found the base "emq:{q}", want one that ends in a colon`, "pattern"},
		{"unknown-mark", "[child]\n", "[chld]\n", `x.lua:12:26: found the mark "chld", want repeated, optional, a base or a form`, "mark"},
		{"base-mark-on-key", "[child]\n", "[job base]\n", `x.lua:12:26: found the mark of a base on a key, want the type base`, "mark"},
		{"mark-twice", "[repeated, child]", "[child, child]", `x.lua:14:30: found the form child again`, "duplicate"},
		{"after-repeated", "[child, repeated]", "[child]", `x.lua:15:4: ARGV[3] follows what is repeated, want it before`, "order"},
		{"after-optional", "the job base  [job base]", "the job base  [optional]\n-- ARGV[2]  more  always", `x.lua:14:4: ARGV[2] follows what is optional, want it before`, "order"},
		{"no-class", "EMQSTATE not so", "not so", `x.lua:19:13: found the refusal "not so", want its class first: EMQ and upper-case letters`, "class"},
		{"class-alone", "EMQSTATE not so", "EMQSTATE", `x.lua:19:13: found the refusal "EMQSTATE", want its class first: EMQ and upper-case letters`, "class"},
		{"reply-twice", "-- refuses", "-- returns  [id, n]  :ok  again\n-- refuses", `x.lua:19:13: found the reply "[id, n]" again, it is on line 17`, "duplicate"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			source := strings.Replace(whole, tt.old, tt.new, 1)
			if source == whole {
				t.Fatalf("there is no %q", tt.old)
			}
			v, err := scripts.Parse("x.lua", source)
			if v != nil || err == nil {
				t.Fatalf("Parse gives %v, %v", v, err)
			}
			if err.Error() != tt.want {
				t.Errorf("the error is\n%s, want\n%s", err, tt.want)
			}
			if kind := err.(*scripts.Error).Kind; kind != tt.kind {
				t.Errorf("the kind is %s, want %s", kind, tt.kind)
			}
		})
	}
}
