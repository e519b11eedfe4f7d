package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// check is a suspect, or some of one kind, that can be looked at again.
type check interface {
	// look reads everything that the suspicion depends on, at one instant, and
	// returns what is wrong with it. errMoving means that it would not hold
	// still.
	look(ctx context.Context) ([]sighting, error)
	// of returns the queue, or nil.
	of() *queue
}

// sighting is what one look saw.
type sighting struct {
	finding  Finding
	subject  string // with the kind, which one it is
	evidence string // what it depends on
}

func (s sighting) same(o sighting) bool {
	return s.finding.Kind == o.finding.Kind && s.subject == o.subject
}

// errMoving is a look that could not be had.
var errMoving = errors.New("it changes too fast to be looked at")

const (
	checksAtOnce = 256 // checks between two pauses
	maxLooks     = 5
)

// settle looks at the suspects until each holds, or is none, or has changed
// at every look.
func (a *auditor) settle(ctx context.Context) error {
	a.phase = "checking"
	for chunk := range slices.Chunk(a.suspects, checksAtOnce) {
		findings, err := a.settleSome(ctx, chunk)
		if err != nil {
			return err
		}
		if err := a.reportAll(findings); err != nil {
			return err
		}
	}
	a.suspects = nil
	return nil
}

// reportAll reports findings in the order of their queues and kinds.
func (a *auditor) reportAll(findings []Finding) error {
	order := map[Kind]int{}
	for i, d := range Kinds() {
		order[d.Kind] = i
	}
	slices.SortStableFunc(findings, func(x, y Finding) int {
		return cmp.Or(strings.Compare(x.Queue, y.Queue), cmp.Compare(order[x.Kind], order[y.Kind]),
			slices.Compare(x.IDs, y.IDs), slices.Compare(x.Keys, y.Keys), strings.Compare(x.Detail, y.Detail))
	})
	for _, f := range findings {
		if err := a.report(f); err != nil {
			return err
		}
	}
	return nil
}

func (a *auditor) settleSome(ctx context.Context, checks []check) (findings []Finding, err error) {
	type open struct {
		check
		before []sighting
		looked bool
	}
	var list []*open
	for _, c := range checks {
		list = append(list, &open{check: c})
	}
	for look := 0; look < maxLooks && len(list) > 0; look++ {
		if look > 0 {
			if err := a.o.Clock.Sleep(ctx, a.o.Pause); err != nil {
				return nil, err
			}
		}
		var again []*open
		for _, o := range list {
			now, err := o.look(ctx)
			if cause := context.Cause(ctx); cause != nil {
				return nil, cause
			}
			switch {
			case err == errMoving:
				o.before, o.looked = nil, false
				again = append(again, o)
				continue
			case err != nil:
				a.fail(o.of(), err)
				continue
			}
			var unsure []sighting
			for _, s := range now {
				i := slices.IndexFunc(o.before, s.same)
				switch {
				case i >= 0 && o.before[i].evidence == s.evidence:
					findings = append(findings, s.finding)
				case i >= 0 || !o.looked:
					unsure = append(unsure, s)
				default:
					unsure = append(unsure, s) // new since: it needs a second look of its own
				}
			}
			if o.before, o.looked = unsure, true; len(unsure) > 0 {
				again = append(again, o)
			}
		}
		list = again
	}
	for _, o := range list {
		if q := o.of(); q != nil {
			q.Unsettled++
		}
	}
	return findings, nil
}

// atOnce reads keys of one slot at one instant: in a transaction, or else
// twice in a row with the same replies, which is as good but for what changes
// and changes back. The last reply is the server's clock.
func (a *auditor) atOnce(ctx context.Context, key string, commands []Command) ([]Reply, int64, error) {
	commands = append(slices.Clip(commands), command(key, "TIME"))
	last := len(commands) - 1
	replies, err := a.store.ReadAtOnce(ctx, key, commands)
	if err == nil {
		return replies[:last], readTime(replies[last].Value), firstError(replies)
	}
	if !errors.Is(err, ErrApart) {
		return nil, 0, err
	}
	var before []Reply
	for range 4 {
		now := a.store.Read(ctx, commands)
		if err := firstError(now); err != nil {
			return nil, 0, err
		}
		if before != nil && sameReplies(before[:last], now[:last]) {
			return now[:last], readTime(before[last].Value), nil
		}
		before = now
	}
	return nil, 0, errMoving
}

// firstError returns the first error that is not about a type.
func firstError(replies []Reply) error {
	for _, r := range replies {
		if r.Err != nil && !r.WrongType {
			return r.Err
		}
	}
	return nil
}

func sameReplies(x, y []Reply) bool {
	for i := range x {
		if x[i].WrongType != y[i].WrongType || !reflect.DeepEqual(x[i].Value, y[i].Value) {
			return false
		}
	}
	return true
}

func sprint(format string, args ...any) string { return fmt.Sprintf(format, args...) }
