package trace_test

import (
	"fmt"

	"github.com/echomq/emqctl/internal/trace"
)

func ExampleOf() {
	t, err := trace.Of(trace.Script{Path: "claim.lua", Text: `
local popped = redis.call('ZPOPMIN', KEYS[1])
if #popped == 0 then return {} end
local id = popped[1]
redis.call('HSET', ARGV[1] .. id, 'state', 'active')
return id`})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range t.Steps {
		for _, k := range s.Keys {
			fmt.Println(s.N, s.Command, k.Origin, k.Pattern, k.From)
		}
	}
	for _, f := range t.Findings(trace.Law{}) {
		fmt.Printf("%d:%d: %s: %s\n", f.Line, f.Col, f.Kind, f.Message)
	}
	// Output:
	// 1 ZPOPMIN declared <KEYS[1]> []
	// 2 HSET derived <ARGV[1]><id> [ARGV[1] popped member of ZPOPMIN <KEYS[1]>]
	// 5:1: undeclared-key: key ARGV[1] .. id of HSET is made from ARGV[1], which is no declared base
}
