package valkey

import (
	"fmt"
	"testing"

	"github.com/echomq/emqctl/internal/slot"
	"github.com/echomq/emqctl/internal/valkeytest"
)

// TestDoAll reads many keys of a server and of a cluster, in order.
func TestDoAll(t *testing.T) {
	s, cluster := valkeytest.Start(t), valkeytest.StartCluster(t)
	for _, addr := range []string{s.Addr, cluster.Nodes[1].Addr} {
		c, err := Open(t.Context(), Options{URL: addr, DB: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		var reads []Read
		for i := range 300 {
			key := fmt.Sprintf("emq:{q%d}:meta", i)
			direct := s.Client()
			if c.Cluster() {
				direct = cluster.Client(int(slot.Of(key)) / 5461)
			}
			if i < 20 {
				if err := valkeytest.Do(direct, "HSET", key, "n", fmt.Sprint(i)).Error(); err != nil {
					t.Fatal(err)
				}
			}
			reads = append(reads, Read{Key: key, Args: []string{"HGET", key, "n"}})
		}
		reads = append(reads, Read{Key: "emq:{q0}:meta", Args: []string{"LLEN", "emq:{q0}:meta"}})
		replies := c.DoAll(t.Context(), reads)
		for i, r := range replies[:300] {
			want := any(nil)
			if i < 20 {
				want = fmt.Sprint(i)
			}
			if r.Reply != want || r.Err != nil {
				t.Errorf("%s: reply %d is %v, %v, want %v", addr, i, r.Reply, r.Err, want)
			}
		}
		if r := replies[300]; r.Err == nil || r.Text[:9] != "WRONGTYPE" {
			t.Errorf("%s: LLEN of a hash is %+v", addr, r)
		}
	}
}

// TestReadAtOnce reads in a transaction, also where errors are among the
// replies, and says so where there is none to be had.
func TestReadAtOnce(t *testing.T) {
	s, cluster := valkeytest.Start(t), valkeytest.StartCluster(t)
	direct := s.Client()
	for _, cmd := range [][]string{
		{"SET", "emq:{q}:x", "1"},
		{"ACL", "SETUSER", "plain", "on", ">pw", "~*", "+@read", "+hello", "+auth"},
	} {
		if err := valkeytest.Do(direct, cmd...).Error(); err != nil {
			t.Fatal(err)
		}
	}
	key := "emq:{q}:x"
	reads := []Read{{Args: []string{"GET", key}}, {Args: []string{"LLEN", key}}, {Args: []string{"GET", "emq:{q}:none"}}}
	c, err := Open(t.Context(), Options{URL: s.Addr, DB: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := c.ReadAtOnce(t.Context(), key, reads)
	if err != nil || r[0].Reply != "1" || r[1].Err == nil || r[1].Text == "" || r[2].Reply != nil || r[2].Err != nil {
		t.Errorf("%+v, %v", r, err)
	}
	plain, err := Open(t.Context(), Options{URL: "redis://plain:pw@" + s.Addr, DB: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if _, err := plain.ReadAtOnce(t.Context(), key, reads); err != ErrApart {
		t.Errorf("without the right to: %v, want ErrApart", err)
	}
	// A slot that has moved is followed; one on the move has no one instant.
	far, err := Open(t.Context(), Options{URL: cluster.Nodes[0].Addr, DB: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	n, apart := slot.Of(key), false
	owner := cluster.Owner(n)
	if err := valkeytest.Do(cluster.Client(owner), "SET", key, "1").Error(); err != nil {
		t.Fatal(err)
	}
	cluster.Move(n, (owner+1)%3, func() {
		_, err := far.ReadAtOnce(t.Context(), key, reads)
		apart = apart || err == ErrApart
	})
	if r, err := far.ReadAtOnce(t.Context(), key, reads); err != nil || r[0].Reply != "1" || !apart {
		t.Errorf("after a move: %+v, %v; apart on the way: %t", r, err, apart)
	}
	defer func() {
		if recover() == nil {
			t.Error("a write did not panic")
		}
	}()
	c.ReadAtOnce(t.Context(), key, []Read{{Args: []string{"SET", key, "2"}}})
}
