package brandedid_test

import (
	"fmt"

	"github.com/echomq/emqctl/internal/brandedid"
)

func Example() {
	id, err := brandedid.Parse("JOB0KHTOWnGLuC")
	fmt.Println(id.Namespace(), id.Snowflake(), err)
	fmt.Println(id.Time().Format("2006-01-02 15:04:05.000"), "node", id.Node(), "seq", id.Seq())

	_, err = brandedid.Parse("JOB-42")
	fmt.Println(err, "but the wire admits it:", brandedid.WireAdmits("JOB-42"))
	// Output:
	// JOB 274557032793636864 <nil>
	// 2026-01-27 15:11:37.641 node 0 seq 0
	// id is 6 bytes, want 14 but the wire admits it: true
}
