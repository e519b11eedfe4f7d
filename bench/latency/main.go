// Command latency sends a PING a millisecond to a server until it is told to
// end, and prints how long the replies took.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

func main() {
	c, err := net.Dial("tcp", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, os.Interrupt, syscall.SIGTERM)
	r := bufio.NewReader(c)
	var took []time.Duration
	tick := time.NewTicker(time.Millisecond)
	for {
		select {
		case <-tick.C:
			began := time.Now()
			c.Write([]byte("PING\r\n"))
			if _, err := r.ReadString('\n'); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(2)
			}
			took = append(took, time.Since(began))
			continue
		case <-end:
		}
		break
	}
	slices.Sort(took)
	at := func(q float64) float64 { return float64(took[int(q*float64(len(took)-1))].Microseconds()) / 1000 }
	fmt.Printf("%d pings: median %.2f ms, 99%% %.2f ms, 99.9%% %.2f ms, worst %.2f ms\n", len(took), at(.5), at(.99), at(.999), at(1))
}
