package brandedid

import "testing"

func TestHint(t *testing.T) {
	now := at("2026-11-30T12:00:00Z")
	tests := []struct{ in, want string }{
		{"JOB0KHTOWnGLuC", ""},
		{"274557032793636864", "a bare snowflake: under the namespace JOB it is JOB0KHTOWnGLuC"},
		{"0KHTOWnGLuC", "the namespace is missing: a job's id would be JOB0KHTOWnGLuC"},
		{"job0KHTOWnGLuC", "namespaces are upper case: JOB0KHTOWnGLuC"},
		{"'JOB0KHTOWnGLuC'", "a quote or blank was pasted with JOB0KHTOWnGLuC"},
		{" JOB0KHTOWnGLuC", "a quote or blank was pasted with JOB0KHTOWnGLuC"},
		{"JOBzzzzzzzzzzz", ""},
		{"job-42", ""},
		// 274557032793636864 in another order of the digits.
		{"JOBAURdYgxQV4M", "encoded with the alphabet ABCDEFGHIJKL...89? Read so, it was minted 2026-01-27T15:11:37.641Z"},
		// The same instant counted from 1970: a snowflake of 56 bits of time.
		{"JOB8qGWwtYfUP2", "counted from the Unix epoch? Read so, it was minted 2026-01-27T15:11:37.641Z"},
	}
	for _, tt := range tests {
		if got := Hint(tt.in, now); got != tt.want {
			t.Errorf("Hint(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}
