package valkeytest

import "testing"

func TestStart(t *testing.T) {
	c := Start(t, "--cluster-enabled", "yes").Client()
	got, err := Do(c, "CLUSTER", "KEYSLOT", "123456789").AsInt64()
	if err != nil || got != 12739 {
		t.Errorf("CLUSTER KEYSLOT 123456789 = %d, %v, want 12739", got, err)
	}
}
