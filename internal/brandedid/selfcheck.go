package brandedid

import "fmt"

// SelfCheck holds the package to the four vectors that the reference host
// asserts when it boots, and returns the first that fails.
func SelfCheck() error {
	const seed = "USR0KHTOWnGLuC"
	id, err := New("USR", 274557032793636864)
	if err != nil || id.String() != seed {
		return fmt.Errorf("encode USR 274557032793636864 = %s, %v, want %s", id, err, seed)
	}
	if got := id.Hash32(); got != 234878118 {
		return fmt.Errorf("hash32(274557032793636864) = %d, want 234878118", got)
	}
	id, err = Parse("USR0NgWEfAEJfs")
	if err != nil || id.Namespace() != "USR" || id.Snowflake() != 320636799581945856 {
		return fmt.Errorf("parse USR0NgWEfAEJfs = %s %d, %v, want USR 320636799581945856", id.Namespace(), id.Snowflake(), err)
	}
	if id, err := Parse("USRzzzzzzzzzzz"); err == nil {
		return fmt.Errorf("parse USRzzzzzzzzzzz = %d, want it refused", id.Snowflake())
	}
	return nil
}
