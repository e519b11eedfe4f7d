// Command keys writes keys, or ids, as a busy server would hold them: the
// input of the stream benchmark. The same numbers give the same bytes.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/decode"
)

func main() {
	n := flag.Int("n", 2_000_000, "how many")
	ids := flag.Bool("ids", false, "ids instead of keys")
	flag.Parse()

	rnd := rand.New(rand.NewPCG(1, 2))
	now := time.Date(2026, 1, 27, 15, 11, 37, 0, time.UTC)
	m, err := brandedid.NewMinter(func() time.Time { return now }, 7)
	if err != nil {
		panic(err)
	}
	queues := make([]string, 200)
	for i := range queues {
		queues[i] = fmt.Sprintf("%s-%d", []string{"quotes", "orders", "fills", "payments", "mail"}[i%5], i)
	}
	flat := []decode.Type{decode.Pending, decode.Active, decode.Schedule, decode.Dead, decode.Meta, decode.Ring}
	mint := func(namespace string) string {
		now = now.Add(time.Duration(rnd.IntN(40)) * time.Millisecond)
		id, err := m.Mint(namespace)
		if err != nil {
			panic(err)
		}
		return id.String()
	}
	key := func() (string, error) {
		queue := queues[rnd.IntN(len(queues))]
		switch p := rnd.IntN(100); {
		case p < 80:
			return decode.Build(queue, decode.Job, mint("JOB"))
		case p < 85:
			return decode.Build(queue, decode.JobLogs, mint("JOB"))
		case p < 92:
			return decode.Build(queue, decode.Lane, mint("PRT"))
		case p < 94:
			return decode.Build(queue, decode.De, fmt.Sprintf("order-%d", rnd.IntN(1e6)))
		}
		return decode.Build(queue, flat[rnd.IntN(len(flat))], "")
	}
	w := bufio.NewWriterSize(os.Stdout, 1<<16)
	defer w.Flush()
	for range *n {
		if *ids {
			w.WriteString(mint("JOB"))
		} else {
			k, err := key()
			if err != nil {
				panic(err)
			}
			w.WriteString(k)
		}
		w.WriteByte('\n')
	}
}
