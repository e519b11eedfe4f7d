package slot_test

import (
	"fmt"

	"github.com/echomq/emqctl/internal/slot"
)

func Example() {
	key := "emq:{quotes}:job:JOB0KHTOWnGLuC"
	tag, rule := slot.Tag(key)
	fmt.Println(tag, rule, slot.Of(key))
	// Output: quotes tag 3378
}
