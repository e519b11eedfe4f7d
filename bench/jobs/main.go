// Command jobs writes the commands that make many jobs over many queues, for
// valkey-cli --pipe: of twenty jobs twelve are in pending, four in lanes, two
// scheduled, one is dead and one active.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/echomq/emqctl/internal/brandedid"
)

func main() {
	n := flag.Int("n", 1_000_000, "how many jobs")
	queues := flag.Int("queues", 200, "how many queues")
	flag.Parse()
	w := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer w.Flush()
	send := func(args ...string) {
		fmt.Fprintf(w, "*%d\r\n", len(args))
		for _, a := range args {
			fmt.Fprintf(w, "$%d\r\n%s\r\n", len(a), a)
		}
	}
	const groups = 8
	now := time.Now().UnixMilli()
	born := uint64(now-3_600_000-brandedid.EpochMilli) << 22
	lanes := map[string]bool{}
	for i := range *n {
		id, err := brandedid.New("JOB", born+uint64(i)<<8)
		if err != nil {
			panic(err)
		}
		base := fmt.Sprintf("emq:{queue-%d}:", i%*queues)
		row := func(state, attempts string, more ...string) {
			send(append([]string{"HSET", base + "job:" + id.String(), "state", state, "attempts", attempts, "payload", fmt.Sprintf(`{"order":%d,"customer":"C-%d"}`, i, i%977)}, more...)...)
		}
		later := fmt.Sprint(now + 86_400_000)
		switch n := i / *queues; n % 20 {
		case 12, 13, 14, 15:
			group := fmt.Sprintf("PRT%011d", n/20%groups)
			row("pending", "0", "group", group)
			send("ZADD", base+"g:"+group+":pending", "0", id.String())
			if !lanes[base+group] {
				lanes[base+group] = true
				send("RPUSH", base+"ring", group)
			}
		case 16, 17:
			row("scheduled", "1", "last_error", "timeout")
			send("ZADD", base+"schedule", later, id.String())
		case 18:
			row("dead", "3", "last_error", "refused")
			send("ZADD", base+"dead", "0", id.String())
		case 19:
			row("active", "1")
			send("ZADD", base+"active", later, id.String())
		default:
			row("pending", "0")
			send("ZADD", base+"pending", "0", id.String())
		}
	}
}
