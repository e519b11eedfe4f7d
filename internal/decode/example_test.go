package decode_test

import (
	"fmt"

	"github.com/echomq/emqctl/internal/decode"
)

func ExampleParse() {
	k, err := decode.Parse("emq:{quotes}:job:JOB0KHTOWnGLuC")
	fmt.Println(k.Queue, k.Type, k.Type.Info().Store, k.ID.Namespace(), err)

	_, err = decode.Parse("emq:quotes:pending")
	fmt.Println(err)
	// Output:
	// quotes job hash JOB <nil>
	// found 'q', want '{': the queue stands between braces
}
