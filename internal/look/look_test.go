package look

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/echomq/emqctl/internal/decode"
	"github.com/echomq/emqctl/internal/valkey"
	"github.com/echomq/emqctl/internal/valkeytest"
)

func open(t *testing.T, addr string) *valkey.Client {
	t.Helper()
	c, err := valkey.Open(context.Background(), valkey.Options{URL: addr, DB: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// counting counts what goes out in one go.
type counting struct {
	*valkey.Client
	most, calls int
	weight      int
}

func (c *counting) DoAll(ctx context.Context, reads []valkey.Read) []valkey.Answer {
	c.calls++
	c.most = max(c.most, len(reads))
	answers := c.Client.DoAll(ctx, reads)
	n := 0
	for _, a := range answers {
		s, _ := a.Reply.(string)
		n += len(s)
	}
	c.weight = max(c.weight, n)
	return answers
}

// TestHeld walks a set of times in more passes than one, in every direction
// and length.
func TestHeld(t *testing.T) {
	s := valkeytest.Start(t)
	c := s.Client()
	var want []string
	for i := range 23 {
		id := fmt.Sprintf("JOB0KHTOWnG%03d", i*7)
		want = append(want, id)
		valkeytest.Do(c, "ZADD", "emq:{q}:active", strconv.Itoa((i*5)%23), id)
	}
	reversed := slices.Clone(want)
	slices.Reverse(reversed)
	for _, held := range []int{1, 2, 5, 22, 23, 24} {
		for _, count := range []int{0, 1, 4, 5, 6, 22, 23, 100} {
			for _, newest := range []bool{false, true} {
				client := open(t, s.Addr)
				l := &Looker{Connect: func() (Client, error) { return client, nil }, held: held}
				var got []string
				err := l.Jobs(t.Context(), "q", Window{Set: decode.Active, Key: "emq:{q}:active", Count: count, Newest: newest}, func(jobs []Job) error {
					for _, j := range jobs {
						if j.Row != nil || j.Err != nil {
							t.Errorf("%s: row %v, %v, want none", j.Member.Text, j.Row, j.Err)
						}
						got = append(got, j.Member.Text)
					}
					return nil
				})
				all := want
				if newest {
					all = reversed
				}
				if count > 0 {
					all = all[:min(count, len(all))]
				}
				if err != nil || !slices.Equal(got, all) {
					t.Errorf("held %d, count %d, newest %v: %v, %v", held, count, newest, got, err)
				}
			}
		}
	}
}

// TestKeysTogether looks at many rows with large payloads: in few round trips,
// and with a bound on what comes back in one.
func TestKeysTogether(t *testing.T) {
	s := valkeytest.Start(t)
	c := s.Client()
	const rows, size = 40, 1 << 20
	var keys []string
	for i := range rows {
		keys = append(keys, fmt.Sprintf("emq:{q}:job:JOB0KHTOWnGL%02d", i))
		valkeytest.Do(c, "HSET", keys[i], "state", "pending", "attempts", "0", "payload", strings.Repeat("é", size/2))
	}
	client := &counting{Client: open(t, s.Addr)}
	l := &Looker{Connect: func() (Client, error) { return client, nil }, Payload: 5}
	for i, k := range l.Keys(t.Context(), keys) {
		if k.Err != nil || k.Row.Payload != "éé" || k.Row.PayloadLen != size || k.Size != 3 {
			t.Fatalf("%s: %+v", keys[i], k)
		}
	}
	if client.calls > 12 || client.weight > maxWeight+size || client.most > maxReplies {
		t.Errorf("%d calls, at most %d commands and %d bytes in one", client.calls, client.most, client.weight)
	}
	// Nothing of a payload is fetched when nothing of it is shown.
	client.weight, l.Payload = 0, 0
	if k := l.Keys(t.Context(), keys[:1])[0]; k.Err != nil || k.Row.Payload != "" || k.Row.PayloadLen != size || !k.Row.Has("payload") || client.weight > 1000 {
		t.Errorf("%+v, %d bytes", k, client.weight)
	}
}

// TestHopeless asks a server that is gone three times, whatever is wanted.
func TestHopeless(t *testing.T) {
	s := valkeytest.Start(t)
	client := &counting{Client: open(t, s.Addr)}
	l := &Looker{Connect: func() (Client, error) { return client, nil }, Payload: 5}
	s.Kill()
	for range 10 {
		if k := l.Keys(t.Context(), []string{"emq:{q}:pending"})[0]; k.Err == nil || k.Asked {
			t.Fatalf("%+v", k)
		}
	}
	if client.calls != patience {
		t.Errorf("asked %d times, want %d", client.calls, patience)
	}
	never := errors.New("never")
	l = &Looker{Connect: func() (Client, error) { return nil, never }}
	if k := l.Keys(t.Context(), []string{"x"})[0]; k.Err != never {
		t.Errorf("%+v", k)
	}
}

func TestWholeRunes(t *testing.T) {
	for s, want := range map[string]string{"": "", "a": "a", "é": "é", "a\xc3": "a", "日\xe6\x97": "日", "\xf0\x9f\x98": "", "\xff": "\xff", "a\x80\x80\x80\x80": "a\x80\x80\x80\x80"} {
		if got := wholeRunes(s); got != want {
			t.Errorf("wholeRunes(%q) = %q, want %q", s, got, want)
		}
	}
}
