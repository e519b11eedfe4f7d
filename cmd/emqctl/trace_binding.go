package main

import (
	"fmt"
	"strings"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/decode"
	"github.com/echomq/emqctl/internal/scripts"
	"github.com/echomq/emqctl/internal/slot"
)

// binding is what the names in patterns stand for.
type binding struct {
	values map[string]string // by name; "q" is the queue
	used   map[string]bool
}

func newBinding(opts traceOptions) (*binding, error) {
	b := &binding{values: map[string]string{}, used: map[string]bool{}}
	if opts.Queue != "" {
		if err := decode.CheckQueue(opts.Queue); err != nil {
			e := err.(*decode.Error)
			return nil, &usageError{msg: fmt.Sprintf("--queue is %s: %s at byte %d: %s", quote(opts.Queue), e.Kind, e.Off, e)}
		}
		b.values["q"] = opts.Queue
	}
	if opts.ID != "" {
		if _, err := brandedid.Parse(opts.ID); err != nil {
			e := err.(*brandedid.Error)
			return nil, &usageError{msg: fmt.Sprintf("--id is %s: %s at byte %d: %s", quote(opts.ID), e.Kind, e.Off, e)}
		}
		b.values["id"] = opts.ID
	}
	for _, arg := range opts.Args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, &usageError{msg: "--arg is " + quote(arg) + ", want NAME=VALUE"}
		}
		if old, ok := b.values[name]; ok {
			by := map[string]string{"id": "--id", "q": "--queue"}[name]
			if by == "" || by == "--id" && opts.ID == "" || by == "--queue" && opts.Queue == "" {
				by = "--arg " + name
			}
			return nil, &usageError{msg: fmt.Sprintf("--arg %s=%s: %s says %s already", textBytes(name), textBytes(value), by, quote(old))}
		}
		b.values[name] = value
	}
	return b, nil
}

// key returns the real key of a pattern and its slot, when all of the
// pattern's names are bound and one is used.
func (b *binding) key(pattern string) (key *string, s *uint16) {
	out := pattern
	if strings.Contains(pattern, " | ") { // which one depends on the form
		return nil, nil
	}
	if q, ok := b.values["q"]; ok {
		out = strings.ReplaceAll(out, "{q}", "{"+q+"}")
		b.used["q"] = true
	} else if strings.Contains(pattern, "{q}") {
		return nil, nil
	}
	for {
		before, rest, ok := strings.Cut(out, "<")
		if !ok {
			break
		}
		name, after, ok := strings.Cut(rest, ">")
		value, bound := b.values[name]
		if !ok || !bound {
			return nil, nil
		}
		b.used[name] = true
		out = before + value + after
	}
	if out == pattern {
		return nil, nil
	}
	n := slot.Of(out)
	return &out, &n
}

// arg returns the value of an argument, when it is bound.
func (b *binding) arg(a scripts.Arg) *string {
	if v, ok := b.values[a.Name]; ok {
		b.used[a.Name] = true
		return &v
	}
	q, ok := b.values["q"]
	if !ok {
		return nil
	}
	var base string
	switch a.Base {
	case "queue":
		base = decode.QueueKey(q, "")
	case "job":
		base = decode.QueueKey(q, "job:")
	default:
		return nil
	}
	return &base
}

// unused returns the names that were bound and stand nowhere.
func (b *binding) unused() []string {
	var names []string
	for name := range b.values {
		if !b.used[name] {
			names = append(names, name)
		}
	}
	return names
}
