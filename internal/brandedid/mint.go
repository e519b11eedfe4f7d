package brandedid

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Minter mints ids in strictly increasing order, as the reference host does:
// the next id takes the clock's millisecond, or follows the last one when
// that is later. So a 4097th id in a millisecond carries into the time
// instead of waiting, and a clock that steps back is not followed.
//
// A Minter may be used by many goroutines.
type Minter struct {
	now  func() time.Time
	node uint64
	last atomic.Int64 // time<<SeqBits | sequence of the last id; -1 before it
}

// NewMinter returns a Minter that reads the clock now and stamps ids with
// node, 0 to MaxNode.
func NewMinter(now func() time.Time, node int) (*Minter, error) {
	if node < 0 || node > MaxNode {
		return nil, fmt.Errorf("node is %d, want 0 to %d", node, MaxNode)
	}
	m := &Minter{now: now, node: uint64(node)}
	m.last.Store(-1)
	return m, nil
}

// Mint returns the next id of a namespace. It fails on a namespace that is
// not three letters A-Z, and on a clock before 2024-01-01 or after
// 2093-09-06T15:47:35.551Z, the last instant that a snowflake holds.
func (m *Minter) Mint(namespace string) (ID, error) {
	id, err := New(namespace, 0)
	if err != nil {
		return ID{}, err
	}
	ms := m.now().UnixMilli() - EpochMilli
	if ms < 0 {
		return ID{}, errors.New("the clock is before 2024-01-01T00:00:00Z, where snowflakes begin")
	}
	for {
		last := m.last.Load()
		next := max(ms<<SeqBits, last+1)
		if next>>SeqBits >= 1<<TimeBits {
			return ID{}, errors.New("the clock is after 2093-09-06T15:47:35.551Z, where snowflakes end")
		}
		if m.last.CompareAndSwap(last, next) {
			id.snowflake = uint64(next)>>SeqBits<<timeShift | m.node<<SeqBits | uint64(next)&maxSeq
			return id, nil
		}
	}
}

// Window returns the lowest and the highest id that a namespace can have from
// one instant to another, both inclusive and to the millisecond. What lies
// outside the time that snowflakes hold is cut off; a window that lies
// outside it altogether, or ends before it begins, is an error.
func Window(namespace string, from, to time.Time) (lowest, highest ID, err error) {
	a, b := from.UnixMilli(), to.UnixMilli()
	if a > b {
		return ID{}, ID{}, errors.New("the window ends before it begins")
	}
	if b < EpochMilli || a > maxMilli {
		return ID{}, ID{}, errors.New("the window is outside 2024-01-01T00:00:00Z to 2093-09-06T15:47:35.551Z, the time that snowflakes hold")
	}
	a, b = max(a, EpochMilli)-EpochMilli, min(b, maxMilli)-EpochMilli
	if lowest, err = New(namespace, uint64(a)<<timeShift); err != nil {
		return ID{}, ID{}, err
	}
	highest, err = New(namespace, uint64(b)<<timeShift|(1<<timeShift-1))
	return lowest, highest, err
}
