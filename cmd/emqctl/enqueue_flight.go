package main

import (
	"context"
	"iter"
	"sync"
)

// maxFlying is how many batches are with a server at a time. With one it would
// have nothing to do while its answers are judged and the next is encoded.
const maxFlying = 2

// admittedBatch is jobs that have their status, with what was then known of
// the store.
type admittedBatch struct {
	jobs   []job
	engine string
	via    via
	fence  *fenceState
}

// flight is a batch that is with the store.
type flight struct {
	admittedBatch
	done chan struct{} // closed when each job has its status
	calm bool          // nothing went wrong

	least, most string              // of the ids that were given; "" for none
	ids         map[string]struct{} // made when it is wanted
}

// admitAll admits batches and hands them on, in order. Two are with the store
// at a time only where it pays and makes no difference: the second is full, none
// of the ids is in both, and the last that ended had no trouble.
func (a *admission) admitAll(ctx context.Context, from *gatherer, out chan<- admittedBatch) {
	ended := make(chan *flight, maxFlying)
	var handing sync.WaitGroup
	handing.Go(func() {
		for f := range ended {
			<-f.done
			out <- f.admittedBatch // also after an interrupt: what was sent gets its record
		}
	})
	most := maxFlying
	if a.rehearsal {
		most = 1
	}
	var flying []*flight // the oldest first
	var next *flight
	calm, open := false, true
	for open || next != nil || len(flying) > 0 {
		if next != nil && (len(flying) == 0 || len(flying) < most && calm && !flying[0].shares(next)) {
			f := next
			flying, next = append(flying, f), nil
			go func() {
				defer close(f.done)
				f.calm = a.admit(ctx, f.jobs)
				f.engine, f.via, f.fence = a.engine(), a.via, a.fenceRead()
			}()
			ended <- f
			continue
		}
		var some, full <-chan []job
		var done <-chan struct{}
		if len(flying) > 0 {
			done = flying[0].done
		} else {
			some = from.some
		}
		if next == nil && open && len(flying) < most && calm {
			full = from.full
		}
		var jobs []job
		select {
		case jobs, open = <-some:
		case jobs, open = <-full:
		case <-done:
			calm = flying[0].calm
			flying = flying[1:]
		}
		if jobs != nil {
			next = newFlight(jobs)
		}
	}
	close(ended)
	handing.Wait()
	a.close()
	close(out)
}

func newFlight(jobs []job) *flight {
	f := &flight{admittedBatch: admittedBatch{jobs: jobs}, done: make(chan struct{})}
	for id := range f.given() {
		if f.least == "" || id < f.least {
			f.least = id
		}
		f.most = max(f.most, id)
	}
	return f
}

// given goes through the ids that were given. Others are minted, each once, and
// may be minted again while the batch is with the store.
func (f *flight) given() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range f.jobs {
			if f.jobs[i].given && !yield(f.jobs[i].id) {
				return
			}
		}
	}
}

// shares reports whether a later batch has an id of this one: then the order
// in which they are sent decides which of two jobs is stored.
func (f *flight) shares(later *flight) bool {
	if f.most < later.least || later.most < f.least {
		return false
	}
	if f.ids == nil {
		f.ids = make(map[string]struct{}, len(f.jobs))
		for id := range f.given() {
			f.ids[id] = struct{}{}
		}
	}
	for id := range later.given() {
		if _, ok := f.ids[id]; ok {
			return true
		}
	}
	return false
}
