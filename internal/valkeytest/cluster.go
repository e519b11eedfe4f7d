package valkeytest

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// Cluster is three primaries that share the slots.
type Cluster struct {
	Nodes []*Server
	IDs   []string // of the nodes, in their order

	tb      testing.TB
	clients []Client
}

// StartCluster runs three servers and joins them. The args are given to each.
func StartCluster(tb testing.TB, args ...string) *Cluster {
	tb.Helper()
	c := &Cluster{tb: tb}
	var buses []string
	for range 3 {
		bus, err := FreePort()
		if err != nil {
			tb.Fatal(err)
		}
		buses = append(buses, fmt.Sprint(bus))
		s := Start(tb, append([]string{"--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(bus), "--cluster-node-timeout", "2000"}, args...)...)
		c.Nodes, c.clients = append(c.Nodes, s), append(c.clients, s.Client())
	}
	for i, bounds := range []string{"0 5460", "5461 10922", "10923 16383"} {
		c.must(i, "CLUSTER SET-CONFIG-EPOCH "+fmt.Sprint(i+1))
		c.must(i, "CLUSTER ADDSLOTSRANGE "+bounds)
		id, err := Do(c.clients[i], "CLUSTER", "MYID").ToString()
		if err != nil {
			tb.Fatal(err)
		}
		c.IDs = append(c.IDs, id)
		if i > 0 {
			host, port, _ := net.SplitHostPort(c.Nodes[0].Addr)
			c.must(i, "CLUSTER MEET "+host+" "+port+" "+buses[0])
		}
	}
	for i := range c.Nodes {
		for deadline := time.Now().Add(20 * time.Second); ; {
			info, err := Do(c.clients[i], "CLUSTER", "INFO").ToString()
			if err == nil && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3") && strings.Contains(info, "cluster_slots_ok:16384") {
				break
			}
			if time.Now().After(deadline) {
				tb.Fatalf("no cluster: %v\n%s", err, info)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return c
}

func (c *Cluster) must(node int, command string) {
	c.tb.Helper()
	if err := Do(c.clients[node], strings.Fields(command)...).Error(); err != nil {
		c.tb.Fatalf("%s: %v", command, err)
	}
}

// Owner returns the index of the node that owns a slot when it is asked.
func (c *Cluster) Owner(slot uint16) int {
	c.tb.Helper()
	for i := range c.Nodes {
		// Whoever does not own it answers MOVED, by a key of that slot or not.
		shards, err := Do(c.clients[i], "CLUSTER", "NODES").ToString()
		if err != nil {
			c.tb.Fatal(err)
		}
		for _, line := range strings.Split(shards, "\n") {
			f := strings.Fields(line)
			if len(f) < 9 || !strings.Contains(f[2], "myself") {
				continue
			}
			for _, r := range f[8:] {
				var first, last uint16
				switch n, _ := fmt.Sscanf(r, "%d-%d", &first, &last); n {
				case 1:
					last = first
				case 0:
					continue
				}
				if first <= slot && slot <= last {
					return i
				}
			}
		}
	}
	c.tb.Fatalf("nobody owns slot %d", slot)
	return -1
}

// Move moves a slot with its keys to a node, as valkey-cli --cluster reshard
// does, and calls between at each step when it is not nil.
func (c *Cluster) Move(slot uint16, to int, between func()) {
	c.tb.Helper()
	from := c.Owner(slot)
	step := func() {
		if between != nil {
			between()
		}
	}
	c.must(to, fmt.Sprintf("CLUSTER SETSLOT %d IMPORTING %s", slot, c.IDs[from]))
	c.must(from, fmt.Sprintf("CLUSTER SETSLOT %d MIGRATING %s", slot, c.IDs[to]))
	step()
	host, port, _ := net.SplitHostPort(c.Nodes[to].Addr)
	for {
		keys, err := Do(c.clients[from], "CLUSTER", "GETKEYSINSLOT", fmt.Sprint(slot), "50").AsStrSlice()
		if err != nil {
			c.tb.Fatal(err)
		}
		if len(keys) == 0 {
			break
		}
		args := append([]string{"MIGRATE", host, port, "", "0", "5000", "KEYS"}, keys...)
		if err := c.clients[from].Do(context.Background(), c.clients[from].B().Arbitrary(args...).Build()).Error(); err != nil {
			c.tb.Fatal(err)
		}
		step()
	}
	for _, node := range []int{to, from, 0, 1, 2} {
		c.must(node, fmt.Sprintf("CLUSTER SETSLOT %d NODE %s", slot, c.IDs[to]))
	}
}

// AddReplica starts a replica of a node and waits until it follows.
func (c *Cluster) AddReplica(of int) *Server {
	c.tb.Helper()
	bus, err := FreePort()
	if err != nil {
		c.tb.Fatal(err)
	}
	s := Start(c.tb, "--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(bus), "--cluster-node-timeout", "2000", "--repl-diskless-sync-delay", "0")
	client := s.Client()
	host, port, _ := net.SplitHostPort(s.Addr)
	c.must(of, "CLUSTER MEET "+host+" "+port+" "+fmt.Sprint(bus))
	for _, step := range []struct {
		args []string
		done string
	}{
		{[]string{"CLUSTER", "REPLICATE", c.IDs[of]}, "OK"},
		{[]string{"INFO", "REPLICATION"}, "master_link_status:up"},
	} {
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			reply, err := Do(client, step.args...).ToString()
			if err == nil && strings.Contains(reply, step.done) {
				break
			}
			if time.Now().After(deadline) {
				c.tb.Fatalf("%s: %q, %v", step.args, reply, err)
			}
		}
	}
	return s
}

// Client returns the direct client of a node.
func (c *Cluster) Client(node int) Client { return c.clients[node] }
