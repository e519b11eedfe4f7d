// Package verbtest holds, for every branch of every verb, a case that takes a
// real server through it: the keyspace before, the call, the reply or the
// refusal, the commands that the script runs, and the keyspace after.
//
// The cases of a verb are in cases/<verb>.txt, a keyword a line:
//
//	branches NAME ...      the branches of the transition
//
//	case     NAME          opens a case; it is named for what is special about it
//	covers   NAME ...      the branches it takes; without this line, the one of its name
//	given    COMMAND       a command that prepares the keyspace
//	call     NUMKEYS ARG ...
//	reply    VALUE         strings in quotes, integers, nil, [arrays]; or: until MS,
//	                       the time that is left until then
//	refuse   TEXT          to the end of the line
//	runs     COMMAND ...   the names of the commands that the script runs, in order
//	is       KEY TYPE CONTENT ...   a key that the call has changed, as it is now
//	gone     KEY           a key that it has deleted
//
// What neither "is" nor "gone" mentions is as it was. The content of a hash is
// field=value, of a sorted set member=score. A score of now+30000 is that many
// ms after the server's clock during the call; now+30000 and now-1 may also be
// given.
//
// Arguments are separated by blanks, and quoted as in Go where they must be. A
// leading @ stands for emq:{q}:, and $A to $D, $P and $Q, $G and $H for the
// ids of jobs, of parents and of groups; $W for 63 tokens of the wake list.
package verbtest

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Case is one call of one verb.
type Case struct {
	Name    string   // "enqueue/duplicate"
	Verb    string   // "enqueue"
	Covers  []string // branches: "duplicate"
	Given   [][]string
	Keys    []string
	Args    []string
	Reply   string // as [Render] writes it; empty when the call is refused
	Refusal string
	Runs    []string
	Is      Store
	Gone    []string
}

// Store is a keyspace: the type of each key, then its content. Hashes and
// sorted sets are field=value and member=score; all but lists are sorted.
type Store map[string][]string

//go:embed cases/*.txt
var files embed.FS

// Cases returns all cases, by verb.
func Cases() ([]Case, error) {
	cases, _, err := load()
	return cases, err
}

// Branches returns the branches of each verb.
func Branches() (map[string][]string, error) {
	_, branches, err := load()
	return branches, err
}

func load() (cases []Case, branches map[string][]string, err error) {
	entries, err := files.ReadDir("cases")
	if err != nil {
		return nil, nil, err
	}
	branches = map[string][]string{}
	for _, e := range entries {
		text, err := files.ReadFile("cases/" + e.Name())
		if err != nil {
			return nil, nil, err
		}
		verb := strings.TrimSuffix(e.Name(), ".txt")
		for i, line := range strings.Split(string(text), "\n") {
			if err := read(verb, strings.TrimSpace(line), &cases, branches); err != nil {
				return nil, nil, fmt.Errorf("%s:%d: %w", e.Name(), i+1, err)
			}
		}
	}
	for i, c := range cases {
		if c.Covers == nil {
			_, name, _ := strings.Cut(c.Name, "/")
			cases[i].Covers = []string{name}
		}
		for _, b := range cases[i].Covers {
			if !slices.Contains(branches[c.Verb], b) {
				return nil, nil, fmt.Errorf("%s covers %s, which is no branch", c.Name, b)
			}
		}
	}
	return cases, branches, nil
}

func read(verb, line string, cases *[]Case, branches map[string][]string) error {
	word, rest, _ := strings.Cut(line, " ")
	rest = names.ReplaceAllStringFunc(strings.TrimSpace(rest), func(s string) string { return ids[s] })
	if word == "" || word == "#" {
		return nil
	}
	args, err := fields(rest)
	if err != nil && word != "reply" && word != "refuse" {
		return err
	}
	switch word {
	case "branches":
		branches[verb] = append(branches[verb], args...)
		return nil
	case "case":
		*cases = append(*cases, Case{Name: verb + "/" + rest, Verb: verb, Is: Store{}})
		return nil
	}
	if len(*cases) == 0 || (*cases)[len(*cases)-1].Verb != verb {
		return fmt.Errorf("found %s before the first case", word)
	}
	c := &(*cases)[len(*cases)-1]
	switch word {
	case "covers":
		c.Covers = args
	case "given":
		c.Given = append(c.Given, args)
	case "call":
		n, err := strconv.Atoi(args[0])
		if err != nil || n >= len(args) {
			return fmt.Errorf("found %s keys", args[0])
		}
		c.Keys, c.Args = args[1:n+1], args[n+1:]
	case "reply":
		c.Reply = rest
	case "refuse":
		c.Refusal = rest
	case "runs":
		c.Runs = append(c.Runs, args...)
	case "is":
		if args[1] != "list" {
			slices.Sort(args[2:])
		}
		c.Is[args[0]] = args[1:]
	case "gone":
		c.Gone = append(c.Gone, args...)
	default:
		return fmt.Errorf("found %q", word)
	}
	return nil
}

var (
	names = regexp.MustCompile(`\$[ABCDPQGHW]`)
	ids   = map[string]string{
		"$A": "JOB0KHTOWnGLuC", "$B": "JOB0KHTOWnGLuD", "$C": "JOB0KHTOWnGLuE", "$D": "JOB0KHTOWnGLuF",
		"$P": "JOB0KHTOWnGLuP", "$Q": "JOB0KHTOWnGLuQ",
		"$G": "PRT0KHTOWnGLuG", "$H": "PRT0KHTOWnGLuH",
		"$W": strings.TrimSpace(strings.Repeat("1 ", 63)),
	}
)

// fields splits a line at its blanks.
func fields(s string) ([]string, error) {
	var args []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimLeft(s, " ") {
		if s[0] != '"' {
			var arg string
			arg, s, _ = strings.Cut(s, " ")
			if strings.HasPrefix(arg, "@") {
				arg = "emq:{q}:" + arg[1:]
			}
			args = append(args, arg)
			continue
		}
		quoted, err := strconv.QuotedPrefix(s)
		if err != nil {
			return nil, fmt.Errorf("a bad quotation: %s", s)
		}
		arg, _ := strconv.Unquote(quoted)
		args, s = append(args, arg), s[len(quoted):]
	}
	return args, nil
}
