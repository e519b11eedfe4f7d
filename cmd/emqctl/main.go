// Command emqctl reads the wire of EchoMQ: keys, ids, slots and scripts.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
