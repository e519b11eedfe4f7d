package scripts_test

import (
	"fmt"

	lua "github.com/echomq/emqctl/scripts"

	"github.com/echomq/emqctl/internal/scripts"
)

func ExampleLoad() {
	r, err := scripts.Load(lua.FS)
	if err != nil {
		fmt.Println(err)
		return
	}
	v, _ := r.Lookup("extend_lock")
	fmt.Printf("%s.%s %s\n", v.Module, v.Function, v.Summary)
	for _, k := range v.Keys {
		fmt.Printf("KEYS[%d] %s %s\n", k.N, k.Pattern, k.Store)
	}
	for _, refusal := range v.Refusals {
		fmt.Println(refusal.Text, refusal.Host)
	}
	// Output:
	// Jobs.extend_lock/5 renews the lease of one job.
	// KEYS[1] emq:{q}:active zset
	// KEYS[2] emq:{q}:job:<id> hash
	// EMQSTALE extend token mismatch {:error, :stale}
}
