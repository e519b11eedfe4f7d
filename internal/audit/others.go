package audit

import (
	"context"
	"maps"
	"regexp"
	"slices"

	"github.com/echomq/emqctl/internal/decode"
	"github.com/echomq/emqctl/internal/escape"
)

// strayCheck looks at a key that is not of the grammar.
type strayCheck struct {
	a          *auditor
	queue, key string
	why        string
}

func (c *strayCheck) of() *queue { return c.a.queues[c.queue] }

func (c *strayCheck) look(ctx context.Context) ([]sighting, error) {
	r := c.a.store.Read(ctx, []Command{command(c.key, "TYPE", c.key)})[0]
	got, _ := text(r.Value)
	if r.Err != nil || got == "none" {
		return nil, r.Err
	}
	return []sighting{{
		finding: Finding{Kind: StrayKey, Queue: c.queue, Keys: []string{c.key}, Detail: sprint("a %s at %s: %s", got, escape.Quote(c.key), c.why)},
		subject: c.key, evidence: got,
	}}, nil
}

// typeCheck looks at a key that held another type than the grammar's.
type typeCheck struct {
	a   *auditor
	q   *queue // nil in the reserve
	key string
	is  decode.Type
}

func (c *typeCheck) of() *queue { return c.q }

func (c *typeCheck) look(ctx context.Context) ([]sighting, error) {
	r := c.a.store.Read(ctx, []Command{command(c.key, "TYPE", c.key)})[0]
	got, _ := text(r.Value)
	if r.Err != nil || holds(c.is, got) {
		return nil, r.Err
	}
	name := ""
	if c.q != nil {
		name = c.q.Name
	}
	return []sighting{{
		finding: Finding{Kind: StoreType, Queue: name, Keys: []string{c.key}, Detail: sprint("found a %s, want a %s: %s", got, c.is.Info().Store, c.is.Info().Role)},
		subject: c.key, evidence: got,
	}}, nil
}

// repeatCheck looks at a repeat registration and its record.
type repeatCheck struct {
	a    *auditor
	q    *queue
	name string
}

func (c *repeatCheck) of() *queue { return c.q }

func (c *repeatCheck) look(ctx context.Context) ([]sighting, error) {
	set, record := c.q.key("repeat"), c.q.key("repeat:"+c.name)
	r, _, err := c.a.atOnce(ctx, set, []Command{
		command(set, "ZSCORE", set, c.name), command(set, "EXISTS", record), command(set, "HMGET", record, "every_ms", "template"),
	})
	if err != nil {
		return nil, err
	}
	member, exists, fields := r[0].Value != nil, number(r[1].Value) == 1, list(r[2].Value)
	if r[0].WrongType || r[2].WrongType {
		return nil, nil
	}
	var detail string
	switch {
	case member && !exists:
		detail = "it is registered, and has no record"
	case exists && !member:
		detail = "it has a record, and is not registered"
	case exists && len(fields) == 2 && fields[0] == nil:
		detail = "its record has no every_ms"
	case exists && len(fields) == 2 && fields[1] == nil:
		detail = "its record has no template"
	default:
		return nil, nil
	}
	return []sighting{{
		finding: Finding{Kind: Repeat, Queue: c.q.Name, Keys: []string{set, record}, Detail: escape.Quote(c.name) + ": " + detail},
		subject: c.name, evidence: detail,
	}}, nil
}

// bracesCheck looks at keys whose braces do not hold them together.
type bracesCheck struct {
	a *auditor
	*broken
}

func (c *bracesCheck) of() *queue { return nil }

func (c *bracesCheck) look(ctx context.Context) ([]sighting, error) {
	var commands []Command
	for _, key := range c.keys {
		commands = append(commands, command(key, "EXISTS", key))
	}
	var there []string
	for i, r := range c.a.store.Read(ctx, commands) {
		if r.Err != nil {
			return nil, r.Err
		}
		if number(r.Value) == 1 {
			there = append(there, c.keys[i])
		}
	}
	if len(there) == 0 {
		return nil, nil
	}
	slices.Sort(there)
	what := "the name of the queue is empty, and {} is no hash tag"
	if c.kind == decode.KindBraces {
		what = "the brace of the queue is never closed"
	}
	f := Finding{Kind: StrayKey, Keys: there, Detail: what}
	if len(c.slots) > 1 {
		f.Kind = Slots
		f.Detail += sprint(": found slots %v", slices.Sorted(maps.Keys(c.slots)))
	}
	return []sighting{{finding: f, subject: string(c.kind), evidence: sprint("%q", there)}}, nil
}

// fences reads the fence of every database, twice when they do not agree.
func (a *auditor) fences(ctx context.Context) error {
	// Of two keys on one slot nobody can say that they are apart.
	for _, kind := range slices.Sorted(maps.Keys(a.braces)) {
		a.suspect(&bracesCheck{a, a.braces[kind]})
	}
	a.suspect(&fenceCheck{a: a})
	if err := a.settle(ctx); err != nil {
		return err
	}
	a.fence, a.fenceErr = a.store.Fences(ctx)
	return context.Cause(ctx)
}

type fenceCheck struct{ a *auditor }

func (c *fenceCheck) of() *queue { return nil }

func (c *fenceCheck) look(ctx context.Context) ([]sighting, error) {
	fences, err := c.a.store.Fences(ctx)
	if err != nil {
		return nil, nil // the summary says so
	}
	version := regexp.MustCompile(`^echomq:\d+\.\d+\.\d+$`)
	var found []sighting
	values := map[string]bool{}
	detail := ""
	for _, f := range fences {
		if !f.Present {
			continue
		}
		values[f.Value] = true
		if detail != "" {
			detail += ", "
		}
		detail += sprint("database %d has %s", f.DB, escape.Quote(f.Value))
		if !version.MatchString(f.Value) {
			found = append(found, sighting{
				finding: Finding{Kind: FenceKind, Keys: []string{"{emq}:version"}, Detail: sprint("the fence of database %d is %s, want echomq:MAJOR.MINOR.PATCH", f.DB, escape.Quote(f.Value))},
				subject: sprint("%d", f.DB), evidence: f.Value,
			})
		}
	}
	if len(values) > 1 {
		found = append(found, sighting{finding: Finding{Kind: FenceKind, Keys: []string{"{emq}:version"}, Detail: detail}, evidence: detail})
	}
	return found, nil
}
