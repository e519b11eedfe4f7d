package verbtest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Render writes a reply: strings in quotes, integers, nil, arrays in brackets.
func Render(value any) string {
	switch value := value.(type) {
	case string:
		return strconv.Quote(value)
	case []any:
		parts := make([]string, len(value))
		for i := range value {
			parts[i] = Render(value[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case nil:
		return "nil"
	default:
		return fmt.Sprint(value)
	}
}

// Differences tells in sentences how an outcome is not what a case wants.
func (c Case) Differences(o Outcome) []string {
	var d []string
	if !replies(c.Reply, o) {
		d = append(d, fmt.Sprintf("the reply is %s, want %s", o.Reply, c.Reply))
	}
	if o.Refusal != c.Refusal {
		d = append(d, fmt.Sprintf("the refusal is %q, want %q", o.Refusal, c.Refusal))
	}
	ran := []string{}
	for _, command := range o.Commands {
		ran = append(ran, command[0])
	}
	if !slices.Equal(ran, c.Runs) {
		d = append(d, fmt.Sprintf("it ran\n\t\t%s, want\n\t\t%s", strings.Join(ran, " "), strings.Join(c.Runs, " ")))
	}
	want := maps.Clone(o.Before)
	for key, content := range c.Is {
		if slices.Equal(want[key], content) {
			d = append(d, fmt.Sprintf("%s is said to change, and was so before", key))
		}
		want[key] = content
	}
	for _, key := range c.Gone {
		if want[key] == nil {
			d = append(d, fmt.Sprintf("%s is said to go, and was not there", key))
		}
		delete(want, key)
	}
	for _, key := range slices.Sorted(maps.Keys(o.After)) {
		if !matches(want[key], o.After[key], o) {
			d = append(d, fmt.Sprintf("%s is %q, want %q", key, o.After[key], want[key]))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if o.After[key] == nil {
			d = append(d, fmt.Sprintf("%s is not there, want %q", key, want[key]))
		}
	}
	return d
}

// replies compares the reply, where "until T" is the ms from the call to T.
func replies(want string, o Outcome) bool {
	until, ok := strings.CutPrefix(want, "until ")
	if !ok {
		return o.Reply == want
	}
	t, err := strconv.ParseInt(until, 10, 64)
	ms, err2 := strconv.ParseInt(o.Reply, 10, 64)
	return err == nil && err2 == nil && t-o.To <= ms && ms <= t-o.From
}

// matches compares the content of a key, where now means the time of the call.
func matches(want, got []string, o Outcome) bool {
	return slices.EqualFunc(want, got, func(want, got string) bool {
		member, ms, ok := strings.Cut(want, "=now")
		if !ok {
			return want == got
		}
		offset, err := strconv.ParseInt(ms, 10, 64)
		score, err2 := strconv.ParseInt(strings.TrimPrefix(got, member+"="), 10, 64)
		return err == nil && err2 == nil && o.From+offset <= score && score <= o.To+offset
	})
}
