// Command oneline prints one line: the peer of the cold-start benchmark.
package main

import "os"

func main() { os.Stdout.WriteString("one line\n") }
