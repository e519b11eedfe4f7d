package valkey

import (
	"context"
	"net"
	"slices"
	"strconv"
	"strings"
)

// Primary is a node that owns slots.
type Primary struct {
	Addr   string
	Slots  [][2]uint16 // ranges, both ends in; all of them outside a cluster
	Failed bool        // the cluster says that it does not answer, and nobody took its place
}

// Primaries returns the nodes that own slots, by address: the one server
// outside a cluster. It asks the cluster anew.
func (c *Client) Primaries(ctx context.Context) ([]Primary, error) {
	if !c.cluster {
		return []Primary{{Addr: c.Addr(), Slots: [][2]uint16{{0, uint16(len(c.slots) - 1)}}}}, nil
	}
	if err := c.refresh(ctx); err != nil {
		return nil, err
	}
	c.mu.Lock()
	slots, failed := c.slots, c.failed
	c.mu.Unlock()
	var list []Primary
	for _, o := range failed {
		list = append(list, Primary{o.addr, [][2]uint16{{uint16(o.first), uint16(o.last)}}, true})
	}
	for s, addr := range slots {
		if addr == "" {
			continue
		}
		i := slices.IndexFunc(list, func(p Primary) bool { return p.Addr == addr && !p.Failed })
		if i < 0 {
			list = append(list, Primary{Addr: addr})
			i = len(list) - 1
		}
		ranges := list[i].Slots
		if n := len(ranges); n > 0 && int(ranges[n-1][1]) == s-1 {
			ranges[n-1][1] = uint16(s)
		} else {
			list[i].Slots = append(ranges, [2]uint16{uint16(s), uint16(s)})
		}
	}
	slices.SortFunc(list, func(a, b Primary) int { return strings.Compare(a.Addr, b.Addr) })
	return list, nil
}

// NodeOfSlot returns the address of the node that owns a slot, as far as is
// known: "" when nobody does.
func (c *Client) NodeOfSlot(s uint16) string {
	if !c.cluster {
		return c.Addr()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slots[s]
}

// refresh asks who owns which slots: the address that was given first, then
// every node that is known.
func (c *Client) refresh(ctx context.Context) *Error {
	c.mu.Lock()
	addrs := []string{c.Addr()}
	for addr := range c.nodes {
		addrs = append(addrs, addr)
	}
	c.mu.Unlock()
	slices.Sort(addrs[1:])
	var first *Error
	for _, addr := range slices.Compact(addrs) {
		err := c.refreshFrom(ctx, addr)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

func (c *Client) refreshFrom(ctx context.Context, addr string) *Error {
	a := c.node(addr).exchange(ctx, [][]string{{"CLUSTER", "SHARDS"}})[0]
	parse := parseShards
	if strings.HasPrefix(a.text, "ERR") && strings.Contains(strings.ToLower(a.text), "unknown subcommand") {
		// Before version 7 there is only the older form.
		a = c.node(addr).exchange(ctx, [][]string{{"CLUSTER", "SLOTS"}})[0]
		parse = parseSlots
	}
	switch {
	case a.err != nil:
		return a.err
	case a.text != "":
		return c.serverError(addr, a.text, nil)
	}
	owners := parse(a.reply, addr, c.tls != nil)
	if len(owners) == 0 {
		return &Error{Kind: KindCluster, Addr: addr, Msg: addr + ": the cluster says that no node owns any slot", Hint: "see valkey-cli --cluster check"}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.slots[:])
	c.failed = nil
	for _, o := range owners {
		if o.failed {
			c.failed = append(c.failed, o)
			continue
		}
		for s := o.first; s <= o.last; s++ {
			c.slots[s] = o.addr
		}
	}
	return nil
}

// owner is a range of slots and the primary that owns it.
type owner struct {
	first, last int
	addr        string
	failed      bool
}

func validRange(first, last int64) bool { return 0 <= first && first <= last && last < 16384 }

// parseShards reads CLUSTER SHARDS. A node that gives no endpoint is at the
// host that was asked.
func parseShards(reply any, asked string, overTLS bool) []owner {
	var owners []owner
	shards, _ := reply.([]any)
	for _, s := range shards {
		shard := pairs(s)
		nodes, _ := shard["nodes"].([]any)
		slots, _ := shard["slots"].([]any)
		// One that has failed counts only where no other has taken its place.
		failed := func(n any) bool { return pairs(n)["health"] == "fail" }
		isPrimary := func(n any) bool { return pairs(n)["role"] == "master" }
		at := slices.IndexFunc(nodes, func(n any) bool { return isPrimary(n) && !failed(n) })
		if at < 0 {
			at = slices.IndexFunc(nodes, isPrimary)
		}
		if at >= 0 {
			node := pairs(nodes[at])
			port, _ := node["port"].(int64)
			if p, ok := node["tls-port"].(int64); ok && overTLS {
				port = p
			}
			endpoint, _ := node["endpoint"].(string)
			addr := nodeAddr(endpoint, port, asked)
			for i := 0; i+1 < len(slots); i += 2 {
				first, _ := slots[i].(int64)
				last, _ := slots[i+1].(int64)
				if validRange(first, last) {
					owners = append(owners, owner{int(first), int(last), addr, failed(nodes[at])})
				}
			}
		}
	}
	return owners
}

// parseSlots reads CLUSTER SLOTS.
func parseSlots(reply any, asked string, _ bool) []owner {
	var owners []owner
	ranges, _ := reply.([]any)
	for _, r := range ranges {
		parts, _ := r.([]any)
		if len(parts) < 3 {
			continue
		}
		first, _ := parts[0].(int64)
		last, _ := parts[1].(int64)
		node, _ := parts[2].([]any)
		if len(node) < 2 || !validRange(first, last) {
			continue
		}
		endpoint, _ := node[0].(string)
		port, _ := node[1].(int64)
		owners = append(owners, owner{int(first), int(last), nodeAddr(endpoint, port, asked), false})
	}
	return owners
}

func nodeAddr(endpoint string, port int64, asked string) string {
	if endpoint == "" || endpoint == "?" {
		endpoint, _, _ = net.SplitHostPort(asked)
	}
	return net.JoinHostPort(endpoint, strconv.FormatInt(port, 10))
}

// pairs reads a flat list of keys and values.
func pairs(v any) map[string]any {
	list, _ := v.([]any)
	m := make(map[string]any, len(list)/2)
	for i := 0; i+1 < len(list); i += 2 {
		if k, ok := list[i].(string); ok {
			m[k] = list[i+1]
		}
	}
	return m
}

// redirection reads "MOVED 3999 127.0.0.1:6381" and "ASK ...". The host may
// be missing, which means the one that answered.
func redirection(text, asked string) (word string, s int, addr string, ok bool) {
	parts := strings.Fields(text)
	if len(parts) != 3 || parts[0] != "MOVED" && parts[0] != "ASK" {
		return "", 0, "", false
	}
	s, err := strconv.Atoi(parts[1])
	i := strings.LastIndexByte(parts[2], ':')
	if err != nil || s < 0 || s >= 16384 || i < 0 {
		return "", 0, "", false
	}
	port, err := strconv.ParseUint(parts[2][i+1:], 10, 16)
	if err != nil {
		return "", 0, "", false
	}
	return parts[0], s, nodeAddr(strings.Trim(parts[2][:i], "[]"), int64(port), asked), true
}
